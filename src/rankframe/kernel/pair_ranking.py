"""One of two rankings: the rows of a chunk best first, and as the pair frame sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankframe.core.columns import RANK, SCORE, SCORE_REST
from rankframe.core.options import PairPolicies, Ties
from rankframe.kernel.batch import Batch, as_text
from rankframe.kernel.codes import text_order_within
from rankframe.kernel.rank import exact_order, order_within, same_as_above
from rankframe.kernel.segments import position, ranges, segment_lengths, spread

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """The rows of a chunk, query by query and best first, cut at `k_max`."""

    chunk: Batch
    # how many of each query are left
    lengths: Ints
    # which row of the chunk each of these is; None: all, as they are
    rows: Ints | None
    # those with the score of the one above; None: there are none
    same: NDArray[np.bool_] | None
    # before the cut: documents with the same score as the one ranked just above them
    tied: int
    # queries whose ranks are not 1, 2, 3, …; None: they do not say the order
    anew: int | None

    @classmethod
    def of(cls, chunk: Batch, policies: PairPolicies) -> Ranked:
        """Rank documents by score descending, else by rank, else as given."""
        rows, same = _best_first(chunk, policies.ties)
        tied = 0 if same is None else int(np.count_nonzero(same))
        lengths, most = chunk.lengths, policies.k_max
        if most is not None and int(lengths.max(initial=0)) > most:
            lengths = np.minimum(lengths, most)
            kept = ranges(chunk.starts, lengths)
            rows = kept if rows is None else rows[kept]
            same = None if same is None else same[kept]
        found = cls(chunk, lengths, rows, same if tied else None, tied, None)
        if SCORE in chunk.numbers or RANK not in chunk.numbers:
            return found
        return cls(chunk, lengths, rows, found.same, tied, found._numbered_anew())

    @property
    def height(self) -> int:
        """How many rows are left."""
        return self.chunk.height if self.rows is None else len(self.rows)

    @cached_property
    def starts(self) -> Ints:
        """The first row of each query."""
        return self.chunk.starts if self.rows is None else np.cumsum(self.lengths) - self.lengths

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """Places, from 1."""
        rank = position(self.starts, self.height)
        rank += 1
        return rank

    @cached_property
    def tied_rank(self) -> Floats:
        """The mean rank of the documents with this score in this query."""
        if self.same is None:
            return self.rank.astype(np.float64)
        starts = np.flatnonzero(~self.same)
        lengths = segment_lengths(starts, self.height)
        return spread(self.rank[starts] + (lengths - 1) / 2, starts, self.height)

    @cached_property
    def score(self) -> Floats | None:
        """Scores, where there are any."""
        return self.picked(self.chunk.numbers[SCORE]) if SCORE in self.chunk.numbers else None

    @cached_property
    def places(self) -> Ints | None:
        """Where each row of the chunk went; -1 where it was cut off; None: all stay."""
        if self.rows is None:
            return None
        places = np.full(self.chunk.height, -1)
        places[self.rows] = np.arange(len(self.rows))
        return places

    def picked(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the chunk's rows, best first."""
        return values if self.rows is None else values[self.rows]

    def _numbered_anew(self) -> int:
        other = self.picked(self.chunk.numbers[RANK]) != self.rank
        return int(np.count_nonzero(np.logical_or.reduceat(other, self.starts)))


def _best_first(chunk: Batch, ties: Ties) -> tuple[Ints | None, NDArray[np.bool_] | None]:
    """The order of a chunk's rows (None: as they are), and which of these then tie with the one
    above (None: none does).
    """
    if SCORE in chunk.numbers:
        goodness = exact_order(chunk.numbers[SCORE], chunk.numbers.get(SCORE_REST))
    elif RANK in chunk.numbers:
        goodness = -chunk.numbers[RANK]
    else:
        return None, None
    rises = goodness[1:] > goodness[:-1]
    rises[chunk.starts[1:] - 1] = False
    if rises.any():
        order, unsure = order_within(chunk.docs, chunk.code, chunk.starts, goodness, ties)
        return order, same_as_above(chunk.code, goodness, order, unsure)
    same = np.zeros(chunk.height, np.bool_)
    same[1:] = goodness[1:] == goodness[:-1]
    same[chunk.starts] = False
    if not same.any():
        return None, None
    if ties == "as_given":
        return None, same
    return _by_id(chunk, same, ties), same


def _by_id(chunk: Batch, same: NDArray[np.bool_], ties: Ties) -> Ints | None:
    """The order of rows in order of their scores; None where ties are in order of their ids."""
    lower = np.flatnonzero(same)
    above, below = (as_text(chunk.docs.taken(rows)) for rows in (lower - 1, lower))
    if (above > below if ties == "doc_desc" else above < below).all():
        return None
    among = same.copy()
    among[:-1] |= same[1:]
    rows = np.flatnonzero(among)
    starts = np.flatnonzero(~same[rows])
    order = np.arange(chunk.height)
    order[rows] = text_order_within(chunk.docs, rows, starts, descending=ties == "doc_desc")
    return order


class Ranking:
    """One of the two rankings, on the rows of the pair frame; 0 where it lacks the document.

    `length`: of each query. `at`: which row of the ranking each is, anything where it has none.
    """

    def __init__(
        self,
        ranked: Ranked,
        length: Ints,
        rank: NDArray[np.int32],
        at: Callable[[], NDArray[np.integer]],
    ) -> None:
        self.length, self.rank = length, rank
        self._ranked, self._find = ranked, at

    @property
    def tied(self) -> bool:
        """Whether some documents have the same score."""
        return self._ranked.same is not None

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which rows it has."""
        return self.rank > 0

    @cached_property
    def at(self) -> NDArray[np.integer]:
        """Which row of the ranking each row is."""
        return self._find()

    @cached_property
    def tied_rank(self) -> Floats:
        """The mean rank of the documents with the same score."""
        return self._picked(self._ranked.tied_rank) if self.tied else self.rank.astype(np.float64)

    @cached_property
    def score(self) -> Floats | None:
        """Scores; None where the ranking has none."""
        score = self._ranked.score
        return None if score is None else self._picked(score)

    def _picked(self, values: Floats) -> Floats:
        if not len(values):
            return np.zeros(len(self.rank))
        picked = values.take(self.at, mode="clip")
        np.putmask(picked, ~self.present, 0)
        return picked
