"""Documents that two rankings share: keys that collide change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankframe.core.errors import DuplicateError
from rankframe.frames.pair_sides import Side, index_ranking, match_sides
from rankframe.kernel.batch import Batch, hashed
from rankframe.kernel.matching import QueryIndex
from tests.frames.test_pair import side

QUERIES = [f"q{i}" for i in range(20)]


def two(seed: int) -> tuple[Side, Side]:
    rng = np.random.default_rng(seed)
    docs = [
        {
            query: {f"d{doc}": 1.0 for doc in rng.permutation(12)[: rng.integers(1, 10)]}
            for query in QUERIES
            if rng.random() < 0.8
        }
        for _ in range(2)
    ]
    return side(docs[0], QUERIES), side(docs[1], QUERIES)


def expected(a: Side, b: Side) -> list[int]:
    ours, theirs = (s.batch.frame().select("query_id", "doc_id").rows() for s in (a, b))
    at = {row: place for place, row in enumerate(theirs)}
    return [at.get(row, -1) for row in ours]


@pytest.mark.parametrize("bits", [0, 1, 4, 64])
def test_keys_only_say_where_to_look(bits: int) -> None:
    a, b = two(bits)
    mask = np.uint64((1 << bits) - 1)
    a, b = (replace(s, batch=replace(s.batch, key=s.batch.key & mask)) for s in (a, b))
    found, ours, theirs = match_sides(a, b, "error")
    assert found.tolist() == expected(a, b)
    assert ours.batch is a.batch
    assert theirs.batch is b.batch


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("bits", [1, 64])
def test_duplicates_are_refused_or_resolved(which: int, bits: int) -> None:
    a, b = two(3)
    given = (a, b)[which]
    rows = given.batch.frame()
    twice = pl.concat([rows[:5], rows[[4]].with_columns(score=2.0), rows[5:]])
    chunk = Batch.from_table(twice)
    chunk = replace(chunk, key=chunk.key & np.uint64((1 << bits) - 1))
    side = replace(given, batch=chunk, read=twice.height)
    a, b = (a, side) if which else (side, b)
    with pytest.raises(DuplicateError) as caught:
        match_sides(a, b, "error")
    assert caught.value.role == ("ranking a", "ranking b")[which]
    _, a, b = match_sides(a, b, "keep_best")
    kept = (a, b)[which]
    assert kept.read - kept.batch.height == 1
    assert 2.0 in kept.batch.numbers["score"]


ROWS = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q1", "q3", "q2"],
        "doc_id": ["a", "b", "c", "d", "e"],
        "score": [5.0, 4.0, 3.0, 2.0, 1.0],
    }
)


def held(rows: pl.DataFrame = ROWS) -> QueryIndex:
    return index_ranking(hashed(rows.lazy()).collect())


def test_the_rows_of_queries_come_together() -> None:
    ranking = held()
    names = ranking.queries.to_list()
    side = Side.from_index(ranking, np.array([names.index("q2"), -1, names.index("q1")]))
    assert side.has is not None
    assert side.has.tolist() == [0, 2]
    assert (side.queries, side.read) == (3, 4)
    assert side.batch.frame().rows() == [
        ("q2", "b", 4.0), ("q2", "e", 1.0), ("q1", "a", 5.0), ("q1", "c", 3.0),
    ]  # fmt: skip
    assert side.spread(side.batch.lengths).tolist() == [2, 0, 2]
    assert side.documents.code.tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("number", ["rank", None])
def test_ranks_or_nothing_may_order_it(number: str | None) -> None:
    rows = ROWS.drop("score") if number is None else ROWS.rename({"score": number})
    numbers = Side.from_index(held(rows), np.arange(3)).batch.numbers
    assert list(numbers) == ([] if number is None else [number])
