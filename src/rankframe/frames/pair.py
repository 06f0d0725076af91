"""Two rankings of the same queries → the pair frame: one row per document that either has.

Rows are in the order of the first ranking, then of the second. A query has as many rows as there
are depths at which something new can be seen, so each row also stands for a depth: the first row
for depth 1, and so on. Measures over documents and measures over depths are sums over these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Codes, Flags, Ints
from rankframe.core.columns import DOC, PAIR_FRAME, QUERY
from rankframe.core.options import PairPolicies, Unshared
from rankframe.frames.pair_depths import Overlaps
from rankframe.frames.pair_orders import Compared
from rankframe.frames.pair_sides import Ranking, Side, match_sides
from rankframe.kernel.batch import as_text
from rankframe.kernel.ranking import RankedBatch
from rankframe.kernel.segments import number_segments, position, spread


class Pairs:
    """The rows of the pair frame as flat arrays; columns on demand.

    Of some queries that have rows on either side, each document of them once.
    """

    def __init__(self, queries: pl.Series, a: Side, b: Side, policies: PairPolicies) -> None:
        self._missing: Unshared = policies.missing
        self.queries = as_text(queries).alias(QUERY)
        self.read = a.read, b.read
        found, a, b = match_sides(a, b, policies.duplicates)
        self.ranked = ours, theirs = (
            RankedBatch.from_batch(a.batch, policies.ties, policies.k_max),
            RankedBatch.from_batch(b.batch, policies.ties, policies.k_max),
        )
        found = _best_first(found, ours, theirs)
        shared = found[found >= 0]
        self.matched = len(shared)
        # the rows of b that a lacks
        alone = np.ones(theirs.height, np.bool_)
        alone[shared] = False
        length_a, length_b = a.spread(ours.lengths), b.spread(theirs.lengths)
        only_b = b.spread(_counts(alone, theirs.lengths))
        self.n_shared = length_b - only_b
        lengths = length_a + only_b
        self.starts = np.cumsum(lengths) - lengths
        self.rows = len(found) + theirs.height - self.matched
        # First the rows of a as it ranks them, then those that only b has, as it does.
        rank_a = self.depth * (self.depth <= self._spread(length_a.astype(np.int32)))
        in_a = rank_a > 0
        from_b = np.empty(self.rows, np.int64)
        from_b[in_a] = found
        from_b[~in_a] = np.flatnonzero(alone)
        rank_b = np.zeros(self.rows, np.int32)
        if theirs.height:
            rank_b = theirs.rank.take(from_b, mode="clip")
            np.putmask(rank_b, from_b < 0, 0)
        first = a.spread(ours.starts)
        self.a = Ranking(ours, length_a, rank_a, lambda: self._spread(first - 1) + rank_a)
        self.b = Ranking(theirs, length_b, rank_b, lambda: from_b)

    @property
    def code(self) -> Codes:
        """The number of each row's query."""
        return number_segments(self.starts, self.rows)

    @cached_property
    def depth(self) -> Codes:
        """The number of each row within its query, from 1."""
        depth = position(self.starts, self.rows)
        depth += 1
        return depth

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """The pair frame with these columns (and no others computed)."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        request = PAIR_FRAME.request(name)
        column = PAIR_FRAME.columns[request.column]
        if "ties" in column.parameters:
            return pl.Series(name, self._overlaps.column(request), dtype=column.type)
        if column.parameters:
            compared = self._compared(request.k)
            return pl.Series(name, compared.column(request.column), dtype=column.type)
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: self.queries.gather(self.code),
            DOC: self._docs,
            "rank_a": lambda: _null_where(self.a.rank, ~self.a.present),
            "rank_b": lambda: _null_where(self.b.rank, ~self.b.present),
            "score_a": partial(self._score, self.a),
            "score_b": partial(self._score, self.b),
            "n_a": lambda: self._spread(self.a.length),
            "n_b": lambda: self._spread(self.b.length),
            "n_shared": lambda: self._spread(self.n_shared),
            "depth": lambda: self.depth,
            "overlap": lambda: self._overlaps.untied,
        }
        return pl.Series(name, makers[request.column](), dtype=column.type)

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.a, self.b, self.starts, self.depth)

    def _compared(self, k: int | None) -> Compared:
        if k not in self._views:
            self._views[k] = Compared(self.a, self.b, self.starts, self._missing, k)
        return self._views[k]

    @cached_property
    def _views(self) -> dict[int | None, Compared]:
        return {}

    def _docs(self) -> pl.Series:
        ours, theirs = (as_text(side.docs) for side in self.ranked)
        both = pl.concat([ours, theirs], rechunk=True)
        return both.gather(np.where(self.a.present, self.a.at, len(ours) + self.b.at))

    def _score(self, ranking: Ranking) -> pl.Series:
        if ranking.score is None:
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, self.rows)
        return _null_where(ranking.score, ~ranking.present)

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return spread(per_query, self.starts, self.rows)


def _best_first(found: Ints, a: RankedBatch, b: RankedBatch) -> Ints:
    """For each document of a, best first, which of b it is (-1: none); `found` says it of chunks'
    rows.
    """
    found = a.take(found)
    if b.places is None:
        return found
    return np.where(found >= 0, b.places.take(found, mode="clip") if b.batch.height else -1, -1)


def _counts(flags: Flags, lengths: Ints) -> Ints:
    """How many flags are set in each stretch of so many rows."""
    upto = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=upto[1:])
    return np.diff(upto[np.append(0, np.cumsum(lengths))])


def _null_where(values: NDArray[Any], absent: Flags) -> pl.Series:
    flags, series = pl.Series("absent", absent), pl.Series("values", values)
    return pl.select(pl.when(~flags).then(series)).to_series()
