"""Compare gaps between slices, over every plausible order of the slices (`stats/gaps.py`).

A gap is the difference between the averages of a metric over slices, so it has no values per query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from rankframe.analysis.differences import (
    AlignedValues,
    Compared,
    Row,
    Setup,
    difference_row,
    draw_replicates,
    value_row,
)
from rankframe.analysis.systems import Systems
from rankframe.core.arrays import Floats
from rankframe.core.errors import OptionError
from rankframe.core.options import Intervals
from rankframe.core.records import record
from rankframe.engine.finish import gap_item, too_few_slices
from rankframe.engine.ledger import Item
from rankframe.engine.result import SMALL
from rankframe.io.queries import NO_VALUE
from rankframe.metrics.metric import Gap, Metric
from rankframe.stats.exact import exact_sum
from rankframe.stats.gaps import GapChange, gap_between, gap_change, gap_interval, too_many
from rankframe.stats.significance import Pair


def draw_gaps(systems: Systems, intervals: Intervals) -> list[AlignedGaps]:
    """Draw the bootstrap of each gap; gaps between the same slices share their replicates."""
    drawn: dict[tuple[str, str], AlignedGaps] = {}
    gaps = []
    for metric in systems.metrics:
        if metric.gap is None:
            continue
        between = metric.gap.metric.label, metric.gap.by
        if between not in drawn:
            drawn[between] = AlignedGaps.draw(metric, systems, intervals)
        gaps.append(replace(drawn[between], metric=metric))
        if gaps[-1].shortage:
            raise OptionError(gaps[-1].shortage)
    return gaps


def compare_gaps(
    gaps: Sequence[AlignedGaps], pairs: Sequence[Pair], setup: Setup
) -> Iterator[Compared]:
    """Compare each gap of every pair of systems."""
    # A test that corrects over pairs does not correct the p values of gaps.
    factor = len(pairs) if setup.significance.over_pairs else 1
    for gap in gaps:
        yield (
            {"metric": gap.metric.label, "by": None, "slice": None},
            [gap.system_row(system, setup.intervals) for system in range(len(gap.values))],
            [gap.pair_row(base, other, setup.intervals, factor) for base, other in pairs],
        )


def gap_items(gaps: Sequence[AlignedGaps]) -> list[Item]:
    """Return ledger items: the slices that gaps leave out, and the gaps that are not tested."""
    left_out = {gap.metric.label: gap.left_out for gap in gaps if gap.left_out}
    untested = [
        ("gap_untested", len(gap.slices), f"{gap.metric.label}: {problem}")
        for gap in gaps
        if (problem := too_many(len(gap.slices), gap.gap.kind))
    ]
    return [*gap_item(left_out), *untested]


@record
class AlignedGaps:
    """Hold the values of a gap for several systems over the same queries."""

    metric: Metric
    # the inner metric of the gap in each slice, with bootstrap replicates
    slices: Sequence[AlignedValues]
    # the names of the slices that are left out
    left_out: Sequence[str]

    @classmethod
    def draw(cls, metric: Metric, systems: Systems, intervals: Intervals) -> AlignedGaps:
        """Draw bootstrap replicates of every slice with enough queries, for all systems alike."""
        assert metric.gap is not None  # callers see to it
        bootstrap, values = replace(intervals, ci="bootstrap"), systems.values(metric.gap.metric)
        slices, left_out = [], []
        for subset in systems.slices:
            if subset.by != metric.gap.by:
                continue
            inside = values.take(subset.rows)
            if subset.name == NO_VALUE or inside.paired.queries < SMALL:
                left_out.append(str(subset.name))
            else:
                slices += draw_replicates([inside], systems.hashes[subset.rows], bootstrap)
        return cls(metric, slices, left_out)

    @property
    def gap(self) -> Gap:
        """Return the definition of the gap."""
        assert self.metric.gap is not None  # callers see to it
        return self.metric.gap

    @property
    def shortage(self) -> str:
        """Explain that there are fewer than two slices; "" if there are more."""
        if len(self.slices) > 1:
            return ""
        return too_few_slices(self.metric, len(self.slices), len(self.left_out))

    @cached_property
    def queries(self) -> int:
        """Count the queries that are compared."""
        return sum(values.paired.queries for values in self.slices)

    @cached_property
    def _fewest(self) -> int:
        """Return the number of queries that are compared in the smallest slice."""
        return min(values.paired.queries for values in self.slices)

    @cached_property
    def means(self) -> Floats | None:
        """Return the averages, systems × slices; None if all weights of a slice are 0."""
        averages = [values.averages for values in self.slices]
        if any(mean is None for of_slice in averages for mean in of_slice):
            return None
        return np.array(averages, np.float64).T

    @cached_property
    def values(self) -> list[float | None]:
        """Return the gap of each system."""
        if self.means is None:
            return [None] * len(self.slices[0].values)
        return gap_between(self.means, self.gap.kind).tolist()

    @cached_property
    def _replicates(self) -> Floats:
        """Return the averages in every replicate: replicates × systems × slices."""
        return np.stack([values.bootstrap_averages for values in self.slices], axis=-1)

    def system_row(self, system: int, intervals: Intervals) -> Row:
        """Return the table row of a system's gap: its value and interval."""
        bounds = None
        if self.means is not None and intervals.ci == "bootstrap":
            bounds = gap_interval(
                self.means[system],
                self._replicates[:, system],
                self._fewest,
                intervals.confidence,
                self.gap.kind,
            )
        return value_row(self.values[system], bounds, self.queries)

    def pair_row(self, base: int, other: int, intervals: Intervals, factor: int) -> Row:
        """Return the table row that compares the gap of the system `other` with that of `base`.

        `factor`: the multiplier of the p value that corrects over pairs.
        """
        before, after = self.values[base], self.values[other]
        difference = None if before is None or after is None else after - before
        change, bounds, p_value = self.change(base, other), None, None
        if change is not None:
            p_value = change.p_value()
            p_value = None if p_value is None else min(p_value * factor, 1.0)
            if intervals.ci == "bootstrap":
                bounds = change.interval(intervals.confidence)
        row = difference_row(before, after, difference, bounds, p_value, self.queries)
        return row | {"undefined": sum(values.queries for values in self.slices) - self.queries}

    def change(self, base: int, other: int, *, relative: float | None = None) -> GapChange | None:
        """Return the difference between the gaps of two systems (see `gap_change`)."""
        if self.means is None:
            return None
        sides = [base, other]
        covariances = np.array([self._covariances(values, sides) for values in self.slices])
        return gap_change(
            self.means[sides],
            self._replicates[:, sides],
            covariances,
            self._fewest,
            self.gap.kind,
            relative=relative,
        )

    @staticmethod
    def _covariances(values: AlignedValues, sides: Sequence[int]) -> list[list[float]]:
        """Return the covariance matrix of the systems' averages, by the influence of queries."""
        pulls, n = [values.pull(side) for side in sides], values.paired.queries
        return [[float(exact_sum(a * b)) / (n * (n - 1)) for b in pulls] for a in pulls]
