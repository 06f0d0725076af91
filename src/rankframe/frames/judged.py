"""Ranked run + judgments → the judged frame: one row per judgment, every metric's raw material.

The run is joined to the judgments once. Each column is then computed from flat arrays over the
whole table, and only if somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, JUDGED_FRAME, QUERY, RANK, RELEVANCE
from rankframe.core.errors import MetricParameterError
from rankframe.frames.matches import Matched
from rankframe.kernel.batch import taken
from rankframe.kernel.segments import (
    number_segments,
    position,
    ranges,
    running_count,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)
from rankframe.kernel.tables import representatives

_UNRETRIEVED = 0  # in rank arrays; ranks count from 1


class Judgments:
    """The rows of the judged frame as flat arrays, by query and rank; columns on demand."""

    def __init__(
        self,
        part: Matched,
        *,
        rel: float | None = None,
        max_grade: float | None = None,
        settle: bool = False,
    ) -> None:
        self._part = part
        self._rel = rel
        self._max_grade = max_grade
        self.queries = part.queries
        self.starts = part.starts
        grade = part.grades
        self.code = number_segments(part.starts, len(grade))
        last = int(part.rank.max(initial=0)) + 1
        # The grade settles the order of unretrieved rows, so that no input order shows through;
        # where ids are looked at (`settle`), so do they.
        keys = [self.code, np.where(part.rank, part.rank, last), grade_codes(grade)]
        if settle:
            keys.append(_id_codes(part.docs(), part.rank == _UNRETRIEVED))
        self._order = sort_order(*keys)
        self.rank = part.rank[self._order]
        self.grade = grade[self._order]

    @property
    def matched(self) -> int:
        """How many judged documents were retrieved."""
        return int(np.count_nonzero(self.rank))

    def judged_shares(self, k: int) -> NDArray[np.float64]:
        """How much of its top k was judged, one number per query; 0 for an empty list."""
        found = self._total((self.rank != _UNRETRIEVED) & (self.rank <= k))
        return found / np.clip(self.retrieved, 1, k)

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """The judged frame with these columns (and no others computed)."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        request = JUDGED_FRAME.request(name)
        rel = self._rel if request.rel is None else request.rel
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: taken(self.queries, self.code),
            DOC: lambda: taken(self._part.docs(), self._order),
            RELEVANCE: lambda: self.grade,
            "relevant": partial(self.relevant, rel),
            RANK: lambda: self._where_retrieved(self.rank),
            "ideal_rank": lambda: self.ideal_rank,
            "ideal_rank_retrieved": self._ideal_rank_retrieved,
            "found": lambda: self._where_retrieved(self._count(self.relevant(rel))),
            "nonrelevant_above": lambda: self._where_retrieved(
                self._count(self._nonrelevant(rel)) - self._nonrelevant(rel)
            ),
            "judged_above": lambda: self._where_retrieved(position(self.starts, len(self.code))),
            "judged_by_ideal_rank": self._judged_by_ideal_rank,
            "tied_rank": self._tied_rank,
            "retrieved": lambda: self._spread(self.retrieved),
            "relevant_total": lambda: self._spread(self._total(self.relevant(rel))),
            "nonrelevant_total": lambda: self._spread(self._total(self._nonrelevant(rel))),
            "max_grade": lambda: np.full(len(self.code), self.max_grade),
            "pooled_wins": lambda: self._pooled(rel)[0],
            "pooled_nonrelevant": lambda: np.full(len(self.code), self._pooled(rel)[1]),
        }
        values = makers[request.column]()
        return pl.Series(name, values, dtype=JUDGED_FRAME.columns[request.column].type)

    def relevant(self, rel: float | None) -> NDArray[np.bool_]:
        """Which rows count as relevant."""
        return self.grade > 0 if rel is None else self.grade >= rel

    def _nonrelevant(self, rel: float | None) -> NDArray[np.bool_]:
        # trec_eval's reading: a negative grade is neither relevant nor non-relevant.
        return (self.grade >= 0) & ~self.relevant(rel)

    @cached_property
    def max_grade(self) -> float:
        """The largest grade there is."""
        return float(self.grade.max()) if self._max_grade is None else self._max_grade

    @property
    def retrieved(self) -> NDArray[np.int64]:
        """Documents that the run returned, one number per query."""
        return self._part.retrieved

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which queries the run lacks."""
        return ~self._part.in_run

    @cached_property
    def ideal_rank(self) -> NDArray[np.int32]:
        """Each row's place in the best possible ordering: by grade, equal ones as ranked."""
        order = sort_order(self.code, grade_codes(self.grade))
        ideal = np.empty(len(self.code), np.int32)
        ideal[order] = position(self.starts, len(self.code)) + 1
        return ideal

    def _ideal_rank_retrieved(self) -> pl.Series:
        retrieved = np.flatnonzero(self.rank != _UNRETRIEVED)
        code = self.code[retrieved]
        order = retrieved[sort_order(code, grade_codes(self.grade[retrieved]))]
        ideal = np.zeros(len(self.code), np.int64)
        ideal[order] = position(segment_starts(code), len(order)) + 1
        return self._where_retrieved(ideal)

    def _judged_by_ideal_rank(self) -> NDArray[np.int64]:
        deepest = max(int(self.rank.max(initial=0)), int(self.ideal_rank.max(initial=0))) + 1
        retrieved = self.rank != _UNRETRIEVED
        base = self.code.astype(np.int64) * deepest
        places = base[retrieved] + self.rank[retrieved]  # ascending
        upto = np.searchsorted(places, base + self.ideal_rank, side="right")
        return upto - np.searchsorted(places, base, side="left")

    def _tied_rank(self) -> pl.Series:
        assert self._part.tied_rank is not None  # whoever asks for the column ranked with it
        return self._where_retrieved(self._part.tied_rank[self._order])

    def _pooled(self, rel: float | None) -> tuple[pl.Series, int]:
        """How many non-relevant documents of all judged queries score below each row (ties count
        half), and how many there are. Unjudged documents are non-relevant.
        """
        everything = self._part.pool
        if self._part.score is None or everything is None:
            raise MetricParameterError("auc(pool=true) needs scores, and the run has none.")
        score = self._part.score[self._order]
        retrieved = self.rank != _UNRETRIEVED
        below, upto = (np.searchsorted(everything, score, side=side) for side in ("left", "right"))
        own = np.sort(score[retrieved & self.relevant(rel)])
        below -= np.searchsorted(own, score, side="left")
        upto -= np.searchsorted(own, score, side="right")
        return self._where_retrieved((below + upto) / 2), len(everything) - len(own)

    def _count(self, flags: NDArray[np.bool_]) -> NDArray[np.int32]:
        return running_count(flags, self.starts)

    def _total(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.add.reduceat(flags, self.starts, dtype=np.int64)

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return spread(per_query, self.starts, len(self.code))

    def _where_retrieved(self, values: NDArray[Any]) -> pl.Series:
        retrieved = pl.Series("retrieved", self.rank != _UNRETRIEVED)
        return pl.select(pl.when(retrieved).then(pl.Series("values", values))).to_series()


def _id_codes(doc: pl.Series, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """On the given rows, integers that sort as the ids do."""
    codes = np.zeros(len(doc), np.int64)
    codes[rows] = doc.filter(pl.Series(rows)).rank("ordinal").to_numpy()
    return codes


def grade_codes(grade: NDArray[np.float64]) -> NDArray[np.int64]:
    """Small integers that sort ascending as the grades sort descending."""
    if not len(grade):
        return np.empty(0, np.int64)
    if grade.max() < 2**20 and grade.min() > -(2**20) and (grade == np.floor(grade)).all():
        return (grade.max() - grade).astype(np.int64)
    levels, inverse = np.unique(grade, return_inverse=True)
    return len(levels) - 1 - inverse


Ints = NDArray[np.int64]

_SAMPLE = 1 << 14  # queries by which one sees whether many are the same
_WORTH = 0.5  # the share of different ones from which on nothing is gained
_FACTORS = np.array([0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9], np.uint64)


@dataclass(frozen=True)
class Patterns:
    """Some queries that stand for all."""

    part: Matched
    # for each query of all, which of these is the same
    of: Ints


def patterns(part: Matched) -> Patterns:
    """One query of each kind: with the same ranks, grades and number of documents.

    Their order within a query is none of the kind. Ids, scores and ties are not looked at.
    """
    queries = len(part.starts)
    every = Patterns(part, np.arange(queries))
    lengths = segment_lengths(part.starts, len(part.rank))
    grade = grade_codes(part.grades)
    if not queries or int(grade.max()) > np.iinfo(np.uint16).max:
        return every
    some = slice(0, int(part.starts[_SAMPLE]) if queries > _SAMPLE else len(part.rank))
    starts = part.starts[:_SAMPLE]
    marks = _marks(part.rank[some], grade[some], starts, part.retrieved[: len(starts)])
    if len(np.unique(marks)) > _WORTH * len(marks):
        return every
    code = number_segments(part.starts, len(part.rank))
    order = sort_order(code, part.rank, grade)
    rank, grade = part.rank[order], grade[order]
    of = representatives(_marks(rank, grade, part.starts, part.retrieved)).astype(np.int64)
    # Marks that are equal by chance: such a query stands for itself.
    same = (lengths[of] == lengths) & (part.retrieved[of] == part.retrieved)
    same &= part.in_run[of] == part.in_run
    of = np.where(same, of, np.arange(queries))
    there = spread(part.starts[of], part.starts, len(rank)) + position(part.starts, len(rank))
    equal = (rank[there] == rank) & (grade[there] == grade)
    same = np.logical_and.reduceat(equal, part.starts)
    of = np.where(same, of, np.arange(queries))
    chosen = np.zeros(queries, np.bool_)
    chosen[of] = True
    kept = np.flatnonzero(chosen)
    rows = order[ranges(part.starts[kept], lengths[kept])]
    return Patterns(
        replace(
            part,
            queries=taken(part.queries, kept),
            starts=np.cumsum(lengths[kept]) - lengths[kept],
            grades=part.grades[rows],
            rank=part.rank[rows],
            retrieved=part.retrieved[kept],
            in_run=part.in_run[kept],
        ),
        (np.cumsum(chosen) - 1)[of],
    )


def _marks(
    rank: NDArray[np.int32], grade: Ints, starts: Ints, retrieved: Ints
) -> NDArray[np.uint64]:
    """A number of each query that is the same for those of a kind, whatever the order of rows."""
    rows = (rank.astype(np.uint64) << np.uint64(16) | grade.astype(np.uint64)) * _FACTORS[0]
    rows ^= rows >> np.uint64(29)
    rows *= _FACTORS[1]
    rows ^= rows >> np.uint64(32)
    marks = np.add.reduceat(rows, starts)
    marks += retrieved.astype(np.uint64) * _FACTORS[0]
    return marks * _FACTORS[1]
