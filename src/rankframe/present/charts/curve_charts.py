"""Draw curves over scores, and over cutoffs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Unpack

import polars as pl

from rankframe.analysis.curves.area import area_under
from rankframe.core.messages import number_of
from rankframe.core.wording import plain_text
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import between, in_words, with_direction
from rankframe.present.charts.registry import chart

__all__ = ["cumulative_gain", "metric_at_k", "precision_recall", "roc"]

_MOST_AREAS = 4  # areas that a subtitle lists


@chart(
    inputs=lambda source: (
        source.curves("roc", scores="distance" if source.distance else "similarity"),
    )
)
def roc(curves: Mapping[str, pl.DataFrame], **look: Unpack[Look]) -> Chart:
    """Draw ROC curves of the retrieved documents by score.

    Takes `{name: rf.curve(qrels, run, "roc")}`. Documents of all queries are pooled by score; equal
    scores are one point, unjudged documents count as not relevant. The dashed diagonal is chance.
    For `rf.curve`, pass `scores="distance"` if smaller is better, and `average="vertical"` for the
    mean of the queries' curves.

    >>> points = rf.curve({"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}, "roc")
    >>> rf.plot.roc({"mine": points}).to_dict()["layer"][1]["mark"]["type"]
    'line'
    """
    on = Canvas.from_look(look)
    axes = ("false positive rate", "true positive rate")
    chance = on.diagonal("fpr", "tpr").encode(x="fpr:Q", y="tpr:Q")
    drawn = marks.layered(chance, on.lines(curves, "fpr", "tpr", axes, shares=True))
    whole = _areas(curves, lambda points: (points["fpr"].first(), points["fpr"].last()) == (0, 1))
    subtitle = [f"{_of_what(curves)}; the dashed line is chance", *whole]
    return on.finished(drawn, "ROC: relevant documents retrieved, by score", subtitle)


@chart(inputs=lambda source: (source.curves("precision_recall"),))
def precision_recall(curves: Mapping[str, pl.DataFrame], **look: Unpack[Look]) -> Chart:
    """Draw precision against recall.

    Takes `{name: rf.curve(qrels, run, "precision_recall")}`. Recall is a share of all relevant
    documents; pass `recall_of="retrieved"` to `rf.curve` for a share of the retrieved relevant
    documents. `interpolated=True` gives trec_eval's eleven points.
    """
    on = Canvas.from_look(look)
    drawn = on.lines(curves, "recall", "precision", ("recall", "precision"), shares=True)
    by_score = _areas(curves, lambda points: points["recall"].first() == 0)
    subtitle = [f"{_of_what(curves)}; higher is better", *by_score]
    return on.finished(drawn, "Precision against recall", subtitle)


@chart(
    inputs=lambda source: (
        source.curves("metric_at_k", metric=source.family, ks=source.ks, ci="bootstrap"),
        source.family,
    )
)
def metric_at_k(
    curves: Mapping[str, pl.DataFrame], metric: str = "value", **look: Unpack[Look]
) -> Chart:
    """Draw a metric at each cutoff, with confidence intervals if the curves have them.

    Takes `{name: rf.curve(qrels, run, "metric_at_k", metric="ndcg", ci="bootstrap")}`.
    """
    on = Canvas.from_look(look)
    axes = ("cutoff k", with_direction(metric))
    drawn, subtitle = on.lines(curves, "k", "value", axes, shares=False), [_of_what(curves)]
    ends = {"ci_low", "ci_high"}
    bounded = all(ends <= set(points.columns) for points in curves.values())
    if bounded and any(points["ci_low"].count() for points in curves.values()):
        band = marks.chart_of(marks.named(curves, ["k", "ci_low", "ci_high"]))
        drawn = marks.layered(drawn, band.mark_area(opacity=0.15).encode(
            x="k:Q", y="ci_low:Q", y2="ci_high:Q", color=marks.colour(list(curves))
        ))  # fmt: skip
        subtitle.append("bands: intervals of the means")
    return on.finished(drawn, f"{metric} at each cutoff", subtitle)


@chart(
    runs=1,
    inputs=lambda source: (
        *source.curves("cumulative_gain", ks=source.ks).values(),
        source.queries_judged(),
    ),
)
def cumulative_gain(
    points: pl.DataFrame, queries: int | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw the cumulative discounted gain by rank, for the run and for the ideal list.

    Takes `rf.curve(qrels, run, "cumulative_gain")`.

    queries: the number of queries that the means are over, for the subtitle.
    """
    on = Canvas.from_look(look)
    shown = {"run": "dcg", "best possible": "ideal_dcg"}
    curves = {
        name: points.select("k", value=column) if column in points.columns else points
        for name, column in shown.items()
    }
    axes = ("cutoff k", "discounted cumulative gain (higher is better)")
    drawn = on.lines(curves, "k", "value", axes, shares=False, zero=True)
    over = "queries" if queries is None else number_of(queries, "query")
    subtitle = [f"mean over {over}: the run, and the best possible list"]
    return on.finished(drawn, "Gain down the list", subtitle)


def _of_what(curves: Mapping[str, pl.DataFrame]) -> str:
    """Return a text that names the systems, and the number of queries or documents."""
    frames = [points for points in curves.values() if points.height]
    names = in_words(list(curves))
    if all("queries" in points.columns for points in frames):
        counts = [int(points["queries"].max() or 0) for points in frames]  # pyright: ignore[reportArgumentType]
        return f"{names}; {between(counts)}"
    if all({"fp", "tp"} <= set(points.columns) for points in frames):
        last = [points.select(pl.col("fp").max() + pl.col("tp").max()).item() for points in frames]
        return f"{names}; {between(last, 'retrieved document')}"
    return names


def _areas(
    curves: Mapping[str, pl.DataFrame], is_complete: Callable[[pl.DataFrame], bool]
) -> list[str]:
    """Return texts with the area under each curve; no texts if there are many curves.

    is_complete: returns whether the points of a curve span the whole range of its area.
    """
    if len(curves) > _MOST_AREAS:
        return []
    areas = [
        f"{plain_text(name, 24)} {area_under(points):.3f}"
        for name, points in curves.items()
        if points.height and "queries" not in points.columns and is_complete(points)
    ]
    return [f"area under the curve: {', '.join(areas)}"] if areas else []
