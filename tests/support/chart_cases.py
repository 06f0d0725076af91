"""What the tests of charts draw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.present.charts.chart_source import Material
from tests.support.oracles import random_case

CASE, OTHER = random_case(1), random_case(2)
RUNS = {"old": CASE.run, "new": OTHER.run}
ATTRIBUTES = pl.DataFrame(
    {"query_id": list(CASE.qrels), "part": [f"p{n % 3}" for n in range(len(CASE.qrels))]}
)
# As textbooks have them.
RELEVANT = [1, 0, 1, 0, 1, 0, 0, 1, 0, 1]
GRADES = [3, 2, 3, 0, 1, 2, 0, 1, 0, 3]
FIRST, SECOND = list(range(1, 11)), [1, 3, 2, 4, 6, 5, 7, 9, 8, 10]
PAIR_METRICS = ["kendall_tau", "spearman", "rbo"]


def curves(kind: Any, **options: Any) -> dict[str, pl.DataFrame]:
    return {name: rf.curve(CASE.qrels, run, kind, **options) for name, run in RUNS.items()}


def results(**options: Any) -> dict[str, rf.Result]:
    return {name: rf.evaluate(CASE.qrels, run, "ndcg@5", **options) for name, run in RUNS.items()}


def compared(metrics: Any = "ndcg@5", **options: Any) -> rf.Comparison:
    return rf.compare(CASE.qrels, RUNS, metrics, ci="t", **options)


def over_time() -> pl.DataFrame:
    return rf.history({"monday": results(ci="t")["old"], "tuesday": results(ci="t")["new"]})


def counted() -> dict[str, pl.LazyFrame]:
    return {name: rf.exposure(run, k=5, train=CASE.qrels) for name, run in RUNS.items()}


DRAWN = {
    "roc": lambda **look: rf.plot.roc(curves("roc"), **look),
    "precision_recall": lambda **look: rf.plot.precision_recall(curves("precision_recall"), **look),
    "metric_at_k": lambda **look: rf.plot.metric_at_k(
        curves("metric_at_k", ci="t"), "ndcg", **look
    ),
    "plain": lambda **look: rf.plot.metric_at_k(
        {name: points.drop("ci_low") for name, points in curves("metric_at_k").items()}, **look
    ),
    "cumulative_gain": lambda **look: rf.plot.cumulative_gain(
        curves("cumulative_gain")["old"], 12, **look
    ),
    "discounts": rf.plot.discounts,
    "fusion_weights": lambda **look: rf.plot.fusion_weights(
        rf.tune(CASE.qrels, RUNS, "wsum", "ndcg@5", folds=2), **look
    ),
    "reciprocal_rank": lambda **look: rf.plot.reciprocal_rank([0, 0, 1], 5, **look),
    "strip": lambda **look: rf.plot.strip(RELEVANT, **look),
    "grades": lambda **look: rf.plot.grades(GRADES, **look),
    "precision_at": lambda **look: rf.plot.precision_at(RELEVANT, **look),
    "heatmap": lambda **look: rf.plot.heatmap(rf.judge(CASE.qrels, CASE.run), k=7, most=5, **look),
    "bump": lambda **look: rf.plot.bump({"first": FIRST, "second": SECOND}, **look),
    "calibration": lambda **look: rf.plot.calibration(
        {name: rf.pair(CASE.qrels, run) for name, run in RUNS.items()}, bins=4, **look
    ),
    "per_query": lambda **look: rf.plot.per_query(results(), "ndcg@5", **look),
    "distribution": lambda **look: rf.plot.distribution(
        {name: result.per_query for name, result in results().items()}, "ndcg@5", **look
    ),
    "differences": lambda **look: rf.plot.differences(
        rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5"), ("old", "new"), **look
    ),
    "scatter": lambda **look: rf.plot.scatter(results(), "ndcg@5", **look),
    "slices": lambda **look: rf.plot.slices(
        {n: r.slices for n, r in results(queries=ATTRIBUTES, by="part").items()}, "ndcg@5", **look
    ),
    "slice_map": lambda **look: rf.plot.slice_map(results(queries=ATTRIBUTES, by="part"), **look),
    "forest": lambda **look: rf.plot.forest(
        compared(["ndcg@5", "lag"], baseline="old", queries=ATTRIBUTES, by="part"), **look
    ),
    "significance": lambda **look: rf.plot.significance(compared(), **look),
    "agreement": lambda **look: rf.plot.agreement(
        {"second": rf.agree(FIRST, SECOND, PAIR_METRICS)}, "first", **look
    ),
    "history": lambda **look: rf.plot.history(over_time(), margin="-1%", **look),
    "exposure": lambda **look: rf.plot.exposure(counted(), **look),
    "popularity": lambda **look: rf.plot.popularity(counted(), **look),
    "tradeoff": lambda **look: rf.plot.tradeoff(
        {
            name: rf.evaluate(CASE.qrels, run, ["ndcg@5", "coverage@5"], train=CASE.qrels)
            for name, run in RUNS.items()
        },
        **look,
    ),
}


MATERIAL = Material(CASE.qrels, RUNS, metric="ndcg@5", k=7, queries=ATTRIBUTES, by=["part"])


def of_so_many(count: int | None) -> Material:
    return replace(MATERIAL, runs=dict(list(RUNS.items())[:count]))


def material_of(kind: str) -> Material:
    """What a chart is drawn of."""
    from rankframe.present.charts.registry import CHARTS

    if CHARTS[kind].takes == "results":
        return replace(MATERIAL, folders=results(ci="t"))
    if CHARTS[kind].takes == "shown" or kind == "tradeoff":
        return replace(MATERIAL, policies={"train": CASE.qrels})
    return of_so_many(CHARTS[kind].runs)


def rows(chart: Any, layer: int | None = None) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return part["data"]["values"]


def said(chart: Any) -> str:
    """The title and what stands below it, in one line."""
    title = chart.to_dict()["title"]
    return " ".join([*title["text"], *title["subtitle"]])
