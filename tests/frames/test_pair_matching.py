"""Documents that two rankings share: keys that collide change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankframe.core.errors import DuplicateError
from rankframe.frames.pair_matching import Side, matched
from rankframe.kernel.batch import Batch
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
    ours, theirs = (s.chunk.frame().select("query_id", "doc_id").rows() for s in (a, b))
    at = {row: place for place, row in enumerate(theirs)}
    return [at.get(row, -1) for row in ours]


@pytest.mark.parametrize("bits", [0, 1, 4, 64])
def test_keys_only_say_where_to_look(bits: int) -> None:
    a, b = two(bits)
    mask = np.uint64((1 << bits) - 1)
    a, b = (replace(s, chunk=replace(s.chunk, key=s.chunk.key & mask)) for s in (a, b))
    found, ours, theirs = matched(a, b, "error")
    assert found.tolist() == expected(a, b)
    assert ours is a
    assert theirs is b


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("bits", [1, 64])
def test_duplicates_are_refused_or_resolved(which: int, bits: int) -> None:
    a, b = two(3)
    given = (a, b)[which]
    rows = given.chunk.frame()
    twice = pl.concat([rows[:5], rows[[4]].with_columns(score=2.0), rows[5:]])
    chunk = Batch.from_table(twice)
    chunk = replace(chunk, key=chunk.key & np.uint64((1 << bits) - 1))
    side = replace(given, chunk=chunk, read=twice.height)
    a, b = (a, side) if which else (side, b)
    with pytest.raises(DuplicateError) as caught:
        matched(a, b, "error")
    assert caught.value.role == ("ranking a", "ranking b")[which]
    _, a, b = matched(a, b, "keep_best")
    kept = (a, b)[which]
    assert kept.read - kept.chunk.height == 1
    assert 2.0 in kept.chunk.numbers["score"]
