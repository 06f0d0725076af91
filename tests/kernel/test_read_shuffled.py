"""Rows in no order, dealt by the hash of their query: each query once, its rows as they came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankframe.io.batches import Batches
from rankframe.io.input_table import comparable
from rankframe.io.opening import open_table
from rankframe.kernel.reading import read_shuffled
from tests.kernel.test_read_contiguous import Taken, batches, reads, run_of
from tests.support.looked_up import POOR_HASHES, layouts


@pytest.mark.parametrize(
    "lengths",
    [[1], [4, 1, 6], [1] * 3000, [30] * 300, [2000, *[3] * 400]],
    ids=["row", "few", "single", "even", "skewed"],
)
def test_every_row_is_taken_once_in_order_with_all_others_of_its_query(
    lengths: list[int], tmp_path: Path
) -> None:
    run = run_of(lengths)
    some = layouts(run)["scattered"]
    some.write_parquet(tmp_path / "run.parquet", row_group_size=100)
    for source in (some, tmp_path / "run.parquet", run):
        taken, told = Taken(), []
        assert reads(read_shuffled, batches(source), taken, told.append)
        assert taken.rows.equals(run.sort("query_id", maintain_order=True))
        assert told == sorted(told)
        assert told[-1] == run.height


def test_a_query_with_more_rows_than_two_bytes_count() -> None:
    """And several batches, in which one query has half of all rows."""
    random = np.random.default_rng(1)
    query = np.where(random.random(300_000) < 0.5, 0, random.integers(1, 500, 300_000))
    run = pl.DataFrame({"query_id": query.astype(str)}).with_columns(
        doc_id=pl.int_range(pl.len()).cast(pl.String), score=pl.Series(random.random(300_000))
    )
    taken = Taken()
    assert reads(read_shuffled, batches(run), taken)
    assert max(frame.height for frame in taken.frames) > 1 << 16
    assert taken.rows.equals(run.sort("query_id", maintain_order=True))


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Categorical()], ids=str)
def test_ids_stay_as_they_are(dtype: pl.DataType) -> None:
    run = layouts(run_of([5] * 50))["scattered"].with_columns(
        pl.col("query_id", "doc_id").cast(dtype)
    )
    taken = Taken()
    assert reads(read_shuffled, batches(run), taken)
    rows = pl.concat(taken.frames)
    assert rows.schema == run.schema
    assert rows.sort("doc_id").equals(run.sort("doc_id"))


@pytest.mark.parametrize("poor", POOR_HASHES)
def test_queries_with_the_same_hash_are_noticed(poor: str, set_hash) -> None:
    set_hash(POOR_HASHES[poor])
    run = run_of([3] * 60)
    taken = Taken()
    fresh = reads(read_shuffled, batches(layouts(run)["scattered"]), taken)
    assert fresh == (poor in ("few for documents", "the same for all documents"))
    if fresh:
        assert taken.rows.equals(run.sort("query_id", maintain_order=True))


def test_what_is_wrong_is_said(refusal) -> None:
    bad = run_of([3] * 60).with_columns(score=pl.when(pl.col("doc_id") != "100").then("score"))
    refusal(read_shuffled, batches(bad), Taken())


def test_rows_without_numbers() -> None:
    run = layouts(run_of([4] * 30))["scattered"].drop("score")
    taken, scanned = Taken(), open_table(run, "run")
    assert reads(read_shuffled, Batches(scanned, comparable(scanned)[0]), taken)
    assert taken.rows.equals(run.sort("query_id", maintain_order=True))
