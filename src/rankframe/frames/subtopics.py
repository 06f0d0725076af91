"""Lists that take next what adds most: the greedy ideal of documents that are about several things.

All queries take their next document at the same time: a loop over ranks, not over queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, GROUPED_FRAME, QUERY, RANK, RELEVANCE
from rankframe.frames.judged import grade_codes
from rankframe.frames.judgments import NO_SUBTOPIC
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

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# What a group is worth is a whole number of so many bits, and a document may be about 2^17 of them:
# sums of whole numbers are the same in any order, so that equal worth is seen to be equal.
_BITS = 46
# When this share of the documents is left, the documents that were taken are dropped.
_FEW = 0.5
_TAKEN = -1


@dataclass(frozen=True)
class Greedy:
    """Hold the rank of each document, and what is above it."""

    # one a document, from 1; 0: below what was asked for
    rank: Ints
    # one a row: documents above it that are about the same
    above: Ints


@dataclass(frozen=True)
class About:
    """Hold what documents are about: a row for each document and subtopic, document by document."""

    # the query of each document, ascending; of equal ones, the first document is taken first
    query: Ints
    # the first row of each document, and of each row the number of its group among all queries'
    starts: Ints
    group: Ints

    def some(self, documents: NDArray[np.bool_]) -> tuple[About, Ints]:
        """Select documents; return also the rows that are theirs."""
        kept = np.flatnonzero(documents)
        lengths = segment_lengths(self.starts, len(self.group))[kept]
        rows = ranges(self.starts[kept], lengths)
        starts = np.cumsum(lengths) - lengths
        return replace(self, query=self.query[kept], starts=starts, group=self.group[rows]), rows


def greedy(about: About, weights: Floats, alpha: float, deepest: int | None = None) -> Greedy:
    """Take, again and again, the document of each query whose subtopics are worth most.

    A group is worth its weight, (1 − α) times as much each time that it was seen. `weights`: of the
    groups. `deepest`: how many documents are taken at the most.

    >>> three = About(np.zeros(3, int), np.array([0, 1, 3]), np.array([0, 0, 1, 1]))
    >>> greedy(three, np.ones(2), 0.5).rank
    array([2, 1, 3])
    """
    rank = np.zeros(len(about.query), np.int64)
    above = np.zeros(len(about.group), np.int64)
    seen = np.zeros(len(weights), np.int64)
    scaled = _scaled(about, weights)
    worth = np.rint(scaled).astype(np.int64)
    # The documents and rows that are left, as numbered at first.
    documents, rows = np.arange(len(rank)), np.arange(len(above))
    left, free = len(rank), np.ones(len(rank), np.bool_)
    at = 0
    while left and (deepest is None or at < deepest):
        at += 1
        if left < _FEW * len(documents):
            about, kept = about.some(free)
            documents, rows = documents[free], rows[kept]
            free = np.ones(len(documents), np.bool_)
        gain = np.add.reduceat(worth[about.group], about.starts)
        gain[~free] = _TAKEN
        taken = _best(gain, about.query)
        taken = taken[free[taken]]
        lengths = segment_lengths(about.starts, len(about.group))[taken]
        theirs = ranges(about.starts[taken], lengths)
        groups = about.group[theirs]
        rank[documents[taken]] = at
        above[rows[theirs]] = seen[groups]
        seen[groups] += 1
        worth[groups] = np.rint(scaled[groups] * _powers(1 - alpha, at)[seen[groups]])
        free[taken] = False
        left -= len(taken)
    return Greedy(rank, above)


def _scaled(about: About, weights: Floats) -> Floats:
    """Weights as parts of the largest one of their query, which takes all bits; by a power of 2,
    so that no weight is rounded because of another.
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
    """The first document of the largest gain, of each query."""
    starts = segment_starts(query)
    largest = spread(np.maximum.reduceat(gain, starts), starts, len(gain))
    best = np.flatnonzero(gain == largest)
    return best[segment_starts(query[best])]


def _powers(base: float, most: int) -> Floats:
    """1, base, base², …"""
    powers = np.full(most + 1, base)
    powers[0] = 1.0
    return np.cumprod(powers, dtype=np.float64)


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Groups:
    """The rows of the grouped frame as flat arrays, by query, rank and group; columns on demand."""

    def __init__(
        self,
        part: Matched,
        *,
        rel: float | None = None,
        max_grade: float | None = None,
        settle: bool = False,
        deepest: int | None = None,
    ) -> None:
        """`settle`: see `needs_ids`; `deepest`: the ideal list is looked at down to here."""
        rows = part.groups
        assert rows is not None  # whoever asks for groups saw that there are some
        self._part, self._rel, self._deepest = part, rel, deepest
        self.queries = part.queries
        rank, code = part.rank[rows.of], number_segments(part.starts, len(part.rank))[rows.of]
        last = int(rank.max(initial=0)) + 1
        # The group and the grade settle the order of unretrieved rows, as far as values go.
        keys = [
            code,
            np.where(rank, rank, last),
            rows.group - NO_SUBTOPIC,
            grade_codes(rows.grades),
        ]
        if settle:
            keys.append(self._ids_rising[rows.of])
        order = sort_order(*keys)
        self.code, self.rank, self.document = code[order], rank[order], rows.of[order]
        self.grade, self.group, self._order = rows.grades[order], rows.group[order], order
        self.starts = segment_starts(self.code)
        self._max_grade = float(self.grade.max(initial=0)) if max_grade is None else max_grade
        # The rows group by group, each as ranked, and where each group of a query begins.
        self._grouped = sort_order(self.code, self.group - NO_SUBTOPIC)
        both = self.code.astype(np.int64) * (len(rows.names) + 1) + self.group
        self._begins = segment_starts(both[self._grouped])

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """The grouped frame with these columns (and no others computed)."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        request = GROUPED_FRAME.request(name)
        rel = self._rel if request.rel is None else request.rel
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: taken(self.queries, self.code),
            DOC: lambda: taken(self._part.docs(), self.document),
            GROUP: self._names,
            RELEVANCE: lambda: self.grade,
            "relevant": partial(self._relevant, rel),
            RANK: lambda: self._where_retrieved(self.rank),
            "above": lambda: self._where_retrieved(self._count(rel) - self._relevant(rel)),
            "first": lambda: self._relevant(rel) & (self._count(rel) == 1),
            "groups": partial(self._groups, rel),
            "group_relevant": lambda: self._per_group(self._relevant(rel), np.add),
            GROUP_WEIGHT: lambda: self._weights,
            "unsatisfied": lambda: self._where_retrieved(self._unsatisfied()),
            "ideal_rank": lambda: self._ideal(request.alpha, rel)[0],
            "ideal_above": lambda: self._ideal(request.alpha, rel)[1],
            "ideal_dcg": lambda: self._ideal_dcg(np.maximum(self.grade, 0), request.k),
            "ideal_dcg_exp2": lambda: self._ideal_dcg(
                _power_of_2(np.maximum(self.grade, 0)) - 1, request.k
            ),
            "retrieved": lambda: spread(self._part.retrieved, self.starts, len(self.code)),
            "max_grade": lambda: np.full(len(self.code), self._max_grade),
        }
        values = makers[request.column]()
        return pl.Series(name, values, dtype=GROUPED_FRAME.columns[request.column].type)

    def _relevant(self, rel: float | None) -> NDArray[np.bool_]:
        relevant = self.grade > 0 if rel is None else self.grade >= rel
        return relevant & (self.group != NO_SUBTOPIC)

    def _names(self) -> pl.Series:
        rows = self._part.groups
        assert rows is not None
        named = rows.names if len(rows.names) else pl.Series([""])
        names = taken(named, np.maximum(self.group, 0))
        known = pl.Series("known", self.group != NO_SUBTOPIC)
        return pl.select(pl.when(known).then(names)).to_series()

    @cached_property
    def _weights(self) -> Floats:
        rows = self._part.groups
        if rows is None or rows.weights is None:
            return np.ones(len(self.code))
        return np.where(self.group == NO_SUBTOPIC, 1.0, rows.weights[self._order])

    @cached_property
    def _ids_rising(self) -> Ints:
        """Of each document a number; these sort as the ids do."""
        return self._part.docs().rank("ordinal").to_numpy().astype(np.int64)

    def _by_group(self, values: NDArray[Any]) -> NDArray[Any]:
        """What was computed group by group, on the rows as they are."""
        back = np.empty_like(values)
        back[self._grouped] = values
        return back

    def _per_group(self, values: NDArray[Any], how: np.ufunc) -> NDArray[Any]:
        """Values of each group as one, on all of its rows."""
        kind = np.int64 if values.dtype == np.bool_ else values.dtype
        each = how.reduceat(values[self._grouped].astype(kind), self._begins)
        return self._by_group(spread(each, self._begins, len(self.code)))

    def _count(self, rel: float | None) -> NDArray[np.int32]:
        """Documents relevant to the group from the top down to each row, itself included."""
        flags = self._relevant(rel)[self._grouped]
        return self._by_group(running_count(flags, self._begins))

    def _groups(self, rel: float | None) -> Ints:
        first = self._relevant(rel) & (self._count(rel) == 1)
        each = np.add.reduceat(first, self.starts, dtype=np.int64)
        return spread(each, self.starts, len(self.code))

    def _unsatisfied(self) -> Floats:
        """Down each group, one rank at a time: all groups that go on as far."""
        grade = np.maximum(self.grade[self._grouped], 0)
        rest = 1 - (_power_of_2(grade) - 1) / _power_of_2(np.array([self._max_grade]))
        place = position(self._begins, len(self.code))
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place))
        left = np.ones(len(self.code))
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            rows = order[start:end]
            left[rows] = left[rows - 1] * rest[rows - 1]
        return self._by_group(left)

    def _ideal(self, alpha: float, rel: float | None) -> tuple[pl.Series, pl.Series]:
        key = alpha, rel
        if key not in self._ideals:
            self._ideals[key] = self._greedy(alpha, rel)
        return self._ideals[key]

    @cached_property
    def _ideals(self) -> dict[tuple[float, float | None], tuple[pl.Series, pl.Series]]:
        return {}

    def _greedy(self, alpha: float, rel: float | None) -> tuple[pl.Series, pl.Series]:
        """Places in the greedy ideal list, and what is above: null where nothing is relevant."""
        rows = np.flatnonzero(self._relevant(rel))
        falling = len(self._part.rank) - self._ids_rising[self.document[rows]]
        rows = rows[sort_order(self.code[rows], falling)]
        starts = segment_starts(self.document[rows])
        instance = self._by_group(number_segments(self._begins, len(self.code)).astype(np.int64))
        weights = np.ones(len(self._begins))
        weights[instance] = self._weights
        about = About(self.code[rows][starts].astype(np.int64), starts, instance[rows])
        found = greedy(about, weights, alpha, self._deepest)
        rank, above = np.zeros(len(self.code), np.int64), np.zeros(len(self.code), np.int64)
        rank[rows] = spread(found.rank, starts, len(rows))
        above[rows] = found.above
        there = pl.Series("there", rank > 0)
        values = (pl.Series("value", some) for some in (rank, above))
        placed = [pl.select(pl.when(there).then(some)).to_series() for some in values]
        return placed[0], placed[1]

    def _ideal_dcg(self, gain: Floats, k: int | None) -> Floats:
        """The DCG of each group's documents by grade, down to k."""
        gain = np.where(self.group == NO_SUBTOPIC, 0.0, gain)
        instance = self._by_group(number_segments(self._begins, len(self.code)))
        order = sort_order(instance, grade_codes(self.grade))
        place = position(self._begins, len(self.code)).astype(np.int64) + 1
        terms = gain[order] / np.log2(place + 1)
        if k is not None:
            terms[place > k] = 0.0
        sums = np.add.reduceat(terms, self._begins)
        return sums[instance]

    def _where_retrieved(self, values: NDArray[Any]) -> pl.Series:
        retrieved = pl.Series("retrieved", self.rank > 0)
        return pl.select(pl.when(retrieved).then(pl.Series("values", values))).to_series()


def needs_ids(columns: Collection[str]) -> bool:
    """Whether the order of rows that were not retrieved has to be settled by their ids: where these
    are looked at, and where they tell documents apart that are equal in all else.
    """
    settled = {DOC, "ideal_rank", "ideal_above"}
    return not settled.isdisjoint(GROUPED_FRAME.without_parameters(columns))


def _power_of_2(exponent: Floats) -> Floats:
    """2 to the power of each; whole powers are exact."""
    whole = np.floor(exponent)
    return np.ldexp(np.exp((exponent - whole) * math.log(2)), whole.astype(np.int64))
