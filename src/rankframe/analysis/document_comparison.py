"""Compare metrics over documents (coverage, gini, …), which have no values per query.

A difference is tested by how it changes as buckets of queries, the same for both systems, are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankframe.analysis.comparison_inputs import Subset, Systems
from rankframe.analysis.differences import Setup
from rankframe.analysis.gate_rules import Rule
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import number_of
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.engine.summary import SMALL
from rankframe.metrics.metric import Metric
from rankframe.stats.significance import Pair

Row = dict[str, object]


def document_rows(
    systems: Systems, metrics: Sequence[Metric], pairs: Sequence[Pair], setup: Setup
) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Yield the label of each metric, with a row for each pair of systems and for each system, of
    one subset of the queries.
    """
    chosen = [metric for metric in metrics if metric.frame == "documents"]
    if not chosen:
        return
    over_documents = _over_documents(systems, chosen[0])
    names, confidence = list(systems.by_name), setup.intervals.confidence
    for subset in systems.subsets:
        groups = setup.intervals.ci is not None and subset.by is None
        aggregates = [over.of(chosen, subset.key, groups=groups) for over in over_documents]
        for place, metric in enumerate(chosen):
            row = {"metric": metric.label, "by": subset.by, "slice": subset.name}
            own = [of_system[place] for of_system in aggregates]
            yield (
                metric.label,
                [
                    {
                        **row,
                        "baseline": names[i],
                        "system": names[j],
                        **_pair_row(own[i], own[j], confidence),
                    }
                    for i, j in pairs
                ],
                [
                    {**row, "system": name, **_system_row(aggregate, confidence)}
                    for name, aggregate in zip(names, own, strict=True)
                ],
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
    return {
        "rule": rule.text,
        "metric": rule.metric,
        "by": subset.by,
        "slice": subset.name,
        "value": aggregate.value,
        "margin": rule.number,
        "relative": rule.relative,
        "queries": aggregate.lists,
        "undefined_baseline": 0,
        "undefined_candidate": 0,
        "status": status,
        "reason": reason,
    }


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


def _system_row(aggregate: Aggregate, confidence: float) -> Row:
    low, high = aggregate.bounds(confidence) or (None, None)
    return {
        "value": aggregate.value,
        "ci_low": low,
        "ci_high": high,
        "queries": aggregate.lists,
        "judged": None,
        "small": aggregate.lists < SMALL,
    }


def _pair_row(base: Aggregate, other: Aggregate, confidence: float) -> Row:
    difference = other.less(base)
    low, high = difference.bounds(confidence) or (None, None)
    lists = min(base.lists, other.lists)
    return {
        "baseline_value": base.value,
        "value": other.value,
        "difference": difference.value,
        "relative": difference.value / abs(base.value)
        if difference.value is not None and base.value
        else None,
        "ci_low": low,
        "ci_high": high,
        "p_value": difference.p_value,
        "queries": lists,
        "undefined": 0,
        "small": lists < SMALL,
    }
