"""Build the subtopic frame of judged documents: one row per document and subtopic.

Ranks are the ranks of the judged frame: the run is matched once for both frames. The ideal list is
built greedily: the next document is always the document with the largest gain. The loop is over
ranks, and processes all queries at once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC, SUBTOPIC, SUBTOPIC_FRAME, SUBTOPIC_WEIGHT, ColumnRequest
from rankframe.core.records import record
from rankframe.frames.column_frame import where
from rankframe.frames.judged import Maker, RowsByRank, grade_codes
from rankframe.frames.judgments import NO_SUBTOPIC
from rankframe.frames.matches import MatchedJudgments
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

# The gain of a subtopic is a whole number of `_BITS` bits, which leaves room for a document with
# about 2^17 subtopics. Sums of whole numbers are exact in any order, so equal gains compare equal.
_BITS = 46
# Arrays are compacted when no more than this share of the documents remains.
_FEW = 0.5
_TAKEN = -1


@record
class About:
    """Hold which subtopics each document is about: a row per document and subtopic."""

    # the query of each document, ascending; among documents with equal gain, the first is taken
    query: Ints
    # the first row of each document, and each row's subtopic, numbered over all queries
    starts: Ints
    group: Ints

    def select(self, documents: Flags) -> tuple[About, Ints]:
        """Return the subtopics of the flagged documents, and the indices of their rows."""
        kept = np.flatnonzero(documents)
        lengths = segment_lengths(self.starts, len(self.group))[kept]
        rows = ranges(self.starts[kept], lengths)
        starts = np.cumsum(lengths) - lengths
        return replace(self, query=self.query[kept], starts=starts, group=self.group[rows]), rows


def greedy(
    about: About, weights: Floats, alpha: float, deepest: int | None = None
) -> tuple[Ints, Ints]:
    """Build each query's ideal list greedily: repeatedly take the document of the largest gain.

    A document's gain is the sum over its subtopics. The gain of a subtopic is its weight at first,
    and is multiplied by 1 − α after each document about it.

    Args:
        about: The subtopics of the documents.
        weights: The weight of each subtopic.
        alpha: The α above.
        deepest: The last rank to fill; None: take all documents.

    Returns:
        The rank of each document, from 1 (0: below `deepest`), and for each row the number of
        documents above that are about its subtopic.

    >>> three = About(np.zeros(3, int), np.array([0, 1, 3]), np.array([0, 0, 1, 1]))
    >>> greedy(three, np.ones(2), 0.5)[0]
    array([2, 1, 3])
    """
    rank = np.zeros(len(about.query), np.int64)
    above = np.zeros(len(about.group), np.int64)
    times = np.zeros(len(weights), np.int64)
    scaled = _scaled(about, weights)
    worth = np.rint(scaled).astype(np.int64)
    # The original numbers of the remaining documents and rows.
    documents, rows = np.arange(len(rank)), np.arange(len(above))
    left, free = len(rank), np.ones(len(rank), np.bool_)
    depth = 0
    while left and (deepest is None or depth < deepest):
        depth += 1
        if left < _FEW * len(documents):
            about, kept = about.select(free)
            documents, rows = documents[free], rows[kept]
            free = np.ones(len(documents), np.bool_)
        gain = np.add.reduceat(worth[about.group], about.starts)
        gain[~free] = _TAKEN
        best = _best(gain, about.query)
        best = best[free[best]]
        lengths = segment_lengths(about.starts, len(about.group))[best]
        own = ranges(about.starts[best], lengths)
        groups = about.group[own]
        rank[documents[best]] = depth
        above[rows[own]] = times[groups]
        times[groups] += 1
        worth[groups] = np.rint(scaled[groups] * _powers(1 - alpha, depth)[times[groups]])
        free[best] = False
        left -= len(best)
    return rank, above


def _scaled(about: About, weights: Floats) -> Floats:
    """Scale the weights of each query so that the largest weight uses all `_BITS` bits.

    The factor is a power of 2, so that scaling does not round.
    """
    if not len(about.query):
        return weights
    document = number_segments(about.starts, len(about.group))
    starts = segment_starts(about.query[document])
    largest = np.maximum.reduceat(weights[about.group], starts)
    scale = np.ones(len(weights))
    exponent = np.frexp(largest)[1]
    scale[about.group] = spread(np.ldexp(1.0, _BITS - exponent), starts, len(document))
    return weights * scale


def _best(gain: Ints, query: Ints) -> Ints:
    """Return, for each query, the index of the first document with the largest gain."""
    starts = segment_starts(query)
    largest = spread(np.maximum.reduceat(gain, starts), starts, len(gain))
    best = np.flatnonzero(gain == largest)
    return best[segment_starts(query[best])]


def _powers(base: float, last: int) -> Floats:
    """Return base to the power of 0, 1, …, last."""
    powers = np.full(last + 1, base)
    powers[0] = 1.0
    return np.cumprod(powers, dtype=np.float64)


class SubtopicFrame(RowsByRank):
    """Hold the subtopic frame, one row per judged document and subtopic, by query and rank."""

    columns = SUBTOPIC_FRAME

    def __init__(
        self,
        part: MatchedJudgments,
        *,
        rel: float | None = None,
        max_grade: float | None = None,
        settle: bool = False,
        deepest: int | None = None,
    ) -> None:
        """Sort the rows by query, rank and subtopic.

        `settle` sorts unretrieved rows by id, too (see `needs_ids`). `deepest` is the last rank of
        ideal lists.
        """
        rows = part.subtopics
        assert rows is not None  # callers refuse judgments without subtopics
        self._part, self._rows, self._deepest = part, rows, deepest
        self._ideals: dict[tuple[float, float | None], tuple[pl.Series, pl.Series]] = {}
        # Unretrieved rows with the same subtopic and grade have the same values.
        keys = [rows.group - NO_SUBTOPIC, grade_codes(rows.grades)]
        if settle:
            keys.append(self._id_numbers[rows.document])
        highest = float(rows.grades.max(initial=0)) if max_grade is None else max_grade
        super().__init__(part, rows.grades, rows.document, keys, rel=rel, max_grade=highest)
        self.group = rows.group[self._order]
        # The rows by query, subtopic and rank, and where each subtopic of a query begins.
        self._grouped = sort_order(self.code, self.group - NO_SUBTOPIC)
        self._begins = segment_starts(self.code[self._grouped], self.group[self._grouped])

    def _makers(self, request: ColumnRequest, rel: float | None) -> Mapping[str, Maker]:
        return {
            SUBTOPIC: self._names,
            "above": lambda: self._where_retrieved(self._count(rel) - self.relevant(rel)),
            "first": lambda: self._first(rel),
            "subtopics": lambda: self._spread(
                np.add.reduceat(self._first(rel), self.starts, dtype=np.int64)
            ),
            "subtopic_relevant": lambda: self._per_group(self.relevant(rel)),
            SUBTOPIC_WEIGHT: lambda: self._weights,
            "unsatisfied": lambda: self._where_retrieved(self._unsatisfied()),
            "ideal_rank": lambda: self._ideal(request.alpha, rel)[0],
            "ideal_above": lambda: self._ideal(request.alpha, rel)[1],
            "ideal_dcg": lambda: self._ideal_dcg(np.maximum(self.grade, 0), request.k),
            "ideal_dcg_exp2": lambda: self._ideal_dcg(
                _power_of_2(np.maximum(self.grade, 0)) - 1, request.k
            ),
        }

    def relevant(self, rel: float | None) -> Flags:
        """Flag rows with a subtopic and a relevant grade: at least `rel`, or if None, above 0."""
        return super().relevant(rel) & (self.group != NO_SUBTOPIC)

    def _first(self, rel: float | None) -> Flags:
        """Flag, for each subtopic of a query, the first document that is relevant to it."""
        return self.relevant(rel) & (self._count(rel) == 1)

    def _names(self) -> pl.Series:
        names = self._rows.names if len(self._rows.names) else pl.Series([""])
        named = pl.Series("named", self.group != NO_SUBTOPIC)
        chosen = pl.when(named).then(taken(names, np.maximum(self.group, 0)))
        return pl.select(chosen).to_series()

    @cached_property
    def _weights(self) -> Floats:
        if self._rows.weights is None:
            return np.ones(len(self.code))
        return np.where(self.group == NO_SUBTOPIC, 1.0, self._rows.weights[self._order])

    @cached_property
    def _id_numbers(self) -> Ints:
        """Return, for each document, the place of its id among all ids in order."""
        return self._part.docs.rank("ordinal").to_numpy().astype(np.int64)

    def _by_group(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put values that are ordered by query and subtopic into the order of the frame's rows."""
        back = np.empty_like(values)
        back[self._grouped] = values
        return back

    def _per_group(self, flags: Flags) -> Ints:
        """Return, for each row, the number of flagged rows with the same query and subtopic."""
        counts = np.add.reduceat(flags[self._grouped], self._begins, dtype=np.int64)
        return self._by_group(spread(counts, self._begins, len(self.code)))

    def _count(self, rel: float | None) -> Codes:
        """Count, for each row, the documents relevant to its subtopic from the top to the row."""
        return self._by_group(running_count(self.relevant(rel)[self._grouped], self._begins))

    def _unsatisfied(self) -> Floats:
        """Return the probability that no document above satisfied the need for the row's subtopic.

        The loop is over positions within subtopics, and processes all subtopics at once.
        """
        grade = np.maximum(self.grade[self._grouped], 0)
        rest = 1 - (_power_of_2(grade) - 1) / _power_of_2(np.array([self.max_grade]))
        place = position(self._begins, len(self.code))
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        left = np.ones(len(self.code))
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            rows = order[start:end]
            left[rows] = left[rows - 1] * rest[rows - 1]
        return self._by_group(left)

    def _ideal(self, alpha: float, rel: float | None) -> tuple[pl.Series, pl.Series]:
        """Return each row's ideal rank (greedy), and how many documents above are on its subtopic.

        The count is the number of documents above in the ideal list that are about the subtopic of
        the row. Both columns are null in rows that are not relevant.
        """
        if (alpha, rel) in self._ideals:
            return self._ideals[alpha, rel]
        rows = np.flatnonzero(self.relevant(rel))
        falling = len(self._part.rank) - self._id_numbers[self.document[rows]]
        rows = rows[sort_order(self.code[rows], falling)]
        starts = segment_starts(self.document[rows])
        instance = self._by_group(number_segments(self._begins, len(self.code)).astype(np.int64))
        weights = np.ones(len(self._begins))
        weights[instance] = self._weights
        about = About(self.code[rows][starts].astype(np.int64), starts, instance[rows])
        ideal, above = np.zeros((2, len(self.code)), np.int64)
        ranks, above[rows] = greedy(about, weights, alpha, self._deepest)
        ideal[rows] = spread(ranks, starts, len(rows))
        self._ideals[alpha, rel] = where(ideal > 0, ideal), where(ideal > 0, above)
        return self._ideals[alpha, rel]

    def _ideal_dcg(self, gain: Floats, k: int | None) -> Floats:
        """Compute, for each subtopic of a query, the DCG down to k of its documents by grade."""
        gain = np.where(self.group == NO_SUBTOPIC, 0.0, gain)
        instance = self._by_group(number_segments(self._begins, len(self.code)))
        order = sort_order(instance, grade_codes(self.grade))
        place = position(self._begins, len(self.code)).astype(np.int64) + 1
        terms = gain[order] / np.log2(place + 1)
        if k is not None:
            terms[place > k] = 0.0
        sums = np.add.reduceat(terms, self._begins)
        return sums[instance]


def needs_ids(columns: Collection[str]) -> bool:
    """Tell whether one of `columns` depends on unretrieved rows being sorted by document id."""
    dependent = {DOC, "ideal_rank", "ideal_above"}
    return not dependent.isdisjoint(SUBTOPIC_FRAME.without_parameters(columns))


def _power_of_2(exponent: Floats) -> Floats:
    """Return 2 to the power of each exponent; whole powers are exact."""
    whole = np.floor(exponent)
    return np.ldexp(np.exp((exponent - whole) * math.log(2)), whole.astype(np.int64))
