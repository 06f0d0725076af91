"""Blocks of lines, each a table; at last, what was wrong with any of them."""

from __future__ import annotations

import io
from typing import IO

import polars as pl

from rankframe.core.errors import MalformedLineError
from rankframe.io.raw_table import RawTable
from rankframe.io.sources.spool import JsonReader, TableReader, TrecReader


def _csv(text: IO[bytes]) -> RawTable:
    return RawTable(pl.read_csv(io.BytesIO(text.read()), infer_schema=False).lazy())


def test_a_table_repeats_its_header_for_every_block() -> None:
    reader = TableReader(_csv)
    assert reader.begin(b"query_id,doc_id\nq1,a\n")
    tables = [reader.table(b"query_id,doc_id\nq1,a\n", 0), reader.table(b"q2,b\n", 2)]
    assert pl.concat(tables).rows() == [("q1", "a"), ("q2", "b")]
    assert not reader.end()


def test_a_header_that_goes_on_in_another_line_is_left_to_others() -> None:
    assert not TableReader(_csv).begin(b'query_id,"doc\nid"\nq1,a\n')
    assert not TableReader(_csv).begin(b"query_id,doc_id")


def test_mistakes_in_trec_text_are_said_at_the_end_of_all_blocks(error_of) -> None:
    reader = TrecReader("run", "run.txt")
    assert reader.begin(b"")
    assert reader.table(b"q1 Q0 a 1 2.5 tag\n", 0).height == 1
    assert reader.table(b"q1 Q0 b 2 x tag\n", 1).is_empty()
    assert reader.table(b"q1 Q0 c 3 y tag\n", 2).is_empty()
    error = error_of(reader.end)
    assert isinstance(error, MalformedLineError)
    assert error.count == 2


def test_a_score_that_must_stay_text_makes_all_of_them_text() -> None:
    reader = TrecReader("run", "run.txt")
    blocks = [b"q1 Q0 a 1 2.5 tag\n", f"q1 Q0 b 2 {2**63 + 1} tag\n".encode()]
    reader.begin(b"")
    first = [reader.table(block, at) for at, block in enumerate(blocks)]
    assert {table.schema["score"] for table in first} == {pl.Float64(), pl.String()}
    assert reader.end()
    reader.begin(b"")
    again = [reader.table(block, at) for at, block in enumerate(blocks)]
    assert {table.schema["score"] for table in again} == {pl.String()}
    assert not reader.end()


def _json(text: IO[bytes]) -> RawTable:
    return RawTable(pl.scan_ndjson(io.BytesIO(text.read())))


def test_lines_of_json_are_named_by_their_place_in_the_whole(refusal) -> None:
    reader = JsonReader("run.jsonl", _json)
    assert reader.begin(b'{"a": 1}\n')
    assert reader.table(b'{"a": 1}\n', 0).rows() == [(1,)]
    refusal(reader.table, b'{"a": 2}\n{"a": \n', 10)
