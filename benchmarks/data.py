"""Seeded benchmark inputs as Parquet: a run and judgments of a given shape and row order."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

Order = Literal["sorted", "shuffled", "scattered"]
ORDERS: tuple[Order, ...] = ("sorted", "shuffled", "scattered")


@dataclass(frozen=True)
class Shape:
    """So many queries with so many documents each, and so many judgments."""

    name: str
    queries: int
    depth: int
    judgments: int


SHAPES = {
    "rec": Shape("rec", 1_000_000, 10, 3),
    "mid": Shape("mid", 100_000, 100, 20),
    "search": Shape("search", 7_000, 1_000, 300),
}


def make(shape: Shape, order: Order, folder: Path) -> tuple[Path, Path]:
    """Write (once) and return the paths of qrels and run.

    sorted: by query and score; shuffled: a query's rows together, in random order;
    scattered: all rows in random order.
    """
    stem = f"{shape.name}-{shape.queries}x{shape.depth}"
    qrels, run = folder / f"{stem}-qrels.parquet", folder / f"{stem}-{order}.parquet"
    if not (qrels.exists() and run.exists()):
        # In a process of its own: a child inherits the peak memory of the process that starts it.
        writer = get_context("spawn").Process(target=_write, args=(shape, order, qrels, run))
        writer.start()
        writer.join()
    return qrels, run


def _write(shape: Shape, order: Order, qrels: Path, run: Path) -> None:
    run.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(17)
    pool = shape.depth * 4
    query = np.repeat(np.arange(shape.queries), shape.depth)
    # Distinct documents within a query: a stride through a pool of its own.
    start = np.repeat(rng.integers(0, pool, shape.queries), shape.depth)
    doc = (start + 3 * np.tile(np.arange(shape.depth), shape.queries)) % (pool - 1)
    # Exact in float32 (pytrec_eval) and distinct within a query (ranx has no rule for ties).
    place = np.tile(np.arange(shape.depth), shape.queries)
    score = (rng.integers(0, 2**13, len(query)) * 2**10 + place) / 2.0**23
    frame = pl.DataFrame(
        {"query_id": _ids("u", query), "doc_id": _ids("item", doc), "score": score}
    )
    if order == "sorted":
        by = pl.DataFrame({"q": query, "s": score, "d": frame["doc_id"]})
        ordered = pl.arg_sort_by("q", "s", "d", descending=[False, True, True])
        frame = frame[by.select(ordered).to_series()]
    elif order == "scattered":
        frame = frame[rng.permutation(len(query))]
    frame.write_parquet(run)
    if not qrels.exists():
        rng = np.random.default_rng(18)
        query = np.repeat(np.arange(shape.queries), shape.judgments)
        start = np.repeat(rng.integers(0, pool, shape.queries), shape.judgments)
        doc = (start + 5 * np.tile(np.arange(shape.judgments), shape.queries)) % (pool - 1)
        grade = rng.choice(4, len(query), p=[0.3, 0.4, 0.2, 0.1])
        pl.DataFrame(
            {"query_id": _ids("u", query), "doc_id": _ids("item", doc), "relevance": grade}
        ).write_parquet(qrels)


def _ids(prefix: str, numbers: np.ndarray) -> pl.Series:
    return pl.select(pl.lit(prefix) + pl.Series(numbers).cast(pl.String).str.zfill(7)).to_series()
