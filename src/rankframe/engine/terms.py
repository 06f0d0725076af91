"""The terms of a metric's average, and their exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankframe.engine.plan import PerQuery
from rankframe.metrics.names import Metric
from rankframe.stats.exact import Exact, exact_moments, exact_products, exact_sums
from rankframe.stats.intervals import Bounds, OrderedValues, finish_average, t_interval

# trec_eval's floor for a geometric mean: one query at 0 must not make it 0.
_GEOMETRIC_FLOOR = 1e-5
Floats = NDArray[np.float64]
_NOTHING = Exact()


@dataclass(frozen=True)
class Terms:
    """Hold a metric's values as the terms of its average, Σ above / Σ below; 0 where undefined."""

    values: Floats
    defined: NDArray[np.bool_]
    above: Floats
    # None: 1 for every query that is defined
    below: Floats | None
    # whether the values themselves are asked for, in their order
    ordered: bool = False

    @classmethod
    def of(cls, metric: Metric, computed: PerQuery, weights: Floats | None = None) -> Terms:
        """Return the terms of a metric; `weights` of queries if it is averaged by weight."""
        column = computed.values[metric.label]
        if column.null_count():
            defined = column.is_not_null().to_numpy()
            numbers = column.fill_null(0.0).to_numpy()
        else:
            defined, numbers = np.ones(len(column), np.bool_), column.to_numpy()

        def masked(terms: Floats) -> Floats:
            return terms if defined.all() else np.where(defined, terms, 0.0)

        above, below = numbers, None
        match metric.average:
            case "geometric":
                above = masked(np.log(np.maximum(numbers, _GEOMETRIC_FLOOR)))
            case "micro":
                above, below = (
                    masked(side[metric.label].to_numpy())
                    for side in (computed.above, computed.below)
                )
            case "weighted":
                assert weights is not None  # checked where options are read
                above, below = masked(weights * numbers), masked(weights)
            case "macro" | "sum" | "median" | "min" | "quantile":
                pass
        return cls(numbers, defined, above, below, metric.level is not None)

    @cached_property
    def divisor(self) -> Floats:
        """Return what each query adds below the line."""
        return self.defined.astype(np.float64) if self.below is None else self.below

    def cut(self, start: int, end: int) -> Terms:
        """Return the terms of a segment of queries."""
        return self.taken(slice(start, end))

    def taken(self, rows: NDArray[np.int64] | slice) -> Terms:
        """Return the terms of the queries in these rows."""
        values = self.values[rows]
        above = values if self.above is self.values else self.above[rows]
        below = None if self.below is None else self.below[rows]
        return Terms(values, self.defined[rows], above, below, self.ordered)


@dataclass(frozen=True)
class Sums:
    """Hold the sums that a metric's average and spread are computed from; they merge."""

    queries: int
    above: Exact = _NOTHING
    below: Exact = _NOTHING
    # of the values themselves
    total: Exact = _NOTHING
    squares: Exact = _NOTHING
    # above², above·below, below²
    products: tuple[Exact, Exact, Exact] = (_NOTHING, _NOTHING, _NOTHING)
    # the values in their order, where the average is one of them
    values: OrderedValues | None = None
    # what that is, where nothing is to be added any more
    settled: float | None = None

    def merge(self, other: Sums) -> Sums:
        """Return the sums of these queries and of others."""
        a, b, c = (x + y for x, y in zip(self.products, other.products, strict=True))
        return Sums(
            self.queries + other.queries,
            self.above + other.above,
            self.below + other.below,
            self.total + other.total,
            self.squares + other.squares,
            (a, b, c),
            None if self.values is None else self.values.merge(other.values or OrderedValues()),
        )

    def finish(self, metric: Metric) -> Sums:
        """Keep the average of the values instead of the values, of which there may be many."""
        if metric.level is None:
            return self
        return replace(self, values=None, settled=self.average(metric))

    @staticmethod
    def over(terms: Terms, starts: NDArray[np.int64], *, products: bool) -> list[Sums]:
        """Sum up each segment of queries; with `products` for an interval by Student's t."""
        if not len(terms.values):
            return [Sums(0, values=OrderedValues() if terms.ordered else None)] * len(starts)

        def total(*numbers: Floats) -> list[Exact]:
            sums = [exact_sums(column, starts) for column in numbers]
            return [sum(parts, _NOTHING) for parts in zip(*sums, strict=True)]

        counts = np.add.reduceat(terms.defined.astype(np.int64), starts).tolist()
        whole = [Exact.from_integer(count) for count in counts]
        if len(starts) == 1:
            values, squares = ([column] for column in exact_moments(terms.values))
        else:
            values = total(terms.values)
            squares = total(*exact_products(terms.values, terms.values))
        plain = terms.above is terms.values
        above = values if plain else total(terms.above)
        below = whole if terms.below is None else total(terms.below)
        first, second, third = squares, above, whole
        if products and not plain:
            first = total(*exact_products(terms.above, terms.above))
        if products and terms.below is not None:
            second = total(*exact_products(terms.above, terms.below))
            third = total(*exact_products(terms.below, terms.below))
        kept: list[OrderedValues | None] = [None] * len(starts)
        if terms.ordered:
            ends = [*starts[1:].tolist(), len(terms.values)]
            segments = (slice(start, end) for start, end in zip(starts.tolist(), ends, strict=True))
            kept = [
                OrderedValues.from_values(terms.values[rows][terms.defined[rows]])
                for rows in segments
            ]
        columns = zip(
            counts, above, below, values, squares, first, second, third, kept, strict=True
        )
        return [
            Sums(count, over, under, value, square, (aa, ab, bb), ordered)
            for count, over, under, value, square, aa, ab, bb, ordered in columns
        ]

    def average(self, metric: Metric) -> float | None:
        """Return the metric's one number; None where there is none."""
        above, below = float(self.above), float(self.below)
        if not self.queries or not below:
            return None
        match metric.average:
            case "sum":
                return above
            case "geometric":
                return math.exp(above / below)
            case "median" | "min" | "quantile":
                return (
                    self.settled if self.values is None else self.values.quantile(metric.level or 0)
                )
            case "macro" | "micro" | "weighted":
                return above / below

    @property
    def deviation(self) -> float | None:
        """Return the standard deviation of the values over the queries."""
        squares, total = self.squares.fraction, self.total.fraction
        if self.queries < 2 or squares is None or total is None:
            return None
        spread = max((squares - total**2 / self.queries) / (self.queries - 1), Fraction(0))
        try:
            return math.sqrt(spread)
        except OverflowError:
            return None

    def interval(self, metric: Metric, confidence: float) -> Bounds | None:
        """Return an interval by Student's t: of a ratio of sums, by how far each query is from it;
        of a median or another quantile, by which values it may be between.
        """
        if metric.level is not None:
            return None if self.values is None else self.values.interval(metric.level, confidence)
        parts = [part.fraction for part in (self.above, self.below, *self.products)]
        if self.queries < 2 or None in parts or not parts[1]:
            return None
        above, below, *products = (part for part in parts if part is not None)
        ratio = above / below
        rest = products[0] - 2 * ratio * products[1] + ratio**2 * products[2]
        squared: Fraction = rest / below**2 * Fraction(self.queries, self.queries - 1)
        try:
            error = math.sqrt(max(squared, 0))
        except OverflowError:
            return None
        bounds = t_interval(float(ratio), error, self.queries, confidence)
        if bounds is None:
            return None
        low, high = finish_average(metric.average, np.array(bounds), self.queries).tolist()
        return low, high


def average_values(metric: Metric, values: PerQuery, weights: Floats | None = None) -> float | None:
    """Return the average of a metric over all queries; None where there is none."""
    terms = Terms.of(metric, values, weights)
    (sums,) = Sums.over(terms, np.zeros(1, np.int64), products=False)
    return sums.average(metric)
