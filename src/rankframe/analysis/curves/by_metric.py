"""Curves whose points are metrics: one evaluation of all of them, turned into points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import is_count
from rankframe.engine.evaluation import Evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.engine.input_cache import hold
from rankframe.io.input_table import InputTable
from rankframe.metrics.names import Metric, resolve

Kind = Literal["roc", "precision_recall", "metric_at_k", "cumulative_gain"]

_KS: Final = range(1, 21)
_GAINS: Final = ("cg", "dcg", "ideal_dcg")
_RECALLS: Final = tuple(tenths / 10 for tenths in range(11))
_INTERVAL: Final = ("ci_low", "ci_high", "queries")


@dataclass(frozen=True)
class CurveMetrics:
    """A curve whose points are metrics: what it runs along, and at each place a metric a column."""

    along: str
    places: Sequence[float]
    columns: Mapping[str, Sequence[Metric]]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Return all of them place by place, so that those of a column are every so manieth."""
        return [metric for here in zip(*self.columns.values(), strict=True) for metric in here]

    def on(self, rows: int) -> pl.Series:
        """The places, again and again on so many rows."""
        return pl.Series(self.along, list(self.places)).gather(np.arange(rows) % len(self.places))


def metrics_of(
    kind: Kind, metric: str, ks: Iterable[int] | None, *, interpolated: bool
) -> CurveMetrics | None:
    """The metrics that are a curve's points; None where it is drawn by scores."""
    if kind == "metric_at_k":
        cutoffs, wanted = _cutoffs(ks), _without_cutoff(metric)
        at_each = [
            replace(wanted, label=f"{wanted.label}@{k}", params={**wanted.params, "k": k})
            for k in cutoffs
        ]
        return CurveMetrics("k", cutoffs, {"value": at_each})
    if kind == "cumulative_gain":
        cutoffs = _cutoffs(ks)
        columns = {name: resolve([f"{name}@{k}" for k in cutoffs]) for name in _GAINS}
        return CurveMetrics("k", cutoffs, columns)
    if interpolated:
        points = resolve([f"iprec(recall={recall})" for recall in _RECALLS])
        return CurveMetrics("recall", _RECALLS, {"precision": points})
    return None


def metric_points(
    qrels: InputTable,
    run: InputTable,
    evaluation: Evaluation,
    metrics: CurveMetrics,
    *,
    per_query: bool,
) -> pl.DataFrame:
    """Evaluate them, and give the points of the whole, of each slice or of each query."""
    held = hold(qrels, [run], evaluation.row_bytes)
    result = evaluate_inputs(evaluation, held.left, held.rights[0], partitions=held.pieces[0])
    names = list(metrics.columns)
    if per_query:
        lists = (
            pl.concat_list([metric.label for metric in some]).alias(name)
            for name, some in metrics.columns.items()
        )
        values = result.per_query.select(QUERY, *lists).explode(names)
        return values.select(QUERY, metrics.on(values.height), *names)
    sliced = evaluation.averages.attributes is not None
    table = result.slices if sliced else result.summary
    values = {
        name: table["value"].gather_every(len(names), at).alias(name)
        for at, name in enumerate(names)
    }
    return table.gather_every(len(names)).select(
        *(("by", "slice") if sliced else ()),
        metrics.on(table.height // len(names)),
        *values.values(),
        *(_INTERVAL if len(names) == 1 else ()),
    )


def _cutoffs(ks: Iterable[int] | None) -> list[int]:
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
    wanted = resolve(metric)[0]
    definition = wanted.definition
    assert definition is not None  # a name always has one
    if "k" not in definition.parameters:
        raise MetricParameterError(f"{metric!r}: {definition.name} takes no cutoff.")
    if "k" in wanted.params:
        raise MetricParameterError(
            f"{metric!r} has a cutoff of its own. Name the metric without one: ",
            Option("ks"),
            " has the cutoffs.",
        )
    if wanted.average == "weighted":
        raise MetricParameterError(
            f"{metric!r} is averaged by weight, and a curve has no weights. "
            "Leave out average=weighted."
        )
    return wanted
