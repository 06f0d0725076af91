"""Dicts of dicts: what they hold, and what they cannot."""

from __future__ import annotations

import pytest

import rankframe as rf
from rankframe.io.python_objects import open_python, read_queries
from rankframe.io.raw_table import InputRequest


def test_a_row_for_each_document() -> None:
    found = open_python(
        {"q": {"a": 1, "b": 2.5}, "r": {}, 7: {3: 0}}, InputRequest("run", "x")
    ).frame.collect()
    assert found.rows() == [("q", "a", 1.0), ("q", "b", 2.5), ("7", "3", 0.0)]
    judged = open_python({"q": {"a": 1}}, InputRequest("qrels", "x")).frame.collect()
    assert judged.columns == ["query_id", "doc_id", "relevance"]


@pytest.mark.parametrize("role", ["qrels", "run"])
def test_keys_that_are_the_same_as_text_are_not_merged(role: str, refusal) -> None:
    twice = {1: {"a": 1.0}, "1": {"b": 1.0}, "2": {"a": 1.0}}
    once = {"1": {"a": 1.0}}
    sides = (twice, once) if role == "qrels" else (once, twice)
    refusal(rf.evaluate, *sides, "map")


def test_documents_that_are_the_same_as_text_are_duplicates(refusal) -> None:
    refusal(rf.evaluate, {"q": {1: 1, "1": 0}}, {"q": {"1": 1.0}}, "map")


def test_distinct_keys_are_fine() -> None:
    read_queries(["1", "01", "1.0"], "x")
