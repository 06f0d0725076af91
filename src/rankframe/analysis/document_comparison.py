"""Metrics without values per query, of several systems: values, differences, tests.

A difference of metrics over documents (coverage, gini, …) is tested by how it changes as groups of
queries, the same for both systems, are left out; one of gaps between slices, over the orders of
slices that are plausible (`stats/gaps.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.align import Column
from rankframe.analysis.comparison_inputs import Opened, Subset
from rankframe.analysis.contrast import Contrast, Setup, contrasts
from rankframe.analysis.gate_rules import Rule
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import number_of
from rankframe.core.options import Intervals
from rankframe.engine.document_metrics import Aggregate
from rankframe.engine.ledger import Item
from rankframe.engine.summary import SMALL, gap_item, too_few_slices
from rankframe.metrics.metric import Metric
from rankframe.stats.exact import exact_sum
from rankframe.stats.gaps import GapChange, gap_between, gap_change, gap_interval, too_many
from rankframe.stats.intervals import around
from rankframe.stats.paired import differences
from rankframe.stats.resample import hash_ids

Row = dict[str, object]
Pair = tuple[int, int]
Floats = NDArray[np.float64]


def rows_over_documents(
    opened: Opened, metrics: Sequence[Metric], pairs: Sequence[Pair], setup: Setup
) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Of each metric over documents: its label, a row for each pair of systems and for each system,
    of all queries and of every slice.
    """
    chosen = [metric for metric in metrics if metric.frame == "documents"]
    if not chosen:
        return
    _refuse_stored(opened, chosen)
    names = list(opened.systems)
    of_pairs: dict[str, list[Row]] = {metric.label: [] for metric in chosen}
    singles: dict[str, list[Row]] = {metric.label: [] for metric in chosen}
    for subset in opened.subsets:
        found = _values(opened, chosen, subset, setup)
        for at, metric in enumerate(chosen):
            ours = {name: found[name][at] for name in names}
            label, of = metric.label, {"metric": metric.label, "by": subset.by,
                                       "slice": subset.name}  # fmt: skip
            singles[label] += [
                {**of, "system": name, **_single(one, setup)} for name, one in ours.items()
            ]
            for base, other in starmap(lambda i, j: (names[i], names[j]), pairs):
                both = _pair(ours[base], ours[other], setup)
                of_pairs[label].append({**of, "baseline": base, "system": other, **both})
    for metric in chosen:
        yield metric.label, of_pairs[metric.label], singles[metric.label]


def document_check(rule: Rule, metric: Metric, opened: Opened, subset: Subset, least: int) -> Row:
    """What a rule of a gate says of the candidate, the last of the systems: of its value alone."""
    if rule.against_baseline:
        raise MetricParameterError(
            f"{rule.text!r}: a stored baseline does not keep what the change of {metric.label!r} "
            f"is tested with. Ask for its value: '{rule.metric}: at least …' or 'at most …'."
        )
    candidate = list(opened.systems)[-1]
    over = opened.systems[candidate].over_documents
    if over is None:
        _refuse_stored(opened, [metric])
    assert over is not None  # or it was refused
    (one,) = over.of([metric], subset.key)
    status, reason = "pass", ""
    if one.lists < least or one.value is None:
        status = "undecided" if subset.by is None else "skipped"
        reason = f"{number_of(one.lists, 'list')}, fewer than {least:,}"
    else:
        status, reason = rule.holds(one.value)
    return {
        "rule": rule.text, "metric": rule.metric, "by": subset.by, "slice": subset.name,
        "value": one.value, "margin": rule.number, "relative": rule.relative,
        "queries": one.lists, "undefined_baseline": 0, "undefined_candidate": 0,
        "status": status, "reason": reason,
    }  # fmt: skip


def _values(
    opened: Opened, metrics: Sequence[Metric], subset: Subset, setup: Setup
) -> Mapping[str, list[Aggregate]]:
    groups = setup.intervals.ci is not None and subset.by is None
    return {
        name: system.over_documents.of(metrics, subset.key, groups=groups)
        for name, system in opened.systems.items()
        if system.over_documents is not None
    }


def _single(one: Aggregate, setup: Setup) -> Row:
    low, high = one.bounds(setup.intervals.confidence) or (None, None)
    return {
        "value": one.value, "ci_low": low, "ci_high": high, "queries": one.lists, "judged": None,
        "small": one.lists < SMALL,
    }  # fmt: skip


def _pair(base: Aggregate, other: Aggregate, setup: Setup) -> Row:
    apart = other.less(base)
    low, high = apart.bounds(setup.intervals.confidence) or (None, None)
    relative = apart.value / abs(base.value) if apart.value is not None and base.value else None
    lists = min(base.lists, other.lists)
    return {
        "baseline_value": base.value, "value": other.value, "difference": apart.value,
        "relative": relative, "ci_low": low, "ci_high": high, "p_value": apart.p_value,
        "queries": lists, "undefined": 0, "small": lists < SMALL,
    }  # fmt: skip


def _refuse_stored(opened: Opened, metrics: Sequence[Metric]) -> None:
    """Refuse systems of which nobody counted how often documents are shown."""
    if stored := [name for name, one in opened.systems.items() if one.over_documents is None]:
        raise MetricParameterError(
            f"{metrics[0].label!r} is made of how often each document is shown, which stored "
            f"results do not keep: {stored[0]!r} is one. Give its run."
        )


def rows_of_gaps(
    opened: Opened,
    columns: Mapping[str, Column],
    metrics: Sequence[Metric],
    pairs: Sequence[Pair],
    setup: Setup,
) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Of each gap between slices: its label, a row for each pair of systems and for each system.

    `columns`: the values that gaps are of, by the label of their metric.
    """
    names = list(opened.systems)
    drawn: dict[tuple[str, str], Gaps] = {}
    for metric in metrics:
        if metric.gap is None:
            continue
        between = metric.gap.of.label, metric.gap.by
        if between not in drawn:
            drawn[between] = Gaps.of(metric, columns[between[0]], opened, setup.intervals)
        gaps = replace(drawn[between], metric=metric)
        if gaps.few:
            raise OptionError(gaps.few)
        of = {"metric": metric.label, "by": None, "slice": None}
        singles = [
            {**of, "system": name, **gaps.single(at, setup)} for at, name in enumerate(names)
        ]
        # What a test corrects over pairs by itself, these do not.
        times = len(pairs) if setup.significance.over_pairs else 1
        yield (
            metric.label,
            [
                {**of, "baseline": names[i], "system": names[j], **gaps.pair(i, j, setup, times)}
                for i, j in pairs
            ],
            singles,
        )


def items_of_gaps(
    opened: Opened, columns: Mapping[str, Column], metrics: Sequence[Metric]
) -> list[Item]:
    """Of the ledger: slices that gaps do not look at, and gaps that are not tested."""
    without: dict[str, list[str]] = {}
    untested: list[Item] = []
    for metric in metrics:
        if metric.gap is not None:
            large, without[metric.label] = opened.large(metric, columns[metric.gap.of.label])
            if said := too_many(len(large), metric.gap.kind):
                untested.append(("gap_untested", len(large), f"{metric.label}: {said}"))
    return [*gap_item({label: out for label, out in without.items() if out}), *untested]


@dataclass(frozen=True)
class Gaps:
    """A gap of several systems, over the same queries."""

    metric: Metric
    # the metric that it is of, in each slice, with its replicates
    slices: Sequence[Contrast]
    # how many slices are left out
    out: int

    @classmethod
    def of(cls, metric: Metric, column: Column, opened: Opened, intervals: Intervals) -> Gaps:
        """Draw queries of every slice, the same for all systems."""
        large, out = opened.large(metric, column)
        hashes = hash_ids(opened.aligned.queries)
        drawing = Setup(intervals=replace(intervals, ci="bootstrap"))
        found = [contrasts([here], hashes[some.rows], drawing)[0] for some, here in large]
        return cls(metric, found, len(out))

    @property
    def few(self) -> str:
        """What to say where there are fewer than two slices."""
        return (
            "" if len(self.slices) > 1 else too_few_slices(self.metric, len(self.slices), self.out)
        )

    @property
    def queries(self) -> int:
        """How many queries of the slices are compared."""
        return sum(self._sizes)

    @cached_property
    def means(self) -> Floats | None:
        """Systems × slices; None where a slice has none, as where all of its weights are 0."""
        averages = [one.averages for one in self.slices]
        if any(mean is None for some in averages for mean in some):
            return None
        return np.array(averages, np.float64).T

    @cached_property
    def values(self) -> list[float | None]:
        """The gap of each system."""
        assert self.metric.gap is not None  # that is what it is
        if self.means is None:
            return [None] * (len(self.slices[0].column.values) if self.slices else 0)
        return gap_between(self.means, self.metric.gap.kind).tolist()

    @property
    def _sizes(self) -> list[int]:
        return [one.paired.queries for one in self.slices]

    @cached_property
    def _replicates(self) -> Floats:
        """Replicates × systems × slices."""
        return np.stack([one.summaries for one in self.slices], axis=-1)

    @cached_property
    def _pulls(self) -> list[list[Floats]]:
        return [one.pulls for one in self.slices]

    def single(self, at: int, setup: Setup) -> Row:
        """One system by itself."""
        assert self.metric.gap is not None  # that is what it is
        bounds = None
        if self.means is not None and setup.intervals.ci == "bootstrap":
            bounds = gap_interval(
                self.means[at], self._replicates[:, at], min(self._sizes),
                setup.intervals.confidence, self.metric.gap.kind,
            )  # fmt: skip
        low, high = around(self.values[at], bounds)
        return {
            "value": self.values[at], "ci_low": low, "ci_high": high, "queries": self.queries,
            "judged": None, "small": False,
        }  # fmt: skip

    def change(self, base: int, other: int, *, relative: float | None = None) -> GapChange | None:
        """How far the gaps of two systems are apart (see `gap_change`)."""
        assert self.metric.gap is not None  # that is what it is
        if self.means is None:
            return None
        sides = [base, other]
        covariances = [
            [[_shared(some[i], some[j]) for j in sides] for i in sides] for some in self._pulls
        ]
        return gap_change(
            self.means[sides], self._replicates[:, sides], np.array(covariances), min(self._sizes),
            self.metric.gap.kind, relative=relative,
        )  # fmt: skip

    def pair(self, base: int, other: int, setup: Setup, times: int) -> Row:
        """One system against another; `times`: what its p value is corrected by here."""
        before, after = self.values[base], self.values[other]
        apart = None if before is None or after is None else after - before
        change, bounds, p_value = self.change(base, other), None, None
        if change is not None:
            p_value = change.p_value()
            if setup.intervals.ci == "bootstrap":
                bounds = change.interval(setup.intervals.confidence)
        low, high = around(apart, bounds)
        every = sum(len(one.column.complete) for one in self.slices)
        return {
            "baseline_value": before, "value": after, "difference": apart,
            "relative": apart / before if apart is not None and before else None,
            "ci_low": low, "ci_high": high,
            "p_value": None if p_value is None else min(p_value * times, 1.0),
            "queries": self.queries, "undefined": every - self.queries, "small": False,
        }  # fmt: skip

    @property
    def differing(self) -> int:
        """For how many queries the first two systems differ."""
        return sum(
            int(np.count_nonzero(differences(*one.paired.values[:2]))) for one in self.slices
        )

    def check(self, rule: Rule, doubt: str = "") -> Row:
        """What a rule of a gate says of the second system, beside the first, without a doubt."""
        assert self.metric.gap is not None  # that is what it is
        change = bound = p_value = None
        status, reason = "undecided", doubt or self.few
        before, after = self.values if len(self.slices) > 1 else (None, None)
        if reason:
            pass
        elif after is None or (rule.against_baseline and before is None):
            reason = f"{rule.metric} is undefined"
        elif not rule.against_baseline:
            status, reason = rule.holds(after)
        else:
            found = self.change(0, 1, relative=rule.confidence if rule.relative else None)
            if found is None:
                reason = (
                    too_many(len(self.slices), self.metric.gap.kind)
                    or "the baseline's gap may be 0, of which nothing is a percentage"
                )
            else:  # a smaller gap is better
                change, bound = 0.0 - found.value, 0.0 - found.most(rule.confidence)
                p_value = found.p_below(-rule.number)
                status, reason = rule.decided(change, bound)
        return {
            "rule": rule.text, "metric": rule.metric, "baseline_value": before, "value": after,
            "change": change, "bound": bound, "margin": rule.number, "relative": rule.relative,
            "confidence": rule.confidence if rule.against_baseline else None, "p_value": p_value,
            "queries": self.queries, "differing": self.differing if bound is not None else None,
            "status": status, "reason": reason,
        }  # fmt: skip


def _shared(one: Floats, other: Floats) -> float:
    """The covariance of the errors of two means, from how far each query pulls them."""
    return float(exact_sum(one * other)) / (len(one) * (len(one) - 1))
