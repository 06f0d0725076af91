"""Sums over queries: of all of them, and of every slice; averages and intervals are made of them.

Sums are exact and merge across queries, so the order and partition of rows never show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankframe.core.columns import QUERY
from rankframe.core.options import Intervals
from rankframe.engine.plan import PerQuery
from rankframe.engine.terms import Floats, Sums, Terms
from rankframe.io.queries import Known
from rankframe.kernel.segments import segment_starts
from rankframe.metrics.metric import Metric
from rankframe.stats.bootstrap import BootstrapBuckets, bootstrap_ratios, can_resample, hash_ids
from rankframe.stats.intervals import Bounds, OrderedValues, finish_average, percentile_interval

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
    metrics: Sequence[Metric], values: PerQuery, attributes: Known, intervals: Intervals
) -> dict[SliceKey, SliceSums]:
    """Sum up values over all queries, and over the queries of every slice."""
    terms = [Terms.of(metric, values, attributes.weights) for metric in metrics]
    hashes = hash_ids(values.values[QUERY]) if intervals.ci == "bootstrap" else None
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
        _with_buckets(row, metrics, [column.cut(start, end) for column in terms], hashes[start:end])
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
