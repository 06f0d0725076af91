"""Sums without rounding: the same bits in any order of rows, on any number of threads or machines.

A sum of floats is kept as one large whole number, which adds up exactly, and is rounded once, when
it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Every finite float is a multiple of 2^-1074, with 53 bits of which the last 52 may be zeros.
_SCALE_BITS = 1074 + 52
_MANTISSA_BITS = 53
_HALF_BITS = 26
_LIMBS, _LIMB_BITS = 3, 32
_AT_ONCE = 1 << 14  # numbers that stay in the processor's cache


@dataclass(frozen=True)
class Exact:
    """An exact sum: a whole number of 2^-1126, and what was not finite."""

    total: int = 0
    unbounded: float = 0.0

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.total + other.total, self.unbounded + other.unbounded)

    def __float__(self) -> float:
        """The sum, rounded once (as `math.fsum` does)."""
        if self.unbounded != 0:  # NaN is not 0 either
            return self.unbounded
        try:
            return self.total / (1 << _SCALE_BITS)
        except OverflowError:
            return float("inf") if self.total > 0 else float("-inf")


def exact_sum(numbers: NDArray[np.float64]) -> Exact:
    """Add up floats.

    >>> float(exact_sum(np.array([1e100, 1.0, -1e100])))
    1.0
    """
    if not len(numbers):
        return Exact()
    if numbers.min() >= 0 and numbers.max() <= 1:
        return Exact(sum(_sum_of_shares(some) for some in _in_steps(numbers)))
    finite = np.isfinite(numbers)
    if finite.all():
        return Exact(sum(_sum_of_any(some) for some in _in_steps(numbers)))
    with np.errstate(invalid="ignore"):
        unbounded = float(numbers[~finite].sum())
    return exact_sum(numbers[finite]) + Exact(0, unbounded)


def _in_steps(numbers: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [numbers[start : start + _AT_ONCE] for start in range(0, len(numbers), _AT_ONCE)]


def _sum_of_shares(numbers: NDArray[np.float64]) -> int:
    """Numbers in [0, 1], most of them not too small: cut into three whole numbers of 32 bits."""
    total, rest = 0, numbers
    for _ in range(_LIMBS):
        rest = rest * 2.0**_LIMB_BITS
        whole = np.floor(rest)
        rest -= whole
        total = (total << _LIMB_BITS) + int(whole.astype(np.int64).sum())
    if rest.any():
        return _sum_of_any(numbers)
    return total << (_SCALE_BITS - _LIMBS * _LIMB_BITS)


def _sum_of_any(numbers: NDArray[np.float64]) -> int:
    """Finite numbers: their mantissas as whole numbers, added up for each exponent."""
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**_MANTISSA_BITS).astype(np.int64)
    order = np.argsort(exponent, kind="stable")
    exponent, whole = exponent[order], whole[order]
    starts = np.flatnonzero(np.append(True, exponent[1:] != exponent[:-1]))
    # In halves, so that no sum of 64 bits overflows.
    high = np.add.reduceat(whole >> _HALF_BITS, starts)
    low = np.add.reduceat(whole & ((1 << _HALF_BITS) - 1), starts)
    return sum(
        ((above << _HALF_BITS) + below) << (power + _SCALE_BITS - _MANTISSA_BITS)
        for above, below, power in zip(
            high.tolist(), low.tolist(), exponent[starts].tolist(), strict=True
        )
    )
