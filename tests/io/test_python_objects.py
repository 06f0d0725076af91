"""Plain Python: dicts by query, dicts of columns, lists of rows, ranked lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.io.python_objects import open_python
from rankframe.io.raw_table import InputRequest

QRELS: Any = {"u1": {"a": 1, "b": 1}, "u2": {"c": 1}}
RUN: Any = {"u1": {"z": 3.0, "a": 2.0, "b": 1.0}, "u2": {"c": 1.0}}
METRICS = ["ndcg@10", "map", "mrr"]


def per_query(qrels: Any, run: Any, **options: Any) -> pl.DataFrame:
    return rf.evaluate(qrels, run, METRICS, ci=None, **options).per_query


@pytest.mark.parametrize(
    "qrels",
    [
        {"u1": {"a", "b"}, "u2": frozenset("c")},
        {"u1": ["a", "b"], "u2": ("c",)},
        {"u1": np.array(["a", "b"]), "u2": pl.Series(["c"])},
        {"u1": [("a", 1), ("b", 1)], "u2": [("c", 1)]},
        {"query_id": ["u1", "u1", "u2"], "doc_id": ["a", "b", "c"], "relevance": [1, 1, 1]},
        {"user": ["u1", "u2"], "relevant_items": [["a", "b"], ["c"]]},
        [{"qid": "u1", "relevant": ["a", "b"]}, {"qid": "u2", "relevant": ["c"]}],
        [{"qid": q, "did": d, "grade": 1} for q, d in (("u1", "a"), ("u2", "c"), ("u1", "b"))],
    ],
    ids=[
        "sets",
        "lists",
        "arrays",
        "pairs",
        "columns",
        "columns of lists",
        "rows of lists",
        "rows",
    ],
)
@pytest.mark.parametrize(
    "run",
    [
        {"u1": ["z", "a", "b"], "u2": ["c"]},
        {"u1": ("z", "a", "b"), "u2": np.array(["c"])},
        {"u1": [("z", 3.0), ("a", 2.0), ("b", 1.0)], "u2": [("c", 1.0)]},
        {"u1": [{"doc": "z"}, {"doc": "a"}, {"doc": "b"}], "u2": [{"doc": "c"}]},
        {"u1": [{"doc": "b", "score": 1}, {"doc": "z", "score": 3}, {"doc": "a", "score": 2}],
         "u2": [{"doc": "c", "score": 2}]},
        [{"query": q, "doc": d, "score": s} for q, of in RUN.items() for d, s in of.items()],
    ],
    ids=["lists", "mixed lists", "pairs", "dicts in order", "dicts with scores", "rows"],
)  # fmt: skip
def test_every_form_has_the_same_numbers(qrels: Any, run: Any) -> None:
    assert_frame_equal(per_query(qrels, run), per_query(QRELS, RUN))


def test_whole_numbers_text_and_both() -> None:
    run = {1: [7, 2**70, 3], "b": ["x", 4], 2.5: np.array([1, 2])}
    found = open_python(run, InputRequest("run", "x")).frame.collect()
    assert found["query_id"].to_list() == ["1", "1", "1", "b", "b", "2.5", "2.5"]
    assert found["doc_id"].to_list() == ["7", str(2**70), "3", "x", "4", "1", "2"]
    whole = open_python({1: [7, 3], 2: []}, InputRequest("run", "x")).frame.collect()
    assert whole.schema["doc_id"] == pl.Int64
    assert open_python({1: np.array([7])}, InputRequest("run", "x")).frame.collect().rows() == [
        ("1", 7)
    ]
    assert per_query({1: {7}}, {"1": ["7"]})["mrr"].to_list() == [1.0]


def test_an_empty_list_is_a_query_that_retrieved_nothing() -> None:
    found = rf.evaluate({"q": {"a"}, "r": {"b"}}, {"q": ["a"], "r": []}, "mrr")
    assert found["mrr"] == 0.5
    assert dict(found.ledger.select("item", "value").rows())["queries_missing"] == 1


def test_rows_of_different_types_are_text() -> None:
    rows = [
        {"query_id": 1, "doc_id": "a", "score": 2},
        {"query_id": "x", "doc_id": 5, "score": 1.5},
    ]
    assert per_query({"1": {"a"}, "x": {5}}, rows)["mrr"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("run", "parts"),
    [
        ({"u1": {"a"}, "u2": ["c"]}, ["1 of its lists are sets, e.g. {'a'}, which have no order"]),
        ({"u1": ["a"], "u2": {"c": 1.0}}, ["same kind", "'u1' has a list and 'u2' has a dict"]),
        ({"u1": "abc", "u2": ["c"]}, ["1 of its 2 queries map to no dict", "'u1' to 'abc'"]),
        ({"u1": 3}, ["e.g. 'u1' to 3", "ranked list of documents"]),
        ({"u1": ["a", None]}, ["None is not an id"]),
        ({None: ["a"]}, ["None is not an id"]),
        ({1: ["a"], "1": ["b"]}, ["has several keys"]),
        ({"u1": ["a", "a"]}, ["duplicate (query_id, doc_id) pair"]),
        ({"u1": [["a"]]}, ["a document is text or a number, not ['a']"]),
        ({"u1": ["a", ("b", 1)]}, ["a document is text or a number, not ('b', 1)"]),
        ({"u1": [("b", "high")]}, ["not a number: 'high'"]),
        ({"u1": ["\ud800"]}, ["not proper Unicode"]),
        ({"u1": []}, ["run is empty"]),
        ({}, ["run is empty"]),
        ([], ["run is empty"]),
        ([["q", "d", 1.0]], ["such as {\"query_id\": \"q1\", …}: it holds ['q', 'd', 1.0]"]),
        ([{"query_id": "q"}, 7], ["it holds 7", "rankframe.from_lists"]),
        ([{"query_id": "u1", "doc_id": "a"}], ["neither a score nor a rank column"]),
        ([{"query_id": "u1", "doc_id": "a", "score": 1.0}, {"query_id": "u1", "doc_id": "b"}],
         ["run has 1 row with a null score"]),
        ({"query_id": ["u1"], "doc_id": ["a", "b"]}, ["do not make a table"]),
        ({"query_id": ["u1"], "doc_id": ["a"]}, ["neither a score nor a rank column"]),
    ],
)  # fmt: skip
def test_what_is_refused(run: Any, parts: list[str], refusal: Callable[..., str]) -> None:
    said = refusal(rf.evaluate, {"u1": {"a", "b"}}, run, "mrr")
    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize("kind", [list, tuple, np.array, pl.Series])
def test_two_plain_lists(kind: Callable[..., Any]) -> None:
    a, b = kind([1, 2, 3]), kind([2, 1, 3])
    found = rf.agree(a, b, ["kendall_tau", "rbo", "overlap@2"])
    long = rf.agree({"0": {1: 3, 2: 2, 3: 1}}, {"0": {2: 3, 1: 2, 3: 1}},
                    ["kendall_tau", "rbo", "overlap@2"])  # fmt: skip
    assert_frame_equal(found.per_query, long.per_query)
    assert rf.pair(a, b).collect().height == 3


def test_lists_of_lists_are_a_query_each() -> None:
    a, b = [[1, 2, 3], ["x"], []], [(2, 1, 3), np.array(["x"]), [4]]
    found = rf.agree(a, b, "overlap@3")
    assert found.per_query.select("query_id", "n_a", "n_b").rows() == [
        ("0", 3, 3), ("1", 1, 1), ("2", 0, 1),
    ]  # fmt: skip
    named = rf.agree(
        {"0": [1, 2, 3], "1": ["x"]}, {"0": [2, 1, 3], "1": ["x"], "2": [4]}, "overlap@3"
    )
    assert_frame_equal(found.per_query, named.per_query)
    scored = rf.agree([("x", 0.5), ("y", 0.9)], ["y", "x"], "overlap@1")
    assert scored["overlap@1"] == 1.0
    matrix = rf.agree(np.array([[1, 2], [3, 4]]), np.array([[2, 1], [3, 5]]), "overlap@1")
    assert matrix.per_query["overlap@1"].to_list() == [0.0, 1.0]


@pytest.mark.parametrize(
    "a",
    [
        [1, [2]],
        [1, 1],
        [],
        {1, 2},
        [None, 1],
        [{1, 2}],
        np.zeros((2, 2, 2)),
    ],
)
def test_lists_that_are_no_rankings(a: Any, refusal: Callable[..., str]) -> None:
    refusal(rf.agree, a, [1, 2], "overlap@2")


def test_responses_are_told_where_to_go(refusal: Any) -> None:
    response = {"hits": {"hits": [{"_id": "a", "_score": 1.0}]}}
    refusal(rf.evaluate, {"q": {"a": 1}}, [response], "map")
