"""Interactions that do not fit in memory: the same values, partition by partition."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.core.options import Policies
from rankframe.frames.catalogue import Trained
from rankframe.io.inputs import open_run, open_train

ROWS = 4_000
LITTLE = 900_000  # bytes: less than the interactions need


def interactions(seed: int) -> pl.DataFrame:
    """Draw pairs of users and items, some of them several times."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 300, ROWS), rng.integers(0, 40, ROWS)
    names = {"query_id": [f"u{user}" for user in users], "doc_id": [f"i{item}" for item in items]}
    return pl.DataFrame(names)


def ranking(seed: int) -> pl.DataFrame:
    """Draw lists, whose rows are in no order of queries."""
    rng = np.random.default_rng(seed)
    rows = interactions(seed).unique(maintain_order=True)
    return rows.with_columns(score=pl.Series(rng.random(rows.height)))


def test_seen_documents_are_dropped_in_partitions_as_in_memory() -> None:
    run, train = ranking(1), interactions(2)
    policies = Policies(train=train, exclude_seen=True)
    in_memory, on_disk = (open_run(run, policies, limit=limit) for limit in (None, LITTLE))
    assert on_disk.files is not None
    assert in_memory.files is None
    assert in_memory.excluded is not None
    assert on_disk.excluded is not None
    assert in_memory.excluded() == on_disk.excluded() > 0
    # The rows of a query keep their order.
    whole, parts = (table.frame.collect() for table in (in_memory, on_disk))
    by_query = whole.group_by("query_id", maintain_order=True).agg(pl.all()).sort("query_id")
    same = parts.group_by("query_id", maintain_order=True).agg(pl.all()).sort("query_id")
    assert by_query.equals(same)
    seen = set(train.rows())
    expected = [row for row in run.rows() if row[:2] not in seen]
    assert whole.rows() == expected


def test_interactions_are_counted_in_partitions_as_in_memory() -> None:
    train = interactions(3)
    whole, parts = (Trained.from_train(open_train(train, limit=limit)) for limit in (None, LITTLE))
    assert whole.documents.sort("doc_id").equals(parts.documents.sort("doc_id"))
    assert whole.queries == parts.queries == train["query_id"].n_unique()
    pairs = train.unique()
    popularity = dict(pairs.group_by("doc_id").len().rows())
    assert dict(whole.documents.select("doc_id", "popularity").rows()) == popularity
    counts = dict(train.group_by("doc_id").len().rows())
    assert dict(whole.documents.select("doc_id", pl.col("count").cast(int)).rows()) == counts
