"""Curves whose points are metrics: all of them are evaluated at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import is_count
from rankframe.engine.result import Result
from rankframe.metrics.names import Metric, resolve

Kind = Literal["roc", "precision_recall", "metric_at_k", "cumulative_gain"]

_KS: Final = range(1, 21)
_GAINS: Final = ("cg", "dcg", "ideal_dcg")
_RECALLS: Final = tuple(tenths / 10 for tenths in range(11))
_INTERVAL: Final = ("ci_low", "ci_high", "queries")


@dataclass(frozen=True)
class CurveMetrics:
    """Name the axis of a curve, its places, and the metric of each column at each place."""

    axis: str
    places: Sequence[float]
    columns: Mapping[str, Sequence[Metric]]

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics, place by place."""
        return [metric for place in zip(*self.columns.values(), strict=True) for metric in place]

    def points(self, result: Result, *, per_query: bool, sliced: bool) -> pl.DataFrame:
        """Turn an evaluation of the metrics into points: of all queries, each slice or query."""
        names = list(self.columns)
        if per_query:
            lists = (
                pl.concat_list([metric.label for metric in metrics]).alias(name)
                for name, metrics in self.columns.items()
            )
            values = result.per_query.select(QUERY, *lists).explode(names)
            return values.select(QUERY, self._repeat_places(values.height), *names)
        table = result.slices if sliced else result.summary
        values = [
            table["value"].gather_every(len(names), column).alias(name)
            for column, name in enumerate(names)
        ]
        return table.gather_every(len(names)).select(
            *(("by", "slice") if sliced else ()),
            self._repeat_places(table.height // len(names)),
            *values,
            *(_INTERVAL if len(names) == 1 else ()),
        )

    def _repeat_places(self, rows: int) -> pl.Series:
        return pl.Series(self.axis, list(self.places)).gather(np.arange(rows) % len(self.places))


def metrics_of(
    kind: Kind, metric: str, ks: Iterable[int] | None, *, interpolated: bool
) -> CurveMetrics | None:
    """Return the metrics that are the points of a curve; None if its points go by score."""
    if interpolated:
        points = resolve([f"iprec(recall={recall})" for recall in _RECALLS])
        return CurveMetrics("recall", _RECALLS, {"precision": points})
    if kind not in ("metric_at_k", "cumulative_gain"):
        return None
    cutoffs = _check_cutoffs(ks)
    if kind == "cumulative_gain":
        columns = {name: resolve([f"{name}@{k}" for k in cutoffs]) for name in _GAINS}
        return CurveMetrics("k", cutoffs, columns)
    whole = _without_cutoff(metric)
    at_each = [
        replace(whole, label=f"{whole.label}@{k}", params={**whole.params, "k": k}) for k in cutoffs
    ]
    return CurveMetrics("k", cutoffs, {"value": at_each})


def _check_cutoffs(ks: Iterable[int] | None) -> list[int]:
    if ks is None:
        return list(_KS)
    if isinstance(ks, str) or not isinstance(ks, Iterable):
        raise OptionError(f"ks takes cutoffs such as [1, 5, 10] or range(1, 21), not {ks!r}.")
    cutoffs = list(ks)
    if not cutoffs:
        raise OptionError("ks names no cutoff. Give at least one, such as [10].")
    if bad := [k for k in cutoffs if not is_count(k)]:
        raise OptionError(f"ks takes whole numbers of at least 1, not {bad[0]!r}.")
    ascending = sorted(map(int, cutoffs))
    if twice := [k for k in ascending if ascending.count(k) > 1]:
        raise OptionError(f"ks names {twice[0]} more than once.")
    return ascending


def _without_cutoff(metric: str) -> Metric:
    if not isinstance(metric, str):
        raise MetricParameterError(f"metric takes a name such as 'ndcg', not {metric!r}.")
    whole = resolve(metric)[0]
    definition = whole.definition
    assert definition is not None  # a name always has one
    if "k" not in definition.parameters:
        raise MetricParameterError(f"{metric!r}: {definition.name} takes no cutoff.")
    if "k" in whole.params:
        raise MetricParameterError(
            f"{metric!r} has a cutoff of its own. Name the metric without one: ",
            Option("ks"),
            " has the cutoffs.",
        )
    if whole.average == "weighted":
        raise MetricParameterError(
            f"{metric!r} is averaged by weight, and a curve has no weights. "
            "Leave out average=weighted."
        )
    return whole
