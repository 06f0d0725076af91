"""Compute intervals of gaps between the means of slices, and test the difference of two gaps."""

from __future__ import annotations

import math

import numpy as np

from rankframe.core.arrays import Floats
from rankframe.core.options import GapKind
from rankframe.core.records import record
from rankframe.stats.intervals import Bounds, t_quantile, widened_tail

# The share of slice orders that is left out at either end of an interval (see `GapChange`).
_LEFT_OUT = 0.025
# The largest number of slices for which simulations show that intervals of the difference of two
# gaps have their nominal coverage.
_MOST_SLICES: dict[GapKind, int] = {"range": 20, "mean": 10}
# The denominator of a relative change is at least this share of the first gap, in any slice order.
_LEAST_BASE = 1e-3
_ROUNDING = 1e-12  # relative to the means: an error below this is due to rounding, and counts as 0


def gap_between(means: Floats, kind: GapKind) -> Floats:
    """Return how far means (last axis) are apart: their range, or the mean difference of pairs.

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
    """Return the confidence interval of a gap, from bootstrap replicates of the slices' means.

    A plain bootstrap of the gap is biased upwards, since noise moves means apart. But the error of
    a gap is at most the gap between the errors of its means, and replicates estimate these. So the
    interval has nominal coverage if there is no gap, and higher coverage if there is one.

    Args:
        means: The mean of each slice.
        replicates: The means in each replicate: replicates × slices.
        fewest: The number of queries of the smallest slice.
        confidence: The confidence level.
        kind: The kind of gap.
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
    """Return weights for the means (along the last axis) whose weighted sum is the gap.

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


@record
class GapChange:
    """Hold the difference of two systems' gaps between slices, in every plausible slice order.

    For a fixed order of the slices by their means, a gap is a weighted sum of means, and the
    difference of two gaps has an ordinary standard error of paired values. But the order (which
    slice is best, which is worst) is itself uncertain, and choosing it from the data makes gaps too
    large. So the difference and its error are computed for the slice order of each bootstrap
    replicate. A confidence bound lies beyond the bounds of all but a few of these orders, and never
    inside the bound of the observed order.
    """

    # the difference and its standard error for each order; the first is the observed order
    values: Floats
    errors: Floats
    # the bias of the values from choosing the order by the same data, estimated from replicates
    bias: float
    # degrees of freedom of Student's t, from the smallest slice
    freedom: int

    @property
    def value(self) -> float:
        """Return the measured difference of the two gaps."""
        return float(self.values[0])

    @property
    def known(self) -> bool:
        """Tell whether the difference can be tested: its error is above 0, or all values are 0."""
        return bool(self.errors[0] > 0 or not self.values.any())

    def interval(self, confidence: float) -> Bounds | None:
        """Return the interval of the difference, or None if the values do not vary."""
        chance = (1 + confidence) / 2
        return (self.least(chance), self.most(chance)) if self.known else None

    def least(self, chance: float) -> float:
        """Return the lower bound of the difference; `chance`: the one-sided confidence level."""
        return _beyond(self._lowered - t_quantile(chance, self.freedom) * self.errors)

    def most(self, chance: float) -> float:
        """Return the upper bound of the difference; `chance`: the one-sided confidence level."""
        return -_beyond(-self._raised - t_quantile(chance, self.freedom) * self.errors)

    def p_value(self) -> float | None:
        """Return the two-sided p value of no difference, or None if the values do not vary.

        The interval excludes 0 if the p value is below 1 − confidence.
        """
        if not self.known:
            return None
        toward = self._lowered if self.value > 0 else -self._raised
        return min(1.0, 2 * self._chance(toward, at_zero=0.0))

    def p_below(self, margin: float) -> float:
        """Return the p value of the hypothesis that the difference is at least `margin`."""
        return self._chance(margin - self._raised, at_zero=math.inf)

    @property
    def _lowered(self) -> Floats:
        """Return the differences, less their bias if the bias is positive."""
        return self.values - max(self.bias, 0.0)

    @property
    def _raised(self) -> Floats:
        """Return the differences, less their bias if the bias is negative."""
        return self.values - min(self.bias, 0.0)

    def _chance(self, apart: Floats, at_zero: float) -> float:
        """Return the one-sided p value of a distance from 0, over all but a few slice orders.

        `apart` is the distance in each order. `at_zero` is the t score of a distance of 0 whose
        error is 0.
        """
        from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

        certain = np.where(apart == 0, at_zero, np.copysign(np.inf, apart))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(self.errors > 0, apart / self.errors, certain)
        return float(stdtr(self.freedom, -_beyond(scores)))


def too_many(slices: int, kind: GapKind) -> str:
    """Return why gaps over this many slices are not tested for a difference, or "" if they are."""
    limit = _MOST_SLICES[kind]
    if slices <= limit:
        return ""
    return (
        f"with {slices:,} slices, the difference of two gaps with kind={kind} has no reliable "
        f"interval; it has one with up to {limit} slices"
    )


def _beyond(numbers: Floats) -> float:
    """Return a lower bound of the first number and of all but a few of the other numbers."""
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
    """Compute the difference of two systems' gaps between slices: the second less the first.

    Returns None if errors cannot be estimated, if there are too many slices, or if `relative` is
    set and the first gap is not above 0.

    Args:
        means: The means of both systems in each slice: 2 × slices.
        replicates: Bootstrap replicates of the means: replicates × 2 × slices. A replicate draws
            the same queries for both systems.
        covariances: The covariance matrix of the errors of both means: slices × 2 × 2.
        fewest: The number of queries of the smallest slice.
        kind: The kind of gap.
        relative: If set, return the difference as a share of the first gap, which must be above 0
            at this confidence level.
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
        """Return the `GapChange` of `values`, with their derivatives by both gaps."""
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
    base = np.maximum(before, before[0] * _LEAST_BASE)[:, None]  # in few orders, the gap is near 0
    apart = (after - before) / base[:, 0]
    return change(apart, -after[:, None] / base**2, 1 / base)
