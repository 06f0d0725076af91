"""Rows of whole queries: where each begins, what its key is, in whatever form ids come."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.kernel.batch import (
    KEY,
    QUERY_HASH,
    Batch,
    as_text,
    hash_of_empty,
    hashed,
    query_starts,
    taken,
)

QUERIES, DOCS = ["1", "1", "30", "2", "2", "2"], ["7", "8", "7", "9", "7", "30"]
TYPES = [
    pl.String(),
    pl.Int64(),
    pl.Categorical(),
    pl.Enum(["30", "9", "8", "7", "2", "1", ""]),
]


def table(dtype: pl.DataType, **numbers: Any) -> pl.DataFrame:
    ids = pl.DataFrame({"query_id": QUERIES, "doc_id": DOCS}).cast(dtype)  # pyright: ignore[reportArgumentType]
    return ids.with_columns(
        **{name: pl.Series(of, dtype=pl.Float64) for name, of in numbers.items()}
    )


def made(frame: pl.DataFrame, **options: bool) -> pl.DataFrame:
    return hashed(frame.lazy(), **options).collect()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_chunk_knows_its_queries(dtype: pl.DataType) -> None:
    frame = table(dtype, score=[6, 5, 4, 3, 2, 1], rank=[1, 2, 1, 1, 2, 3])
    chunk = Batch.from_hashed(made(frame))
    assert chunk.height == 6
    assert chunk.starts.tolist() == [0, 2, 3]
    assert chunk.lengths.tolist() == [2, 1, 3]
    assert chunk.code.tolist() == [0, 0, 1, 2, 2, 2]
    assert as_text(chunk.queries).to_list() == ["1", "30", "2"]
    assert as_text(chunk.docs.take(np.array([5, 0, 0]))).to_list() == ["30", "7", "7"]
    assert {name: of.tolist() for name, of in chunk.numbers.items()} == {
        "score": [6, 5, 4, 3, 2, 1],
        "rank": [1, 2, 1, 1, 2, 3],
    }
    assert chunk.frame().equals(frame)
    known = Batch.from_hashed(made(frame), starts=np.array([0, 2, 3]))
    assert known.hashes.tolist() == chunk.hashes.tolist()


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_equal_ids_have_equal_keys_in_every_table(dtype: pl.DataType) -> None:
    here, there = made(table(dtype)), made(table(dtype).reverse())
    assert here[KEY].to_list() == there[KEY].to_list()[::-1]
    assert here[KEY].n_unique() == 6
    assert here[QUERY_HASH].n_unique() == 3
    assert here[[0]][QUERY_HASH].item() == here[[1]][QUERY_HASH].item()


def test_a_query_and_a_document_that_change_places_have_another_key() -> None:
    pair = pl.DataFrame({"query_id": ["a", "b", "a"], "doc_id": ["b", "a", "a"]})
    assert made(pair)[KEY].n_unique() == 3
    assert (made(pair)[KEY] != 0).all()


@pytest.mark.parametrize("name", ["query_id", "doc_id"])
@pytest.mark.parametrize("dtype", [TYPES[0], *TYPES[2:]], ids=str)
def test_what_an_empty_id_is_hashed_to(dtype: pl.DataType, name: str) -> None:
    frame = table(dtype).with_columns(pl.lit("", dtype=dtype).alias(name))
    both, empty = made(frame), hash_of_empty(name, dtype)
    found = both[QUERY_HASH].to_numpy()
    if name == "doc_id":
        found = found ^ both[KEY].to_numpy()
    assert empty is not None
    assert (found == empty).all()


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Enum(["1"])], ids=str)
def test_where_no_id_can_be_empty(dtype: pl.DataType) -> None:
    assert hash_of_empty("doc_id", dtype) is None


def test_hashes_are_made_in_one_place(set_hash) -> None:
    """So that other tests can make them collide."""
    set_hash(lambda *_: pl.lit(5, pl.UInt64))
    assert made(table(pl.String()))[KEY].to_list() == [0] * 6
    assert hash_of_empty("doc_id", pl.String()) == 5


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_queries_begin_where_the_id_changes(dtype: pl.DataType) -> None:
    query = pl.Series(["2", "1", "1", "2", "30"], dtype=pl.String).cast(dtype)
    assert query_starts(query).tolist() == [0, 1, 3, 4]
    assert query_starts(query[:1]).tolist() == [0]
    assert query_starts(query[:0]).tolist() == []


def test_some_rows_of_a_column() -> None:
    assert taken(pl.Series([5, 6, 7]), np.array([2, 2, 0])).to_list() == [7, 7, 5]
    assert taken(pl.Series(["a"]), np.empty(0, np.int64)).to_list() == []


@pytest.mark.parametrize(
    ("ids", "text"),
    [([10, 9], ["10", "9"]), ([True, False], ["true", "false"]),
     ([date(2024, 1, 2)], ["2024-01-02"]), (["x"], ["x"])],
    ids=str,
)  # fmt: skip
def test_ids_as_they_are_written(ids: list[Any], text: list[str]) -> None:
    assert as_text(pl.Series(ids)).to_list() == text


LONG = "a-rather-long-name-of-a-query"


@pytest.mark.parametrize("names", [["q", "r", "é"], [LONG + "1", LONG + "2", "q"]])
@pytest.mark.parametrize("rows", [0, 1, 7, 5_000])
def test_where_queries_begin(names: list[str], rows: int) -> None:
    """Ids in the column itself or beside it, once or many times, in one piece or several."""
    rng = np.random.default_rng(rows)
    of = np.repeat(rng.integers(0, len(names), rows), rng.integers(1, 4, rows))
    texts = [names[n] for n in of]
    expected = [at for at in range(len(of)) if not at or of[at] != of[at - 1]]
    apart = pl.Series(texts, dtype=pl.String)
    shared = pl.Series(names).gather(of) if rows else apart
    for query in (apart, shared, pl.concat([apart[:3], apart[3:]]), apart.cast(pl.Categorical)):
        assert query_starts(query).tolist() == expected
