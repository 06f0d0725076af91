"""What the tests of charts draw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.plot.material import Material
from tests.support.oracles import random_case

CASE, OTHER = random_case(1), random_case(2)
RUNS = {"old": CASE.run, "new": OTHER.run}
ATTRIBUTES = pl.DataFrame(
    {"query_id": list(CASE.qrels), "part": [f"p{n % 3}" for n in range(len(CASE.qrels))]}
)


def curves(kind: Any, **options: Any) -> dict[str, pl.DataFrame]:
    return {name: rf.curve(CASE.qrels, run, kind, **options) for name, run in RUNS.items()}


def results(**options: Any) -> dict[str, rf.Result]:
    return {name: rf.evaluate(CASE.qrels, run, "ndcg@5", **options) for name, run in RUNS.items()}


DRAWN = {
    "roc": lambda: rf.plot.roc(curves("roc")),
    "precision_recall": lambda: rf.plot.precision_recall(curves("precision_recall")),
    "metric_at_k": lambda: rf.plot.metric_at_k(curves("metric_at_k", ci="t"), "ndcg"),
    "plain": lambda: rf.plot.metric_at_k(
        {name: points.drop("ci_low") for name, points in curves("metric_at_k").items()}
    ),
    "cumulative_gain": lambda: rf.plot.cumulative_gain(curves("cumulative_gain")["old"]),
    "differences": lambda: rf.plot.differences(rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")),
    "distribution": lambda: rf.plot.distribution(
        {name: result.per_query for name, result in results().items()}, "ndcg@5"
    ),
    "slices": lambda: rf.plot.slices(
        {n: r.slices for n, r in results(queries=ATTRIBUTES, by="part").items()}, "ndcg@5"
    ),
    "heatmap": lambda: rf.plot.heatmap(rf.judge(CASE.qrels, CASE.run), k=7, most=5),
    "discounts": rf.plot.discounts,
    "fusion_weights": lambda: rf.plot.fusion_weights(
        rf.tune(CASE.qrels, RUNS, "wsum", "ndcg@5", folds=2)
    ),
}


MATERIAL = Material(CASE.qrels, RUNS, metric="ndcg@5", k=7, queries=ATTRIBUTES, by=["part"])


def of_so_many(count: int | None) -> Material:
    return replace(MATERIAL, runs=dict(list(RUNS.items())[:count]))


def rows(chart: Any, layer: int | None = None) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return part["data"]["values"]
