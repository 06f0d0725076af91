"""Compute standard errors of averages of systems over the same queries, and of differences.

A difference that rounding alone could cause counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rankframe.core.arrays import Floats
from rankframe.core.records import record
from rankframe.stats.exact import Exact, exact_sum

_ROUNDING = 1e-12  # more than the relative rounding error of a value


@record
class PairedValues:
    """Hold a metric's values by system and query, with numerators and denominators of averages.

    The average of system i is Σ above[i] / Σ below[i]. In this form, weighted means and ratios of
    sums can be tested like plain means.
    """

    # systems × queries
    values: Floats
    above: Floats
    below: Floats

    @property
    def queries(self) -> int:
        """Return the number of queries."""
        return self.values.shape[1]

    @cached_property
    def totals(self) -> list[tuple[Exact, Exact]]:
        """Return, for each system, the exact sums of numerators and denominators."""
        return [
            (exact_sum(above), exact_sum(below))
            for above, below in zip(self.above, self.below, strict=True)
        ]

    @cached_property
    def ratios(self) -> list[float]:
        """Return the average of each system; NaN where its denominator is 0."""
        return [
            float(above) / float(below) if float(below) else math.nan
            for above, below in self.totals
        ]

    @cached_property
    def common(self) -> bool:
        """Tell whether all systems have the same denominators for every query."""
        return bool((self.below == self.below[0]).all())

    def contributions(self, system: int) -> Floats:
        """Return each query's contribution to the average of a system, in linear approximation."""
        mean = float(self.totals[system][1]) / max(self.queries, 1)
        return (self.above[system] - self.ratios[system] * self.below[system]) / mean


def estimate_difference_error(
    paired: PairedValues, baseline: int | None, system: int, *, scales: Sequence[float] = (1.0, 1.0)
) -> float:
    """Return the standard error of the difference of two averages, or of one if `baseline` is None.

    For means, this is the standard error of the paired t test. For ratios of sums, this is the
    error of their linearisation (delta method). `scales` are factors that multiply the averages of
    `baseline` and `system`.
    """
    n = paired.queries
    if n < 2:
        return math.nan
    plain = paired.common and scales[0] == scales[-1] and (paired.below[0] == 1).all()
    if baseline is not None and plain:
        difference = paired.above[system] - paired.above[baseline]
        difference = (difference - float(exact_sum(difference)) / n) * scales[0]
    else:
        difference = paired.contributions(system) * scales[-1]
        if baseline is not None:
            difference = difference - paired.contributions(baseline) * scales[0]
    return estimate_mean_error(difference)


def estimate_mean_error(deviations: Floats) -> float:
    """Return the standard error of a mean from the deviations of all values from it."""
    n = len(deviations)
    return math.sqrt(float(exact_sum(deviations**2)) / (n * (n - 1)))


def differences(after: Floats, before: Floats) -> Floats:
    """Subtract values pairwise; a difference that rounding alone could cause becomes 0.

    >>> differences(np.array([0.1 + 0.2, 0.8]), np.array([0.3, 0.5])).tolist()
    [0.0, 0.30000000000000004]
    """
    with np.errstate(invalid="ignore"):
        apart = after - before
    return np.where((after == before) | (np.abs(apart) <= _noise(after, before)), 0.0, apart)


def count_moves(after: Floats, before: Floats) -> tuple[int, int]:
    """Count the values that rose and the values that fell by more than rounding."""
    moved = differences(after, before)
    return int((moved > 0).sum()), int((moved < 0).sum())


def ranked_differences(after: Floats, before: Floats) -> Floats:
    """Subtract values pairwise; absolute differences that differ only by rounding become equal.

    Tests that rank absolute differences then see ties.

    >>> ranked_differences(np.array([0.3, 0.4]), np.array([0.2, 0.5])).tolist()
    [0.09999999999999998, -0.09999999999999998]
    """
    apart, noise = differences(after, before), _noise(after, before)
    order = np.argsort(np.abs(apart), kind="stable")
    sizes, slack = np.abs(apart)[order], noise[order]
    first = np.ones(len(sizes), np.bool_)
    first[1:] = (np.diff(sizes) > np.maximum(slack[1:], slack[:-1])) | (
        (sizes[:-1] == 0) & (sizes[1:] > 0)  # 0 never ties with another size
    )
    shared = np.empty(len(sizes))
    shared[order] = sizes[first][np.cumsum(first) - 1]
    return np.sign(apart) * shared


def _noise(after: Floats, before: Floats) -> Floats:
    """Return the largest difference that rounding may cause; 0 for values that are not finite."""
    larger = np.maximum(np.abs(after), np.abs(before))
    return _ROUNDING * np.where(np.isfinite(larger), larger, 0.0)


def is_rounding(difference: float, paired: PairedValues, baseline: int, system: int) -> bool:
    """Tell whether rounding alone could cause a difference (or a spread) of averages."""
    sizes = [
        np.abs(paired.above[i]).max(initial=0) / max(abs(float(np.mean(paired.below[i]))), 1e-300)
        for i in (baseline, system)
    ]
    return abs(difference) <= _ROUNDING * max(sizes)
