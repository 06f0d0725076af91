"""Confidence intervals of averages over queries: by bootstrap, or by Student's t."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankframe.core.options import Average
from rankframe.stats.student import normal_cdf, t_quantile

Bounds = tuple[float, float]

_ROUNDING = 1e-11  # more than what resampled values are rounded by


def finish_average(
    average: Average, ratio: NDArray[np.float64], queries: int
) -> NDArray[np.float64]:
    """Turn Σ above / Σ below into the average of a metric."""
    if average == "geometric":
        return np.exp(ratio)
    return ratio * queries if average == "sum" else ratio


def percentile_interval(
    replicates: NDArray[np.float64], queries: int, confidence: float
) -> Bounds | None:
    """Return the percentile interval of replicates, a little widened where queries are few.

    Plain percentiles are as narrow as a normal interval with the biased variance; taken where
    Student's t would have them, they cover as often as they claim (Hesterberg 2015).
    """
    defined = replicates[~np.isnan(replicates)]
    if queries < 2 or not len(defined):
        return None
    tail = widened_tail(queries, confidence)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def widened_tail(queries: int, confidence: float) -> float:
    """Return the share of replicates beyond each end of an interval of so many queries."""
    quantile = t_quantile((1 - confidence) / 2, queries - 1)
    return normal_cdf(math.sqrt(queries / (queries - 1)) * quantile)


def around(value: float | None, bounds: Bounds | None) -> tuple[float | None, float | None]:
    """Return the interval of a value; a bound that only rounding put beyond the value is moved."""
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
