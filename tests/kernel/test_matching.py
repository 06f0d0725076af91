"""Judgments by query: found by their queries, in whatever order and with whatever hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.frames.judgments import IndexedJudgments
from rankframe.kernel import batch
from rankframe.kernel.batch import Batch, as_text, hashed, taken
from tests.support.looked_up import POOR_HASHES, layouts

TYPES = [pl.String(), pl.Int64(), pl.Categorical(), pl.Enum([str(n) for n in range(200)])]


def judgments(queries: int = 60) -> pl.DataFrame:
    random = np.random.default_rng(4)
    query = np.sort(random.integers(0, queries, queries * 5))
    keys = pl.DataFrame({"query_id": query, "doc_id": random.integers(0, 90, len(query))})
    keys = keys.unique(maintain_order=True).cast(pl.String)
    return keys.with_columns(relevance=pl.Series(random.integers(-1, 4, keys.height).astype(float)))


def indexed(frame: pl.DataFrame) -> IndexedJudgments:
    return IndexedJudgments.from_hashed(hashed(frame.lazy()).collect())


def chunk_of(queries: list[str], dtype: Any = None) -> Batch:
    frame = pl.DataFrame({"query_id": queries}).with_columns(doc_id="query_id")
    return Batch.from_hashed(hashed(frame.cast(dtype or pl.String()).lazy()).collect())


def rows(table: IndexedJudgments, some: np.ndarray) -> list[tuple[str, str, float]]:
    ids = taken(table.queries, table.code[some]), table.docs.take(some)
    texts = (as_text(series).to_list() for series in ids)
    return list(zip(*texts, table.grades[some].tolist(), strict=True))


def check(frame: pl.DataFrame, dtype: Any = None) -> None:
    expected = frame.rows()
    table = indexed(frame.cast({"query_id": dtype, "doc_id": dtype}) if dtype else frame)
    assert table.height == table.read == len(expected)
    assert sorted(rows(table, np.arange(table.height))) == sorted(expected)
    names = as_text(table.queries).to_list()
    assert sorted(names) == sorted({row[0] for row in expected})
    assert table.lengths.sum() == table.height
    asked = ["150", *names[::2][::-1], "199", *names[1::2]]
    numbers = table.find(chunk_of(asked, dtype))
    assert [None if at < 0 else names[at] for at in numbers] == [
        name if name in names else None for name in asked
    ]
    # as they come here, where this is seen at once
    assert table.find(chunk_of(names[3:20], dtype)).tolist() == list(range(3, 20))
    mine = table.rows_of_queries(np.array([5, 0, 7]))
    assert [row[0] for row in rows(table, mine)] == [
        name
        for at, name in ((5, names[5]), (0, names[0]), (7, names[7]))
        for _ in range(int(table.lengths[at]))
    ]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("layout", ["sorted", "grouped", "scattered"])
def test_queries_are_found_in_every_layout(layout: str, dtype: Any) -> None:
    check(layouts(judgments())[layout], dtype)


@pytest.mark.parametrize("poor", POOR_HASHES)
@pytest.mark.parametrize("layout", ["sorted", "grouped", "scattered"])
def test_hashes_that_collide_change_nothing(layout: str, poor: str, set_hash) -> None:
    set_hash(POOR_HASHES[poor])
    check(layouts(judgments())[layout])


def test_hashes_that_differ_in_their_last_bits_only(set_hash) -> None:
    real = batch.hash_of
    set_hash(lambda *given: real(*given) % 2**20)
    for some in layouts(judgments()).values():
        check(some)


@pytest.mark.parametrize("rows", [1, 7, 100, 10_000])
def test_blocks_are_of_whole_queries(rows: int) -> None:
    table = indexed(judgments())
    blocks = table.blocks(rows)
    assert [first for first, _ in blocks] == [0, *(end for _, end in blocks[:-1])]
    assert blocks[-1][1] == len(table.starts)
    covered = [row for block in blocks for row in range(table.height)[table.rows_of(*block)]]
    assert covered == list(range(table.height))
    longest = int(table.lengths.max())
    slices = [table.rows_of(*block) for block in blocks]
    assert max(some.stop - some.start for some in slices) <= rows + longest


def test_a_judgment_that_may_be_there_twice() -> None:
    frame = judgments()
    assert not indexed(frame).may_repeat()
    for some in layouts(pl.concat([frame, frame[[77]]])).values():
        assert indexed(some).may_repeat()


def test_no_judgments_at_all() -> None:
    table = indexed(judgments().head(0))
    assert table.height == 0
    assert table.blocks(10) == []
    assert not table.may_repeat()
    assert table.find(chunk_of(["1", "2"])).tolist() == [-1, -1]


def test_rows_that_were_dropped_were_read() -> None:
    table = hashed(judgments().lazy()).collect()
    assert IndexedJudgments.from_hashed(table, rows_read=1_000).read == 1_000
