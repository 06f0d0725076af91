"""Inputs that are held: read once where they fit, left as they are where they do not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rankframe.engine import input_cache as held
from rankframe.engine.input_cache import hold
from rankframe.io.input_table import InputTable
from rankframe.io.opening import open_table
from rankframe.io.validate import load
from tests.support.counted import Counted
from tests.support.oracles import random_case

CASE = random_case(1, queries=20)
ROW_BYTES = (120, 140)


def counted(count: int = 2) -> tuple[Counted, list[Counted]]:
    runs = [random_case(seed, queries=20).run for seed in range(count)]
    return Counted(CASE.qrels, "qrels"), [Counted(run, "run") for run in runs]


def opened(qrels: Counted, runs: list[Counted]) -> tuple[InputTable, list[InputTable]]:
    return open_table(qrels.frame, "qrels"), [open_table(run.frame, "run") for run in runs]


def test_small_inputs_are_read_once() -> None:
    qrels, runs = counted()
    found = hold(*opened(qrels, runs), ROW_BYTES)
    for side, source in zip((found.left, *found.rights), (qrels, *runs), strict=True):
        for _ in range(2):
            assert load(side).equals(source.rows)
        assert source.reads == 1
    assert found.partitions == (1, 1)


@pytest.mark.parametrize("again", [False, True])
def test_of_large_inputs_the_left_one_is_read(again: bool, monkeypatch) -> None:
    monkeypatch.setattr(held, "_SMALL", 3)
    qrels, runs = counted()
    found = hold(*opened(qrels, runs), ROW_BYTES, again=again)
    before = [source.reads for source in (qrels, *runs)]
    for side, source in zip((found.left, *found.rights), (qrels, *runs), strict=True):
        assert load(side).equals(source.rows)
    after = [source.reads for source in (qrels, *runs)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, *([not again] * 2)]


def test_what_does_not_fit_stays_as_it_is() -> None:
    given = opened(*counted())
    found = hold(*given, ROW_BYTES, 1_000)
    assert (found.left, list(found.rights)) == given
    assert min(found.partitions) > 1


def test_what_fits_one_by_one_is_not_held_together(monkeypatch) -> None:
    monkeypatch.setattr(held, "_SMALL", 3)
    monkeypatch.setattr(held, "estimated_need", lambda *_: 400)
    left, rights = opened(*counted())
    found = hold(left, rights, ROW_BYTES, 3_000, again=True)  # of which a third is for rows
    assert (found.left is left, list(found.rights), found.partitions) == (False, rights, (1, 1))


def test_names_and_roles_stay_and_what_is_odd_is_said_by_whoever_reads(
    tmp_path: Path, refusal
) -> None:
    path = tmp_path / "run.csv"
    path.write_text("query_id,doc_id,score\nq,a,1\nq,b,many\n")
    left, rights = opened(*counted(0))
    found = hold(left, [open_table(path, "run")], ROW_BYTES).rights[0]
    assert "'many' at row 2" in refusal(load, found)
    path.write_text("query_id,doc_id,score\nq,a,1\nq,,2\n")
    found = hold(left, [open_table(path, "run")], ROW_BYTES).rights[0]
    assert (found.name, found.role) == (str(path), "run")
    assert refusal(load, found) == refusal(load, open_table(path, "run"))
    assert rights == []


def test_other_names_of_columns_are_settled_and_types_stay() -> None:
    frame = pl.DataFrame({"topic": [1, 2], "docno": [7, 8], "label": ["1", " 0"]})
    columns = {"query_id": "topic", "doc_id": "docno", "relevance": "label"}
    found = hold(open_table(frame, "qrels", columns), [], ROW_BYTES).left
    assert found.raw.collect().rows() == [(1, 7, "1"), (2, 8, " 0")]
    assert found.frame.collect().rows() == [("1", "7", 1.0), ("2", "8", 0.0)]
    assert open_table(found, "qrels", columns) is found
