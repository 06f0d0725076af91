"""Rows of whole queries, each once, whatever the length of batches; queries that come again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.errors import UnreadableInputError
from rankframe.frames.matches import RunMatches
from rankframe.io.batches import Batches
from rankframe.io.input_table import comparable, part_of
from rankframe.io.opening import open_table
from rankframe.kernel import reading
from rankframe.kernel.batch import Batch
from rankframe.kernel.reading import RepeatedQueryError, read_contiguous, workers
from tests.support.counted import Changing
from tests.support.looked_up import layouts


class Taken:
    """Take batches, and remember them; refuse a query that came before, as a consumer must."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, chunk: Batch) -> None:
        queries = chunk.queries.to_list()
        with self._lock:
            self.frames.append(chunk.frame())
            fresh = len(set(queries)) == len(queries) and self._seen.isdisjoint(queries)
            self._seen.update(queries)
        if not fresh:
            raise RepeatedQueryError

    @property
    def rows(self) -> pl.DataFrame:
        """All rows, query by query, those of each as they came."""
        return pl.concat(self.frames).sort("query_id", maintain_order=True)


def reads(read: Callable[..., None], *args: Any, **options: Any) -> bool:
    """Return whether an input was read to its end, and no query came twice."""
    try:
        read(*args, **options)
    except RepeatedQueryError:
        return False
    return True


def run_of(lengths: list[int]) -> pl.DataFrame:
    query = np.repeat(np.arange(len(lengths)) * 7 % 1009, lengths).astype(str)
    return pl.DataFrame({"query_id": query, "score": np.arange(len(query)) / 2}).select(
        "query_id", pl.int_range(pl.len()).cast(pl.String).alias("doc_id"), "score"
    )


def batches(source: object) -> Batches:
    scanned = open_table(source, "run")
    return Batches(scanned, comparable(scanned)[0])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=30), st.sampled_from([1, 2, 3, 7, 50]))
def test_every_row_is_taken_once_with_all_others_of_its_query(
    lengths: list[int], rows: int
) -> None:
    run, taken, told = run_of(lengths), Taken(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH_ROWS", rows)
        assert reads(read_contiguous, batches(run), taken, told.append)
    assert taken.rows.equals(run.sort("query_id", maintain_order=True))
    assert told == sorted(told)
    assert told[-1] == run.height


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
@pytest.mark.parametrize(
    "lengths", [[1000], [1] * 500, [3, 900, 2], [1, 1, 700]], ids=["one", "single", "long", "end"]
)
def test_queries_longer_and_shorter_than_a_batch(
    lengths: list[int], rows: int, tmp_path: Path, set_batch_rows
) -> None:
    set_batch_rows(rows)
    run = run_of(lengths)
    run.write_parquet(tmp_path / "run.parquet", row_group_size=5)
    for source in (run, tmp_path / "run.parquet"):
        taken = Taken()
        assert reads(read_contiguous, batches(source), taken)
        assert taken.rows.equals(run.sort("query_id", maintain_order=True))


@pytest.mark.parametrize("rows", [1, 7, 100, 1 << 16])
def test_a_query_that_comes_again_at_the_end(rows: int, set_batch_rows) -> None:
    set_batch_rows(rows)
    run = run_of([5] * 60)
    again = pl.concat([run, run[:1].with_columns(doc_id=pl.lit("new"))])
    assert not reads(read_contiguous, batches(again), Taken())
    assert not reads(read_contiguous, batches(layouts(run)["scattered"]), Taken())


def test_a_query_on_both_sides_of_another_in_one_batch(set_batch_rows) -> None:
    """The first and the last query of a batch are put aside: if they are the same, together."""
    set_batch_rows(6)
    run = pl.DataFrame({"query_id": [*"aaaabb", *"cdddcc", *"eeffff"], "score": 1.0})
    run = run.with_columns(doc_id=pl.int_range(pl.len()).cast(pl.String))
    taken = Taken()
    if reads(read_contiguous, batches(run), taken):
        ordered = run.sort("query_id", maintain_order=True)
        assert taken.rows.select(run.columns).equals(ordered)


def test_what_is_known_to_be_together_is_not_looked_at_first() -> None:
    taken = Taken()
    scattered = layouts(run_of([3, 3]))["scattered"]
    assert not reads(read_contiguous, batches(scattered), taken)
    assert not taken.frames
    assert not reads(read_contiguous, batches(scattered), taken, sure=True)
    assert taken.frames


def test_an_error_of_a_chunk_is_that_of_all(set_batch_rows) -> None:
    set_batch_rows(9)

    def fail(_: Batch) -> None:
        raise KeyError("chunk")

    with pytest.raises(KeyError, match="chunk"):
        read_contiguous(batches(run_of([2] * 100)), fail)


def test_a_part_without_rows() -> None:
    part = part_of(run_of([3]).head(0), "run")
    taken = Taken()
    assert reads(read_contiguous, Batches(part, part.frame), taken)
    assert not taken.frames


def test_there_are_as_many_workers_as_polars_has() -> None:
    assert 1 <= workers() <= pl.thread_pool_size()


def _files(folder: Path, run: pl.DataFrame) -> Path:
    for at in range(0, run.height, 50):
        run[at : at + 50].write_parquet(folder / f"{at:06}.parquet")
    return folder


@pytest.mark.parametrize("layout", ["sorted", "scattered"])
def test_files_that_vanish_half_way_give_an_error_or_the_right_values(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_batch_rows
) -> None:
    run = layouts(run_of([10] * 200))[layout]
    qrels = run[::9].select("query_id", "doc_id", relevance=pl.lit(1.0))
    expected = rf.evaluate(qrels, run, "map").per_query
    folder, add = _files(tmp_path, run), RunMatches.add

    def vanish(found: RunMatches, chunk: Batch) -> None:
        for path in folder.glob("*.parquet"):
            path.unlink(missing_ok=True)
        add(found, chunk)

    monkeypatch.setattr(RunMatches, "add", vanish)
    set_batch_rows(20)
    try:
        values = rf.evaluate(qrels, folder, "map").per_query
    except UnreadableInputError:
        return
    assert values.equals(expected)


GONE = OSError("gone")


@pytest.mark.parametrize("reads", range(1, 6))
def test_a_scattered_run_that_vanishes_between_two_passes(reads: int) -> None:
    run = layouts(run_of([10] * 20))["scattered"]
    qrels = run[::9].select("query_id", "doc_id", relevance=pl.lit(1.0))
    expected = rf.evaluate(qrels, run, "map").per_query
    source = Changing(*[run] * reads, GONE, schema=run.schema).frame
    try:
        values = rf.evaluate(qrels, source, "map").per_query
    except UnreadableInputError:
        return
    assert values.equals(expected)


@pytest.mark.parametrize("reads", range(6))
def test_a_run_that_changes_is_one_or_the_other(reads: int) -> None:
    first, second = layouts(run_of([10] * 20))["scattered"], run_of([3] * 50)
    qrels = pl.concat([first[::9], second[::4]]).unique(["query_id", "doc_id"])
    qrels = qrels.select("query_id", "doc_id", relevance=pl.lit(1.0))
    either = [rf.evaluate(qrels, run, "map") for run in (first, second)]
    source = Changing(*[first] * reads, second, schema=first.schema).frame
    found = rf.evaluate(qrels, source, "map")
    assert any(
        found.per_query.equals(one.per_query) and found.ledger.equals(one.ledger) for one in either
    )
