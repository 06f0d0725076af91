"""Build the judged frame from judgments and their ranks in a run: one row per judgment.

The run is matched with the judgments once. Each column is then computed on demand from flat arrays
over all queries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints, Keys
from rankframe.core.columns import (
    DOC,
    JUDGED_FRAME,
    QUERY,
    RANK,
    RELEVANCE,
    ColumnRequest,
)
from rankframe.core.errors import MetricParameterError
from rankframe.frames.column_frame import ColumnFrame, where
from rankframe.frames.matches import MatchedJudgments
from rankframe.kernel.batch import taken
from rankframe.kernel.segments import (
    number_segments,
    position,
    running_count,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)
from rankframe.kernel.tables import FACTORS, representatives

_UNRETRIEVED = 0  # in rank arrays; ranks count from 1
_SAMPLE = 1 << 14  # queries that are sampled to estimate the share of distinct patterns
_FEWEST = 1 << 8  # with fewer queries, looking for patterns takes longer than it saves
_WORTH = 0.5  # with a larger share of distinct patterns, deduplication does not pay
# A callback that returns a column's values.
Maker = Callable[[], NDArray[Any] | pl.Series]


class RowsByRank(ColumnFrame):
    """Hold rows of judged documents by query and rank: the base class of two frames."""

    def __init__(
        self,
        part: MatchedJudgments,
        grade: Floats,
        documents: Ints | None,
        keys: Sequence[AnyInts],
        *,
        rel: float | None,
        max_grade: float | None,
    ) -> None:
        """Sort the rows by query, rank and `keys`.

        Args:
            part: The judged documents.
            grade: The grade of each row.
            documents: The index in `part` of each row's document, ascending; None: one row for each
                judged document.
            keys: Further sort keys, which decide the order of unretrieved rows.
            rel: The lowest grade that counts as relevant; None: any grade above 0.
            max_grade: The largest grade of all judgments; None: the largest grade of these rows.
        """
        self._part, self._rel, self._max_grade = part, rel, max_grade
        self.queries = part.queries
        self.starts, rank = part.starts, part.rank
        self.code = number_segments(part.starts, len(rank))
        if documents is not None:
            self.code, rank = self.code[documents], rank[documents]
            self.starts = segment_starts(self.code)
        last = int(rank.max(initial=0)) + 1
        self._order = sort_order(self.code, np.where(rank, rank, last), *keys)
        self.rank, self.grade = rank[self._order], grade[self._order]
        self.document = self._order if documents is None else documents[self._order]

    def _compute(self, request: ColumnRequest) -> NDArray[Any] | pl.Series:
        rel = self._rel if request.rel is None else request.rel
        makers: dict[str, Maker] = {
            QUERY: lambda: taken(self.queries, self.code),
            DOC: lambda: taken(self._part.docs, self.document),
            RELEVANCE: lambda: self.grade,
            "relevant": lambda: self.relevant(rel),
            RANK: lambda: self._where_retrieved(self.rank),
            "retrieved": lambda: self._spread(self._part.retrieved),
            "max_grade": lambda: np.full(len(self.code), self.max_grade),
            **self._makers(request, rel),
        }
        return makers[request.column]()

    @abstractmethod
    def _makers(self, request: ColumnRequest, rel: float | None) -> Mapping[str, Maker]:
        """Return, by column name, callbacks for the columns that are specific to the subclass."""

    def relevant(self, rel: float | None) -> Flags:
        """Flag the rows with a relevant grade: at least `rel` or, if it is None, above 0."""
        return self.grade > 0 if rel is None else self.grade >= rel

    @cached_property
    def max_grade(self) -> float:
        """Return the largest grade: as passed to the constructor, or else of the frame's rows."""
        return float(self.grade.max()) if self._max_grade is None else self._max_grade

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return spread(per_query, self.starts, len(self.code))

    def _where_retrieved(self, values: NDArray[Any]) -> pl.Series:
        return where(self.rank != _UNRETRIEVED, values)


class JudgedFrame(RowsByRank):
    """Hold the judged frame (one row per judgment) as flat arrays, by query and rank."""

    columns = JUDGED_FRAME

    def __init__(
        self,
        part: MatchedJudgments,
        *,
        rel: float | None = None,
        max_grade: float | None = None,
        settle: bool = False,
    ) -> None:
        """Sort the judgments by query and rank; unretrieved documents come last, by grade.

        With `settle`, unretrieved documents with equal grades are sorted by id; only frames with
        ids need this. The result never depends on the order of the input.
        """
        keys = [grade_codes(part.grades)]
        if settle:
            unretrieved = part.rank == _UNRETRIEVED
            ids = np.zeros(len(part.rank), np.int64)
            ids[unretrieved] = part.docs.filter(pl.Series(unretrieved)).rank("ordinal").to_numpy()
            keys.append(ids)
        super().__init__(part, part.grades, None, keys, rel=rel, max_grade=max_grade)
        # the number of judged documents that were retrieved
        self.matched = int(np.count_nonzero(self.rank))
        # for each query: the number of documents in the run, and whether the run lacks the query
        self.retrieved = part.retrieved
        self.missing = ~part.in_run

    def judged_shares(self, k: int) -> Floats:
        """Return, for each query, the judged share of the top k; 0 for an empty list."""
        judged = self._total((self.rank != _UNRETRIEVED) & (self.rank <= k))
        return judged / np.minimum(np.maximum(self.retrieved, 1), k)

    def _makers(self, request: ColumnRequest, rel: float | None) -> Mapping[str, Maker]:
        del request
        return {
            "ideal_rank": lambda: self.ideal_rank,
            "ideal_rank_retrieved": self._ideal_rank_retrieved,
            "found": lambda: self._where_retrieved(self._count(self.relevant(rel))),
            "nonrelevant_above": lambda: self._where_retrieved(
                self._count(self._nonrelevant(rel)) - self._nonrelevant(rel)
            ),
            "judged_above": lambda: self._where_retrieved(position(self.starts, len(self.code))),
            "judged_by_ideal_rank": self._judged_by_ideal_rank,
            "tied_rank": self._tied_rank,
            "relevant_total": lambda: self._spread(self._total(self.relevant(rel))),
            "nonrelevant_total": lambda: self._spread(self._total(self._nonrelevant(rel))),
            "pooled_wins": lambda: self._pooled(rel)[0],
            "pooled_nonrelevant": lambda: np.full(len(self.code), self._pooled(rel)[1]),
        }

    def _nonrelevant(self, rel: float | None) -> Flags:
        # As in trec_eval, a negative grade is neither relevant nor non-relevant.
        return (self.grade >= 0) & ~self.relevant(rel)

    @cached_property
    def ideal_rank(self) -> Codes:
        """Return each row's rank in the ideal order of its query: by grade, then by rank."""
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

    def _judged_by_ideal_rank(self) -> Ints:
        deepest = max(int(self.rank.max(initial=0)), int(self.ideal_rank.max(initial=0))) + 1
        retrieved = self.rank != _UNRETRIEVED
        base = self.code.astype(np.int64) * deepest
        places = base[retrieved] + self.rank[retrieved]  # ascending
        upto = np.searchsorted(places, base + self.ideal_rank, side="right")
        return upto - np.searchsorted(places, base, side="left")

    def _tied_rank(self) -> pl.Series:
        assert self._part.tied_rank is not None  # collected if a metric needs this column
        return self._where_retrieved(self._part.tied_rank[self._order])

    def _pooled(self, rel: float | None) -> tuple[pl.Series, int]:
        """Count, for each row, the non-relevant documents of any judged query with a lower score.

        Ties count half; unjudged documents are non-relevant. Returns the counts, and the number of
        all non-relevant documents.
        """
        pool = self._part.pool
        if self._part.score is None or pool is None:
            raise MetricParameterError("auc(pool=true) needs scores, and the run has none.")
        score = self._part.score[self._order]
        retrieved = self.rank != _UNRETRIEVED
        below, upto = (np.searchsorted(pool, score, side=side) for side in ("left", "right"))
        own = np.sort(score[retrieved & self.relevant(rel)])
        below -= np.searchsorted(own, score, side="left")
        upto -= np.searchsorted(own, score, side="right")
        return self._where_retrieved((below + upto) / 2), len(pool) - len(own)

    def _count(self, flags: Flags) -> Codes:
        return running_count(flags, self.starts)

    def _total(self, flags: Flags) -> Ints:
        return np.add.reduceat(flags, self.starts, dtype=np.int64)


def grade_codes(grade: Floats) -> Ints:
    """Return small integers that sort ascending as the grades sort descending."""
    if not len(grade):
        return np.empty(0, np.int64)
    if grade.max() < 2**20 and grade.min() > -(2**20) and (grade == np.floor(grade)).all():
        return (grade.max() - grade).astype(np.int64)
    levels, inverse = np.unique(grade, return_inverse=True)
    return len(levels) - 1 - inverse


def find_patterns(part: MatchedJudgments) -> tuple[MatchedJudgments, Ints]:
    """Find queries with equal ranks, grades and numbers of documents; keep one per pattern.

    Most metrics depend only on the pattern: not on ids, scores, ties or the order within a query.
    If lists are short and judgments few, most queries share their pattern with another query: of a
    million queries with ten documents and three judgments each, only some ten thousand patterns
    differ.

    Returns:
        The judgments of one representative query per pattern, and for each query the number of its
        representative. If too few patterns repeat, every query is its own representative.
    """
    queries = np.arange(len(part.starts))
    if len(queries) < _FEWEST:
        return part, queries
    grade = grade_codes(part.grades)
    if int(grade.max()) > np.iinfo(np.uint16).max:
        return part, queries
    starts = part.starts[:_SAMPLE]
    sample = slice(0, int(part.starts[_SAMPLE]) if len(queries) > _SAMPLE else len(part.rank))
    marks = _marks(part.rank[sample], grade[sample], starts, part.retrieved[: len(starts)])
    if len(np.unique(marks)) > _WORTH * len(marks):
        return part, queries
    lengths = segment_lengths(part.starts, len(grade))
    code = number_segments(part.starts, len(grade))
    order = sort_order(code, part.rank, grade)
    rank, grade = part.rank[order], grade[order]
    numbers = representatives(_marks(rank, grade, part.starts, part.retrieved)).astype(np.int64)
    # Hashes may collide: a query that differs from its representative represents itself.
    for values in (lengths, part.retrieved, part.in_run):
        numbers = np.where(values[numbers] == values, numbers, queries)
    rows = spread(part.starts[numbers], part.starts, len(rank)) + position(part.starts, len(rank))
    equal = (rank[rows] == rank) & (grade[rows] == grade)
    numbers = np.where(np.logical_and.reduceat(equal, part.starts), numbers, queries)
    chosen = np.zeros(len(queries), np.bool_)
    chosen[numbers] = True
    return part.select(np.flatnonzero(chosen)), (np.cumsum(chosen) - 1)[numbers]


def _marks(rank: Codes, grade: Ints, starts: Ints, retrieved: Ints) -> Keys:
    """Return, for each query, a hash of its ranks and grades that ignores the order of rows."""
    rows = (rank.astype(np.uint64) << np.uint64(16) | grade.astype(np.uint64)) * FACTORS[0]
    rows ^= rows >> np.uint64(29)
    rows *= FACTORS[1]
    rows ^= rows >> np.uint64(32)
    marks = np.add.reduceat(rows, starts)
    marks += retrieved.astype(np.uint64) * FACTORS[0]
    return marks * FACTORS[1]
