"""JSON of any shape: arrays of rows, objects of queries, tables by columns; and nothing else."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.io.formats.json_text import open_json
from rankframe.io.opening import open_table
from rankframe.io.raw_table import InputRequest

ROWS = [("q1", "a", 2.5), ("q1", "b", 1.0), ("007", "é", 1e-7)]
NAMES = ("query_id", "doc_id", "score")
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
BY_QUERY: dict[str, dict[str, float]] = {"q1": {"a": 2.5, "b": 1.0}, "007": {"é": 1e-7}}
BY_COLUMN = {name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}
BY_INDEX = {name: {str(n): v for n, v in enumerate(of)} for name, of in BY_COLUMN.items()}
FORMS = {"rows": RECORDS, "queries": BY_QUERY, "columns": BY_COLUMN, "pandas": BY_INDEX}
QRELS = {"q1": {"b": 1}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run", "run.txt"])
def test_documents_are_read_whatever_their_shape(
    form: str, indent: int | None, name: str, tmp_path: Path
) -> None:
    text = json.dumps(FORMS[form], indent=indent)
    (tmp_path / name).write_text(text)
    for source in (tmp_path / name, io.BytesIO(text.encode()), io.StringIO(f"\n {text}\n\n")):
        assert open_table(source, "run").frame.select(NAMES).collect().rows() == ROWS


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, bz2.compress, lambda text: pa.compress(text, codec="zstd", asbytes=True)],
    ids=["gz", "bz2", "zst"],
)
@pytest.mark.parametrize("form", FORMS)
def test_packed_documents(form: str, pack, tmp_path: Path) -> None:
    content = pack(json.dumps(FORMS[form], indent=1).encode())
    (tmp_path / "run.json").write_bytes(content)
    for source in (tmp_path / "run.json", io.BytesIO(content)):
        assert open_table(source, "run").frame.select(NAMES).collect().rows() == ROWS


def test_judgments_as_an_object_are_grades(tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text('{"q1": {"a": 2, "b": 0}}')
    found = open_table(tmp_path / "qrels.json", "qrels").frame.collect()
    assert found.rows() == [("q1", "a", 2), ("q1", "b", 0)]


def test_lists_of_documents_are_ranked_as_they_stand() -> None:
    held = open_json([io.BytesIO(b'{"q1": ["a", "b"], "q2": []}')], InputRequest("run", "it"))
    assert held.ranked
    assert held.frame.collect().rows() == [("q1", "a"), ("q1", "b")]


def test_several_documents_are_one(tmp_path: Path, refusal) -> None:
    for at in range(2):
        (tmp_path / f"rows-{at}.json").write_text(json.dumps(RECORDS[at * 2 : at * 2 + 2]))
        part = dict(list(BY_QUERY.items())[at : at + 1])
        (tmp_path / f"queries-{at}.json").write_text(json.dumps(part, indent=1))
    for pattern in ("rows-*.json", "queries-*.json"):
        assert (
            open_table(str(tmp_path / pattern), "run").frame.select(NAMES).collect().rows() == ROWS
        )
    (tmp_path / "queries-2.json").write_text(json.dumps(BY_QUERY, indent=1))
    refusal(open_table, str(tmp_path / "queries-*.json"), "run")
    refusal(open_table, str(tmp_path / "*.json"), "run")


def test_ids_may_be_numbers_and_columns_lists() -> None:
    text = '[{"query_id": 1, "doc_id": "a", "tags": ["x"]}, {"query_id": "b", "doc_id": 2}]'
    held: Any = open_json([io.BytesIO(text.encode())], InputRequest("run", "it"))
    assert held.frame.collect()["query_id"].to_list() == ["1", "b"]
    assert str(held.frame.collect_schema()["tags"]) == "List(String)"


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3]",
        '["a"]',
        "[[1, 2], [3]]",
        "[]",
        "[\n]\n",
        "{}",
        '[{"query_id": "q"}, 3]',
        '{\n"a": 1,\n"b": {"c": 2}\n}',
        '{"q1": {"a": 1}, "q2": ["b"]}',
        '{"q1": {"a": "x"}}',
        '{"q1": {"a": 1, "a": 2}}',
        '{"q1": {"a": 1}, "q1": {"b": 2}}',
        '[{"query_id": "q", "doc_id": "d", "score": 1, "score": 2}]',
        '[{"query_id": "q", "doc_id"',
        '{"q1": {"a": 1},',
        '{"q1": {"a": 1,,}}',
        '{\n"a": 1\n}\n{\n"a": 2\n}',
        '{"query_id": ["q", "r"], "doc_id": ["a"], "score": [1, 2]}',
        '{"query_id": {"0": "q"}, "doc_id": {"1": "a"}}',
        "[" * 9999,
    ],
)
def test_what_is_no_table_is_said(text: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "x.json").write_text(text)
    for source in (tmp_path / "x.json", io.BytesIO(text.encode())):
        refused = refusal(rf.evaluate, QRELS, source)
        assert len(refused) < 500


def test_a_thousand_keys_are_not_listed(tmp_path: Path, refusal) -> None:
    held: Mapping[str, Any] = {f"key {at}": at for at in range(40_000)}
    for indent in (None, 1):
        (tmp_path / "x.json").write_text(json.dumps(held, indent=indent))
        said = refusal(rf.evaluate, QRELS, tmp_path / "x.json")
        assert len(said) < 500


def test_a_name_elsewhere_is_none_of_the_columns(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "doc_id": "b", "score": 1, "meta": {"score": 3, "score:": '"score":'}}
    ]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    assert rf.evaluate(QRELS, tmp_path / "x.json", "mrr")["mrr"] == 1


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "x.json").write_bytes('{"q1": {"é": 1}}'.encode("latin-1"))
    refusal(rf.evaluate, QRELS, tmp_path / "x.json")
