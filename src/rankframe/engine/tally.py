"""What averages over queries are made of: exact sums, and sums by groups of queries for resampling.

They add up over pieces: no order or split of rows shows.
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
from rankframe.metrics.names import Metric
from rankframe.stats.bootstrap import BootstrapBuckets, bootstrap_ratios, can_resample, hash_ids
from rankframe.stats.intervals import Bounds, finish_average, percentile_interval

# The queries that a tally speaks of: all of them, or (way of slicing, number of the slice).
SliceKey: TypeAlias = tuple[int, int]
WHOLE: Final[SliceKey] = (-1, -1)
_START = np.zeros(1, np.int64)


def tally_values(
    metrics: Sequence[Metric], computed: PerQuery, known: Known, intervals: Intervals
) -> dict[SliceKey, Tally]:
    """What the summaries of all queries and of every slice are made of."""
    terms = [Terms.of(metric, computed, known.weights) for metric in metrics]
    hashes = hash_ids(computed.values[QUERY]) if intervals.ci == "bootstrap" else None
    (whole,) = tally(metrics, terms, intervals=intervals, hashes=hashes)
    tallies: dict[SliceKey, Tally] = {WHOLE: whole}
    for way, numbers in enumerate(known.slices):
        order = np.argsort(numbers, kind="stable")
        starts = segment_starts(numbers[order])
        parts = tally(
            metrics,
            [some.taken(order) for some in terms],
            starts,
            intervals=intervals,
            hashes=None if hashes is None else hashes[order],
        )
        of = numbers[order][starts].tolist()
        tallies |= {(way, number): part for number, part in zip(of, parts, strict=True)}
    return tallies


@dataclass(frozen=True)
class Tally:
    """What a summary of some queries is made of; those of different queries add up."""

    # one a metric
    sums: tuple[Sums, ...]
    # by groups of queries, for the bootstrap: `above` and `below` (or `undefined`) of each metric
    groups: BootstrapBuckets | None = None
    # metrics with values that are too large to be resampled, by their place
    beyond: frozenset[int] = frozenset()
    # the interval of each metric, where nothing is to be added any more
    settled: tuple[Bounds | None, ...] | None = None
    # replicates that are asked for after that, by the place of their metric
    drawn: Mapping[int, Floats] = field(default_factory=dict)
    # the place of the first metric, where this is a part
    first: int = 0

    def __add__(self, other: Tally) -> Tally:
        groups = self.groups
        if groups is not None and other.groups is not None:
            groups = groups.merge(other.groups)
        return replace(
            self,
            sums=tuple(ours + theirs for ours, theirs in zip(self.sums, other.sums, strict=True)),
            groups=groups or other.groups,
            beyond=self.beyond | other.beyond,
        )

    def split(self, size: int) -> Iterator[Tally]:
        """The same in parts of so many metrics."""
        for first in range(0, len(self.sums), size):
            places = range(first, min(first + size, len(self.sums)))
            names = [name for at in places for name in _columns(at)]
            yield replace(
                self,
                sums=self.sums[places.start : places.stop],
                groups=None if self.groups is None else self.groups.only(names),
                first=first,
            )

    @staticmethod
    def joined(parts: Iterable[Tally]) -> Tally:
        """Parts as one again, after they were settled."""
        ordered = sorted(parts, key=lambda part: part.first)
        bounds = tuple(bound for part in ordered for bound in part.settled or ())
        drawn = {at: some for part in ordered for at, some in part.drawn.items()}
        sums = tuple(some for part in ordered for some in part.sums)
        return Tally(sums, settled=bounds, drawn=drawn)

    def settle(
        self, metrics: Sequence[Metric], intervals: Intervals, kept: Collection[int] = ()
    ) -> Tally:
        """All queries are in: the intervals, without the sums that they are drawn from.

        `metrics`: all of them, also where this is a part. `kept`: those, by their places, whose
        replicates are needed further, for gaps between slices.
        """
        bounds, places = self.bounds(metrics, intervals), range(self.first, len(metrics))
        sums = tuple(some.settle(metrics[at]) for at, some in zip(places, self.sums, strict=False))
        here = {at: some for at, some in zip(places, self.sums, strict=False) if at in kept}
        drawn = self._replicates(metrics, here, intervals)
        return replace(self, sums=sums, groups=None, settled=bounds, drawn=drawn)

    def bounds(self, metrics: Sequence[Metric], intervals: Intervals) -> tuple[Bounds | None, ...]:
        """The interval of each metric; None where there is none."""
        if self.settled is not None:
            return self.settled
        places = range(self.first, self.first + len(self.sums))
        sums = dict(zip(places, self.sums, strict=True))
        if intervals.ci == "t":
            return tuple(sums[at].interval(metrics[at], intervals.confidence) for at in places)
        drawn = self._replicates(metrics, sums, intervals)

        def bound(at: int) -> Bounds | None:
            if metrics[at].level is not None and intervals.ci is not None:
                return sums[at].interval(metrics[at], intervals.confidence)
            if at not in drawn:
                return None
            return percentile_interval(drawn[at], sums[at].queries, intervals.confidence)

        return tuple(map(bound, places))

    def replicates(self, metrics: Sequence[Metric], at: int, intervals: Intervals) -> Floats | None:
        """Every replicate's summary of one metric, by its place; None where nothing is drawn."""
        if self.settled is not None:
            return self.drawn.get(at)
        return self._replicates(metrics, {at: self.sums[at - self.first]}, intervals).get(at)

    def _replicates(
        self, metrics: Sequence[Metric], sums: Mapping[int, Sums], intervals: Intervals
    ) -> dict[int, Floats]:
        """Every replicate's summary of each metric, by its place."""
        groups = self.groups
        if groups is None:
            return {}
        ratios: dict[int, tuple[Floats, Floats]] = {}
        for at, some in sums.items():
            if at not in self.beyond and some.queries > 1 and metrics[at].level is None:
                above, below, undefined = _columns(at)
                by_sums = metrics[at].average in ("micro", "weighted")
                ratios[at] = (
                    groups.values(above),
                    groups.values(below) if by_sums else groups.counts - groups.values(undefined),
                )
        if not ratios:
            return {}
        drawn = bootstrap_ratios(
            groups.origins,
            list(ratios.values()),
            replicates=intervals.replicates,
            seed=intervals.seed,
        )
        return {
            at: finish_average(metrics[at].average, ratio, sums[at].queries)
            for at, ratio in zip(ratios, drawn.T, strict=True)
        }


def _columns(at: int) -> tuple[str, str, str]:
    """What groups call the sums of a metric: above, below, and where it is undefined."""
    return f"{at} above", f"{at} below", f"{at} undefined"


def tally(
    metrics: Sequence[Metric],
    terms: Sequence[Terms],
    starts: NDArray[np.int64] = _START,
    *,
    intervals: Intervals,
    hashes: NDArray[np.uint64] | None = None,
) -> list[Tally]:
    """Tally each stretch of queries, from one start to the next.

    `hashes` of their ids, where they are to be resampled.
    """
    products = intervals.ci == "t"
    sums = [Sums.over(some, starts, products=products) for some in terms]
    tallies = [Tally(of) for of in zip(*sums, strict=True)] or [Tally(()) for _ in starts]
    if hashes is None:
        return tallies
    ends = [*starts[1:].tolist(), len(hashes)]
    return [
        _resampled(of, metrics, [some.cut(start, end) for some in terms], hashes[start:end])
        for of, start, end in zip(tallies, starts.tolist(), ends, strict=True)
    ]


def _resampled(
    of: Tally, metrics: Sequence[Metric], terms: Sequence[Terms], hashes: NDArray[np.uint64]
) -> Tally:
    """A tally with what the bootstrap needs."""
    columns: dict[str, Floats] = {}
    beyond = set()
    for at, (metric, some) in enumerate(zip(metrics, terms, strict=True)):
        if not (can_resample(some.above) and can_resample(some.divisor)):
            beyond.add(at)
            continue
        above, below, undefined = _columns(at)
        columns[above] = some.above
        if metric.average in ("micro", "weighted"):
            columns[below] = some.divisor
        elif not some.defined.all():
            columns[undefined] = 1.0 - some.divisor
    return Tally(of.sums, BootstrapBuckets.from_queries(hashes, columns), frozenset(beyond))
