"""Sum floats without rounding: equal bits in any order of rows, on any number of threads.

A sum of floats is kept as one large whole number, which adds up exactly, and is rounded once, when
it is converted to a float.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from rankframe.core.arrays import Floats, Ints
from rankframe.core.records import record

# Every finite float is a multiple of 2^-1074, with 53 bits of which the last 52 may be zeros.
_SCALE_BITS = 1074 + 52
_MANTISSA_BITS = 53
_HALF_BITS = 26
# Numbers in [0, 1] are split into digits; products of two digits, summed over one block of numbers,
# stay below 2^53.
_DIGITS, _DIGIT_BITS = 4, 20
_STEP = 1 << 12
_AT_ONCE = 1 << 14  # numbers that stay in the processor's cache


@record
class Exact:
    """Hold an exact sum of floats: a multiple of 2^-1126, and the sum of infinities and NaN."""

    total: int = 0
    unbounded: float = 0.0

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.total + other.total, self.unbounded + other.unbounded)

    def __sub__(self, other: Exact) -> Exact:
        return Exact(self.total - other.total, self.unbounded - other.unbounded)

    @classmethod
    def from_integer(cls, number: int) -> Exact:
        """Convert an integer to an exact sum."""
        return cls(number << _SCALE_BITS)

    @property
    def fraction(self) -> Fraction | None:
        """Return the exact sum as a Fraction, or None if it is not finite."""
        return None if self.unbounded != 0 else Fraction(self.total, 1 << _SCALE_BITS)

    def __float__(self) -> float:
        """Round the sum once, as `math.fsum` does."""
        if self.unbounded != 0:  # also true for NaN
            return self.unbounded
        try:
            return self.total / (1 << _SCALE_BITS)
        except OverflowError:
            return float("inf") if self.total > 0 else float("-inf")


def deviation(count: int, total: Exact, squares: Exact) -> float | None:
    """Return the standard deviation of numbers from their sum and the sum of their squares.

    Returns None for fewer than two numbers, and if the sums are not finite or too large.

    >>> deviation(2, exact_sum(np.array([1.0, 3.0])), exact_sum(np.array([1.0, 9.0])))
    1.4142135623730951
    """
    if count < 2 or squares.unbounded != 0 or total.unbounded != 0:
        return None
    above = max(count * (squares.total << _SCALE_BITS) - total.total**2, 0)
    try:
        return math.sqrt(above / ((count * (count - 1)) << (2 * _SCALE_BITS)))
    except OverflowError:
        return None


def exact_sum(numbers: Floats) -> Exact:
    """Add up floats without rounding.

    >>> float(exact_sum(np.array([1e100, 1.0, -1e100])))
    1.0
    """
    finite = np.isfinite(numbers)
    if finite.all():
        starts = range(0, len(numbers), _AT_ONCE)
        steps = (numbers[start : start + _AT_ONCE] for start in starts)
        return Exact(sum(_sums_by_exponent(step, 0, 1)[0] for step in steps))
    with np.errstate(invalid="ignore"):
        unbounded = float(numbers[~finite].sum())
    return exact_sum(numbers[finite]) + Exact(0, unbounded)


def exact_sums(numbers: Floats, starts: Ints) -> list[Exact]:
    """Add up each segment of floats without rounding; a segment ends where the next one starts.

    No segment is empty.

    >>> [float(total) for total in exact_sums(np.array([0.5, 0.25, 4.0]), np.array([0, 2]))]
    [0.75, 4.0]
    """
    if len(starts) == 1 or not np.isfinite(numbers).all():
        return list(map(exact_sum, np.split(numbers, starts[1:])))
    if not len(starts):
        return []
    segment = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(numbers)))
    return list(map(Exact, _sums_by_exponent(numbers, segment, len(starts))))


def exact_moments(columns: Sequence[Floats]) -> list[tuple[Exact, Exact]]:
    """Add up the floats of each column, and their squares, without rounding.

    All columns have the same length.

    >>> [(float(total), float(square)) for total, square in exact_moments([np.array([0.5, 0.25])])]
    [(0.75, 0.3125)]
    """
    moments: list[tuple[Exact, Exact]] = []
    together = max(_STEP // max(len(columns[0]), 1), 1) if columns else 1
    for first in range(0, len(columns), together):
        group = columns[first : first + together]
        for numbers, found in zip(group, _moments_of_shares(np.array(group)), strict=True):
            if found is None:
                product, lost = exact_products(numbers, numbers)
                found = exact_sum(numbers), exact_sum(product) + exact_sum(lost)  # noqa: PLW2901
            moments.append(found)
    return moments


def exact_products(numbers: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """Multiply numbers pairwise; return the products and the rounding error of each (Dekker)."""
    a, b = _halved(numbers), _halved(factors)
    with np.errstate(over="ignore", invalid="ignore"):
        product = numbers * factors
        lost = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]
    return product, np.where(np.isfinite(lost), lost, 0.0)


def _halved(numbers: Floats) -> tuple[Floats, Floats]:
    """Split numbers into two halves of their digits, whose products are exact (Veltkamp)."""
    with np.errstate(over="ignore", invalid="ignore"):
        large = numbers * (2.0 ** (_HALF_BITS + 1) + 1)
        high = large - (large - numbers)
        return high, numbers - high


def _moments_of_shares(columns: Floats) -> list[tuple[Exact, Exact] | None]:
    """Sum each row of numbers in [0, 1], and the squares of the numbers, digit by digit.

    Sums of digits, and of products of two digits, are whole numbers that floats hold exactly.
    Returns None for a column with a number that is not in [0, 1], or has too many digits.
    """
    unit = _SCALE_BITS - _DIGITS * _DIGIT_BITS
    lowest, highest = columns.min(axis=1, initial=0), columns.max(axis=1, initial=0)
    exact = (lowest >= 0) & (highest <= 1)  # false for NaN
    shares = columns if exact.all() else np.where(exact[:, None], columns, 0.0)
    total, square = [0] * len(columns), [0] * len(columns)
    for start in range(0, columns.shape[1], _STEP):
        rest = shares[:, start : start + _STEP]
        digits = np.empty((len(rest), _DIGITS, rest.shape[1]))
        for place in range(_DIGITS):
            rest = rest * 2.0**_DIGIT_BITS
            np.floor(rest, out=digits[:, place])
            rest -= digits[:, place]
        exact &= ~rest.any(axis=1)
        sums, products = digits.sum(axis=2).tolist(), (digits @ digits.mT).tolist()
        for column in np.flatnonzero(exact).tolist():
            total[column] += _from_digits(sums[column])
            square[column] += _from_digits(map(_from_digits, products[column]))
    return [
        (Exact(total[column] << unit), Exact(square[column] << unit - _DIGITS * _DIGIT_BITS))
        if exact[column]
        else None
        for column in range(len(columns))
    ]


def _from_digits(digits: Iterable[float]) -> int:
    """Return the whole number with the given digits of 20 bits, most significant first."""
    number = 0
    for digit in digits:
        number = (number << _DIGIT_BITS) + int(digit)
    return number


def _sums_by_exponent(numbers: Floats, segment: Ints | int, segments: int) -> list[int]:
    """Sum finite numbers exactly: add their mantissas by segment and exponent, then combine.

    Returns one whole number per segment.
    """
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**_MANTISSA_BITS).astype(np.int64)
    lowest, highest = int(exponent.min()), int(exponent.max())
    width = highest - lowest + 1
    place = segment * width + (exponent - lowest)
    totals = [0] * segments
    # Sum the mantissas in halves, so that floats hold the sums exactly.
    high = np.bincount(place, weights=whole >> _HALF_BITS)
    low = np.bincount(place, weights=whole & ((1 << _HALF_BITS) - 1))
    for index in np.flatnonzero((high != 0) | (low != 0)).tolist():
        total = (int(high[index]) << _HALF_BITS) + int(low[index])
        power = index % width + lowest + _SCALE_BITS - _MANTISSA_BITS
        totals[index // width] += total << power
    return totals
