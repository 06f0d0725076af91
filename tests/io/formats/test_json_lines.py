"""JSON Lines: what is wrong is said with the number of the line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.formats.json_text import open_json_lines, write_object
from rankframe.io.formats.responses import parse_json
from rankframe.io.opening import open_table

LINE = '{"query_id":"q","doc_id":"a","score":1}\n'


def _written(folder: Path, text: str) -> str:
    (folder / "run[1].jsonl").write_text(text, encoding="utf-8")
    return str(folder / "run[1].jsonl")


@pytest.mark.parametrize(
    "line",
    [
        '{"query_id":"q","doc_id":"b","score":}',
        '{"query_id":"q","doc',
        "hello",
        "[1, 2]",
    ],
)
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str, refusal) -> None:
    path = _written(tmp_path, f"{LINE}\n{line}\n")
    said = refusal(rf.evaluate, {"q": {"a": 1}}, path, "map")
    assert "InternalError" not in said
    stream = io.BytesIO(f"{LINE}{line}\n".encode())
    refusal(rf.evaluate, {"q": {"a": 1}}, stream, "map")


@pytest.mark.parametrize(
    "line",
    [
        '{"query_id":"q","doc_id":"b","score":1, "score" : 9}',
        '{"score":1,"query_id":"q","doc_id":"score","meta":{"score":[3]},"score":2}',
        '{"query_id":"q","doc_id":"b","score":1,"a.b(c":1,"a.b(c":2}',
    ],
)
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path, line: str, refusal) -> None:
    path = _written(tmp_path, f"{LINE}{line}\n{LINE}{line}\n")
    refusal(open_json_lines, [path], [path])
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(f"{LINE}{line}\n".encode()))
    refusal(rf.evaluate, {"q": {"a": 1}}, packed, "map")


@pytest.mark.parametrize(
    "more",
    [
        '"meta":{"score":3,"x":[{"score":"}"},{"score":"]{"}]}',
        '"t":"\\"score\\":","u":["score","score"],"v":"score"',
        '"score\\"":1',
        '"t":"a \\\\","u":"score"',
    ],
)
def test_a_name_elsewhere_in_a_line_is_none_of_its_columns(tmp_path: Path, more: str) -> None:
    path = _written(tmp_path, f'{{"query_id":"q","doc_id":"a","score":1,{more}}}\n')
    assert open_table(path, "run").frame.collect()["score"].to_list() == [1.0]


def test_queries_are_written_as_an_object(tmp_path: Path) -> None:
    ids = ['"', "\\", "\n", "\x00", "é", "}", "a: 1, b", "\u2028", "😀", "1e400", ""]
    frame = pl.DataFrame(
        {"query_id": ids * 2, "doc_id": ids + ids[::-1], "score": [0.1, -1e-300] * 11}
    )
    frame = frame.unique(["query_id", "doc_id"], maintain_order=True)
    write_object(frame, tmp_path / "x.json")
    held: dict[str, dict[str, float]] = {}
    for query, doc, score in frame.iter_rows():
        held.setdefault(query, {})[doc] = score
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == held
    file = io.BytesIO()
    write_object(frame.rename({"score": "relevance"}).cast({"relevance": pl.Int64}), file)
    assert json.loads(file.getvalue())[""]['"'] == 0


def test_ranks_are_written_so_that_more_is_better(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2.0, 1.0]})
    write_object(frame, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {"q": {"a": -2, "b": -1}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        '{"a": 1,, "b": 2}',
        '{"a": {"b": 1, "b": 2}}',
        "{} {}",
    ],
)
def test_what_is_wrong_with_one_value(text: str, refusal) -> None:
    refusal(parse_json, text, "it")
