"""Gaps between means of several slices, and how uncertain they are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rankframe.base.options import GapKind
from rankframe.stats.intervals import Bounds
from rankframe.stats.student import normal_cdf, t_quantile

Floats = NDArray[np.float64]


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
    # Widened where queries are few, as percentiles are (see `percentile_interval`).
    quantile = t_quantile((1 - confidence) / 2, fewest - 1)
    tail = normal_cdf(math.sqrt(fewest / (fewest - 1)) * quantile)
    off = float(np.quantile(gap_between(errors, kind), 1 - 2 * tail))
    gap = float(gap_between(means, kind))
    return max(gap - off, 0.0), gap + off
