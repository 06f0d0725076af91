"""Charts of weights, for runs that are fusions of two other runs on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankframe.analysis.fusion.fuse import Recorded, recorded
from rankframe.analysis.fusion.registry import METHODS
from rankframe.analysis.fusion.runs import unscored
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.tune import tune
from rankframe.core.errors import OptionError
from rankframe.core.messages import shown
from rankframe.core.options import Intervals, Policies
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source
from rankframe.metrics.names import Metric
from rankframe.present import charts as plot

_FOLDS = 2  # the fewest: nothing is chosen by them
_BY_RANK = "rank"  # a norm for runs without scores


@dataclass(frozen=True)
class Fused:
    """Describe a run that is a fusion of two others."""

    name: str
    how: Recorded
    # in the order of their weights
    parts: tuple[str, str]

    @property
    def method(self) -> str:
        """Return the method to draw: its own where it has weights, else a weighted sum."""
        return self.how.name if METHODS[self.how.name].weighted else "wsum"

    def norm(self, runs: Mapping[str, InputTable]) -> str:
        """Return the norm of the fusion, if it has one and all runs have scores."""
        if unscored({name: runs[name] for name in self.parts}):
            return _BY_RANK
        return self.how.norm or ("none" if METHODS[self.how.name].scored else "min_max")

    @property
    def said(self) -> str:
        """Say how the run was fused."""
        if self.how.weights is None:
            return f"{self.name} is {self.how.label}"
        weights = ", ".join(f"{weight:g}" for weight in self.how.weights)
        return f"{self.name} is {self.how.name} with weights {weights}"


def fusions(systems: Mapping[str, Source]) -> list[Fused]:
    """Find runs that `fuse` wrote from two of the others; of the same two, the first."""
    found: dict[tuple[str, ...], Fused] = {}
    for name, source in systems.items():
        how = recorded(source)
        rest = {other: data for other, data in systems.items() if other != name}
        match None if how is None else how.parts(rest):
            case (first, second) if how is not None:
                key = tuple(sorted((first, second)))
                found.setdefault(key, Fused(name, how, (first, second)))
            case _:
                pass
    return list(found.values())


def weights_charts(
    fused: list[Fused],
    qrels: InputTable,
    runs: Mapping[str, InputTable],
    metric: Metric,
    policies: Policies,
    intervals: Intervals,
    weighted: Mapping[str, Any],
    sampled: str = "",
) -> dict[str, Any]:
    """Draw the metric over the weights of the runs of each fusion, by what the charts show.

    `weighted`: queries and weights, where the metric is averaged by them. `sampled`: how a
    sample of the queries is described; empty where all are drawn.
    """
    if metric.whole_input:
        return {}
    drawn: dict[str, Any] = {}
    for fusion in fused:
        try:
            tuned = tune(
                qrels,
                {name: runs[name] for name in fusion.parts},
                fusion.method,
                metric,
                norms=fusion.norm(runs),
                folds=_FOLDS,
                depth=fusion.how.depth,
                test="t",
                queries=weighted.get("queries"),
                weight=weighted.get("weight"),
                **vars(intervals),
                **vars(policies),
            )
        except OptionError:  # too few queries for anything to be tuned by
            continue
        first, second = fusion.parts
        caption = (
            f"{metric.label} over the weight of {second} in a fusion with {first}; {fusion.said}"
        )
        drawn[f"{caption} ({sampled})" if sampled else caption] = plot.fusion_weights(tuned)
    return drawn


def tuned_chart(tuning: object) -> dict[str, Any]:
    """Draw the chart of a tuning, by what it shows."""
    if not isinstance(tuning, Tuning):
        raise OptionError(f"tuning is what rf.tune found, not {shown(tuning)}.")
    return {f"Tuned: {tuning.headline}": plot.fusion_weights(tuning)}
