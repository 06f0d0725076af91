"""The pair frame of some queries, from chunks of both rankings."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.core.options import PairPolicies
from rankframe.frames.pair import PairFrame
from rankframe.frames.pair_sides import Side
from rankframe.kernel.batch import Batch, hashed


def side(docs: dict[str, dict[str, float]], queries: list[str]) -> Side:
    """The rows of some queries, in this order."""
    has = [at for at, query in enumerate(queries) if query in docs]
    rows = [(queries[at], doc, score) for at in has for doc, score in docs[queries[at]].items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    table = hashed(pl.LazyFrame(rows, schema, orient="row")).collect()
    return Side(Batch.from_hashed(table), np.array(has, np.int64), len(queries), len(rows))


def pairs_of(a: dict, b: dict, **policies: object) -> PairFrame:
    queries = sorted({*a, *b})
    sides = side(a, queries), side(b, queries)
    return PairFrame(pl.Series(queries), *sides, PairPolicies(**policies))  # pyright: ignore[reportArgumentType]


A = {"q": {"x": 3.0, "y": 2.0, "z": 2.0}, "only a": {"x": 1.0}}
B = {"q": {"z": 9.0, "w": 8.0}, "only b": {"v": 1.0, "u": 2.0}}


def test_both_rankings_lie_on_the_same_rows() -> None:
    pairs = pairs_of(A, B)
    assert pairs.frame(["query_id", "doc_id"]).rows() == [
        ("only a", "x"), ("only b", "u"), ("only b", "v"),
        ("q", "x"), ("q", "z"), ("q", "y"), ("q", "w"),
    ]  # fmt: skip
    assert pairs.a.rank.tolist() == [1, 0, 0, 1, 2, 3, 0]
    assert pairs.b.rank.tolist() == [0, 1, 2, 0, 1, 0, 2]
    # equal scores share the mean of their places
    assert pairs.a.tied_rank.tolist() == [1, 0, 0, 1, 2.5, 2.5, 0]
    assert (pairs.a.length.tolist(), pairs.b.length.tolist()) == ([1, 0, 3], [0, 2, 2])
    assert (pairs.n_shared.tolist(), pairs.matched, pairs.rows) == ([0, 0, 1], 1, 7)
    assert pairs.frame(["score_a", "score_b"]).rows() == [
        (1.0, None), (None, 2.0), (None, 1.0),
        (3.0, None), (2.0, 9.0), (2.0, None), (None, 8.0),
    ]  # fmt: skip


def test_what_is_cut_off_is_not_shared() -> None:
    pairs = pairs_of(A, B, k_max=1)
    assert pairs.frame(["doc_id", "rank_a", "rank_b"]).rows() == [
        ("x", 1, None), ("u", None, 1), ("x", 1, None), ("z", None, 1),
    ]  # fmt: skip
    assert pairs.matched == 0
    assert [ranked.tied for ranked in pairs.ranked] == [1, 0]


def test_either_side_may_have_nothing() -> None:
    assert pairs_of(A, {}).frame(["rank_a", "rank_b"]).rows() == [
        (1, None), (1, None), (2, None), (3, None),
    ]  # fmt: skip
    assert pairs_of({}, A).frame(["depth", "rank_b", "overlap", "compared"]).rows() == [
        (1, 1, 0, False), (1, 1, 0, False), (2, 2, 0, False), (3, 3, 0, False),
    ]  # fmt: skip
