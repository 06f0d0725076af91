"""Matrices of ids and scores: the same run as the long form, and what is no such matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf

IDS = np.array([[2, 0, 1], [1, -1, 0], [-1, -1, -1]])
SCORES = np.array([[0.1, 0.9, 0.5], [0.3, np.nan, 0.2], [-np.inf, -np.inf, -np.inf]])


def test_a_row_for_each_document_in_its_order() -> None:
    run = rf.from_topk(IDS)
    assert run.columns == ["query_id", "doc_id", "rank"]
    assert run.rows() == [(0, 2, 1), (0, 0, 2), (0, 1, 3), (1, 1, 1), (1, 0, 2)]


def test_scores_order_and_those_of_none_are_not_looked_at() -> None:
    run = rf.from_topk(IDS, SCORES)
    assert run.rows() == [(0, 2, 0.1), (0, 0, 0.9), (0, 1, 0.5), (1, 1, 0.3), (1, 0, 0.2)]
    nearest = rf.from_topk(IDS, SCORES, smaller_is_better=True)
    assert_frame_equal(nearest, run.with_columns(-pl.col("score")))


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.uint64])
def test_distances_that_are_whole_numbers(kind: type) -> None:
    run = rf.from_topk([[5, 6]], np.array([[3, 200]], kind), smaller_is_better=True)
    assert run["score"].to_list() == [-3, -200]
    large = rf.from_topk([[5, 6]], np.array([[2**63 + 1, 2**63]], np.uint64))
    judged = rf.evaluate({0: {5}}, large, "mrr")
    assert judged["mrr"] == 1.0


@pytest.mark.parametrize("names", [list, np.array, pl.Series, pd.Series, tuple])
def test_names(names: Callable[..., Any]) -> None:
    run = rf.from_topk(IDS, queries=names(["x", "y", "z"]), items=names(["a", "b", "c"]))
    assert run["query_id"].to_list() == ["x", "x", "x", "y", "y"]
    assert run["doc_id"].to_list() == ["c", "a", "b", "b", "a"]


class Tensor:
    """What numpy reads without being one of its arrays."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(IDS, dtype)


@pytest.mark.parametrize(
    "ids",
    [
        IDS.tolist(),
        Tensor(),
        IDS.astype(np.float32),
        np.where(IDS < 0, np.nan, IDS),
        IDS.astype(np.int32),
        IDS.astype(np.uint32),
        IDS.astype(np.uint64),
        np.ma.masked_less(IDS, 0),
        np.where(IDS < 0, np.array(None), IDS.astype(object)),
        [[None if one < 0 else one for one in row] for row in IDS.tolist()],
        np.asfortranarray(IDS),
        pl.DataFrame(IDS),
    ],
    ids=["lists", "tensor", "float", "NaN", "int32", "uint32", "uint64", "masked", "objects",
         "None", "by column", "frame"],
)  # fmt: skip
def test_whatever_numpy_reads(ids: Any) -> None:
    expected = rf.from_topk(IDS)
    found = rf.from_topk(ids)
    assert found.rows() == expected.rows()
    assert rf.from_topk(ids, items=["a", "b", "c"])["doc_id"].to_list() == ["c", "a", "b", "b", "a"]


def test_ids_that_are_text() -> None:
    assert rf.from_topk(np.array([["a", "b"]]))["doc_id"].to_list() == ["a", "b"]
    assert rf.from_topk([["a", None], [7, "b"]])["doc_id"].to_list() == ["a", "7", "b"]


def test_the_same_bits_as_the_long_form() -> None:
    rng = np.random.default_rng(7)
    ids = rng.permuted(np.tile(np.arange(50), (200, 1)), axis=1)[:, :20]
    scores = rng.random(ids.shape, np.float32)
    judged = {q: {int(d): int(d) % 3 for d in rng.permutation(50)[:6]} for q in range(200)}
    long = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(200), 20),
            "doc_id": ids.ravel(),
            "score": scores.ravel().astype(np.float64),
        }
    )
    metrics = ["ndcg@10", "map", "mrr"]
    for found, expected in (
        (rf.evaluate(judged, rf.from_topk(ids, scores), metrics),
         rf.evaluate(judged, long, metrics)),
        (rf.evaluate(judged, rf.from_topk(ids), metrics),
         rf.evaluate(judged, long.drop("score"), metrics, order="rows")),
    ):  # fmt: skip
        assert_frame_equal(found.per_query, expected.per_query)
        assert_frame_equal(found.summary, expected.summary)


def test_no_queries_and_no_columns() -> None:
    assert rf.from_topk(np.empty((0, 5), np.int64)).height == 0
    assert rf.from_topk(np.empty((3, 0), np.int64)).height == 0


def test_the_same_document_twice_is_found_by_the_evaluation(refusal: Callable[..., str]) -> None:
    run = rf.from_topk([[1, 1]])
    refusal(rf.evaluate, {0: {1}}, run, "mrr")


class Cuda:
    """A tensor that is elsewhere."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy.\nUse Tensor.cpu()")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([[[1, 2], [3]]], {}),
        ([[1, 2]], {}),
        ([np.zeros((1, 2, 3), int)], {}),
        ([5], {}),
        ([Cuda()], {}),
        ([[[1.5, 2.0]]], {}),
        ([[[np.inf, 2.0]]], {}),
        ([np.array([[True]])], {}),
        ([IDS], {"items": ["a", "b"]}),
        ([np.array([[-2, 0]])], {"items": ["a"]}),
        ([[["a"]]], {"items": ["a"]}),
        ([IDS], {"items": {0: "a"}}),
        ([IDS], {"items": ["a", None, "c"]}),
        ([IDS], {"items": [["a"], ["b"], ["c"]]}),
        ([IDS], {"items": 3}),
        ([IDS], {"queries": ["a", "b"]}),
        ([IDS], {"queries": [1, "1", 2]}),
        ([IDS, SCORES[:2]], {}),
        ([IDS, SCORES.tolist()[0]], {}),
        ([IDS, SCORES.astype(str)], {}),
        ([[[1, 2]], [[1.0, np.nan]]], {}),
        ([[[1, 2]], [[1.0, -np.inf]]], {}),
        ([IDS], {"smaller_is_better": True}),
    ],
)
def test_what_is_refused(
    arguments: list[Any], options: dict[str, Any], refusal: Callable[..., str]
) -> None:
    refusal(rf.from_topk, *arguments, **options)
