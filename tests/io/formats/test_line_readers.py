"""Blocks of lines, each a table; at last, what was wrong with any of them."""

from __future__ import annotations

import io
from typing import IO, NoReturn

import polars as pl
import pytest

from rankframe.io.raw_table import RawTable
from rankframe.io.sources.spool import TableReader, TrecReader


def _csv(text: IO[bytes]) -> RawTable:
    return RawTable(pl.read_csv(io.BytesIO(text.read()), infer_schema=False).lazy())


def test_a_table_repeats_its_header_for_every_block() -> None:
    reader = TableReader(_csv)
    assert reader.begin(b"query_id,doc_id\nq1,a\n")
    tables = [reader.table(b"query_id,doc_id\nq1,a\n", 0), reader.table(b"q2,b\n", 2)]
    assert pl.concat(tables).rows() == [("q1", "a"), ("q2", "b")]


def test_a_header_that_goes_on_in_another_line_is_left_to_others() -> None:
    assert not TableReader(_csv).begin(b'query_id,"doc\nid"\nq1,a\n')
    assert not TableReader(_csv).begin(b"query_id,doc_id")


def _refuse() -> NoReturn:
    raise ValueError("the whole text")


def test_a_mistake_in_a_block_of_trec_text_refuses_the_whole() -> None:
    reader = TrecReader("run", _refuse)
    assert reader.begin(b"")
    assert reader.table(b"q1 Q0 a 1 2.5 tag\n", 0).height == 1
    with pytest.raises(ValueError, match="the whole text"):
        reader.table(b"q1 Q0 b 2 x tag\n", 1)


def test_a_score_that_must_stay_text_makes_all_of_them_text() -> None:
    reader = TrecReader("run", _refuse)
    blocks = [b"q1 Q0 a 1 2.5 tag\n", f"q1 Q0 b 2 {2**63 + 1} tag\n".encode()]
    reader.begin(b"")
    first = [reader.table(block, at) for at, block in enumerate(blocks)]
    assert {table.schema["score"] for table in first} == {pl.Float64(), pl.String()}
    assert reader.end()
    reader.begin(b"")
    again = [reader.table(block, at) for at, block in enumerate(blocks)]
    assert {table.schema["score"] for table in again} == {pl.String()}
    assert not reader.end()
