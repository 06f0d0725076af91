"""JSON Lines: what is wrong is said with the number of the line."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

import rankframe as rf
from rankframe.inputs.scan import scan
from rankframe.sources.json_lines import open_json_lines

LINE = '{"query_id":"q","doc_id":"a","score":1}\n'


def _written(folder: Path, text: str) -> str:
    (folder / "run[1].jsonl").write_text(text, encoding="utf-8")
    return str(folder / "run[1].jsonl")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id":"q","doc_id":"b","score":}', "this is not JSON (Expecting value)"),
        ('{"query_id":"q","doc', "this is not JSON (Unterminated string"),
        ("hello", "this is not JSON"),
        ("[1, 2]", "a line holds an object such as"),
    ],
)
def test_a_line_that_is_no_object_is_named(
    tmp_path: Path, line: str, problem: str, refusal
) -> None:
    path = _written(tmp_path, f"{LINE}\n{line}\n")
    said = refusal(rf.evaluate, {"q": {"a": 1}}, path, "map")
    assert said.startswith(f"{path}, line 3: {problem}")
    assert "InternalError" not in said
    stream = io.BytesIO(f"{LINE}{line}\n".encode())
    assert ", line 2: " in refusal(rf.evaluate, {"q": {"a": 1}}, stream, "map")


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
    said = refusal(open_json_lines, [path], "it")
    assert said.startswith(f"{path}, line 2: ")
    assert "is there more than once" in said
    assert "(2 such lines in all)" in said
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(f"{LINE}{line}\n".encode()))
    assert "line 2: " in refusal(rf.evaluate, {"q": {"a": 1}}, packed, "map")


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
    assert scan(path, "run").frame.collect()["score"].to_list() == [1.0]
