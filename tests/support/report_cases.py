"""A small comparison, and what a report is made from."""

from __future__ import annotations

from typing import Any

import polars as pl

import rankframe as rf
from rankframe.reporting.material import Material
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


def compared(runs: Any = RUNS, metrics: Any = METRICS, **options: Any) -> rf.Comparison:
    fast = {"baseline": "old", "replicates": 100, "bounds": True}
    return rf.compare(QRELS, runs, metrics, **(fast | options))


def material(found: rf.Comparison | None = None, **options: Any) -> Material:
    moved = {"new": rf.diff(QRELS, RUNS["old"], RUNS["new"], "ndcg@5", most=3)}
    given = {"drawings": {}, "moved": moved, "texts": {}} | options
    return Material(found or compared(), **given)
