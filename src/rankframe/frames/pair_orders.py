"""Every pair of compared documents of a query, counted without looking at each pair.

Whether two rankings agree on two documents is a matter of order and ties. The rows of the pair
frame are in order of the first ranking, so that a count of inversions in the second gives how many
pairs are discordant; sorts within each query give those that are tied. Never a loop over queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.frames.pair_sides import Ranking
from rankframe.kernel.segments import (
    inversions,
    order_within,
    position,
    segment_lengths,
    segment_starts,
    spread,
)


class Compared:
    """Some rows of the pair frame: the documents that both rankings have, or (`bottom`) all, where
    one that a ranking lacks stands below all that it has; of the top k of each, where k is given.

    `starts`: the first row of each query.
    """

    def __init__(
        self,
        a: Ranking,
        b: Ranking,
        starts: Ints,
        missing: Literal["shared", "bottom"],
        k: int | None,
    ) -> None:
        self._rows = len(a.rank)
        in_a, in_b = (r.present if k is None else r.present & (r.rank <= k) for r in (a, b))
        both = in_a & in_b
        self.chosen = both if missing == "shared" else in_a | in_b
        self._at = np.flatnonzero(self.chosen)
        self._both = both[self._at]
        self._segments = _Segments.of(self.chosen, starts)
        self._rankings, self._inside = (a, b), (in_a, in_b)
        # Documents that are not there stand beside each other, at the bottom.
        self._beside = missing == "bottom"

    def column(self, name: str) -> NDArray[Any] | pl.Series:
        """A column of the pair frame; 0 (or false) where a row is not compared."""
        if name == "compared":
            return self.chosen
        if name.startswith("deviation"):
            return self._deviation(name[-1])
        values = {
            "concordant": lambda: self._by_score.concordant,
            "discordant": lambda: self._by_score.discordant,
            "tied_in_b": lambda: self._by_score.tied_second,
            "tied_in_a": lambda: self._by_score.tied_first,
            "distinct_a": lambda: self._places_a.first,
            "distinct_b": lambda: self._places_b.first,
            "mean_rank_a": lambda: self._places_a.mean,
            "mean_rank_b": lambda: self._places_b.mean,
            "above_in_b": lambda: self._walk.above,
            "above_in_both": lambda: self._by_rank.concordant,
        }[name]()
        if values is None:
            return np.zeros(self._rows, np.int64)
        column = np.zeros(self._rows, values.dtype)
        column[self._at] = values
        return column

    @cached_property
    def _by_score(self) -> _Orders:
        """The orders by score, where equal ones tie."""
        if not any(ranking.tied for ranking in self._rankings):
            return self._by_rank
        ties = tuple(ranking.tied or self._beside for ranking in self._rankings)
        return _orders(self._segments, self._score(0), self._score(1), ties)

    @cached_property
    def _by_rank(self) -> _Orders:
        """The orders by rank, ties broken as in a run."""
        ties = self._beside, self._beside
        return _orders(self._segments, self._rank(0), self._rank(1), ties)

    @cached_property
    def _walk(self) -> _Places:
        return _Places.of(self._segments, self._rank(1), tied=self._beside)

    @cached_property
    def _places_a(self) -> _Places:
        tied = self._rankings[0].tied or self._beside
        return _Places.of(self._segments, self._score(0), tied=tied, ordered=True)

    @cached_property
    def _places_b(self) -> _Places:
        tied = self._rankings[1].tied or self._beside
        return _Places.of(self._segments, self._score(1), tied=tied)

    def _score(self, side: int) -> Ints:
        """Numbers that sort as the scores of the compared do, the best first."""
        ranking = self._rankings[side]
        if not ranking.tied:
            return self._rank(side)
        # Twice the mean rank of a tie is a whole number.
        return self._bottom((2 * ranking.tied_rank).astype(np.int64), side)

    def _rank(self, side: int) -> Ints:
        return self._bottom(self._rankings[side].rank, side)

    def _bottom(self, places: NDArray[Any], side: int) -> Ints:
        """Places of the compared, with one below all others for documents that are not there."""
        some = places[self._at].astype(np.int64)
        if self._beside:
            some[~self._inside[side][self._at]] = places.max(initial=0) + 1
        return some

    def _deviation(self, side: str) -> pl.Series:
        score, other = (
            self._rankings["ab".index(side)].score,
            self._rankings["ba".index(side)].score,
        )
        if score is None or other is None:
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, self._rows)
        rows = self._at[self._both]
        starts = segment_starts(self._segments.code[self._both])
        deviation = np.full(self._rows, np.nan)
        if len(rows):
            values = _scaled(score[rows], starts)
            mean = np.add.reduceat(values, starts) / segment_lengths(starts, len(values))
            # The mean of equal scores is not always that score: 0.1, three times.
            lowest, highest = (of.reduceat(values, starts) for of in (np.minimum, np.maximum))
            mean = np.where(lowest == highest, lowest, mean)
            deviation[rows] = _scaled(values - spread(mean, starts, len(values)), starts)
        return pl.Series(deviation).fill_nan(None)


@dataclass(frozen=True)
class _Segments:
    """The compared documents of each query that has some."""

    starts: Ints
    lengths: Ints

    @classmethod
    def of(cls, chosen: Flags, starts: Ints) -> _Segments:
        upto = np.cumsum(chosen, dtype=np.int64)
        begin = upto[starts] - chosen[starts]
        lengths = np.diff(begin, append=upto[-1:])
        some = lengths > 0
        return cls(begin[some], lengths[some])

    @cached_property
    def place(self) -> Codes:
        """The place of each in its query, from 0."""
        return position(self.starts, int(self.lengths.sum()))

    @cached_property
    def code(self) -> Ints:
        """The number of each one's query."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def first(self, *keys: NDArray[Any]) -> Flags:
        """Which rows differ from the one above, in a key or in their query."""
        new = np.zeros(len(keys[0]), np.bool_)
        for key in keys:
            new[1:] |= key[1:] != key[:-1]
        new[self.starts] = True
        return new

    def place_of_first(self, first: Flags) -> Codes:
        """The place of the last row at or above each one that is such a first."""
        starts = np.flatnonzero(first)
        return spread(self.place[starts], starts, len(first))


@dataclass(frozen=True)
class _Places:
    """Where documents stand among the compared of their query."""

    # how many stand above each; ties share the mean of their places, from 1
    above: Codes
    mean: Floats
    # whether no document before it has its number
    first: Flags

    @classmethod
    def of(cls, segments: _Segments, values: Ints, *, tied: bool, ordered: bool = False) -> _Places:
        """By numbers, the smallest first; `ordered`: so they come."""
        order = None if ordered else order_within(segments.starts, segments.lengths, values)
        above = segments.place
        first = np.ones(len(values), np.bool_)
        mean = above + 1.0
        if tied:
            first = segments.first(values if order is None else values[order])
            above = segments.place_of_first(first)
            starts = np.flatnonzero(first)
            size = segment_lengths(starts, len(values))
            mean = spread(above[starts] + 1 + (size - 1) / 2, starts, len(values))
        return cls(*(_back(some, order) for some in (above, mean, first)))


@dataclass(frozen=True)
class _Orders:
    """For each document, of those that the first ranking puts above it: how many the second does
    too, puts below it, or ties with it; and how many the first ties and the second puts above it.
    """

    concordant: AnyInts
    discordant: AnyInts
    # None: 0 for all
    tied_second: AnyInts | None
    tied_first: AnyInts | None


def _orders(segments: _Segments, first: Ints, second: Ints, ties: tuple[bool, ...]) -> _Orders:
    """Count pairs of documents in order of the first ranking; `ties`: which may have some."""
    tied_first, tied_second = ties
    starts, lengths = segments.starts, segments.lengths
    above, beside_first, beside_second = segments.place, None, None
    if tied_first:
        new = segments.first(first)
        above = segments.place_of_first(new)
        order = order_within(starts, lengths, above, second)
        ordered = second[order]
        against = _back(inversions(ordered, starts, lengths), order)
        # Whatever ties in the first lies where it did.
        same = segments.place_of_first(new | segments.first(ordered)) - above
        beside_first = _back(same, order)
    else:
        against = inversions(second, starts, lengths)
    concordant = above - against
    if tied_second:
        order = order_within(starts, lengths, second, above)
        new = segments.first(second[order])
        same = segments.place_of_first(new | segments.first(above[order]))
        same -= segments.place_of_first(new)
        beside_second = _back(same, order)
        concordant -= beside_second
    return _Orders(concordant, against, beside_second, beside_first)


def _back(ordered: NDArray[Any], order: Ints | None) -> NDArray[Any]:
    """Values of sorted rows, on the rows as they were."""
    if order is None:
        return ordered
    given = np.empty_like(ordered)
    given[order] = ordered
    return given


def _scaled(values: Floats, starts: Ints) -> Floats:
    """Each query's values times a power of 2 that makes the largest about 1: no digit is lost, and
    neither their sum nor their squares can leave the range of floats.
    """
    _, exponent = np.frexp(np.maximum.reduceat(np.abs(values), starts))
    return np.ldexp(values, -spread(exponent, starts, len(values)))
