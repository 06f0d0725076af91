"""Per-query values → one number a metric, by exact sums: no order or split of rows shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.exact import Exact, exact_sum
from rankframe.names import Metric
from rankframe.plan import denominator, numerator

# trec_eval's floor for a geometric mean: one query at 0 must not make it 0.
_GEOMETRIC_FLOOR = 1e-5
SCHEMA = {"metric": pl.String, "value": pl.Float64, "queries": pl.Int64}


@dataclass(frozen=True)
class Sums:
    """What a metric's average is made of, over some of the queries; it adds up."""

    queries: int
    above: Exact
    # of a metric that is averaged over sums or by weights; else the queries themselves count
    below: Exact

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.queries + other.queries, self.above + other.above, self.below + other.below
        )


def sums_of(
    metric: Metric, values: pl.DataFrame, weights: NDArray[np.float64] | None = None
) -> Sums:
    """Add up a metric's values; a query for which it is undefined is left out."""
    column = values[metric.label]
    defined = column.is_not_null().to_numpy()
    whole = bool(defined.all())

    def chosen(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return numbers if whole else numbers[defined]

    numbers, below = chosen(column.to_numpy()), Exact()
    match metric.average:
        case "geometric":
            above = exact_sum(np.log(np.maximum(numbers, _GEOMETRIC_FLOOR)))
        case "micro":
            above = exact_sum(chosen(values[numerator(metric.label)].to_numpy()))
            below = exact_sum(chosen(values[denominator(metric.label)].to_numpy()))
        case "weighted":
            assert weights is not None  # evaluate() saw to it
            share = chosen(weights)
            above, below = exact_sum(share * numbers), exact_sum(share)
        case "macro" | "sum":
            above = exact_sum(numbers)
    return Sums(len(numbers), above, below)


def summarise(metrics: Sequence[Metric], sums: Sequence[Sums]) -> pl.DataFrame:
    """One row per metric: its label, its value and how many queries it was averaged over."""
    rows = [(m.label, _average(m, s), s.queries) for m, s in zip(metrics, sums, strict=True)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _average(metric: Metric, sums: Sums) -> float | None:
    above, below = float(sums.above), float(sums.below)
    if not sums.queries:
        return None
    match metric.average:
        case "macro":
            return above / sums.queries
        case "sum":
            return above
        case "geometric":
            return math.exp(above / sums.queries)
        case "micro" | "weighted":
            return above / below if below else None
