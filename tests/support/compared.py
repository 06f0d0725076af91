"""Provide systems over the same judged queries, and functions that compare them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import rankframe as rf
from tests.support.oracles import random_case

QRELS = random_case(0, queries=40, missing=False).qrels
# the later ones lack some of the judged queries: they score 0 there
RUNS = {
    "old": random_case(1, queries=40, missing=False).run,
    "new": random_case(2, queries=40).run,
    "odd & <b>": random_case(3, queries=40).run,
}
NAMES = list(RUNS)
# lag: lower is better, and undefined where nothing relevant was retrieved
METRICS = ["ndcg@10", "precision@3", "lag"]
MICRO, WEIGHTED = "recall(average=micro)@5", "ndcg(average=weighted)@10"
QUERIES = sorted(QRELS)
ATTRIBUTES = pl.DataFrame(
    {
        "query_id": QUERIES,
        "locale": [("de", "en", None)[i % 3] for i in range(40)],
        "w": [i % 4 + 0.5 for i in range(40)],
    }
)
FAST: dict[str, Any] = {"replicates": 100, "permutations": 100}
LACKING = [q for q in QUERIES if q not in RUNS["new"] or q not in RUNS["odd & <b>"]]


def compared(metrics: Any = METRICS, runs: Any = RUNS, **options: Any) -> rf.Comparison:
    return rf.compare(QRELS, runs, metrics, **(FAST | options))


def values_of(label: str, runs: Any = RUNS, **options: Any) -> np.ndarray:
    """Return the values of a metric as systems × queries in byte order; NaN if undefined."""
    options = {"ci": None} | options
    frames = [rf.evaluate(QRELS, run, label, **options).per_query for run in runs.values()]
    return np.stack([f[label].cast(pl.Float64).fill_null(np.nan).to_numpy() for f in frames])


def paired_of(label: str, runs: Any = RUNS) -> np.ndarray:
    """Return the values of a metric for the queries in which every system has one."""
    values = values_of(label, runs)
    return values[:, ~np.isnan(values).any(axis=0)]


def rows_of(table: pl.DataFrame, label: str) -> list[dict[str, Any]]:
    return table.filter(pl.col("metric") == label, pl.col("by").is_null()).to_dicts()


def count(found: rf.Comparison, item: str, system: str | None = None) -> float | None:
    of = pl.col("system").eq_missing(pl.lit(system, pl.String))
    return found.ledger.filter(of, pl.col("item") == item)["value"][0]
