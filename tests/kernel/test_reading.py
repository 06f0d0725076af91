"""Batches of whole queries, whatever the order of rows and the hashes of queries."""

from __future__ import annotations

import threading

import numpy as np
import polars as pl
import pytest

from rankframe.core.errors import DuplicateError
from rankframe.io.batches import Batches
from rankframe.io.input_table import comparable
from rankframe.io.opening import open_table
from rankframe.kernel.batch import Batch, as_text
from rankframe.kernel.reading import (
    RepeatedQueryError,
    SeenQueries,
    read_batches,
    read_if_contiguous,
)
from tests.support.looked_up import POOR_HASHES, layouts


class Collected:
    """Collect batches."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []
        self.queries: list[str] = []
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> None:
        with self._lock:
            self.frames.append(batch.frame())
            self.queries += as_text(batch.queries).to_list()


def run_of(queries: int, depth: int) -> pl.DataFrame:
    query = np.repeat(np.arange(queries) * 7 % 1009, depth).astype(str)
    rows = pl.DataFrame({"query_id": query, "score": np.arange(len(query)) / 2})
    return rows.with_columns(doc_id=pl.int_range(pl.len()).cast(pl.String))


def source(run: pl.DataFrame) -> Batches:
    table = open_table(run, "run")
    return Batches(table, comparable(table)[0])


@pytest.mark.parametrize("poor", [None, *POOR_HASHES])
@pytest.mark.parametrize("layout", ["sorted", "grouped", "scattered"])
@pytest.mark.parametrize("small", [True, False])
def test_every_query_comes_once_with_all_of_its_rows(
    small: bool, layout: str, poor: str | None, set_batch_rows, set_hash
) -> None:
    if poor is not None:
        set_hash(POOR_HASHES[poor])
    if not small:
        set_batch_rows(16)
    run = layouts(run_of(60, 5))[layout]
    done: list[int] = []
    found = read_batches(source(run), Collected, done.append)
    assert len(found.queries) == len(set(found.queries)) == 60
    rows = pl.concat(found.frames).sort("query_id", maintain_order=True)
    assert rows.select(run.columns).equals(run.sort("query_id", maintain_order=True))
    assert done[-1] == run.height


@pytest.mark.parametrize("rows", [1, 7, 64, 1 << 16])
def test_a_query_that_comes_again_at_the_very_end(rows: int, set_batch_rows) -> None:
    set_batch_rows(rows)
    run = run_of(60, 5)
    again = pl.concat([run, run[:1].with_columns(doc_id=pl.lit("new"))])
    assert read_if_contiguous(source(run), Collected) is not None
    assert read_if_contiguous(source(again), Collected) is None
    found = read_batches(source(again), Collected)
    assert len(found.queries) == 60


def test_duplicates_are_told_of_the_whole_input() -> None:
    class Refuse(Collected):
        def add(self, batch: Batch) -> None:
            raise DuplicateError("run", 1, {"query_id": "a", "doc_id": "b"}, [1, 2])

    run = run_of(3, 2)
    with pytest.raises(DuplicateError) as refused:
        read_batches(source(pl.concat([run, run[1:3]])), Refuse)
    assert refused.value.count == 2
    with pytest.raises(DuplicateError) as refused:  # the input has none by now
        read_batches(source(run), Refuse)
    assert refused.value.count == 1


def test_queries_are_compared_when_there_are_twice_as_many() -> None:
    queries = SeenQueries()
    hashes = np.arange(100, dtype=np.uint64)
    queries.add(hashes[:10])
    queries.add(hashes[5:6])  # not compared yet
    with pytest.raises(RepeatedQueryError):
        queries.refuse_repeats()
    with pytest.raises(RepeatedQueryError):
        queries.add(hashes[20:40])
    with pytest.raises(RepeatedQueryError):
        SeenQueries().add(hashes[[3, 4, 3]])
    SeenQueries().refuse_repeats()
