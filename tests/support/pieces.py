"""Provide inputs like those of the shop, and evaluate them in pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.io.opening import open_table
from rankframe.metrics import names_over
from rankframe.metrics.names import resolve

OWN = (pl.col("rank") <= 2).any().alias("own")
MICRO = "precision(average=micro)@3"
EVERYTHING = [*names_over("judged"), MICRO, "gm_map", OWN]
SHOP = Path(__file__).parents[2] / "data" / "shop"


def shop_like(queries: int = 60, seed: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return random judgments and a run, with ties, missing queries and negative grades."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, queries, queries * 12)
    doc = rng.integers(0, 20, len(query))
    rows = pl.DataFrame({"query_id": query, "doc_id": doc}).unique(maintain_order=True)
    rows = rows.with_columns(number=pl.Series(rng.integers(-1, 4, rows.height).astype(float)))
    qrels = rows.filter(pl.Series(rng.random(rows.height) < 0.5), pl.col("query_id") % 7 != 0)
    run = rows.filter(pl.Series(rng.random(rows.height) < 0.7), pl.col("query_id") % 11 != 0)
    return qrels.rename({"number": "relevance"}), run.rename({"number": "score"})


def in_pieces(
    qrels: object, run: object, pieces: int, metrics: list[str | pl.Expr], **policies: object
) -> rf.Result:
    return evaluate_inputs(
        prepare_evaluation(resolve(metrics, any_average=True), Policies(**policies)),  # pyright: ignore[reportArgumentType]
        open_table(qrels, "qrels"),
        open_table(run, "run"),
        partitions=pieces,
    )


def assert_same(one: rf.Result, other: rf.Result) -> None:
    for name in ("per_query", "summary", "ledger"):
        assert getattr(one, name).equals(getattr(other, name)), name


def scattered_run(folder: Path) -> Path:
    """Write a run whose rows are in random order, so that it must be split into partitions."""
    run = pl.read_parquet(SHOP / "bm25.parquet").sample(fraction=1, shuffle=True, seed=1)
    run.write_parquet(folder / "scattered.parquet")
    return folder / "scattered.parquet"
