"""Compare metrics over documents (coverage, gini, …), which have no values per query.

A difference is tested by how it changes when buckets of queries are left out, each from both
systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rankframe.analysis.aligned_systems import Subset, Systems
from rankframe.analysis.differences import Compared, Row, Setup
from rankframe.analysis.gate_rules import Rule
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import number_of
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.engine.result import SMALL
from rankframe.metrics.metric import Metric


def compare_documents(
    systems: Systems, metrics: Sequence[Metric], setup: Setup
) -> Iterator[Compared]:
    """Compare each metric over documents, in every subset of the queries."""
    chosen = [metric for metric in metrics if metric.frame == "documents"]
    over_documents, confidence = _over_documents(systems, chosen[0]), setup.intervals.confidence
    for subset in systems.subsets:
        groups = setup.intervals.ci is not None and subset.by is None
        aggregates = [over.of(chosen, subset.key, groups=groups) for over in over_documents]
        for metric, own in zip(chosen, zip(*aggregates, strict=True), strict=True):
            yield Compared(
                metric.label,
                subset.by,
                subset.name,
                partial(_system_row, own, confidence),
                partial(_pair_row, own, confidence),
            )


def check_document_rule(
    rule: Rule, metric: Metric, systems: Systems, subset: Subset, min_queries: int
) -> Row:
    """Check a rule of a gate about the value of the candidate, the last of the systems."""
    if rule.against_baseline:
        raise MetricParameterError(
            f"{rule.text!r}: a stored baseline does not keep what the change of {metric.label!r} "
            f"is tested with. Ask for its value: '{rule.metric}: at least …' or 'at most …'."
        )
    candidate = list(systems.by_name.values())[-1].over_documents
    if candidate is None:
        candidate = _over_documents(systems, metric)[-1]
    (aggregate,) = candidate.of([metric], subset.key)
    if aggregate.lists < min_queries or aggregate.value is None:
        status = "undecided" if subset.by is None else "skipped"
        reason = f"{number_of(aggregate.lists, 'list')}, fewer than {min_queries:,}"
    else:
        status, reason = rule.check_value(aggregate.value)
    return rule.check_row(
        status,
        reason,
        by=subset.by,
        slice=subset.name,
        value=aggregate.value,
        queries=aggregate.lists,
        undefined_baseline=0,
        undefined_candidate=0,
    )


def _over_documents(systems: Systems, metric: Metric) -> list[OverDocuments]:
    """Return the exposure of each system; stored results, which do not keep it, are refused."""
    exposures = []
    for name, system in systems.by_name.items():
        if system.over_documents is None:
            raise MetricParameterError(
                f"{metric.label!r} is made of how often each document is shown, which stored "
                f"results do not keep: {name!r} is one. Give its run."
            )
        exposures.append(system.over_documents)
    return exposures


def _system_row(aggregates: Sequence[Aggregate], confidence: float, system: int) -> Row:
    aggregate = aggregates[system]
    low, high = aggregate.bounds(confidence) or (None, None)
    return {
        "value": aggregate.value,
        "ci_low": low,
        "ci_high": high,
        "queries": aggregate.lists,
        "small": aggregate.lists < SMALL,
    }


def _pair_row(aggregates: Sequence[Aggregate], confidence: float, base: int, other: int) -> Row:
    before, after = aggregates[base], aggregates[other]
    change = after.less(before)
    low, high = change.bounds(confidence) or (None, None)
    relative = (
        None if change.value is None or not before.value else change.value / abs(before.value)
    )
    lists = min(before.lists, after.lists)
    return {
        "baseline_value": before.value,
        "value": after.value,
        "difference": change.value,
        "relative": relative,
        "ci_low": low,
        "ci_high": high,
        "p_value": change.p_value,
        "queries": lists,
        "undefined": 0,
        "small": lists < SMALL,
    }
