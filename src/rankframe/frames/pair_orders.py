"""Every pair of compared documents of a query, counted without looking at each pair.

Whether two rankings agree on two documents is a matter of order and ties. For all queries at once,
sorts by one ranking and then the other, and one count of inversions, give how many pairs are
concordant, discordant or tied: O(n log n), never a loop over queries.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.segments import (
    inversions,
    position,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)
from rankframe.frames.pair_ranking import Ranking

Whole = NDArray[np.int64]


class Compared:
    """Some rows of the pair frame: the documents that both rankings have, or (`bottom`) all, where
    one that a ranking lacks stands below all that it has; of the top k of each, where k is given.
    """

    def __init__(
        self,
        a: Ranking,
        b: Ranking,
        code: NDArray[np.int32],
        missing: Literal["shared", "bottom"],
        k: int | None,
    ) -> None:
        self._rows = len(code)
        in_a, in_b = (r.present if k is None else r.present & (r.rank <= k) for r in (a, b))
        self.chosen = in_a & in_b if missing == "shared" else in_a | in_b
        self._at = np.flatnonzero(self.chosen)
        self._code = code[self._at]
        self._starts = segment_starts(self._code)
        self._both = (in_a & in_b)[self._at]
        self._rank_a, self._rank_b = (
            _bottom(r.rank, inside)[self._at] for r, inside in ((a, in_a), (b, in_b))
        )
        # Twice the mean rank of a tie is a whole number that sorts as the scores do.
        self._place_a, self._place_b = (
            _bottom((2 * r.tied_rank).astype(np.int64), inside)[self._at]
            for r, inside in ((a, in_a), (b, in_b))
        )
        self._scores = a.score, b.score

    def column(self, name: str) -> NDArray[Any] | pl.Series:
        """A column of the pair frame; 0 (or false) where a row is not compared."""
        if name == "compared":
            return self.chosen
        if name.startswith("deviation"):
            return self._deviation(name[-1])
        values = {
            "concordant": lambda: self._orders[0],
            "discordant": lambda: self._orders[1],
            "tied_in_b": lambda: self._orders[2],
            "tied_in_a": lambda: self._orders[3],
            "distinct_a": lambda: self._ranks(self._place_a)[1],
            "distinct_b": lambda: self._ranks(self._place_b)[1],
            "mean_rank_a": lambda: self._ranks(self._place_a)[0],
            "mean_rank_b": lambda: self._ranks(self._place_b)[0],
            "above_in_b": lambda: self._walk[0],
            "above_in_both": lambda: self._walk[1],
        }[name]()
        column = np.zeros(self._rows, values.dtype)
        column[self._at] = values
        return column

    @cached_property
    def _orders(self) -> tuple[Whole, Whole, Whole, Whole]:
        """Concordant, discordant, tied only in b, tied only in a: see the pair frame."""
        return self._counts(self._place_a, self._place_b)

    @cached_property
    def _walk(self) -> tuple[Whole, Whole]:
        """How many stand above each document in b, and in both, ties broken as in a run."""
        concordant, discordant, tied_in_a, _ = self._counts(self._rank_b, self._rank_a)
        return concordant + discordant + tied_in_a, concordant

    def _counts(self, first: Whole, second: Whole) -> tuple[Whole, Whole, Whole, Whole]:
        """For each document, of those that `first` puts above it: how many `second` does too, puts
        below it, or ties with it; and how many `first` ties and `second` puts above it.
        """
        order = sort_order(self._code, first, second)
        code, x, y = self._code[order], first[order], second[order]
        place = position(self._starts, len(code)).astype(np.int64)
        group = _first_of(place, code, x)  # also how many stand above
        tied_first = _first_of(place, code, x, y) - group
        against = inversions(_dense(code, y), self._starts).astype(np.int64)
        by_second = sort_order(self._code, second, first)
        code, x, y = self._code[by_second], first[by_second], second[by_second]
        tied_second = np.empty(len(code), np.int64)
        tied_second[by_second] = _first_of(place, code, y, x) - _first_of(place, code, y)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        above, against, tied_first = group[back], against[back], tied_first[back]
        return above - against - tied_second, against, tied_second, tied_first

    def _ranks(self, place: Whole) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Ranks among the compared, ties sharing the mean of theirs, and who is first of a tie."""
        order = sort_order(self._code, place)
        code, x = self._code[order], place[order]
        first = np.ones(len(code), np.bool_)
        first[1:] = (code[1:] != code[:-1]) | (x[1:] != x[:-1])
        starts = np.flatnonzero(first)
        lengths = segment_lengths(starts, len(code))
        at = position(self._starts, len(code))[starts] + 1
        mean, distinct = np.empty(len(code)), np.empty(len(code), np.bool_)
        mean[order] = spread(at + (lengths - 1) / 2, starts, len(code))
        distinct[order] = first
        return mean, distinct

    def _deviation(self, side: str) -> pl.Series:
        if self._scores[0] is None or self._scores[1] is None:
            return pl.Series([None], dtype=pl.Float64).new_from_index(0, self._rows)
        rows = self._at[self._both]
        score = self._scores["ab".index(side)]
        assert score is not None
        starts = segment_starts(self._code[self._both])
        deviation = np.full(self._rows, np.nan)
        if len(rows):
            values = _scaled(score[rows], starts)
            mean = np.add.reduceat(values, starts) / segment_lengths(starts, len(values))
            # The mean of equal scores is not always that score: 0.1, three times.
            lowest, highest = (of.reduceat(values, starts) for of in (np.minimum, np.maximum))
            mean = np.where(lowest == highest, lowest, mean)
            deviation[rows] = _scaled(values - spread(mean, starts, len(values)), starts)
        return pl.Series(deviation).fill_nan(None)


def _bottom(places: NDArray[Any], inside: NDArray[np.bool_]) -> Whole:
    """Places, with one below all others for rows that are not inside."""
    return np.where(inside, places, places.max(initial=0) + 1).astype(np.int64)


def _scaled(values: NDArray[np.float64], starts: Whole) -> NDArray[np.float64]:
    """Each query's values times a power of 2 that makes the largest about 1: no digit is lost, and
    neither their sum nor their squares can leave the range of floats.
    """
    _, exponent = np.frexp(np.maximum.reduceat(np.abs(values), starts))
    return np.ldexp(values, -spread(exponent, starts, len(values)))


def _first_of(place: Whole, code: NDArray[np.int32], *keys: Whole) -> Whole:
    """On each of some sorted rows, the place of the first row with the same keys."""
    new = np.ones(len(code), np.bool_)
    new[1:] = code[1:] != code[:-1]
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(new)
    return spread(place[starts], starts, len(code))


def _dense(code: NDArray[np.int32], values: Whole) -> Whole:
    """Small numbers that sort as the values do, within each query (whose rows are together)."""
    order = sort_order(code, values)
    sorted_values = values[order]
    new = np.ones(len(code), np.bool_)
    new[1:] = (code[1:] != code[:-1]) | (sorted_values[1:] != sorted_values[:-1])
    number = np.cumsum(new, dtype=np.int64) - 1
    dense = np.empty(len(code), np.int64)
    dense[order] = number - spread(number[segment_starts(code)], segment_starts(code), len(code))
    return dense
