"""Gaps between means of several slices, how uncertain they are, and how far two of them differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankframe.core.options import GapKind
from rankframe.stats.intervals import Bounds, widened_tail
from rankframe.stats.student import t_quantile

Floats = NDArray[np.float64]

# At either end of an interval, so many orders of the slices are left out (see `GapChange`).
_LEFT_OUT = 0.025
# Of so many slices, what is said of the difference of two gaps was simulated, and covers.
_MOST_SLICES: dict[GapKind, int] = {"range": 20, "mean": 10}
# Of a gap as it is: no order has less, where something is a share of it.
_LEAST_BASE = 1e-3
_ROUNDING = 1e-12  # of the means: more than what rounding leaves of an error


def gap_between(means: Floats, kind: GapKind) -> Floats:
    """How far numbers are apart, along the last axis.

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
    """An interval of a gap, from replicates (× slices) of the means; `fewest`: queries of a slice.

    Gaps of replicates are too large: noise moves means apart. But no gap is further off than the
    errors of its means are apart, and these the replicates show. So the interval covers as often
    as it says where there is no gap, and more often where there is one.
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
    """What each mean counts in the gap, as they are ordered along the last axis: the gap is their
    sum by these weights.

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
    """By how much a gap is larger than another of the same queries, in every plausible order.

    In one order of the slices of each, a gap is a sum of means by fixed weights, and the difference
    of two has a standard error as any other of paired values. But which slice is best, and which is
    worst, is itself uncertain, and gaps are too large by that. So every order that a replicate of
    the queries has is looked at: its difference, and the error of that. Bounds are beyond what all
    but a few of these orders say, and never within what the means as they are say.
    """

    # of each order: the first is that of the means as they are
    values: Floats
    errors: Floats
    # how far errors that also made the order move the values; of replicates, whose errors are known
    bias: float
    # of Student's t: by the smallest slice
    freedom: int

    @property
    def value(self) -> float:
        """The change as it is seen."""
        return float(self.values[0])

    @property
    def known(self) -> bool:
        """Whether it has an error to go by: values that do not vary have none."""
        return bool(self.errors[0] > 0 or not self.values.any())

    def interval(self, confidence: float) -> Bounds | None:
        """Its interval; None where nothing varies."""
        chance = (1 + confidence) / 2
        return (self.least(chance), self.most(chance)) if self.known else None

    def least(self, chance: float) -> float:
        """What it is at least, with this chance."""
        return _beyond(self._lowered - t_quantile(chance, self.freedom) * self.errors)

    def most(self, chance: float) -> float:
        """What it is at most, with this chance."""
        return -_beyond(-self._raised - t_quantile(chance, self.freedom) * self.errors)

    def p_value(self) -> float | None:
        """How likely a change is as far from 0 as this where there is none; None where nothing
        varies. Its interval is beyond 0 where this is below its level.
        """
        if not self.known:
            return None
        toward = self._lowered if self.value > 0 else -self._raised
        return min(1.0, 2 * self._chance(toward, at_once=0.0))

    def p_below(self, margin: float) -> float:
        """How likely a change is this far below a margin where it is not below it."""
        return self._chance(margin - self._raised, at_once=math.inf)

    @property
    def _lowered(self) -> Floats:
        return self.values - max(self.bias, 0.0)

    @property
    def _raised(self) -> Floats:
        return self.values - min(self.bias, 0.0)

    def _chance(self, apart: Floats, at_once: float) -> float:
        """How likely all but a few are so many errors above 0; `at_once`: what 0 is, without any
        error.
        """
        from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

        sure = np.where(apart == 0, at_once, np.copysign(np.inf, apart))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(self.errors > 0, apart / self.errors, sure)
        return float(stdtr(self.freedom, -_beyond(scores)))


def too_many(slices: int, kind: GapKind) -> str:
    """What to say where intervals of the difference of two gaps would not cover; else nothing."""
    if slices <= (most := _MOST_SLICES[kind]):
        return ""
    return (
        f"of {slices:,} slices, no interval is known that covers the difference of two gaps of "
        f"kind={kind}: it is known of {most}"
    )


def _beyond(numbers: Floats) -> float:
    """What all but a few of these numbers are above, and the first one is."""
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
    """The second gap less the first; None where nothing is known of errors, or of so many slices.

    means: 2 × slices.
    replicates: of them, replicates × 2 × slices, of the same queries for both.
    covariances: of the errors of both means, slices × 2 × 2.
    fewest: queries of a slice.
    relative: as a share of the first gap; None where that may be 0 or less with a chance of more
        than 1 less this one.
    """
    drawn = replicates[~np.isnan(replicates).any(axis=(1, 2))]
    if fewest < 2 or not len(drawn) or not np.isfinite(covariances).all():
        return None
    if too_many(means.shape[1], kind):
        return None
    orders = np.concatenate([means[None], drawn])
    weights = [gap_weights(orders[:, side], kind) for side in (0, 1)]
    before, after = ((one * mean).sum(axis=1) for one, mean in zip(weights, means, strict=True))
    slack = _ROUNDING * float(np.abs(means).max())

    def looked_at(values: Floats, first: Floats | float, second: Floats | float) -> GapChange:
        """What moves by so much of the first gap and of the second, in every order."""
        one, other = first * weights[0], second * weights[1]
        squares = (
            one**2 * covariances[:, 0, 0]
            + 2 * one * other * covariances[:, 0, 1]
            + other**2 * covariances[:, 1, 1]
        )
        errors = np.sqrt(np.maximum(squares.sum(axis=1), 0.0))
        off = drawn - means
        pulled = (one[1:] * off[:, 0] + other[1:] * off[:, 1]).sum(axis=1)
        bias = float(pulled.mean())
        return GapChange(
            np.where(np.abs(values) > slack, values, 0.0),
            np.where(errors > slack, errors, 0.0),
            bias if abs(bias) > slack else 0.0,
            fewest - 1,
        )

    if relative is None:
        return looked_at(after - before, -1.0, 1.0)
    if looked_at(before, 1.0, 0.0).least(relative) <= slack:
        return None
    base = np.maximum(before, before[0] * _LEAST_BASE)[:, None]  # a few orders are left out
    apart = (after - before) / base[:, 0]
    return looked_at(apart, -after[:, None] / base**2, 1 / base)
