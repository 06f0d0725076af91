"""Curves as frames of points: ROC, precision–recall, a metric by its cutoff, cumulative gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, Unpack, get_args

import numpy as np
import polars as pl

from rankframe.analysis.curves.curve_frame import Curve
from rankframe.analysis.curves.metric_points import Kind, metrics_of
from rankframe.analysis.curves.score_points import (
    CURVE,
    Ints,
    precision_recall,
    read_population,
    roc,
    vertical_mean,
)
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.option import takes_options
from rankframe.core.options import EvaluateOptions, Intervals, Policies, Storage
from rankframe.engine.evaluate import evaluate
from rankframe.engine.prepare import refuse_idle
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import Attributes, By, asked_of, read_attributes, refuse_strangers
from rankframe.io.storage import reaching

CurveAverage = Literal["pooled", "vertical"]
Scores = Literal["similarity", "distance"]
RecallOf = Literal["all", "retrieved"]

_CHOICES: Final[dict[str, object]] = {
    "kind": Kind,
    "average": CurveAverage,
    "scores": Scores,
    "recall_of": RecallOf,
}
# The options that not every curve has: their defaults, and the curves that have them.
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


@reaching
@takes_options(EvaluateOptions, Policies, Intervals, Storage, ci=None)
def curve(
    qrels: Source,
    run: Source,
    kind: Kind,
    *,
    metric: str = "ndcg",
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
    """Return the points of a curve, one per row, in the order in which a pen would draw them.

    Args:
        qrels: the judgments, as in `evaluate`.
        run: the ranking, as in `evaluate`.
        kind: the curve, and with it the columns.

            - "roc": threshold, fpr, tpr, fp, tp. All documents that were retrieved for judged
              queries, as one list by score; documents with at least the threshold are taken. An
              unjudged document is not relevant, as in the metric `auc`. Equal scores, of whatever
              query, are one point. The area is `auc(pool=true)`. Agrees with scikit-learn's
              `roc_curve`.
            - "precision_recall": threshold, precision, recall, tp, fp, likewise, from recall 0 and
              precision 1. With recall_of="retrieved" as scikit-learn's `precision_recall_curve`.
            - "metric_at_k": k, value, ci_low, ci_high, queries: a metric at several cutoffs.
            - "cumulative_gain": k, cg, dcg, ideal_dcg: means over queries.
        metric: for metric_at_k, a name without a cutoff: "recall", "ndcg(gain=exp2)", "P".
        ks: the cutoffs (default: 1 to 20).
        by: attributes to slice by, as in `evaluate`: a curve for each slice, of its queries only,
            with by and slice in front.
        queries: attributes of queries, as in `evaluate`.
        per_query: return a curve for each query, with query_id in front. A query has no ROC curve
            without both a relevant and a non-relevant retrieved document, and no precision–recall
            curve without a relevant one. Nor has a slice, or the whole: the frame has no rows.
        average: of roc: "pooled", or "vertical" for the mean of the queries' own curves, at
            fpr = 0, 0.01, …, 1, with columns fpr, tpr, queries. Scores of different queries are
            then not compared. Between its points a curve is a straight line; where it goes straight
            up, the end counts.
        scores: "similarity" (larger is better) or "distance": thresholds then go up from −∞, and
            documents that score at most the threshold are taken. A run without scores is treated so
            by its ranks: the threshold k takes the documents ranked 1 to k for any query.
        interpolated: of precision_recall: the eleven points recall = 0, 0.1, …, 1 with the mean
            over queries of `iprec` at each: columns recall, precision, ci_low, ci_high, queries.
        recall_of: the documents that recall is a share of: "all" relevant ones, or "retrieved".
        columns: names in your data, as in `evaluate`.

    A query that is skipped brings no documents to a curve, and no relevant ones to its recall.
    Curves by score do not depend on `ties`, unless lists are cut at `k_max`. Intervals are computed
    only for curves with ci_low and ci_high.

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
    _check_options(values, per_query=per_query)
    if per_query and by is not None:
        raise OptionError(
            Option("by"),
            " makes a curve for each slice, ",
            Option("per_query", value=True),
            " one for each query: pass one of them, and join attributes to the curves of queries "
            "by query_id.",
        )
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
        return Curve.of(metrics.points(result, per_query=per_query, sliced=by is not None))
    attributes = read_attributes(queries, by=by, columns=columns)
    judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    ranking = open_run(run, policies, columns)
    refuse_absent_columns(columns, judgments, ranking, queries=asked_of(attributes))
    population = read_population(judgments, ranking, policies, distance=scores == "distance")

    def draw(curves: Ints) -> pl.DataFrame:
        if kind == "precision_recall":
            return precision_recall(population, curves, retrieved_only=recall_of == "retrieved")
        return (vertical_mean if average == "vertical" else roc)(population, curves)

    if per_query:
        points = draw(np.arange(len(population.queries)))
        query = population.queries.gather(points[CURVE]).alias(QUERY)
        return Curve.of(points.select(query, pl.exclude(CURVE)))
    if attributes is None:
        return Curve.of(draw(np.zeros(len(population.queries), np.int64)).drop(CURVE))
    return Curve.of(_draw_slices(attributes, population.queries, draw))


def _check_options(values: Mapping[str, object], *, per_query: bool) -> None:
    for option, choices in _CHOICES.items():
        if values[option] not in get_args(choices):
            raise OptionError.choice(option, values[option], get_args(choices))
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
    if per_query and values["average"] == "vertical":
        raise OptionError(
            Option("average", "vertical"),
            " is a mean over queries: leave out ",
            Option("per_query", value=True),
            ".",
        )
    if per_query and values["ci"] is not None:
        raise OptionError(
            Option("ci"),
            " makes intervals of means over queries: leave out ",
            Option("per_query", value=True),
            ".",
        )


def _draw_slices(
    attributes: Attributes, queries: pl.Series, draw: Callable[[Ints], pl.DataFrame]
) -> pl.DataFrame:
    """Return a curve for each slice of the queries, one way of slicing after the other."""
    frames = []
    looked_up = attributes.of(queries)
    refuse_strangers(looked_up.absent, len(queries), queries)
    for way, numbers in enumerate(looked_up.slices):
        points = draw(numbers)
        by, names = attributes.slices[way]
        titles = [attributes.name(way, number)[1] for number in range(len(names) + 1)]
        title = pl.Series("slice", titles, dtype=pl.String).gather(points[CURVE])
        frames.append(points.select(pl.lit(by).alias("by"), title, pl.exclude(CURVE)))
    return pl.concat(frames)
