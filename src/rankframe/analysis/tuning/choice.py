"""Estimate the error of an out-of-fold value, including that of the choices in every fold.

Each fold's choice depends on the other folds, and each fold takes part in the choices for the
others: two candidates that seem apart by chance are chosen in all folds, or in none. So the values
of queries are not independent, and their standard error is too small: with candidates that are
equally good, intervals made of it cover 85% instead of 95 (`python -m benchmarks.tuning`).

Here, choosing is repeated in bootstrap replicates in which the truth is known: the values of each
candidate are centred within each fold, so that all are equally good, except those that are worse
beyond doubt: these keep their distance from the best (Hansen 2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankframe.analysis.tuning.folds import Folds
from rankframe.core.arrays import Floats
from rankframe.engine.accumulator import Terms
from rankframe.stats.bootstrap import Hashes, QueryBuckets, poisson_weights, weighted_sums


@dataclass(frozen=True)
class Choice:
    """Hold what was chosen from: values in every query, and the options of each fold."""

    options: Sequence[Terms]
    # by fold: the places of the options that may be chosen
    allowed: Sequence[Sequence[int]]

    @classmethod
    def fixed(cls, terms: Terms, folds: Folds) -> Choice:
        """Return a choice without an alternative."""
        return cls([terms], [[0]] * folds.count)


def draw_errors(
    choice: Choice, folds: Folds, hashes: Hashes, *, higher: bool, replicates: int, seed: int
) -> Floats:
    """Return the error of an out-of-fold average in every replicate; NaN in folds of one query."""
    residuals, deficits = _residuals(choice.options, folds, higher=higher)
    numbers = folds.numbers[folds.complete]
    sums, counts = [], []
    for fold in range(folds.count):
        inside = numbers == fold
        size = int(inside.sum())
        if size < 2:
            return np.full(replicates, np.nan)
        centred = residuals[inside] - residuals[inside].mean(axis=0)
        centred *= math.sqrt(size / (size - 1))
        buckets = QueryBuckets(hashes[folds.complete][inside])
        columns = buckets.sums([*centred.T, np.ones(size)])
        drawn = weighted_sums(
            buckets.origins,
            columns,
            poisson_weights,
            replicates=replicates,
            seed=seed * folds.count + fold,
        )
        sums.append(drawn[:, :-1])
        counts.append(drawn[:, -1])
    total, count = np.sum(sums, axis=0), np.sum(counts, axis=0)
    errors = np.zeros(replicates)
    for fold, allowed in enumerate(choice.allowed):
        others = np.maximum(count - counts[fold], 1.0)
        averages = (total - sums[fold])[:, allowed] / others[:, None] - deficits[allowed]
        chosen = np.asarray(allowed)[averages.argmax(axis=1)]
        errors += sums[fold][np.arange(replicates), chosen]
    return errors / np.maximum(count, 1.0)


def _residuals(options: Sequence[Terms], folds: Folds, *, higher: bool) -> tuple[Floats, Floats]:
    """Return what each query adds to each average, more being better, and how much worse each is.

    An option that may be the best one is not worse at all.
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
