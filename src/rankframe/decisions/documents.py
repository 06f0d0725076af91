"""Metrics over documents (coverage, gini, …) of several systems: values, differences, tests.

They have no values per query. A difference is tested by how it changes as groups of queries, the
same for both systems, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap

from rankframe.base.errors import MetricParameterError
from rankframe.base.messages import number_of
from rankframe.catalogue.documents import Aggregate
from rankframe.decisions.contrast import Setup
from rankframe.decisions.gate_rules import Rule
from rankframe.decisions.opening import Opened, Subset
from rankframe.evaluation.summary import SMALL
from rankframe.metrics.metric import Metric

Row = dict[str, object]
Pair = tuple[int, int]


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
