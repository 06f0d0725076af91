"""Provide the data that the tests of charts draw."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.present.charts.canvas import Look
from rankframe.present.charts.chart_source import ChartSource
from rankframe.present.charts.registry import CHARTS
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


def counted() -> dict[str, pl.LazyFrame]:
    return {name: rf.exposure(run, k=5, train=CASE.qrels) for name, run in RUNS.items()}


MATERIAL = ChartSource(CASE.qrels, RUNS, metric="ndcg@5", k=7, queries=ATTRIBUTES, by=["part"])


def of_so_many(count: int | None) -> ChartSource:
    return replace(MATERIAL, runs=dict(list(RUNS.items())[:count]))


def material_of(kind: str) -> ChartSource:
    """Return the chart source from which the tests draw a kind of chart."""
    definition = CHARTS[kind]
    if definition.takes == "results":
        return replace(MATERIAL, folders=results(ci="t"), margin="-1%")
    if definition.takes == "retrieved" or kind == "tradeoff":
        return replace(MATERIAL, policies={"train": CASE.qrels})
    if definition.listed:
        return ChartSource(grades=RELEVANT)
    return of_so_many(definition.runs)


def drawn(kind: str, **look: Any) -> Any:
    """Draw a chart of this kind, as the command line does."""
    return CHARTS[kind].draw(replace(material_of(kind), look=Look(**look)))


DRAWN = {kind: partial(drawn, kind) for kind in CHARTS} | {
    "plain": lambda **look: rf.plot.metric_at_k(
        {name: points.drop("ci_low") for name, points in curves("metric_at_k").items()}, **look
    )
}


def rows(chart: Any, layer: int | None = None) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return part["data"]["values"]


def said(chart: Any) -> str:
    """Return the title and the subtitle of a chart as one line."""
    title = chart.to_dict()["title"]
    return " ".join([*title["text"], *title["subtitle"]])
