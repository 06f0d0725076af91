"""Make random runs to fuse: with ties, short lists, and missing queries and documents."""

from __future__ import annotations

import random

import polars as pl

QUERIES, DOCUMENTS = 40, 60
QRELS = {
    f"q{q}": {f"d{d}": (q * 7 + d * 3) % 3 for d in range(0, DOCUMENTS, 2)}
    for q in range(0, QUERIES, 2)
}


def random_runs(seed: int, count: int, *, tied: bool = True) -> dict[str, pl.DataFrame]:
    """Return random runs by name; rows are grouped by query, in no order of scores."""
    rng = random.Random(seed)
    runs: dict[str, pl.DataFrame] = {}
    for number in range(count):
        rows = [
            (f"q{q}", f"d{d}", rng.randrange(-9, 9) / 3 if tied else rng.uniform(-3, 3))
            for q in range(QUERIES)
            if rng.random() > 0.15
            for d in rng.sample(range(DOCUMENTS), rng.choice((1, 2, 9, 30)))
        ]
        schema = ["query_id", "doc_id", "score"]
        runs[f"run {number}"] = pl.DataFrame(rows, schema=schema, orient="row")
    return runs
