"""Numbers in their order: medians and other quantiles, exactly, and how sure they are.

What is kept adds up over pieces, so that no order or split of rows shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# So many standard deviations from its middle, a binomial number never is.
_FAR = 40
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Ordered:
    """Numbers, each with how often it is there; those of different queries add up."""

    # as they came; put together when they are looked at
    parts: tuple[tuple[Floats, Ints], ...] = ()

    @classmethod
    def of(cls, values: Floats) -> Ordered:
        """Some numbers."""
        return cls((np.unique(values + 0.0, return_counts=True),))  # -0.0 is 0.0

    def __add__(self, other: Ordered) -> Ordered:
        return Ordered(self.parts + other.parts)

    @cached_property
    def _whole(self) -> tuple[Floats, Ints]:
        """All numbers ascending, and how many there are up to each."""
        numbers = np.concatenate([np.empty(0), *(some for some, _ in self.parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(often for _, often in self.parts)])
        distinct, of = np.unique(numbers, return_inverse=True)
        # Counts are far below what floats hold exactly.
        often = np.bincount(of, counts, minlength=len(distinct)).astype(np.int64)
        return distinct, np.cumsum(often)

    def __len__(self) -> int:
        return int(self._whole[1][-1]) if len(self._whole[1]) else 0

    def place(self, at: int) -> float:
        """The one at a place, from 1, the smallest first."""
        numbers, upto = self._whole
        return float(numbers[np.searchsorted(upto, at)])

    def quantile(self, level: float) -> float | None:
        """What so large a share of them is below; between two, in proportion (as numpy has it).

        >>> Ordered.of(np.array([3.0, 1.0, 2.0, 4.0])).quantile(0.5)
        2.5
        """
        if not len(self):
            return None
        above = (len(self) - 1) * level
        first = math.floor(above)
        low, high = self.place(first + 1), self.place(min(first + 2, len(self)))
        return low + (high - low) * (above - first)

    def interval(self, level: float, confidence: float) -> tuple[float, float] | None:
        """Between which of them the quantile of all that these were drawn from is."""
        found = places_around(len(self), level, confidence)
        return None if found is None else (self.place(found[0]), self.place(found[1]))


def places_around(count: int, level: float, confidence: float) -> tuple[int, int] | None:
    """Of so many numbers in order, the places between which a quantile lies with this confidence.

    How many of them are below it is a binomial number, whatever they are drawn from: no
    distribution is assumed. None where they are too few to say.

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
