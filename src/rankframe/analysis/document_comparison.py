"""Compare metrics over documents (coverage, gini, …), which have no values per query.

A difference is tested by how it changes when buckets of queries are left out, each from both
systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankframe.analysis.differences import Compared, Setup, difference_row, value_row
from rankframe.analysis.gate_rules import Rule
from rankframe.analysis.systems import Subset, Systems
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import number_of
from rankframe.engine.document_metrics import OverDocuments
from rankframe.metrics.metric import Metric
from rankframe.stats.significance import Pair


def compare_documents(systems: Systems, pairs: Sequence[Pair], setup: Setup) -> Iterator[Compared]:
    """Compare each metric over documents, in every subset of the queries."""
    metrics = [metric for metric in systems.metrics if metric.frame == "documents"]
    over_documents, confidence = _over_documents(systems, metrics[0]), setup.intervals.confidence
    for subset in systems.subsets:
        groups = setup.intervals.ci is not None and subset.by is None
        aggregates = [over.of(metrics, subset.key, groups=groups) for over in over_documents]
        for metric, own in zip(metrics, zip(*aggregates, strict=True), strict=True):
            singles = [value_row(a.value, a.bounds(confidence), a.lists) for a in own]
            rows = []
            for before, after in ((own[base], own[other]) for base, other in pairs):
                change, lists = after.less(before), min(before.lists, after.lists)
                row = difference_row(
                    before.value, after.value, change.value, change.bounds(confidence),
                    change.p_value, lists,
                )  # fmt: skip
                rows.append(row | {"undefined": 0})
            yield subset.heading(metric), singles, rows


def check_document_rule(
    rule: Rule, metric: Metric, systems: Systems, subset: Subset, min_queries: int
) -> dict[str, object]:
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
    doubt = ""
    if aggregate.lists < min_queries or aggregate.value is None:
        doubt = f"{number_of(aggregate.lists, 'list')}, fewer than {min_queries:,}"
    check = rule.check(None, aggregate.value, aggregate.lists, doubt, too_few=subset.by is not None)
    undefined = dict.fromkeys(("undefined_baseline", "undefined_candidate"), 0)
    return {**check, **subset.heading(metric), **undefined}


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
