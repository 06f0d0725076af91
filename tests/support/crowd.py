"""Evaluate the demo data of the shop in one of many parallel processes."""

from __future__ import annotations

from pathlib import Path

import rankframe as rf
from tests.support.bits import of_result

SHOP = Path(__file__).parents[2] / "data" / "shop"
RUNS = ("bm25", "dense", "hybrid")
CROWD = 8


def one_of_many(number: int) -> tuple[str, str]:
    """Evaluate one of the runs; return its name and a hash of the result."""
    name = RUNS[number % len(RUNS)]
    found = rf.evaluate(SHOP / "qrels.parquet", SHOP / f"{name}.parquet", ["ndcg@10", "map"])
    return name, of_result(found)
