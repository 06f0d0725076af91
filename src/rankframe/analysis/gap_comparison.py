"""Compare gaps between slices, over every order of the slices that is plausible (`stats/gaps.py`).

A gap has no values per query: it is how far the averages of a metric over slices are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from rankframe.analysis.aligned_systems import Systems
from rankframe.analysis.differences import AlignedValues, Compared, Row, Setup, draw_replicates
from rankframe.analysis.gate_rules import Rule
from rankframe.core.errors import OptionError
from rankframe.core.options import Intervals
from rankframe.engine.finish import gap_item, too_few_slices
from rankframe.engine.ledger import Item
from rankframe.metrics.metric import Gap, Metric
from rankframe.stats.exact import exact_sum
from rankframe.stats.gaps import GapChange, gap_between, gap_change, gap_interval, too_many
from rankframe.stats.intervals import around
from rankframe.stats.paired import Floats


def compare_gaps(
    systems: Systems,
    values: Mapping[str, AlignedValues],
    metrics: Sequence[Metric],
    pairs: int,
    setup: Setup,
) -> Iterator[Compared]:
    """Compare each gap; `values` holds the values that gaps are computed from, by metric."""
    drawn: dict[tuple[str, str], AlignedGaps] = {}
    # A test that corrects over pairs does not correct these.
    factor = pairs if setup.significance.over_pairs else 1
    for metric in metrics:
        if metric.gap is None:
            continue
        between = metric.gap.of.label, metric.gap.by
        if between not in drawn:
            drawn[between] = AlignedGaps.draw(metric, values[between[0]], systems, setup.intervals)
        gaps = replace(drawn[between], metric=metric)
        if gaps.shortage:
            raise OptionError(gaps.shortage)
        yield Compared(
            metric.label,
            None,
            None,
            partial(gaps.system_row, setup.intervals),
            partial(gaps.pair_row, setup.intervals, factor),
        )


def gap_items(
    systems: Systems, values: Mapping[str, AlignedValues], metrics: Sequence[Metric]
) -> list[Item]:
    """List for the ledger the slices that gaps leave out, and the gaps that are not tested."""
    without: dict[str, list[str]] = {}
    untested: list[Item] = []
    for metric in metrics:
        if metric.gap is not None:
            large, left_out = systems.split_slices(metric, values[metric.gap.of.label])
            if left_out:
                without[metric.label] = left_out
            if problem := too_many(len(large), metric.gap.kind):
                untested.append(("gap_untested", len(large), f"{metric.label}: {problem}"))
    return [*gap_item(without), *untested]


@dataclass(frozen=True)
class AlignedGaps:
    """Hold a gap of several systems over the same queries."""

    metric: Metric
    # the metric that the gap is of, in each slice, with its replicates
    slices: Sequence[AlignedValues]
    # how many slices are left out
    left_out: int

    @classmethod
    def draw(
        cls, metric: Metric, values: AlignedValues, systems: Systems, intervals: Intervals
    ) -> AlignedGaps:
        """Draw the bootstrap of every slice, the same queries for all systems."""
        large, left_out = systems.split_slices(metric, values)
        bootstrap = replace(intervals, ci="bootstrap")
        slices = [
            draw_replicates([inside], systems.hashes[subset.rows], bootstrap)[0]
            for subset, inside in large
        ]
        return cls(metric, slices, len(left_out))

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
        return too_few_slices(self.metric, len(self.slices), self.left_out)

    @property
    def queries(self) -> int:
        """Return the number of queries that are compared."""
        return sum(self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        return [values.paired.queries for values in self.slices]

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
            return [None] * (len(self.slices[0].values) if self.slices else 0)
        return gap_between(self.means, self.gap.kind).tolist()

    @cached_property
    def _replicates(self) -> Floats:
        """Return the averages in every replicate: replicates × systems × slices."""
        return np.stack([values.bootstrap_averages for values in self.slices], axis=-1)

    @property
    def differing(self) -> int:
        """Count the queries in which the first two systems differ."""
        return sum(sum(values.count_wins(0, 1)) for values in self.slices)

    def system_row(self, intervals: Intervals, system: int) -> Row:
        """Describe the gap of one system."""
        bounds = None
        if self.means is not None and intervals.ci == "bootstrap":
            bounds = gap_interval(
                self.means[system],
                self._replicates[:, system],
                min(self._sizes),
                intervals.confidence,
                self.gap.kind,
            )
        low, high = around(self.values[system], bounds)
        return {
            "value": self.values[system],
            "ci_low": low,
            "ci_high": high,
            "queries": self.queries,
            "small": False,
        }

    def pair_row(self, intervals: Intervals, factor: int, base: int, other: int) -> Row:
        """Describe the gap of one system against that of another.

        `factor` is what the p value is multiplied by, as a correction over pairs.
        """
        before, after = self.values[base], self.values[other]
        difference = None if before is None or after is None else after - before
        change, bounds, p_value = self.change(base, other), None, None
        if change is not None:
            p_value = change.p_value()
            if intervals.ci == "bootstrap":
                bounds = change.interval(intervals.confidence)
        low, high = around(difference, bounds)
        return {
            "baseline_value": before,
            "value": after,
            "difference": difference,
            "relative": difference / before if difference is not None and before else None,
            "ci_low": low,
            "ci_high": high,
            "p_value": None if p_value is None else min(p_value * factor, 1.0),
            "queries": self.queries,
            "undefined": sum(values.queries for values in self.slices) - self.queries,
            "small": False,
        }

    def change(self, base: int, other: int, *, relative: float | None = None) -> GapChange | None:
        """Return how far the gaps of two systems are apart (see `gap_change`)."""
        if self.means is None:
            return None
        sides = [base, other]
        covariances = np.array([self._covariances(values, sides) for values in self.slices])
        return gap_change(
            self.means[sides],
            self._replicates[:, sides],
            covariances,
            min(self._sizes),
            self.gap.kind,
            relative=relative,
        )

    @staticmethod
    def _covariances(values: AlignedValues, sides: Sequence[int]) -> list[list[float]]:
        """Return the covariances of the errors of two averages, by how queries move them."""
        pulls, n = [values.pull(side) for side in sides], values.paired.queries
        return [[float(exact_sum(a * b)) / (n * (n - 1)) for b in pulls] for a in pulls]

    def check(self, rule: Rule, doubt: str = "") -> Row:
        """Check a rule of a gate about the second system against the first.

        A `doubt` leaves it undecided.
        """
        change = bound = p_value = None
        status, reason = "undecided", doubt or self.shortage
        before, after = self.values if len(self.slices) > 1 else (None, None)
        if reason:
            pass
        elif after is None or (rule.against_baseline and before is None):
            reason = f"{rule.metric} is undefined"
        elif not rule.against_baseline:
            status, reason = rule.check_value(after)
        else:
            larger = self.change(0, 1, relative=rule.confidence if rule.relative else None)
            if larger is None:
                reason = (
                    too_many(len(self.slices), self.gap.kind)
                    or "the baseline's gap may be 0, of which nothing is a percentage"
                )
            else:  # a smaller gap is better
                change, bound = 0.0 - larger.value, 0.0 - larger.most(rule.confidence)
                p_value = larger.p_below(-rule.number)
                status, reason = rule.check_change(change, bound)
        return rule.check_row(
            status,
            reason,
            baseline_value=before,
            value=after,
            change=change,
            bound=bound,
            p_value=p_value,
            queries=self.queries,
            differing=None if bound is None else self.differing,
        )
