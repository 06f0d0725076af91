"""Quantiles of values, exactly, with intervals that assume no distribution.

The values accumulate, so that neither order nor batches of rows matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A binomial number is never so many standard deviations from its mean.
_FAR = 40
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OrderedValues:
    """Accumulate values, each with its count; accumulators of different queries merge."""

    # distinct values and their counts, of each batch; sorted together when they are needed
    parts: tuple[tuple[Floats, Ints], ...] = ()

    @classmethod
    def from_values(cls, values: Floats) -> OrderedValues:
        """Count the distinct values."""
        return cls((np.unique(values + 0.0, return_counts=True),))  # -0.0 is 0.0

    def merge(self, other: OrderedValues) -> OrderedValues:
        """Add the values of other queries."""
        return OrderedValues(self.parts + other.parts)

    @cached_property
    def _sorted(self) -> tuple[Floats, Ints]:
        """Return the distinct values ascending, and how many values there are up to each."""
        values = np.concatenate([np.empty(0), *(values for values, _ in self.parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in self.parts)])
        distinct, place = np.unique(values, return_inverse=True)
        # Counts are far below what floats hold exactly.
        total = np.bincount(place, counts, minlength=len(distinct)).astype(np.int64)
        return distinct, np.cumsum(total)

    def __len__(self) -> int:
        return int(self._sorted[1][-1]) if len(self._sorted[1]) else 0

    def place(self, place: int) -> float:
        """Return the value at a place, counted from 1 for the smallest."""
        values, upto = self._sorted
        return float(values[np.searchsorted(upto, place)])

    def quantile(self, level: float) -> float | None:
        """Return a quantile, interpolated between two values as numpy does.

        >>> OrderedValues.from_values(np.array([3.0, 1.0, 2.0, 4.0])).quantile(0.5)
        2.5
        """
        if not len(self):
            return None
        above = (len(self) - 1) * level
        first = math.floor(above)
        low, high = self.place(first + 1), self.place(min(first + 2, len(self)))
        return low + (high - low) * (above - first)

    def interval(self, level: float, confidence: float) -> tuple[float, float] | None:
        """Return the values between which the quantile of the population is."""
        places = places_around(len(self), level, confidence)
        return None if places is None else (self.place(places[0]), self.place(places[1]))


def places_around(count: int, level: float, confidence: float) -> tuple[int, int] | None:
    """Return the places of ordered values between which a quantile lies with this confidence.

    The number of values below a quantile is binomial, whatever they are drawn from, so no
    distribution is assumed. None where there are too few values.

    >>> places_around(100, 0.5, 0.95)
    (40, 61)
    >>> places_around(5, 0.5, 0.95) is None
    True
    """
    if not count or not 0 < level < 1:
        return None
    spread = math.sqrt(count * level * (1 - level))
    middle = count * level
    low, high = (max(0, math.floor(middle - _FAR * spread) - _FAR),
                 min(count, math.ceil(middle + _FAR * spread) + _FAR))  # fmt: skip
    below = np.arange(low, high)
    steps = np.log((count - below) / (below + 1)) + math.log(level / (1 - level))
    chances = np.append(0.0, np.cumsum(steps))
    chances = np.exp(chances - chances.max())
    upto = np.cumsum(chances / chances.sum())
    tail = (1 - confidence) / 2
    first = low + int(np.searchsorted(upto, tail - _ROUNDING))
    last = low + int(np.searchsorted(upto, 1 - tail - _ROUNDING)) + 1
    return (first, last) if first >= 1 and last <= count else None
