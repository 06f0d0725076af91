"""Estimate the error of an out-of-fold value, including the error of the choices in every fold.

Each fold's choice depends on the other folds, and each fold takes part in the choices for the
others. A candidate that seems better by chance therefore tends to be chosen in all folds. So the
values of queries are not independent, and their plain standard error is too small: with candidates
that are equally good, intervals from it cover 85% instead of 95% (`python -m benchmarks.tuning`).

This module repeats the choice in bootstrap replicates in which the truth is known. The values of
each candidate are centred within each fold, which makes all candidates equally good. Candidates
that are worse beyond doubt keep their distance from the best (Hansen 2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankframe.analysis.tuning.folds import Folds
from rankframe.core.arrays import Floats
from rankframe.core.options import Intervals
from rankframe.engine.accumulator import Terms
from rankframe.stats.bootstrap import Hashes, QueryBuckets, poisson_weights, weighted_sums


def draw_errors(
    options: Sequence[Terms],
    allowed: Sequence[Sequence[int]],
    folds: Folds,
    hashes: Hashes,
    intervals: Intervals,
    *,
    higher: bool,
) -> Floats:
    """Return the error of an out-of-fold average in every replicate; NaN if a fold has one query.

    Args:
        options: for each option to choose from, its values in every query.
        allowed: for each fold, the indexes of the options that may be chosen.
        folds: the folds of the queries.
        hashes: hashes of the query ids.
        intervals: the number of replicates, and the seed.
        higher: whether higher values are better.
    """
    residuals, deficits = _residuals(options, folds, higher=higher)
    numbers = folds.numbers[folds.complete]
    sums, counts = [], []
    for fold in range(folds.count):
        inside = numbers == fold
        size = int(inside.sum())
        if size < 2:
            return np.full(intervals.replicates, np.nan)
        centred = residuals[inside] - residuals[inside].mean(axis=0)
        centred *= math.sqrt(size / (size - 1))
        buckets = QueryBuckets(hashes[folds.complete][inside])
        columns = buckets.sums([*centred.T, np.ones(size)])
        drawn = weighted_sums(
            buckets.origins,
            columns,
            poisson_weights,
            replicates=intervals.replicates,
            seed=intervals.seed * folds.count + fold,
        )
        sums.append(drawn[:, :-1])
        counts.append(drawn[:, -1])
    total, count = np.sum(sums, axis=0), np.sum(counts, axis=0)
    errors = np.zeros(intervals.replicates)
    for fold, places in enumerate(allowed):
        others = np.maximum(count - counts[fold], 1.0)
        averages = (total - sums[fold])[:, places] / others[:, None] - deficits[places]
        chosen = np.asarray(places)[averages.argmax(axis=1)]
        errors += sums[fold][np.arange(intervals.replicates), chosen]
    errors /= np.maximum(count, 1.0)
    return errors if higher else -errors


def _residuals(options: Sequence[Terms], folds: Folds, *, higher: bool) -> tuple[Floats, Floats]:
    """Return residuals (queries × options), and the deficit of each option to the best option.

    A residual is the influence of a query on the option's average, positive if better. The deficit
    of an option that may be the best is 0.
    """
    rows, sign = folds.complete, 1.0 if higher else -1.0
    above = np.stack([terms.above[rows] for terms in options], axis=1)
    below = np.stack([terms.divisor[rows] for terms in options], axis=1)
    ratios = above.sum(axis=0) / below.sum(axis=0)
    residuals = sign * (above - ratios * below) / below.mean(axis=0)
    best = int((sign * ratios).argmax())
    behind = sign * (ratios[best] - ratios)
    queries = len(residuals)
    errors = (residuals[:, [best]] - residuals).std(axis=0) / math.sqrt(queries)
    doubt = math.sqrt(2 * math.log(math.log(max(queries, 16))))
    return residuals, np.where(behind > doubt * errors, behind, 0.0)
