"""Averages: the terms of metrics, their exact sums by slice, and the accumulator that merges them.

Whatever is computed is independent for every query, and sums are exact: batches, partitions out of
core and partitions on Spark workers merge in any order, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankframe.core.options import Intervals
from rankframe.engine.ledger import Counts
from rankframe.engine.plan import ABOVE, BELOW, PerQuery
from rankframe.io.queries import Attributes, QueryAttributes
from rankframe.kernel.segments import segment_starts
from rankframe.metrics.metric import Metric
from rankframe.stats.bootstrap import BootstrapBuckets, bootstrap_ratios, can_resample, hash_ids
from rankframe.stats.exact import Exact, exact_moments, exact_products, exact_sums
from rankframe.stats.intervals import (
    Bounds,
    OrderedValues,
    finish_average,
    percentile_interval,
    t_interval,
)

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
        column = computed.rows[metric.label]
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
                    masked(computed.rows[metric.label + side].to_numpy()) for side in (ABOVE, BELOW)
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

    def taken(self, rows: NDArray[np.int64] | slice) -> Terms:
        """Return the terms of the queries in these rows."""
        values = self.values[rows]
        above = values if self.above is self.values else self.above[rows]
        below = None if self.below is None else self.below[rows]
        return Terms(values, self.defined[rows], above, below, self.ordered)


# Of `Sums`, what is added up.
_SUMMED = (
    "above", "below", "total", "squares", "above_squares", "products", "below_squares",
)  # fmt: skip


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
    above_squares: Exact = _NOTHING
    products: Exact = _NOTHING
    below_squares: Exact = _NOTHING
    # the values in their order, where the average is one of them
    values: OrderedValues | None = None
    # what that is, where nothing is to be added any more
    settled: float | None = None

    def merge(self, other: Sums) -> Sums:
        """Return the sums of these queries and of others."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        values = self.values
        if values is not None:
            values = values.merge(other.values or OrderedValues())
        return Sums(self.queries + other.queries, **sums, values=values)

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
            sides = (np.split(side, starts[1:]) for side in (terms.values, terms.defined))
            kept = [OrderedValues.from_values(v[mask]) for v, mask in zip(*sides, strict=True)]
        columns = (counts, above, below, values, squares, first, second, third, kept)
        return [Sums(*row) for row in zip(*columns, strict=True)]

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


def average_values(metric: Metric, values: PerQuery, weights: Floats | None = None) -> float | None:
    """Return the average of a metric over all queries; None where there is none."""
    terms = Terms.of(metric, values, weights)
    (sums,) = Sums.over(terms, np.zeros(1, np.int64), products=False)
    return sums.average(metric)


# Which queries are summed up: all of them, or (number of the attribute, number of its value).
SliceKey: TypeAlias = tuple[int, int]
WHOLE: Final[SliceKey] = (-1, -1)
_START = np.zeros(1, np.int64)


@dataclass(frozen=True)
class SliceSums:
    """Hold what the summary of some queries is made of."""

    # one for each metric
    sums: tuple[Sums, ...]
    # by bootstrap bucket: `above` and `below` (or `undefined`) of each metric
    buckets: BootstrapBuckets | None = None
    # places of metrics whose values are too large to be resampled
    too_large: frozenset[int] = frozenset()
    # the interval of each metric, once all queries are in
    bounds: tuple[Bounds | None, ...] | None = None
    # replicates that gaps between slices need after that, by the place of their metric
    replicates: Mapping[int, Floats] = field(default_factory=dict)
    # the place of the first metric, where these are the sums of some of them
    first: int = 0

    @classmethod
    def empty(cls, metrics: Sequence[Metric]) -> SliceSums:
        """Return the sums of no queries."""
        return cls(
            tuple(Sums(0, values=None if m.level is None else OrderedValues()) for m in metrics)
        )

    def merge(self, other: SliceSums) -> SliceSums:
        """Return the sums of these queries and of others."""
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
        """Draw the intervals, and drop the sums that they are drawn from.

        Args:
            metrics: all of them, also where these are the sums of some.
            intervals: which intervals to draw.
            keep: places of metrics whose replicates are kept, for gaps between slices.
        """
        if self.bounds is not None:
            return self
        places = range(self.first, self.first + len(self.sums))
        sums = dict(zip(places, self.sums, strict=True))
        by_t = intervals.ci == "t"
        replicates = {} if by_t else self._draw(metrics, intervals)

        def interval(place: int) -> Bounds | None:
            metric, of_metric = metrics[place], sums[place]
            if by_t or (metric.level is not None and intervals.ci is not None):
                return of_metric.interval(metric, intervals.confidence)
            if place not in replicates:
                return None
            drawn = replicates[place]
            return percentile_interval(drawn, of_metric.queries, intervals.confidence)

        return replace(
            self,
            sums=tuple(sums[place].finish(metrics[place]) for place in places),
            buckets=None,
            bounds=tuple(map(interval, places)),
            replicates={place: drawn for place, drawn in replicates.items() if place in keep},
        )

    def _draw(self, metrics: Sequence[Metric], intervals: Intervals) -> dict[int, Floats]:
        """Return the average of every replicate, by the place of its metric."""
        buckets = self.buckets
        if buckets is None:
            return {}
        ratios: dict[int, tuple[Floats, Floats]] = {}
        queries: dict[int, int] = {}
        for place, sums in enumerate(self.sums, self.first):
            metric = metrics[place]
            if place in self.too_large or sums.queries < 2 or metric.level is not None:
                continue
            above, below, undefined = _names(place)
            divisor = (
                buckets.values(below)
                if metric.average in ("micro", "weighted")
                else buckets.counts - buckets.values(undefined)
            )
            ratios[place], queries[place] = (buckets.values(above), divisor), sums.queries
        if not ratios:
            return {}
        replicates = bootstrap_ratios(
            buckets.origins,
            list(ratios.values()),
            replicates=intervals.replicates,
            seed=intervals.seed,
        )
        return {
            place: finish_average(metrics[place].average, replicate, queries[place])
            for place, replicate in zip(ratios, replicates.T, strict=True)
        }

    def split(self, size: int) -> Iterator[SliceSums]:
        """Yield the sums of so many metrics at a time."""
        for first in range(0, len(self.sums), size):
            places = range(first, min(first + size, len(self.sums)))
            names = [name for place in places for name in _names(place)]
            yield replace(
                self,
                sums=self.sums[places.start : places.stop],
                buckets=None if self.buckets is None else self.buckets.only(names),
                first=first,
            )

    @staticmethod
    def unite(parts: Iterable[SliceSums]) -> SliceSums:
        """Return the sums of all metrics from parts that each have the sums of a few metrics."""
        ordered = sorted(parts, key=lambda part: part.first)
        return SliceSums(
            tuple(sums for part in ordered for sums in part.sums),
            bounds=tuple(bound for part in ordered for bound in part.bounds or ()),
            replicates={place: r for part in ordered for place, r in part.replicates.items()},
        )


def sum_by_slice(
    metrics: Sequence[Metric], values: PerQuery, attributes: QueryAttributes, intervals: Intervals
) -> dict[SliceKey, SliceSums]:
    """Sum up values over all queries, and over the queries of every slice."""
    terms = [Terms.of(metric, values, attributes.weights) for metric in metrics]
    hashes = hash_ids(values.queries) if intervals.ci == "bootstrap" else None
    (whole,) = _sum_segments(metrics, terms, _START, intervals, hashes)
    slices: dict[SliceKey, SliceSums] = {WHOLE: whole}
    for attribute, numbers in enumerate(attributes.slices):
        order = np.argsort(numbers, kind="stable")
        starts = segment_starts(numbers[order])
        segments = _sum_segments(
            metrics,
            [column.taken(order) for column in terms],
            starts,
            intervals,
            None if hashes is None else hashes[order],
        )
        keys = ((attribute, number) for number in numbers[order][starts].tolist())
        slices |= zip(keys, segments, strict=True)
    return slices


def _sum_segments(
    metrics: Sequence[Metric],
    terms: Sequence[Terms],
    starts: NDArray[np.int64],
    intervals: Intervals,
    hashes: NDArray[np.uint64] | None,
) -> list[SliceSums]:
    """Sum up the queries from each start to the next; with hashes of their ids, by bucket too."""
    sums = [Sums.over(column, starts, products=intervals.ci == "t") for column in terms]
    rows = list(zip(*sums, strict=True)) or [()] * len(starts)
    if hashes is None:
        return [SliceSums(row) for row in rows]
    ends = [*starts[1:].tolist(), len(hashes)]
    return [
        _with_buckets(
            row, metrics, [column.taken(slice(start, end)) for column in terms], hashes[start:end]
        )
        for row, start, end in zip(rows, starts.tolist(), ends, strict=True)
    ]


def _with_buckets(
    sums: tuple[Sums, ...],
    metrics: Sequence[Metric],
    terms: Sequence[Terms],
    hashes: NDArray[np.uint64],
) -> SliceSums:
    """Return the sums of a few queries, including the bucket sums that the bootstrap needs."""
    columns: dict[str, Floats] = {}
    too_large = set()
    for place, (metric, column) in enumerate(zip(metrics, terms, strict=True)):
        if not (can_resample(column.above) and can_resample(column.divisor)):
            too_large.add(place)
            continue
        above, below, undefined = _names(place)
        columns[above] = column.above
        if metric.average in ("micro", "weighted"):
            columns[below] = column.divisor
        elif not column.defined.all():
            columns[undefined] = 1.0 - column.divisor
    return SliceSums(sums, BootstrapBuckets.from_queries(hashes, columns), frozenset(too_large))


def _names(place: int) -> tuple[str, str, str]:
    """Return the names of a metric's sums in buckets: above, below, and how often undefined."""
    return f"{place} above", f"{place} below", f"{place} undefined"


@dataclass(frozen=True)
class Averages:
    """Say what is averaged over queries: metrics, in slices and by weights, with intervals."""

    metrics: tuple[Metric, ...]
    intervals: Intervals
    attributes: Attributes | None = None
    # whether values are summed up; else they are only kept
    summed: bool = True


@dataclass
class Accumulator:
    """Accumulate what becomes of queries."""

    averages: Averages
    counts: Counts
    parts: list[PerQuery] = field(default_factory=list)
    slices: dict[SliceKey, SliceSums] = field(default_factory=dict)
    # whether the values are one part, in byte order
    _joined: bool = False

    def add(self, values: PerQuery, counts: Counts) -> None:
        """Add the values of queries, and what was counted for them."""
        attributes = self.averages.attributes
        joined = QueryAttributes() if attributes is None else attributes.look_up(values.queries)
        self.parts.append(values)
        self._joined = False
        self.counts = self.counts.merge(counts.with_queries(values.height, joined))
        if self.averages.summed:
            metrics, intervals = self.averages.metrics, self.averages.intervals
            self._merge_slices(sum_by_slice(metrics, values, joined, intervals))

    def merge(self, other: Accumulator) -> None:
        """Add what was accumulated of other queries."""
        self.parts += other.parts
        self._joined = False
        self.counts = self.counts.merge(other.counts)
        self._merge_slices(other.slices)

    def join(self, *, ordered: bool = False) -> PerQuery:
        """Return the values of all queries in byte order; `ordered`: they were added so."""
        if not self._joined:
            parts = self.parts or [PerQuery.empty(self.averages.metrics)]
            self.parts, self._joined = [PerQuery.joined(parts, ordered=ordered)], True
        return self.parts[0]

    def finish(self, keep: Mapping[int, Collection[int]]) -> dict[SliceKey, SliceSums]:
        """Return finished sums: of all queries first, even if there are none, then of every slice.

        `keep`: by the number of an attribute, metrics whose replicates are kept, for gaps.
        """
        metrics, intervals = self.averages.metrics, self.averages.intervals
        whole = {WHOLE: SliceSums.empty(metrics)} | self.slices
        return {
            key: whole[key].finish(metrics, intervals, keep.get(key[0], ()))
            for key in sorted(whole)
        }

    def _merge_slices(self, slices: dict[SliceKey, SliceSums]) -> None:
        for key, sums in slices.items():
            self.slices[key] = self.slices[key].merge(sums) if key in self.slices else sums
