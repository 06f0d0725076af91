"""Charts of lines: over scores, over cutoffs, over ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from rankframe.plot.canvas import GREY, chart_of, colour, layered, lines, named, styled
from rankframe.plot.registry import chart

if TYPE_CHECKING:
    from rankframe.plot.canvas import Chart


@chart(
    of=lambda given: (given.curves("roc", scores="distance" if given.distance else "similarity"),)
)
def roc(curves: Mapping[str, pl.DataFrame]) -> Chart:
    """ROC curves, `{name: rf.curve(qrels, run, "roc")}`; the diagonal is chance.

    Retrieved documents of all queries by score; equal scores are one point, unjudged documents
    non-relevant. `scores="distance"` where smaller is better, `average="vertical"` for the mean of
    the queries' curves.

    >>> points = rf.curve({"q": {"a": 1, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}, "roc")
    >>> rf.plot.roc({"mine": points}).to_dict()["layer"][1]["mark"]["type"]
    'line'
    """
    chance = (
        chart_of([{"fpr": 0.0, "tpr": 0.0}, {"fpr": 1.0, "tpr": 1.0}])
        .mark_line(strokeDash=[4, 4], color=GREY)
        .encode(x="fpr:Q", y="tpr:Q")
    )
    curved = lines(curves, "fpr", "tpr", ("false positive rate", "true positive rate"), shares=True)
    return styled(layered(chance, curved))


@chart(of=lambda given: (given.curves("precision_recall"),))
def precision_recall(curves: Mapping[str, pl.DataFrame]) -> Chart:
    """Precision against recall, `{name: rf.curve(qrels, run, "precision_recall")}`.

    Recall is of all relevant documents, retrieved or not (`recall_of="retrieved"`).
    `interpolated=True` for trec_eval's eleven points.
    """
    return styled(lines(curves, "recall", "precision", ("recall", "precision"), shares=True))


@chart(
    of=lambda given: (
        given.curves("metric_at_k", metric=given.family, ks=given.ks, ci="bootstrap"),
        given.family,
    )
)
def metric_at_k(curves: Mapping[str, pl.DataFrame], metric: str = "value") -> Chart:
    """A metric over its cutoffs, with its intervals where the curves have them:
    `{name: rf.curve(qrels, run, "metric_at_k", metric="ndcg", ci="bootstrap")}`.
    """
    curved = lines(curves, "k", "value", ("cutoff k", metric), shares=False)
    if not all({"ci_low", "ci_high"} <= set(points.columns) for points in curves.values()):
        return styled(curved)
    band = (
        chart_of(named(curves, ["k", "ci_low", "ci_high"]))
        .mark_area(opacity=0.15)
        .encode(x="k:Q", y="ci_low:Q", y2="ci_high:Q", color=colour(list(curves)))
    )
    return styled(layered(curved, band))


@chart(runs=1, of=lambda given: (*given.curves("cumulative_gain", ks=given.ks).values(),))
def cumulative_gain(points: pl.DataFrame) -> Chart:
    """What is gained down the list and what could be, `rf.curve(qrels, run, "cumulative_gain")`."""
    shown = {"found": "dcg", "at best": "ideal_dcg"}
    curves = {name: points.select("k", value=column) for name, column in shown.items()}
    axes = ("cutoff k", "discounted cumulative gain")
    return styled(lines(curves, "k", "value", axes, shares=False))


@chart(runs=0, of=lambda given: (given.k,))
def discounts(k: int = 20) -> Chart:
    """What each rank weighs: the discounts of the metrics, beside each other."""
    weights: dict[str, Callable[[pl.Expr], pl.Expr]] = {
        "ndcg: 1 / log2(i + 1)": lambda i: 1 / (i + 1).log(2),
        "reciprocal rank: 1 / i": lambda i: 1 / i,
        "rbp (p = 0.8): p^(i − 1)": lambda i: 0.8 ** (i - 1).cast(pl.Float64),
        "r_score (half-life 5): 2^(−(i − 1) / 4)": lambda i: 2.0 ** (-(i - 1).cast(pl.Float64) / 4),
        "precision: 1": lambda i: i * 0.0 + 1,
    }
    ranks = pl.DataFrame({"k": range(1, k + 1)})
    curves = {
        name: ranks.select("k", value=weigh(pl.col("k").cast(pl.Float64)))
        for name, weigh in weights.items()
    }
    axes = ("rank i", "weight, relative to the first rank")
    return styled(lines(curves, "k", "value", axes, shares=False))
