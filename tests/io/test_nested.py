"""Names with dots are fields inside columns."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.column_names import names_in, with_fields

ROWS = [
    {"query": {"id": "q1"}, "hit": {"doc": {"sku": "a"}}, "score": 2.0},
    {"query": {"id": "q1"}, "hit": {"doc": {"sku": "b"}}, "score": 1.0},
]
COLUMNS = {"run": {"query_id": "query.id", "doc_id": "hit.doc.sku"}}


@pytest.mark.parametrize("form", ["frame", "jsonl", "json", "parquet"])
def test_fields_are_found_in_any_source(form: str, tmp_path: Path) -> None:
    frame, path = pl.DataFrame(ROWS), tmp_path / f"run.{form}"
    if form == "parquet":
        frame.write_parquet(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    else:
        path.write_text(json.dumps(ROWS))
    source = frame if form == "frame" else path
    assert rf.evaluate({"q1": {"b": 1}}, source, "mrr", columns=COLUMNS)["mrr"] == 0.5


def test_a_name_that_is_there_is_taken_as_it_is() -> None:
    frame = pl.LazyFrame({"a.b": [1], "a": [{"b": 2, "c": 3}]})
    assert with_fields(frame, ["a.b"]) is frame
    assert with_fields(frame, ["a.c"]).collect()["a.c"].to_list() == [3]


@pytest.mark.parametrize("path", ["a.x", "a.b.c", "x.b", "a", "a.", ".b", "."])
def test_a_path_that_leads_nowhere_is_no_column(path: str, refusal) -> None:
    frame = pl.LazyFrame({"a": [{"b": 2}], "doc_id": ["d"], "score": [1]})
    assert with_fields(frame, [path]).collect_schema().names() == ["a", "doc_id", "score"]
    columns = {"run": {"query_id": path}}
    refusal(rf.evaluate, {"q1": {"b": 1}}, frame, "mrr", columns=columns)


def test_names_are_gathered_from_all_sides() -> None:
    columns = {"query_id": "a", "run": {"doc_id": "b.c", "query_id": "a"}, "score": 3}
    assert names_in(columns) == ("a", "b.c")
    assert names_in(None) == ()
