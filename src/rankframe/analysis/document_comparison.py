"""Compare metrics over documents (coverage, gini, …), which have no values per query.

A difference is tested by the jackknife: by how much the difference changes when a bucket of queries
is left out of both systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankframe.analysis.differences import Compared, Setup, difference_row, value_row
from rankframe.analysis.systems import Systems
from rankframe.core.errors import MetricParameterError
from rankframe.engine.document_metrics import OverDocuments
from rankframe.metrics.metric import Metric
from rankframe.stats.significance import Pair


def compare_documents(systems: Systems, pairs: Sequence[Pair], setup: Setup) -> Iterator[Compared]:
    """Compare each metric over documents, in every subset of the queries."""
    metrics = [metric for metric in systems.metrics if metric.frame == "documents"]
    exposures, confidence = list_exposures(systems, metrics[0]), setup.intervals.confidence
    for subset in systems.subsets:
        groups = setup.intervals.ci is not None and subset.by is None
        aggregates = [
            exposure.aggregate(metrics, subset.key, groups=groups) for exposure in exposures
        ]
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


def list_exposures(systems: Systems, metric: Metric) -> list[OverDocuments]:
    """Return the exposure of each system; refuse stored results, which have no exposure."""
    exposures = []
    for name, system in systems.by_name.items():
        if system.over_documents is None:
            raise MetricParameterError(
                f"{metric.label!r} is computed from how often each document is retrieved, which "
                f"stored results do not keep: {name!r} is one. Give its run."
            )
        exposures.append(system.over_documents)
    return exposures
