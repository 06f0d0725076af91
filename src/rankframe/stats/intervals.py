"""Compute confidence intervals of averages over queries: bootstrap, Student's t, and quantiles.

The distributions that every interval needs are computed without scipy: importing it takes longer
than evaluating a million rows. Intervals of quantiles assume no distribution.
"""

from __future__ import annotations

import math
from functools import cache, cached_property

import numpy as np

from rankframe.core.arrays import Floats, Ints
from rankframe.core.options import Average
from rankframe.core.records import record

_SERIES_FROM = 1_000  # with at least this many degrees of freedom, five terms of the series suffice


@cache
def t_quantile(chance: float, freedom: int) -> float:
    """Return a quantile of Student's t: the number that t stays below with this probability.

    Exact to about 1e-16 / min(chance, 1 − chance), relative to itself.

    >>> round(t_quantile(0.975, 9), 9)
    2.262157163
    """
    if chance < 0.5:
        return -t_quantile(1 - chance, freedom) if chance > 0 else -math.inf
    if chance == 1:
        return math.inf
    return _by_series(chance, freedom) if freedom > _SERIES_FROM else _by_angle(chance, freedom)


def _by_series(chance: float, freedom: int) -> float:
    """Compute the t quantile by Cornish and Fisher's expansion around the normal quantile."""
    from statistics import NormalDist  # noqa: PLC0415 (only for intervals by Student's t)

    z = NormalDist().inv_cdf(chance)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def _by_angle(chance: float, freedom: int) -> float:
    """Compute the t quantile from the angle whose tangent is t / √freedom.

    The distribution function is a finite series in this angle (Abramowitz and Stegun 26.7.3 and
    26.7.4), which is inverted numerically.
    """
    odd = freedom % 2
    steps = np.arange(1, (freedom - odd) // 2)
    # coefficients of the powers of cos²: 1, 1/2, 1·3/(2·4), … (even) or 1, 2/3, 2·4/(3·5), … (odd)
    ratios = (2 * steps - 1 + odd) / (2 * steps + odd)
    weights = np.cumprod(np.append(1.0, ratios)) if freedom > 1 else np.empty(0)
    powers = np.arange(len(weights))
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        sine, cosine = math.sin(angle), math.cos(angle)
        within = sine * float(weights @ (cosine * cosine) ** powers)
        if odd:
            within = (angle + cosine * within) * 2 / math.pi
        low, high = (angle, high) if (1 + within) / 2 < chance else (low, angle)
    return math.tan((low + high) / 2) * math.sqrt(freedom)


Bounds = tuple[float, float]

_ROUNDING = 1e-11  # more than the rounding error of resampled values


def finish_average(average: Average, ratio: Floats, queries: int) -> Floats:
    """Turn ratios of sums over queries into averages: sums, geometric means, or the ratios."""
    if average == "geometric":
        return np.exp(ratio)
    return ratio * queries if average == "sum" else ratio


def percentile_interval(replicates: Floats, queries: int, confidence: float) -> Bounds | None:
    """Return the bootstrap percentile interval, widened slightly if there are few queries.

    Plain percentile intervals are too narrow: they correspond to a normal interval with the biased
    variance. Percentiles at the levels that correspond to Student's t have nominal coverage
    (Hesterberg 2015).
    """
    defined = replicates[~np.isnan(replicates)]
    if queries < 2 or not len(defined):
        return None
    tail = widened_tail(queries, confidence)
    low, high = quantiles(defined, tail, 1 - tail)
    return low, high


def quantiles(values: Floats, *levels: float) -> list[float]:
    """Return quantiles, each interpolated between two values, with the bits of `np.quantile`.

    For some thousand values, numpy needs longer to prepare its work than to do it.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 4.0]), 0.5, 1.0)
    [2.5, 4.0]
    """
    last = len(values) - 1
    places = [last * level for level in levels]
    below = [min(math.floor(place), last) for place in places]
    above = [min(place + 1, last) for place in below]
    ordered = np.partition(values, (*below, *above))
    found: list[float] = []
    for place, first, second in zip(places, below, above, strict=True):
        low, high, share = float(ordered[first]), float(ordered[second]), place - first
        step = high - low
        found.append(high - step * (1 - share) if share >= 0.5 else low + step * share)
    return found


def widened_tail(queries: int, confidence: float) -> float:
    """Return the share of replicates to leave out at each end of a percentile interval."""
    quantile = t_quantile((1 - confidence) / 2, queries - 1)
    widened = math.sqrt(queries / (queries - 1)) * quantile
    return math.erfc(-widened / math.sqrt(2)) / 2  # of the normal distribution


def around(value: float | None, bounds: Bounds | None) -> tuple[float | None, float | None]:
    """Return the bounds of an interval, moved to include `value` if only rounding excludes it."""
    if value is None or bounds is None:
        return None, None
    low, high = bounds
    slack = _ROUNDING * max(abs(value), 1.0)
    if max(abs(low - value), abs(high - value)) <= slack:
        return value, value
    if value < low <= value + slack:
        low = value
    if value - slack <= high < value:
        high = value
    return low, high


def t_interval(value: float, error: float, queries: int, confidence: float) -> Bounds | None:
    """Return the interval of a value by Student's t, from its standard error."""
    from scipy.special import stdtrit  # noqa: PLC0415 (only where intervals are asked for)

    if queries < 2:
        return None
    half = float(stdtrit(queries - 1, (1 + confidence) / 2)) * error
    return value - half, value + half


# A binomial number is practically never this many standard deviations from its mean.
_FAR = 40
_TAIL_ROUNDING = 1e-12


@record
class OrderedValues:
    """Accumulate a multiset of values, for quantiles; accumulators of different queries merge."""

    # distinct values and their counts, per batch; merged and sorted on first use
    parts: tuple[tuple[Floats, Ints], ...] = ()

    @classmethod
    def from_values(cls, values: Floats) -> OrderedValues:
        """Make an accumulator of the distinct values in an array, with their counts."""
        return cls((np.unique(values + 0.0, return_counts=True),))  # -0.0 is 0.0

    def merge(self, other: OrderedValues) -> OrderedValues:
        """Return an accumulator of the values in both `self` and `other`."""
        return OrderedValues(self.parts + other.parts)

    @cached_property
    def _sorted(self) -> tuple[Floats, Ints]:
        """Return the distinct values in ascending order, and the cumulative counts."""
        values = np.concatenate([np.empty(0), *(values for values, _ in self.parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in self.parts)])
        distinct, place = np.unique(values, return_inverse=True)
        # Counts are far below what floats hold exactly.
        total = np.bincount(place, counts, minlength=len(distinct)).astype(np.int64)
        return distinct, np.cumsum(total)

    def __len__(self) -> int:
        return int(self._sorted[1][-1]) if len(self._sorted[1]) else 0

    def place(self, place: int) -> float:
        """Return the value at a place in ascending order: place 1 has the smallest value."""
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
        """Return the confidence interval of a quantile, or None if there are too few values.

        Both bounds are order statistics.
        """
        places = find_quantile_ranks(len(self), level, confidence)
        return None if places is None else (self.place(places[0]), self.place(places[1]))


def find_quantile_ranks(count: int, level: float, confidence: float) -> tuple[int, int] | None:
    """Return the places of the two order statistics that bound a quantile with this confidence.

    The number of values below a quantile is binomial for any distribution of the values, so no
    distribution is assumed. Returns None if there are too few values.

    >>> find_quantile_ranks(100, 0.5, 0.95)
    (40, 61)
    >>> find_quantile_ranks(5, 0.5, 0.95) is None
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
    first = low + int(np.searchsorted(upto, tail - _TAIL_ROUNDING))
    last = low + int(np.searchsorted(upto, 1 - tail - _TAIL_ROUNDING)) + 1
    return (first, last) if first >= 1 and last <= count else None
