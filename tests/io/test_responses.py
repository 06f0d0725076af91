"""Responses as clients of Python give them, and files of them with the names of their queries."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.responses import from_responses
from tests.support.engine_responses import elastic, lines, solr

ANSWERS = [elastic(["a", "b"], [2.0, 1.0]), elastic([]), elastic(["c"], [5.0])]
QUERIES = ["q1", "q2", "q3"]
RUN = pl.DataFrame(
    [("q1", "a", 2.0, 1), ("q1", "b", 1.0, 2), ("q3", "c", 5.0, 1)],
    ["query_id", "doc_id", "score", "rank"],
    orient="row",
)
BY_QUERY = dict(zip(QUERIES, ANSWERS, strict=True))


@pytest.mark.parametrize(
    ("source", "queries"),
    [
        (ANSWERS, QUERIES),
        (iter(ANSWERS), iter(QUERIES)),
        ([SimpleNamespace(body=one) for one in ANSWERS], QUERIES),
        ({"took": 1, "responses": ANSWERS}, QUERIES),
        (SimpleNamespace(body={"responses": ANSWERS}), QUERIES),
        (BY_QUERY, None),
        ([{"qid": query, "response": one} for query, one in BY_QUERY.items()], None),
    ],
    ids=["list", "iterators", "objects", "multi", "multi object", "dict", "wrapped"],
)
def test_whatever_a_client_gives(source: Any, queries: Any) -> None:
    assert from_responses(source, queries).equals(RUN)


@pytest.mark.parametrize(
    "text", [lines(ANSWERS), json.dumps(ANSWERS), json.dumps(ANSWERS, indent=1)]
)
def test_files_in_the_order_of_queries(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    sources = (tmp_path / "x.json", str(tmp_path / "*.json"), io.BytesIO(text.encode()))
    for source in (*sources, io.StringIO(text)):
        assert from_responses(source, QUERIES).equals(RUN)


def test_a_file_for_each_query(tmp_path: Path) -> None:
    for query, one in BY_QUERY.items():
        if one["hits"]["hits"]:
            (tmp_path / f"{query}.json").write_text(json.dumps(one, indent=1))
    assert from_responses(str(tmp_path / "*.json"), ["q1", "q3"]).equals(RUN)


def test_one_response_and_other_fields() -> None:
    columns = {"doc_id": "_source.sku"}
    found = from_responses(ANSWERS[0], ["q"], columns=columns)
    assert found["doc_id"].to_list() == ["sku-a", "sku-b"]
    assert rf.evaluate({"q": {"sku-b": 1}}, found, "mrr")["mrr"] == 0.5


def test_solr_and_what_pysolr_gives() -> None:
    said = solr(["a", "b"], "hat")
    columns = {"query_id": "responseHeader.params.q"}
    expected = [("hat", "a", 9.5, 1), ("hat", "b", 8.5, 2)]
    assert from_responses([said], columns=columns).rows() == expected
    assert from_responses([SimpleNamespace(raw_response=said)], columns=columns).rows() == expected


@pytest.mark.parametrize(
    ("source", "queries"),
    [
        ([], None),
        (ANSWERS, None),
        (ANSWERS, ["q1"]),
        (ANSWERS, ["q1", "q1", "q3"]),
        (ANSWERS, "q1"),
        (BY_QUERY, QUERIES),
        ([1, 2], QUERIES),
        (7, None),
        ([{"error": "no such index"}], ["q1"]),
        ([*ANSWERS, {"error": "late"}], [*QUERIES, "q4"]),
        ([elastic([])], ["q1"]),
        ([{**ANSWERS[0], "x": {1: {2, 3}, (1,): 2}}], ["q1"]),
        ("nowhere.json", ["q1"]),
    ],
)
def test_what_is_none_is_refused(source: Any, queries: Any, refusal) -> None:
    refusal(from_responses, source, queries)


def test_a_file_of_something_else_is_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "x.jsonl").write_text('{"query_id": "q1", "doc_id": "a", "score": 1}\n')
    refusal(from_responses, tmp_path / "x.jsonl", ["q1"])


def test_a_field_that_is_not_there_is_not_replaced_by_another(refusal) -> None:
    hits = [{"hits": {"hits": [{"_id": "a", "_score": 1.0, "_source": {"sku": "x"}}]}}]
    assert from_responses(hits, ["q"], columns={"doc_id": "_source.sku"})["doc_id"].to_list() == [
        "x"
    ]
    refusal(from_responses, hits, ["q"], columns={"doc_id": "_source.SKU"})
