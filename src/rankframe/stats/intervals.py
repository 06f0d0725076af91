"""Confidence intervals of averages over queries: by bootstrap, or by Student's t."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankframe.core.options import Average, Intervals
from rankframe.stats.resample import Groups, poisson_sums
from rankframe.stats.student import normal_cdf, t_quantile

Bounds = tuple[float, float]
Name = TypeVar("Name")

_ROUNDING = 1e-11  # more than what resampled values are rounded by


def replicated(
    groups: Groups,
    ratios: Mapping[Name, tuple[NDArray[np.float64], NDArray[np.float64]]],
    intervals: Intervals,
) -> dict[Name, NDArray[np.float64]]:
    """Σ above / Σ below of each ratio in every replicate; NaN where the denominator is 0.

    Replicates draw the same queries for all ratios, so their differences are paired.
    """
    if not ratios:
        return {}
    # Most ratios have the same below the line: how many queries there are.
    distinct: list[NDArray[np.float64]] = []
    places: list[int] = []
    for _, below in ratios.values():
        same = (at for at, other in enumerate(distinct) if np.array_equal(below, other))
        places.append(next(same, len(distinct)))
        if places[-1] == len(distinct):
            distinct.append(below)
    columns = np.column_stack([*(above for above, _ in ratios.values()), *distinct])
    sums = poisson_sums(
        groups.origins, columns, replicates=intervals.replicates, seed=intervals.seed
    )
    above, below = sums[:, : len(ratios)], sums[:, len(ratios) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = above / below[:, places]
    values[~np.isfinite(values)] = np.nan
    return dict(zip(ratios, values.T, strict=True))


def finished(average: Average, ratio: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    """What a metric's summary makes of Σ above / Σ below."""
    if average == "geometric":
        return np.exp(ratio)
    return ratio * queries if average == "sum" else ratio


def percentile_interval(
    replicates: NDArray[np.float64], queries: int, confidence: float
) -> Bounds | None:
    """The middle of the replicates, a little widened where queries are few.

    Plain percentiles are as narrow as a normal interval with the biased variance; taken where
    Student's t would have them, they cover as often as they say (Hesterberg 2015).
    """
    known = replicates[~np.isnan(replicates)]
    if queries < 2 or not len(known):
        return None
    quantile = t_quantile((1 - confidence) / 2, queries - 1)
    tail = normal_cdf(math.sqrt(queries / (queries - 1)) * quantile)
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def around(value: float | None, bounds: Bounds | None) -> tuple[float | None, float | None]:
    """An interval that holds its value: bounds that only rounding put beyond it are put right."""
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
    """A value and its standard error → its interval."""
    from scipy.special import stdtrit  # noqa: PLC0415 (only where intervals are asked for)

    if queries < 2:
        return None
    half = float(stdtrit(queries - 1, (1 + confidence) / 2)) * error
    return value - half, value + half
