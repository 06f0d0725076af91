"""Count concordant, discordant and tied pairs of documents in two rankings, without enumeration.

The rows of the pair frame are in order of the first ranking, so discordant pairs are the inversions
of the second ranking. Sorts within each query count the tied pairs. There is no loop over pairs or
queries.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.records import record
from rankframe.frames.pair_sides import Ranking
from rankframe.kernel.segments import (
    inversions,
    order_within,
    position,
    segment_lengths,
    segment_starts,
    spread,
)


class DocumentPairs:
    """Compare how two rankings order each pair of documents of a query."""

    def __init__(
        self,
        a: Ranking,
        b: Ranking,
        starts: Ints,
        missing: Literal["shared", "bottom"],
        k: int | None,
    ) -> None:
        """Select the documents to compare.

        Args:
            a: The first ranking.
            b: The second ranking.
            starts: The first row of each query.
            missing: "shared" compares the documents that both rankings have. "bottom" compares all
                documents: documents that a ranking lacks are tied below all of its documents.
            k: Only the top k of each ranking count; None: all.
        """
        self._rankings, self._height = (a, b), len(a.rank)
        self._inside = [r.present if k is None else r.present & (r.rank <= k) for r in (a, b)]
        in_a, in_b = self._inside
        self.compared = in_a & in_b if missing == "shared" else in_a | in_b
        self._rows = np.flatnonzero(self.compared)
        self._segments = _Segments.from_flags(self.compared, starts)
        self._bottom = missing == "bottom"

    def column(self, name: str) -> NDArray[Any] | pl.Series:
        """Return a column of the pair frame; 0 (or false) in rows that are not compared."""
        if name == "compared":
            return self.compared
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
            "above_in_b": lambda: self._segments.places(self._rank(1), tied=self._bottom).above,
            "above_in_both": lambda: self._by_rank.concordant,
        }[name]()
        if values is None:
            return np.zeros(self._height, np.int64)
        column = np.zeros(self._height, values.dtype)
        column[self._rows] = values
        return column

    @cached_property
    def _by_score(self) -> _PairCounts:
        """Count each document's concordant, discordant and tied pairs by score."""
        ties = tuple(ranking.tied or self._bottom for ranking in self._rankings)
        if not any(ranking.tied for ranking in self._rankings):
            return self._by_rank
        return self._segments.count_pairs(self._score(0), self._score(1), ties)

    @cached_property
    def _by_rank(self) -> _PairCounts:
        """Count each document's concordant and discordant pairs by rank.

        Equal scores are no ties.
        """
        ties = self._bottom, self._bottom
        return self._segments.count_pairs(self._rank(0), self._rank(1), ties)

    @cached_property
    def _places_a(self) -> _Places:
        tied = self._rankings[0].tied or self._bottom
        return self._segments.places(self._score(0), tied=tied, ordered=True)

    @cached_property
    def _places_b(self) -> _Places:
        tied = self._rankings[1].tied or self._bottom
        return self._segments.places(self._score(1), tied=tied)

    def _score(self, side: int) -> Ints:
        """Return integers that order the compared documents by descending score, with ties."""
        ranking = self._rankings[side]
        if not ranking.tied:
            return self._rank(side)
        # Twice the mean rank of a tie is a whole number.
        return self._choose((2 * ranking.tied_rank).astype(np.int64), side)

    def _rank(self, side: int) -> Ints:
        return self._choose(self._rankings[side].rank, side)

    def _choose(self, values: NDArray[Any], side: int) -> Ints:
        """Return `values` of the compared documents; those that a ranking lacks get the largest."""
        chosen = values[self._rows].astype(np.int64)
        if self._bottom:
            chosen[~self._inside[side][self._rows]] = values.max(initial=0) + 1
        return chosen

    def _deviation(self, side: str) -> pl.Series:
        """Return the scaled deviations of a ranking's scores from their mean.

        The mean is over the documents of the query that both rankings have.
        """
        score, other = (self._rankings[i].score for i in ((0, 1) if side == "a" else (1, 0)))
        if score is None or other is None:
            return pl.repeat(None, self._height, dtype=pl.Float64, eager=True)
        shared = (self._inside[0] & self._inside[1])[self._rows]
        rows = self._rows[shared]
        starts = segment_starts(self._segments.code[shared])
        deviation = np.full(self._height, np.nan)
        if len(rows):
            values = _scale(score[rows], starts)
            mean = np.add.reduceat(values, starts) / segment_lengths(starts, len(values))
            # Rounding: the mean of equal scores may differ from the score, as for three times 0.1.
            lowest, highest = (
                np.minimum.reduceat(values, starts),
                np.maximum.reduceat(values, starts),
            )
            mean = np.where(lowest == highest, lowest, mean)
            deviation[rows] = _scale(values - spread(mean, starts, len(values)), starts)
        return pl.Series(deviation).fill_nan(None)


@record
class _Places:
    """Hold the place of each document among the compared documents of its query."""

    # the number of documents above each document
    above: Codes
    # the mean rank of the tie, from 1
    mean: Floats
    # whether the document is the first of its tie
    first: Flags


@record
class _PairCounts:
    """Hold, for each document, counts of other documents by their relation to the document.

    Of the documents that the first ranking puts above the document, the second ranking puts
    `concordant` above it too, and `discordant` below it; `tied_second` are tied with it. The count
    `tied_first` is of documents that tie in the first ranking and are above in the second.
    """

    concordant: AnyInts
    discordant: AnyInts
    # None: 0 for all
    tied_second: AnyInts | None
    tied_first: AnyInts | None


@record
class _Segments:
    """Hold the start and length of each query's segment of compared documents."""

    starts: Ints
    lengths: Ints

    @classmethod
    def from_flags(cls, compared: Flags, starts: Ints) -> _Segments:
        """Return the start and length of each query's segment, without queries that have none.

        `compared` flags the compared rows; `starts` has the first row of each query.
        """
        lengths = np.add.reduceat(compared, starts, dtype=np.int64)
        lengths = lengths[lengths > 0]
        return cls(np.cumsum(lengths) - lengths, lengths)

    @cached_property
    def place(self) -> Codes:
        """Return the place of each document in its query, from 0."""
        return position(self.starts, int(self.lengths.sum()))

    @cached_property
    def code(self) -> Ints:
        """Return, for each document, the index of its query."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def places(self, values: Ints, *, tied: bool, ordered: bool = False) -> _Places:
        """Return the place of each document within its query by ascending `values`.

        Args:
            values: A number for each document.
            tied: Whether values of a query may be equal.
            ordered: Whether values ascend within each query.
        """
        order = None if ordered else order_within(self.starts, self.lengths, values)
        above = self.place
        first = np.ones(len(values), np.bool_)
        mean = above + 1.0
        if tied:
            first = self._first(values if order is None else values[order])
            above = self._place_of_first(first)
            starts = np.flatnonzero(first)
            size = segment_lengths(starts, len(values))
            mean = spread(above[starts] + 1 + (size - 1) / 2, starts, len(values))
        return _Places(*(_unsort(column, order) for column in (above, mean, first)))

    def count_pairs(self, first: Ints, second: Ints, ties: tuple[bool, ...]) -> _PairCounts:
        """Count each document's concordant, discordant and tied pairs in two orders.

        Args:
            first: A number for each document, ascending within each query.
            second: Another number for each document.
            ties: Whether numbers of a query may be equal, in `first` and in `second`.
        """
        starts, lengths = self.starts, self.lengths
        above, in_first, in_second = self.place, None, None
        if ties[0]:
            new = self._first(first)
            above = self._place_of_first(new)
            order = order_within(starts, lengths, above, second)
            ordered = second[order]
            discordant = _unsort(inversions(ordered, starts, lengths), order)
            # Documents that tie in the first ranking stay where they are.
            same = self._place_of_first(new | self._first(ordered)) - above
            in_first = _unsort(same, order)
        else:
            discordant = inversions(second, starts, lengths)
        concordant = above - discordant
        if ties[1]:
            order = order_within(starts, lengths, second, above)
            new = self._first(second[order])
            same = self._place_of_first(new | self._first(above[order]))
            same -= self._place_of_first(new)
            in_second = _unsort(same, order)
            concordant -= in_second
        return _PairCounts(concordant, discordant, in_second, in_first)

    def _first(self, values: NDArray[Any]) -> Flags:
        """Flag rows that differ from the row above, in their value or in their query."""
        first = np.zeros(len(values), np.bool_)
        first[1:] = values[1:] != values[:-1]
        first[self.starts] = True
        return first

    def _place_of_first(self, first: Flags) -> Codes:
        """Return the place of the last flagged row at or above each row."""
        starts = np.flatnonzero(first)
        return spread(self.place[starts], starts, len(first))


def _unsort(ordered: NDArray[Any], order: Ints | None) -> NDArray[Any]:
    """Undo the sort by the permutation `order`: return the values in their original order."""
    if order is None:
        return ordered
    values = np.empty_like(ordered)
    values[order] = ordered
    return values


def _scale(values: Floats, starts: Ints) -> Floats:
    """Multiply each query's values by a power of 2 that makes the largest about 1.

    No digit is lost, and neither sums nor squares can leave the range of floats.
    """
    _, exponent = np.frexp(np.maximum.reduceat(np.abs(values), starts))
    return np.ldexp(values, -spread(exponent, starts, len(values)))
