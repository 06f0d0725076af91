"""Provide a small comparison, and the material of a report."""

from __future__ import annotations

from typing import Any

import polars as pl

import rankframe as rf
from rankframe.core.table import Table
from rankframe.present.report.model import Material, Moved
from tests.support.oracles import random_case

QRELS = random_case(0, queries=40, missing=False).qrels
RUNS = {
    "old": random_case(1, queries=40, missing=False).run,
    "new": random_case(2, queries=40, missing=False).run,
}
ATTRIBUTES = pl.DataFrame(
    {"query_id": list(QRELS), "half": [("one", "other")[n % 2] for n in range(len(QRELS))]}
)
METRICS = ["ndcg@5", "lag", "num_rel_ret"]
FACTS = {
    "made": "2026-01-02 03:04 UTC",
    "with": "rankframe 9.9",
    "command": "rankframe report qrels.parquet old.parquet",
}
INPUTS = Table.from_texts(
    ["what", "name"], ["rows", "size"], [["run old", "the run dict", "", "", ""]],
    more_words=["SHA-256"],
)  # fmt: skip


def compared(runs: Any = RUNS, metrics: Any = METRICS, **options: Any) -> rf.Comparison:
    fast = {"baseline": "old", "replicates": 100, "bounds": True}
    return rf.compare(QRELS, runs, metrics, **(fast | options))


def material(found: rf.Comparison | None = None, **options: Any) -> Material:
    given = {
        "drawings": {},
        "moved": {"new": moved_between(QRELS, RUNS["old"], RUNS["new"], "ndcg@5")},
    }
    whole = found or compared()
    given |= {"texts": {}, "facts": FACTS, "inputs": INPUTS, "bounded": whole} | options
    return Material(whole, **given)


def moved_between(qrels: Any, a: Any, b: Any, metric: str, **options: Any) -> Moved:
    """Return the queries that got worse and those that got better between two runs."""
    whole = rf.diff(qrels, a, b, metric, most=1_000, **options)
    gained = whole.per_query.filter(better="b")["query_id"].to_list()
    return Moved(
        rf.diff(qrels, a, b, metric, most=3, worse=True, **options),
        rf.diff(qrels, a, b, metric, most=2, only=gained, **options),
    )
