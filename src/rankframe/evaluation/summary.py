"""Per-query values → one number a metric, for all queries and for slices of them.

Sums are exact and add up over pieces: no order or split of rows shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.base.options import Intervals
from rankframe.engine.plan import denominator, numerator
from rankframe.metrics.names import Metric
from rankframe.stats.exact import Exact, exact_products, exact_sums
from rankframe.stats.intervals import (
    Bounds,
    around,
    finished,
    percentile_interval,
    replicated,
    t_interval,
)
from rankframe.stats.resample import Groups, can_resample

# trec_eval's floor for a geometric mean: one query at 0 must not make it 0.
_GEOMETRIC_FLOOR = 1e-5
SCHEMA = {
    "metric": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "std": pl.Float64,
    "queries": pl.Int64,
}
Floats = NDArray[np.float64]
_NOTHING = Exact()
_START = np.zeros(1, np.int64)
# With fewer queries than these, a slice's numbers are hints.
SMALL = 30
SLICE_SCHEMA = {"by": pl.String, "slice": pl.String, **SCHEMA, "small": pl.Boolean}


@dataclass(frozen=True)
class Terms:
    """A metric's values as what its average is made of: Σ above / Σ below. 0 where undefined."""

    values: Floats
    defined: NDArray[np.bool_]
    above: Floats
    # None: 1 for every query that is defined
    below: Floats | None

    @classmethod
    def of(cls, metric: Metric, values: pl.DataFrame, weights: Floats | None = None) -> Terms:
        """Take a metric's column apart; `weights` where it is averaged by weight."""
        column = values[metric.label]
        defined = column.is_not_null().to_numpy()
        numbers = column.fill_null(0.0).to_numpy()

        def masked(some: Floats) -> Floats:
            return some if defined.all() else np.where(defined, some, 0.0)

        above, below = numbers, None
        match metric.average:
            case "geometric":
                above = masked(np.log(np.maximum(numbers, _GEOMETRIC_FLOOR)))
            case "micro":
                above, below = (
                    masked(values[name(metric.label)].to_numpy())
                    for name in (numerator, denominator)
                )
            case "weighted":
                assert weights is not None  # whoever reads the options saw to it
                above, below = masked(weights * numbers), masked(weights)
            case "macro" | "sum":
                pass
        return cls(numbers, defined, above, below)

    @cached_property
    def divisor(self) -> Floats:
        """What each query counts below the line."""
        return self.defined.astype(np.float64) if self.below is None else self.below

    def cut(self, start: int, end: int) -> Terms:
        """Those of a stretch of queries."""
        return self.taken(slice(start, end))

    def taken(self, rows: NDArray[np.int64] | slice) -> Terms:
        """Those of some queries."""
        values = self.values[rows]
        above = values if self.above is self.values else self.above[rows]
        below = None if self.below is None else self.below[rows]
        return Terms(values, self.defined[rows], above, below)


@dataclass(frozen=True)
class Sums:
    """What a metric's average and spread are made of, over some of the queries; it adds up."""

    queries: int
    above: Exact = _NOTHING
    below: Exact = _NOTHING
    # of the values themselves
    total: Exact = _NOTHING
    squares: Exact = _NOTHING
    # above², above·below, below²
    products: tuple[Exact, Exact, Exact] = (_NOTHING, _NOTHING, _NOTHING)

    def __add__(self, other: Sums) -> Sums:
        a, b, c = (x + y for x, y in zip(self.products, other.products, strict=True))
        return Sums(
            self.queries + other.queries,
            self.above + other.above,
            self.below + other.below,
            self.total + other.total,
            self.squares + other.squares,
            (a, b, c),
        )

    @staticmethod
    def over(terms: Terms, starts: NDArray[np.int64], *, products: bool) -> list[Sums]:
        """Add up each stretch of queries. `products`: those too, for an interval by t."""
        if not len(terms.values):
            return [Sums(0)] * len(starts)

        def total(*numbers: Floats) -> list[Exact]:
            sums = [exact_sums(some, starts) for some in numbers]
            return [sum(parts, _NOTHING) for parts in zip(*sums, strict=True)]

        counts = np.add.reduceat(terms.defined.astype(np.int64), starts).tolist()
        whole = [Exact.of(count) for count in counts]
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
        columns = zip(counts, above, below, values, squares, first, second, third, strict=True)
        return [
            Sums(count, over, under, value, square, (aa, ab, bb))
            for count, over, under, value, square, aa, ab, bb in columns
        ]

    def average(self, metric: Metric) -> float | None:
        """The metric's one number; None where there is none."""
        above, below = float(self.above), float(self.below)
        if not self.queries or not below:
            return None
        match metric.average:
            case "sum":
                return above
            case "geometric":
                return math.exp(above / below)
            case "macro" | "micro" | "weighted":
                return above / below

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the values over the queries."""
        squares, total = self.squares.fraction, self.total.fraction
        if self.queries < 2 or squares is None or total is None:
            return None
        spread = max((squares - total**2 / self.queries) / (self.queries - 1), Fraction(0))
        try:
            return math.sqrt(spread)
        except OverflowError:
            return None

    def interval(self, metric: Metric, confidence: float) -> Bounds | None:
        """By Student's t; of a ratio of sums, by how far each query is from it."""
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
        low, high = finished(metric.average, np.array(bounds), self.queries).tolist()
        return low, high


@dataclass(frozen=True)
class Tally:
    """What a summary of some queries is made of; those of different queries add up."""

    # one a metric
    sums: tuple[Sums, ...]
    # by groups of queries, for the bootstrap: `above` and `below` (or `undefined`) of each metric
    groups: Groups | None = None
    # metrics with values that are too large to be resampled, by their place
    beyond: frozenset[int] = frozenset()
    # the interval of each metric, where nothing is to be added any more
    settled: tuple[Bounds | None, ...] | None = None
    # the place of the first metric, where this is a part
    first: int = 0

    def __add__(self, other: Tally) -> Tally:
        groups = self.groups
        if groups is not None and other.groups is not None:
            groups += other.groups
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
        return Tally(tuple(some for part in ordered for some in part.sums), settled=bounds)

    def settle(self, metrics: Sequence[Metric], intervals: Intervals) -> Tally:
        """All queries are in: the intervals, without the sums that they are drawn from.

        `metrics`: all of them, also where this is a part.
        """
        return replace(self, groups=None, settled=self.bounds(metrics, intervals))

    def bounds(self, metrics: Sequence[Metric], intervals: Intervals) -> tuple[Bounds | None, ...]:
        """The interval of each metric; None where there is none."""
        if self.settled is not None:
            return self.settled
        places = range(self.first, self.first + len(self.sums))
        sums = dict(zip(places, self.sums, strict=True))
        if intervals.ci == "t":
            return tuple(sums[at].interval(metrics[at], intervals.confidence) for at in places)
        drawn = self._replicates(metrics, sums, intervals)
        return tuple(
            percentile_interval(drawn[at], sums[at].queries, intervals.confidence)
            if at in drawn
            else None
            for at in places
        )

    def _replicates(
        self, metrics: Sequence[Metric], sums: Mapping[int, Sums], intervals: Intervals
    ) -> dict[int, Floats]:
        """Every replicate's summary of each metric, by its place."""
        groups = self.groups
        if groups is None:
            return {}
        ratios: dict[int, tuple[Floats, Floats]] = {}
        for at, some in sums.items():
            if at not in self.beyond and some.queries > 1:
                above, below, undefined = _columns(at)
                by_sums = metrics[at].average in ("micro", "weighted")
                ratios[at] = (
                    groups.values(above),
                    groups.values(below) if by_sums else groups.counts - groups.values(undefined),
                )
        return {
            at: finished(metrics[at].average, ratio, sums[at].queries)
            for at, ratio in replicated(groups, ratios, intervals).items()
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
    tallies = [Tally(of) for of in zip(*sums, strict=True)]
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
    return Tally(of.sums, Groups.of(hashes, columns), frozenset(beyond))


def summarise(metrics: Sequence[Metric], whole: Tally, intervals: Intervals) -> pl.DataFrame:
    """One row a metric: its value, interval and spread, and over how many queries."""
    rows = []
    every = zip(metrics, whole.sums, whole.bounds(metrics, intervals), strict=True)
    for metric, sums, bounds in every:
        value = sums.average(metric)
        low, high = around(value, bounds)
        rows.append((metric.label, value, low, high, sums.deviation, sums.queries))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def summarise_slices(
    metrics: Sequence[Metric],
    slices: Mapping[tuple[str, str], Tally],
    intervals: Intervals,
) -> pl.DataFrame:
    """The same for every slice, by (attribute, value): those with few queries are marked."""
    frames = [
        summarise(metrics, tally, intervals).select(
            pl.lit(by).alias("by"),
            pl.lit(name).alias("slice"),
            pl.all(),
            (pl.col("queries") < SMALL).alias("small"),
        )
        for (by, name), tally in slices.items()
    ]
    return pl.concat(frames) if frames else pl.DataFrame(schema=SLICE_SCHEMA)
