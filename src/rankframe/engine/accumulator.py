"""Accumulate values per query, their exact sums by slice, and counts.

`Terms` hold each query's contribution to the average of a metric, `Sums` the exact sums of these
terms, `SliceSums` the sums of all metrics over a slice of the queries. Sums merge: batches,
out-of-core partitions and partitions on Spark workers give bit-identical results in any order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats, Ints
from rankframe.core.columns import QUERY
from rankframe.core.options import Intervals
from rankframe.core.records import record
from rankframe.engine.ledger import Counts
from rankframe.engine.plan import concat_values, empty_values
from rankframe.io.queries import Attributes, QueryAttributes
from rankframe.kernel.segments import segment_starts
from rankframe.metrics.metric import ABOVE, BELOW, Metric
from rankframe.stats.bootstrap import (
    BootstrapBuckets,
    Hashes,
    bootstrap_ratios,
    can_resample,
    hash_ids,
)
from rankframe.stats.exact import Exact, deviation, exact_moments, exact_products, exact_sums
from rankframe.stats.intervals import (
    Bounds,
    OrderedValues,
    finish_average,
    percentile_interval,
    t_interval,
)

# trec_eval's floor of values in a geometric mean: a single query at 0 must not make the mean 0.
_GEOMETRIC_FLOOR = 1e-5
_NOTHING = Exact()
# Identifies a slice of queries: (number of the attribute, number of its value), or `WHOLE`.
SliceKey: TypeAlias = tuple[int, int]
WHOLE: Final[SliceKey] = (-1, -1)
_START = np.zeros(1, np.int64)


@record
class Terms:
    """Hold each query's value of a metric, and what it adds to Σ `above` and Σ `below`.

    The average is Σ above / Σ below. All numbers are 0 where the value is undefined.
    """

    values: Floats
    defined: Flags
    above: Floats
    # None: 1 for every query with a defined value
    below: Floats | None
    # whether the average is a quantile, which needs the values in order
    ordered: bool = False

    @classmethod
    def from_values(
        cls, metric: Metric, values: pl.DataFrame, weights: Floats | None = None
    ) -> Terms:
        """Compute what each query adds to numerator and denominator of a metric's average.

        `weights` are the weights of the queries, for weighted averages.
        """
        column = values[metric.label]
        if column.null_count():
            defined = column.is_not_null().to_numpy()
            numbers = column.fill_null(0.0).to_numpy()
        else:
            defined, numbers = np.ones(len(column), np.bool_), column.to_numpy()
        above, below = numbers, None
        match metric.average:
            case "geometric":
                above = np.log(np.maximum(numbers, _GEOMETRIC_FLOOR))
            case "micro":
                above = values[metric.label + ABOVE].to_numpy()
                below = values[metric.label + BELOW].to_numpy()
            case "weighted":
                assert weights is not None  # checked where options are read
                above, below = weights * numbers, weights
            case "macro" | "sum" | "median" | "min" | "quantile":
                pass
        if not defined.all():
            above = above if above is numbers else np.where(defined, above, 0.0)
            below = None if below is None else np.where(defined, below, 0.0)
        return cls(numbers, defined, above, below, metric.level is not None)

    @cached_property
    def divisor(self) -> Floats:
        """Return what each query adds to the denominator of the average, Σ `below`."""
        return self.defined.astype(np.float64) if self.below is None else self.below

    def taken(self, rows: Ints) -> Terms:
        """Return the values, numerators and denominators of the queries at the positions `rows`."""
        values = self.values[rows]
        above = values if self.above is self.values else self.above[rows]
        below = None if self.below is None else self.below[rows]
        return Terms(values, self.defined[rows], above, below, self.ordered)


# The fields of `Sums` that are added up.
_SUMMED = (
    "above", "below", "total", "squares", "above_squares", "products", "below_squares",
)  # fmt: skip


@record
class Sums:
    """Hold exact sums over queries, from which a metric's average and spread follow; sums merge."""

    queries: int
    above: Exact = _NOTHING
    below: Exact = _NOTHING
    # sums of the values themselves
    total: Exact = _NOTHING
    squares: Exact = _NOTHING
    # sums of above², above·below and below²
    above_squares: Exact = _NOTHING
    products: Exact = _NOTHING
    below_squares: Exact = _NOTHING
    # the values, if the average is a quantile
    values: OrderedValues | None = None
    # the quantile, computed once all queries are merged
    settled: float | None = None

    def merge(self, other: Sums) -> Sums:
        """Return the sums over the queries of both `self` and `other`."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        values = self.values
        if values is not None:
            values = values.merge(other.values or OrderedValues())
        return Sums(self.queries + other.queries, **sums, values=values)

    @staticmethod
    def from_terms(
        terms: Terms, starts: Ints, *, products: bool, moments: tuple[Exact, Exact] | None = None
    ) -> list[Sums]:
        """Sum values, numerators and denominators over each segment of queries.

        `products` adds the sums that intervals by Student's t need.
        `moments`: the sums of all values and of their squares, if they are known.
        """
        if not len(terms.values):
            return [Sums(0, values=OrderedValues() if terms.ordered else None)] * len(starts)
        counts = np.add.reduceat(terms.defined.astype(np.int64), starts).tolist()
        if len(starts) == 1:
            total, square = moments or exact_moments([terms.values])[0]
            totals, squares = [total], [square]
        else:
            totals = exact_sums(terms.values, starts)
            squares = _sum_products(terms.values, terms.values, starts)
        plain = terms.above is terms.values
        above = totals if plain else exact_sums(terms.above, starts)
        if terms.below is None:
            below = list(map(Exact.from_integer, counts))
        else:
            below = exact_sums(terms.below, starts)
        above_squares, mixed, below_squares = squares, above, below
        if products and not plain:
            above_squares = _sum_products(terms.above, terms.above, starts)
        if products and terms.below is not None:
            mixed = _sum_products(terms.above, terms.below, starts)
            below_squares = _sum_products(terms.below, terms.below, starts)
        ordered: list[OrderedValues | None] = [None] * len(starts)
        if terms.ordered:
            sides = (np.split(side, starts[1:]) for side in (terms.values, terms.defined))
            ordered = [OrderedValues.from_values(v[mask]) for v, mask in zip(*sides, strict=True)]
        columns = (
            counts, above, below, totals, squares, above_squares, mixed, below_squares, ordered
        )  # fmt: skip
        return list(map(Sums, *columns))

    def average(self, metric: Metric) -> float | None:
        """Return the average of the metric over the summed queries, or None if it is undefined."""
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
        return deviation(self.queries, self.total, self.squares)

    def interval(self, metric: Metric, confidence: float) -> Bounds | None:
        """Return the confidence interval of the average, by t or order statistics, or None.

        The interval of a ratio of sums is by Student's t, from the variance of its linearisation.
        The interval of a quantile (such as the median) is between two order statistics.
        """
        if metric.level is not None:
            return None if self.values is None else self.values.interval(metric.level, confidence)
        names = ("above", "below", "above_squares", "products", "below_squares")
        parts = [getattr(self, name).fraction for name in names]
        if self.queries < 2 or None in parts or not parts[1]:
            return None
        above, below, above_squares, products, below_squares = parts
        ratio = above / below
        rest = above_squares - 2 * ratio * products + ratio**2 * below_squares
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


def _sum_products(numbers: Floats, factors: Floats, starts: Ints) -> list[Exact]:
    """Add up the products of two columns over each segment, without rounding."""
    products, errors = exact_products(numbers, factors)
    return list(map(operator.add, exact_sums(products, starts), exact_sums(errors, starts)))


def average_values(
    metric: Metric, values: pl.DataFrame, weights: Floats | None = None
) -> float | None:
    """Return the average of a metric over all queries, or None if it is undefined."""
    terms = Terms.from_values(metric, values, weights)
    (sums,) = Sums.from_terms(terms, _START, products=False)
    return sums.average(metric)


@record
class SliceSums:
    """Hold the sums of all metrics over one slice of queries, from which a summary is computed."""

    # one entry per metric
    sums: tuple[Sums, ...]
    # by bootstrap bucket: `above` and `below` (or `undefined`) of each metric
    buckets: BootstrapBuckets | None = None
    # indices of metrics whose values are too large for the bootstrap
    too_large: frozenset[int] = frozenset()
    # the interval of each metric, set by `finish`
    bounds: tuple[Bounds | None, ...] | None = None
    # by index of the metric: bootstrap replicates that gaps between slices still need afterwards
    replicates: Mapping[int, Floats] = field(default_factory=dict)
    # the index of the first metric, if `sums` covers only some of the metrics (see `split`)
    first: int = 0

    @classmethod
    def empty(cls, metrics: Sequence[Metric]) -> SliceSums:
        """Return the sums over an empty set of queries."""
        values = [None if metric.level is None else OrderedValues() for metric in metrics]
        return cls(tuple([Sums(0, values=ordered) for ordered in values]))

    def merge(self, other: SliceSums) -> SliceSums:
        """Return the sums over the queries of both `self` and `other`."""
        buckets = self.buckets
        if buckets is not None and other.buckets is not None:
            buckets = buckets.merge(other.buckets)
        return replace(
            self,
            sums=tuple(own.merge(added) for own, added in zip(self.sums, other.sums, strict=True)),
            buckets=buckets or other.buckets,
            too_large=self.too_large | other.too_large,
        )

    def finish(
        self, metrics: Sequence[Metric], intervals: Intervals, keep: Collection[int] = ()
    ) -> SliceSums:
        """Compute the confidence intervals, and drop the sums that only intervals need.

        Args:
            metrics: all metrics, even if `sums` covers only some of them.
            intervals: which intervals to compute.
            keep: indices of metrics whose replicates are kept, for gaps between slices.
        """
        if self.bounds is not None:
            return self
        by_t = intervals.ci == "t"
        replicates = {} if by_t else self._draw(metrics, intervals)
        finished: list[Sums] = []
        bounds: list[Bounds | None] = []
        kept: dict[int, Floats] = {}
        for place, sums in enumerate(self.sums, self.first):
            metric, bound = metrics[place], None
            if by_t or (metric.level is not None and intervals.ci is not None):
                bound = sums.interval(metric, intervals.confidence)
            elif place in replicates:
                drawn = replicates[place]
                bound = percentile_interval(drawn, sums.queries, intervals.confidence)
                if place in keep:
                    kept[place] = drawn
            bounds.append(bound)
            if metric.level is not None:  # a quantile: compute it now, and free the values
                sums = replace(sums, values=None, settled=sums.average(metric))  # noqa: PLW2901
            finished.append(sums)
        return replace(
            self,
            sums=tuple(finished),
            buckets=None,
            bounds=tuple(bounds),
            replicates=kept,
        )

    def _draw(self, metrics: Sequence[Metric], intervals: Intervals) -> dict[int, Floats]:
        """Return each metric's average in every bootstrap replicate, by index of the metric."""
        buckets = self.buckets
        if buckets is None:
            return {}
        ratios: dict[int, tuple[Floats, Floats]] = {}
        for place, sums in enumerate(self.sums, self.first):
            metric = metrics[place]
            if place in self.too_large or sums.queries < 2 or metric.level is not None:
                continue
            above, below, undefined = _bucket_names(place)
            divisor = (
                buckets.values(below)
                if metric.average in ("micro", "weighted")
                else buckets.counts - buckets.values(undefined)
            )
            ratios[place] = buckets.values(above), divisor
        if not ratios:
            return {}
        drawn = bootstrap_ratios(
            buckets.origins,
            list(ratios.values()),
            replicates=intervals.replicates,
            seed=intervals.seed,
        )
        replicates: dict[int, Floats] = {}
        for place, averages in zip(ratios, drawn.T, strict=True):
            queries = self.sums[place - self.first].queries
            replicates[place] = finish_average(metrics[place].average, averages, queries)
        return replicates

    def split(self, size: int) -> Iterator[SliceSums]:
        """Split by metric: yield `SliceSums` that each have at most `size` of the metrics."""
        for first in range(0, len(self.sums), size):
            places = range(first, min(first + size, len(self.sums)))
            names = [name for place in places for name in _bucket_names(place)]
            yield replace(
                self,
                sums=self.sums[places.start : places.stop],
                buckets=None if self.buckets is None else self.buckets.only(names),
                first=first,
            )

    @staticmethod
    def unite(parts: Iterable[SliceSums]) -> SliceSums:
        """Join `SliceSums` that `split` yielded into the `SliceSums` of all metrics."""
        ordered = sorted(parts, key=lambda part: part.first)
        return SliceSums(
            tuple(sums for part in ordered for sums in part.sums),
            bounds=tuple(bound for part in ordered for bound in part.bounds or ()),
            replicates={place: r for part in ordered for place, r in part.replicates.items()},
        )


def sum_by_slice(
    metrics: Sequence[Metric],
    values: pl.DataFrame,
    attributes: QueryAttributes,
    intervals: Intervals,
) -> dict[SliceKey, SliceSums]:
    """Sum the values of each metric over all queries, and over the queries of every slice."""
    terms = [Terms.from_values(metric, values, attributes.weights) for metric in metrics]
    hashes = hash_ids(values[QUERY]) if intervals.ci == "bootstrap" else None
    slices = _sum_segments([WHOLE], _START, terms, intervals, hashes)
    for attribute, numbers in enumerate(attributes.slices):
        order = np.argsort(numbers, kind="stable")
        starts = segment_starts(numbers[order])
        slices |= _sum_segments(
            [(attribute, number) for number in numbers[order][starts].tolist()],
            starts,
            [column.taken(order) for column in terms],
            intervals,
            None if hashes is None else hashes[order],
        )
    return slices


def _sum_segments(
    keys: Sequence[SliceKey],
    starts: Ints,
    terms: Sequence[Terms],
    intervals: Intervals,
    hashes: Hashes | None,
) -> dict[SliceKey, SliceSums]:
    """Sum the values of each metric over each segment of queries; `keys`: their slices.

    If `hashes` of the query ids are given, also sum by bootstrap bucket.
    """
    by_t = intervals.ci == "t"
    moments: Sequence[tuple[Exact, Exact] | None] = [None] * len(terms)
    if len(starts) == 1:  # for all metrics at once
        moments = exact_moments([column.values for column in terms])
    sums = [
        Sums.from_terms(column, starts, products=by_t, moments=known)
        for column, known in zip(terms, moments, strict=True)
    ]
    segments: dict[SliceKey, SliceSums] = {}
    ends = np.append(starts[1:], 0 if hashes is None else len(hashes))
    for key, start, end, *row in zip(keys, starts.tolist(), ends.tolist(), *sums, strict=True):
        segments[key] = SliceSums(tuple(row))
        if hashes is None:
            continue
        rows, columns, too_large = slice(start, end), {}, set()
        for place, column in enumerate(terms):
            above, below, defined = column.above[rows], column.below, column.defined[rows]
            below = None if below is None else below[rows]
            if not (can_resample(above) and (below is None or can_resample(below))):
                too_large.add(place)
                continue
            above_name, below_name, undefined_name = _bucket_names(place)
            columns[above_name] = above
            if below is not None:
                columns[below_name] = below
            elif not defined.all():
                columns[undefined_name] = 1.0 - defined
        buckets = BootstrapBuckets.from_queries(hashes[rows], columns)
        segments[key] = SliceSums(tuple(row), buckets, frozenset(too_large))
    return segments


def _bucket_names(place: int) -> tuple[str, str, str]:
    """Return the names of a metric's bucket sums: numerator, denominator, undefined values."""
    return f"{place} above", f"{place} below", f"{place} undefined"


@record
class Averages:
    """Describe the averages to compute over queries: metrics, slices, weights and intervals."""

    metrics: tuple[Metric, ...]
    intervals: Intervals
    attributes: Attributes | None = None
    # whether values are summed; if not, they are only collected
    summed: bool = True


@dataclass
class Accumulator:
    """Accumulate values per query, their sums by slice, and counts; accumulators merge."""

    averages: Averages
    counts: Counts
    parts: list[pl.DataFrame] = field(default_factory=list)
    slices: dict[SliceKey, SliceSums] = field(default_factory=dict)

    @classmethod
    def from_values(cls, averages: Averages, values: pl.DataFrame, counts: Counts) -> Accumulator:
        """Make an accumulator of the values and counts of some queries, summed by slice."""
        attributes = QueryAttributes()
        if averages.attributes is not None:
            attributes = averages.attributes.look_up(values[QUERY])
        slices: dict[SliceKey, SliceSums] = {}
        if averages.summed:
            slices = sum_by_slice(averages.metrics, values, attributes, averages.intervals)
        counts = replace(
            counts,
            evaluated=values.height,
            absent=attributes.absent,
            unweighted=attributes.unweighted,
            weightless=attributes.example,
        )
        return cls(averages, counts, [values], slices)

    def merge(self, other: Accumulator) -> None:
        """Add the values, sums and counts of other queries, in place."""
        self.parts += other.parts
        self.counts = self.counts.merge(other.counts)
        for key, sums in other.slices.items():
            self.slices[key] = self.slices[key].merge(sums) if key in self.slices else sums

    def join(self) -> pl.DataFrame:
        """Return the values of all queries in byte order of their ids."""
        self.parts = [concat_values(self.parts or [empty_values(self.averages.metrics)])]
        return self.parts[0]

    def finish(self, keep: Mapping[int, Collection[int]]) -> dict[SliceKey, SliceSums]:
        """Return sums with intervals: over all queries (there may be none), then by slice.

        `keep` has, by number of the attribute, the indices of metrics whose replicates are kept for
        gaps between slices.
        """
        metrics, intervals = self.averages.metrics, self.averages.intervals
        finished: dict[SliceKey, SliceSums] = {}
        for key in sorted({WHOLE, *self.slices}):
            sums = self.slices[key] if key in self.slices else SliceSums.empty(metrics)
            finished[key] = sums.finish(metrics, intervals, keep.get(key[0], ()))
        return finished
