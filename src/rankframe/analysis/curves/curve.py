"""Compute curves as frames of points: ROC, precision–recall, metric by cutoff, cumulative gain."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, Unpack, get_args

import numpy as np
import polars as pl

from rankframe.analysis.curves.area import AXES, OWNERS, downsample_curve
from rankframe.analysis.curves.score_points import (
    CURVE,
    precision_recall,
    read_population,
    roc,
    vertical_mean,
)
from rankframe.analysis.systems import look_up_attributes
from rankframe.core.arrays import Ints
from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.options import (
    EvaluateOptions,
    Intervals,
    Policies,
    Storage,
    check_choice,
    is_count,
    is_listed,
    take_all,
    takes_options,
)
from rankframe.core.records import record
from rankframe.engine.evaluate import evaluate
from rankframe.engine.evaluation import refuse_idle
from rankframe.engine.result import Result
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import Attributes, By, read_attributes
from rankframe.metrics.names import Metric, MetricLike, resolve

Kind = Literal["roc", "precision_recall", "metric_at_k", "cumulative_gain"]
CurveAverage = Literal["pooled", "vertical"]
Scores = Literal["similarity", "distance"]
RecallOf = Literal["all", "retrieved"]

_CHOICES: Final[dict[str, object]] = {
    "kind": Kind,
    "average": CurveAverage,
    "scores": Scores,
    "recall_of": RecallOf,
}
# The options that only some curves have: their defaults, and the curves that have them.
_ELEVEN: Final = "precision_recall with interpolated=True"
_OWNERS: Final[dict[str, tuple[object, tuple[str, ...]]]] = {
    "metric": ("ndcg", ("metric_at_k",)),
    "ks": (None, ("metric_at_k", "cumulative_gain")),
    "average": ("pooled", ("roc",)),
    "scores": ("similarity", ("roc", "precision_recall")),
    "interpolated": (False, (_ELEVEN,)),
    "recall_of": ("all", ("precision_recall",)),
    "ci": (None, ("metric_at_k", _ELEVEN)),
}


@takes_options(EvaluateOptions, Policies, Intervals, Storage, ci=None)
def curve(
    qrels: Source,
    run: Source,
    kind: Kind,
    *,
    metric: MetricLike = "ndcg",
    ks: Iterable[int] | None = None,
    by: By | Sequence[By] | None = None,
    queries: Source | None = None,
    per_query: bool = False,
    average: CurveAverage = "pooled",
    scores: Scores = "similarity",
    interpolated: bool = False,
    recall_of: RecallOf = "all",
    columns: Columns | None = None,
    **options: Unpack[EvaluateOptions],
) -> pl.DataFrame:
    """Return the points of a curve, one per row, from the start of the line to its end.

    Args:
        qrels: the judgments, as in `evaluate`.
        run: the ranking, as in `evaluate`.
        kind: the kind of curve, which determines the columns:

            - "roc": threshold, fpr, tpr, fp, tp. All documents that were retrieved for judged
              queries form one list by score. At each threshold, documents with at least this score
              are positive. Unjudged documents are not relevant, as in the metric `auc`. Equal
              scores, even of different queries, are one point. The area is `auc(pool=true)`. Agrees
              with scikit-learn's `roc_curve`.
            - "precision_recall": threshold, precision, recall, tp, fp, from the same list. The
              curve starts at recall 0 and precision 1. With recall_of="retrieved", it agrees with
              scikit-learn's `precision_recall_curve`.
            - "metric_at_k": k, value, ci_low, ci_high, queries: a metric at several cutoffs.
            - "cumulative_gain": k, cg, dcg, ideal_dcg: means over queries.
        metric: for metric_at_k, a metric without a cutoff: "recall", "ndcg(gain=exp2)", "P",
            `rf.ndcg()`.
        ks: the cutoffs (default: 1 to 20).
        by: attributes to slice by, as in `evaluate`. Returns a curve for each slice, with the
            columns by and slice in front.
        queries: attributes of queries, as in `evaluate`.
        per_query: return a curve for each query, with query_id in front. A ROC curve needs a
            relevant and a non-relevant retrieved document, and a precision–recall curve a relevant
            document. Queries, slices or runs without them have no points.
        average: for "roc", how queries are combined: "pooled" makes one list of the documents of
            all queries. "vertical" averages the curves of the queries at fpr = 0, 0.01, …, 1
            (columns fpr, tpr, queries), so that scores of different queries are never compared.
            Curves are interpolated linearly; on a vertical line, the upper end counts.
        scores: "similarity" (larger is better) or "distance" (smaller is better). With "distance",
            thresholds ascend from −∞, and documents with at most this score are positive. For a run
            without scores, the threshold is a rank: the top k of every query are positive.
        interpolated: for "precision_recall", return the eleven points recall = 0, 0.1, …, 1, each
            with the mean of `iprec` over queries: recall, precision, ci_low, ci_high, queries.
        recall_of: for "precision_recall", the documents of which recall is a share: "all" relevant
            documents, or the "retrieved" relevant documents.
        columns: names in your data, as in `evaluate`.

    Queries that a policy skips add no documents to a curve. Curves over scores do not depend on
    `ties`, unless lists are cut at `k_max`. Intervals are computed only for curves with the columns
    ci_low and ci_high.

    >>> from rankframe.analysis.curves.curve import curve
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> run = {"q1": {"a": 0.9, "x": 0.4}, "q2": {"y": 0.6, "b": 0.4}}
    >>> curve(qrels, run, "roc")
    shape: (4, 5)
    ┌───────────┬─────┬─────┬─────┬─────┐
    │ threshold ┆ fpr ┆ tpr ┆ fp  ┆ tp  │
    │ ---       ┆ --- ┆ --- ┆ --- ┆ --- │
    │ f64       ┆ f64 ┆ f64 ┆ i64 ┆ i64 │
    ╞═══════════╪═════╪═════╪═════╪═════╡
    │ inf       ┆ 0.0 ┆ 0.0 ┆ 0   ┆ 0   │
    │ 0.9       ┆ 0.0 ┆ 0.5 ┆ 0   ┆ 1   │
    │ 0.6       ┆ 0.5 ┆ 0.5 ┆ 1   ┆ 1   │
    │ 0.4       ┆ 1.0 ┆ 1.0 ┆ 2   ┆ 2   │
    └───────────┴─────┴─────┴─────┴─────┘
    >>> curve(qrels, run, "metric_at_k", metric="recall", ks=[1, 2]).select("k", "value").rows()
    [(1, 0.5), (2, 1.0)]
    """
    policies, intervals = Policies.from_options(options), Intervals.from_options(options)
    values = {
        "kind": kind, "metric": metric, "ks": ks, "average": average, "scores": scores,
        "interpolated": interpolated, "recall_of": recall_of, "ci": intervals.ci,
    }  # fmt: skip
    _check_options(values, per_query=per_query, by=by)
    if queries is not None and by is None:
        raise OptionError(
            Option("queries"),
            " is read for slices: pass ",
            Option("by"),
            ", the names of its columns.",
        )
    metrics = metrics_of(kind, metric, ks, interpolated=interpolated)
    refuse_idle(policies)
    if metrics is not None:
        options["ci"] = intervals.ci
        result = evaluate(
            qrels, run, metrics.metrics, by=by, queries=queries, columns=columns, **options
        )
        return Curve.from_points(metrics.points(result, per_query=per_query, sliced=by is not None))
    attributes = read_attributes(queries, by=by, columns=columns)
    judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    ranking = open_run(run, policies, columns)
    refuse_absent_columns(columns, judgments, ranking, queries=attributes)
    population = read_population(judgments, ranking, policies, distance=scores == "distance")

    def draw(curves: Ints) -> pl.DataFrame:
        if kind == "precision_recall":
            return precision_recall(population, curves, retrieved_only=recall_of == "retrieved")
        return (vertical_mean if average == "vertical" else roc)(population, curves)

    if per_query:
        points = draw(np.arange(len(population.queries)))
        query = population.queries.gather(points[CURVE]).alias(QUERY)
        points = points.select(query, pl.exclude(CURVE))
    elif attributes is None:
        points = draw(np.zeros(len(population.queries), np.int64)).drop(CURVE)
    else:
        points = _draw_slices(attributes, population.queries, draw)
    return Curve.from_points(points)


def _check_options(values: Mapping[str, object], *, per_query: bool, by: object) -> None:
    for option, choices in _CHOICES.items():
        check_choice(option, values[option], get_args(choices))
    kind = values["kind"]
    variant = _ELEVEN if kind == "precision_recall" and values["interpolated"] else kind
    for option, (default, owners) in _OWNERS.items():
        value = values[option]
        changed = value != default if isinstance(value, str | bool) else value is not default
        if changed and variant not in owners:
            raise OptionError(
                f"{option}={value!r} does not belong to kind={variant}: it is for "
                f"{' and '.join(owners)}. Leave it out."
            )
    for option, clashes, makes in (
        (Option("by"), by is not None, "a curve for each slice"),
        (Option("average", "vertical"), values["average"] == "vertical", "a mean over queries"),
        (Option("ci"), values["ci"] is not None, "intervals of means over queries"),
    ):
        if per_query and clashes:
            raise OptionError(
                option, f" makes {makes}, ", Option("per_query", value=True), " a curve for each "
                "query: pass one of them. (Attributes can be joined by query_id.)",
            )  # fmt: skip


def _draw_slices(
    attributes: Attributes, queries: pl.Series, draw: Callable[[Ints], pl.DataFrame]
) -> pl.DataFrame:
    """Return a curve for each slice of the queries, one slicing attribute after the other."""
    frames = []
    for way, numbers in enumerate(look_up_attributes(attributes, queries).slices):
        points = draw(numbers)
        by, names = attributes.slices[way]
        titles = [attributes.name(way, number)[1] for number in range(len(names) + 1)]
        title = pl.Series("slice", titles, dtype=pl.String).gather(points[CURVE])
        frames.append(points.select(pl.lit(by).alias("by"), title, pl.exclude(CURVE)))
    return pl.concat(frames)


# Curves whose points are metrics -----------------------------------------------------------------

_KS: Final = range(1, 21)
_GAINS: Final = ("cg", "dcg", "ideal_dcg")
_RECALLS: Final = tuple(tenths / 10 for tenths in range(11))
_INTERVAL: Final = ("ci_low", "ci_high", "queries")


@record
class CurveMetrics:
    """Hold the x axis of a curve, its x values, and for each x value the metric of each column."""

    axis: str
    places: Sequence[float]
    columns: Mapping[str, Sequence[Metric]]

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics, in order of the x values."""
        return [metric for place in zip(*self.columns.values(), strict=True) for metric in place]

    def points(self, result: Result, *, per_query: bool, sliced: bool) -> pl.DataFrame:
        """Turn a result with this curve's metrics into points: overall, by slice or by query."""
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
    kind: Kind, metric: MetricLike, ks: Iterable[int] | None, *, interpolated: bool
) -> CurveMetrics | None:
    """Return the metrics whose values are the points of a curve; None for curves over scores."""
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
    if not is_listed(ks):
        raise OptionError(f"ks takes cutoffs such as [1, 5, 10] or range(1, 21), not {shown(ks)}.")
    cutoffs = take_all("ks", ks)
    if not cutoffs:
        raise OptionError("ks names no cutoff. Give at least one, such as [10].")
    if bad := [k for k in cutoffs if not is_count(k)]:
        raise OptionError(f"ks takes whole numbers of at least 1, not {shown(bad[0])}.")
    ascending = sorted(map(int, cutoffs))
    if twice := [k for k in ascending if ascending.count(k) > 1]:
        raise OptionError(f"ks names {twice[0]} more than once.")
    return ascending


def _without_cutoff(metric: MetricLike) -> Metric:
    whole = resolve(metric)[0] if isinstance(metric, str | pl.Expr | Metric) else None
    if whole is None or whole.definition is None:
        raise MetricParameterError(f"metric takes a name such as 'ndcg', not {metric!r}.")
    name = metric if isinstance(metric, str) else whole.label
    if "k" not in whole.definition.parameters:
        raise MetricParameterError(f"{name!r}: {whole.definition.name} takes no cutoff.")
    if "k" in whole.params:
        raise MetricParameterError(
            f"{name!r} has a cutoff of its own. Name the metric without one: ",
            Option("ks"),
            " has the cutoffs.",
        )
    if whole.average == "weighted":
        raise MetricParameterError(
            f"{name!r} is averaged by weight, and a curve has no weights. "
            "Leave out average=weighted."
        )
    return whole


# Drawings in a notebook --------------------------------------------------------------------------

_COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b15928",
)  # fmt: skip
_GREY: Final = "#7f7f7f"
_MOST_CURVES, _MOST_POINTS = len(_COLOURS), 400
_WIDE, _HIGH, _EDGE = 420, 240, 44


class Curve(pl.DataFrame):
    """Hold the points of a curve: a polars frame that a notebook also draws.

    >>> from rankframe.analysis.curves.curve import curve
    >>> points = curve({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "metric_at_k", ks=[1, 2])
    >>> isinstance(points, pl.DataFrame), "<svg" in points._repr_html_()
    (True, True)
    """

    @classmethod
    def from_points(cls, points: pl.DataFrame) -> Curve:
        """Wrap a frame of points as a `Curve`, without a copy."""
        curve = cls.__new__(cls)
        curve._df = points._df
        return curve

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        return _drawing(self) + super()._repr_html_(_from_series=_from_series)


def _drawing(points: pl.DataFrame) -> str:
    """Return an SVG with a line per curve; "" for too many curves, or without points."""
    axes = next((names for names in AXES if set(names) <= set(points.columns)), None)
    if axes is None or points.is_empty():
        return ""
    x, *ys = (name for name in axes if name != "cg")  # cg has another scale than dcg
    owners = [name for name in OWNERS if name in points.columns]
    parts = {(): points}
    if owners:
        parts = points.partition_by(owners, as_dict=True, maintain_order=True)
    if len(parts) * len(ys) > _MOST_CURVES:
        return ""
    lines = {
        ", ".join([*map(str, owner), *([y] if len(ys) > 1 else [])]): _thin(part, x, y)
        for owner, part in parts.items()
        for y in ys
    }
    (left, right), (low, high) = (0.0, 1.0), (0.0, 1.0)
    if x == "k":  # all other axes are shares
        left, right = _span([frame[x] for frame in lines.values()])
        low, high = _span([frame.to_series(1) for frame in lines.values()])
    drawn, legend = "", ""
    for (name, frame), colour in zip(lines.items(), _COLOURS, strict=False):
        across = _EDGE + (frame.to_series(0) - left) / ((right - left) or 1) * (_WIDE - _EDGE - 8)
        down = _HIGH - 30 - (frame.to_series(1) - low) / ((high - low) or 1) * (_HIGH - 42)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        title = html.escape(name)
        drawn += (
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{title}</title></polyline>"
        )
        legend += f'<span style="color:{colour}">■</span> {title} ' if name else ""
    ends = [
        (_EDGE, _HIGH - 14, "start", f"{left:g}"), (_WIDE - 8, _HIGH - 14, "end", f"{right:g}"),
        ((_WIDE + _EDGE) / 2, _HIGH - 2, "middle", x), (_EDGE - 4, _HIGH - 30, "end", f"{low:.3g}"),
        (_EDGE - 4, 16, "end", f"{high:.3g}"), (_EDGE + 4, 10, "start", " / ".join(ys)),
    ]  # fmt: skip
    texts = "".join(
        f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{side}">{html.escape(label)}</text>'
        for across, down, side, label in ends
    )
    frame = f'<path d="M{_EDGE},12V{_HIGH - 30}H{_WIDE - 8}" fill="none" stroke="{_GREY}"/>'
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="{_GREY}">{frame}{texts}{drawn}'
        f"</svg><p><small>{legend}</small></p>"
    )


def _thin(part: pl.DataFrame, x: str, y: str) -> pl.DataFrame:
    """Return the finite points of one curve, reduced to what a small drawing can show."""
    points = part.select(pl.col(x, y).cast(pl.Float64))
    points = points.filter(pl.all_horizontal(pl.all().is_finite())).drop_nulls()
    if points.height > _MOST_POINTS and x != "k":
        return downsample_curve(points, _MOST_POINTS)
    return points


def _span(columns: list[pl.Series]) -> tuple[float, float]:
    """Return the lowest and the highest value; if they are equal, a range around them."""
    values = [value for column in columns for value in column]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - 0.5, high + 0.5)
