"""Compute intervals of gaps between the means of slices, and test the difference of two gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankframe.core.arrays import Floats
from rankframe.core.options import GapKind
from rankframe.stats.intervals import Bounds, t_quantile, widened_tail

# The share of the orders of slices left out at either end of an interval (see `GapChange`).
_LEFT_OUT = 0.025
# Up to so many slices, simulations show that intervals of the difference of two gaps cover.
_MOST_SLICES: dict[GapKind, int] = {"range": 20, "mean": 10}
# A relative change is a share of at least this part of the first gap, in any order.
_LEAST_BASE = 1e-3
_ROUNDING = 1e-12  # of the means: more than what rounding leaves of an error


def gap_between(means: Floats, kind: GapKind) -> Floats:
    """Return how far means are apart, along the last axis: their range, or the mean of all pairs.

    >>> means = np.array([1.0, 4.0, 2.0])
    >>> float(gap_between(means, "range")), float(gap_between(means, "mean"))
    (3.0, 2.0)
    """
    if kind == "range":
        return means.max(axis=-1) - means.min(axis=-1)
    count = means.shape[-1]
    factors = 2 * np.arange(1, count + 1) - count - 1
    return (np.sort(means, axis=-1) * factors).sum(axis=-1) * 2 / (count * (count - 1))


def gap_interval(
    means: Floats, replicates: Floats, fewest: int, confidence: float, kind: GapKind
) -> Bounds | None:
    """Return the interval of a gap, from replicates × slices of the means.

    Gaps of replicates are too large: noise moves means apart. But a gap is off by at most the gap
    of the errors of its means, which the replicates show. So the interval covers as often as it
    claims where there is no gap, and more often where there is one. `fewest` is the number of
    queries of the smallest slice.
    """
    errors = replicates - means
    errors = errors[~np.isnan(errors).any(axis=1)]
    if fewest < 2 or not len(errors):
        return None
    tail = widened_tail(fewest, confidence)
    off = float(np.quantile(gap_between(errors, kind), 1 - 2 * tail))
    gap = float(gap_between(means, kind))
    return max(gap - off, 0.0), gap + off


def gap_weights(means: Floats, kind: GapKind) -> Floats:
    """Return weights of the means, in their order along the last axis, that add up to the gap.

    >>> gap_weights(np.array([1.0, 4.0, 2.0]), "range").tolist()
    [-1.0, 1.0, 0.0]
    """
    count = means.shape[-1]
    by_rank = (2.0 * np.arange(1, count + 1) - count - 1) * 2 / (count * (count - 1))
    if kind == "range":
        by_rank = np.zeros(count)
        by_rank[0], by_rank[-1] = -1.0, 1.0
    ranks = np.argsort(np.argsort(means, axis=-1, kind="stable"), axis=-1, kind="stable")
    return by_rank[ranks]


@dataclass(frozen=True)
class GapChange:
    """Hold the difference of two gaps over the same queries, in every plausible order of slices.

    With the order of the slices fixed, a gap is a weighted sum of means, and the difference of two
    gaps has a standard error like any other of paired values. But which slice is best, and which is
    worst, is itself uncertain, and makes gaps too large. So the difference and its error are
    computed for the order of each replicate of the queries. Bounds lie beyond the bounds of all but
    a few of these orders, and never within the bounds of the observed order.
    """

    # of each order, the first of which is that of the means as they are
    values: Floats
    errors: Floats
    # how far values move because the same errors also made the order, as replicates show
    bias: float
    # of Student's t, by the smallest slice
    freedom: int

    @property
    def value(self) -> float:
        """Return the measured difference."""
        return float(self.values[0])

    @property
    def known(self) -> bool:
        """Tell whether there is an error: values that do not vary have none."""
        return bool(self.errors[0] > 0 or not self.values.any())

    def interval(self, confidence: float) -> Bounds | None:
        """Return the interval, or None if the values do not vary."""
        chance = (1 + confidence) / 2
        return (self.least(chance), self.most(chance)) if self.known else None

    def least(self, chance: float) -> float:
        """Return the lower confidence bound: `chance` is the one-sided confidence level."""
        return _beyond(self._lowered - t_quantile(chance, self.freedom) * self.errors)

    def most(self, chance: float) -> float:
        """Return the upper confidence bound: `chance` is the one-sided confidence level."""
        return -_beyond(-self._raised - t_quantile(chance, self.freedom) * self.errors)

    def p_value(self) -> float | None:
        """Return the two-sided p value of no difference, or None if the values do not vary.

        The interval excludes 0 where this is below its level.
        """
        if not self.known:
            return None
        toward = self._lowered if self.value > 0 else -self._raised
        return min(1.0, 2 * self._chance(toward, at_zero=0.0))

    def p_below(self, margin: float) -> float:
        """Return the one-sided p value of a difference that is not below a margin."""
        return self._chance(margin - self._raised, at_zero=math.inf)

    @property
    def _lowered(self) -> Floats:
        """Return the values less a bias that raises them."""
        return self.values - max(self.bias, 0.0)

    @property
    def _raised(self) -> Floats:
        """Return the values less a bias that lowers them."""
        return self.values - min(self.bias, 0.0)

    def _chance(self, apart: Floats, at_zero: float) -> float:
        """Return the one-sided p value of distances from 0, each with its error: all but a few.

        `at_zero` is the score of a distance of 0 without an error.
        """
        from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

        certain = np.where(apart == 0, at_zero, np.copysign(np.inf, apart))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(self.errors > 0, apart / self.errors, certain)
        return float(stdtr(self.freedom, -_beyond(scores)))


def too_many(slices: int, kind: GapKind) -> str:
    """Explain why a difference of gaps over this number of slices is not tested; "" if it is."""
    limit = _MOST_SLICES[kind]
    if slices <= limit:
        return ""
    return (
        f"of {slices:,} slices, no interval is known that covers the difference of two gaps of "
        f"kind={kind}: it is known of {limit}"
    )


def _beyond(numbers: Floats) -> float:
    """Return a bound that all but a few of the numbers, and the first one, are above."""
    few = int(_LEFT_OUT * len(numbers))
    return float(min(np.partition(numbers, few)[few], numbers[0]))


def gap_change(
    means: Floats,
    replicates: Floats,
    covariances: Floats,
    fewest: int,
    kind: GapKind,
    *,
    relative: float | None = None,
) -> GapChange | None:
    """Subtract the first gap from the second; None without errors, or for too many slices.

    Args:
        means: 2 × slices.
        replicates: of the means, replicates × 2 × slices, of the same queries for both.
        covariances: of the errors of both means, slices × 2 × 2.
        fewest: queries of the smallest slice.
        kind: of gap.
        relative: return the difference as a share of the first gap; None if that gap is not above
            0 with this confidence.
    """
    drawn = replicates[~np.isnan(replicates).any(axis=(1, 2))]
    if fewest < 2 or not len(drawn) or not np.isfinite(covariances).all():
        return None
    if too_many(means.shape[1], kind):
        return None
    orders = np.concatenate([means[None], drawn])
    weights = [gap_weights(orders[:, side], kind) for side in (0, 1)]
    before, after = (
        (factors * mean).sum(axis=1) for factors, mean in zip(weights, means, strict=True)
    )
    slack = _ROUNDING * float(np.abs(means).max())

    def change(values: Floats, first: Floats | float, second: Floats | float) -> GapChange:
        """Return the change with these values, which rise by `first` and `second` with the gaps."""
        a, b = first * weights[0], second * weights[1]
        squares = (
            a**2 * covariances[:, 0, 0]
            + 2 * a * b * covariances[:, 0, 1]
            + b**2 * covariances[:, 1, 1]
        )
        errors = np.sqrt(np.maximum(squares.sum(axis=1), 0.0))
        off = drawn - means
        bias = float((a[1:] * off[:, 0] + b[1:] * off[:, 1]).sum(axis=1).mean())
        return GapChange(
            np.where(np.abs(values) > slack, values, 0.0),
            np.where(errors > slack, errors, 0.0),
            bias if abs(bias) > slack else 0.0,
            fewest - 1,
        )

    if relative is None:
        return change(after - before, -1.0, 1.0)
    if change(before, 1.0, 0.0).least(relative) <= slack:
        return None
    base = np.maximum(before, before[0] * _LEAST_BASE)[:, None]  # a few orders are left out
    apart = (after - before) / base[:, 0]
    return change(apart, -after[:, None] / base**2, 1 / base)
