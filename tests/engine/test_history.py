"""Stored results in the order of time."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.engine.history import HISTORY_SCHEMA

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
RUNS = {
    "first": {"q1": {"a": 1.0}, "q2": {"b": 1.0}},
    "second": {"q1": {"x": 2.0, "a": 1.0}, "q2": {"b": 1.0}},
}


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two results, the second of which is older."""
    found = []
    for day, (name, run) in zip((5, 4), RUNS.items(), strict=True):
        folder = rf.evaluate(QRELS, run, ["mrr", "map"]).write(tmp_path / name)
        then = datetime(2026, 3, day, 12, tzinfo=UTC).timestamp()
        os.utime(folder / "summary.parquet", (then, then))
        found.append(folder)
    return found


def test_by_date_or_as_given(folders: list[Path]) -> None:
    found = rf.history(folders)
    assert found.schema == HISTORY_SCHEMA
    assert found.select("result", "metric", "value").rows() == [
        ("second", "mrr", 0.75), ("second", "map", 0.75),
        ("first", "mrr", 1.0), ("first", "map", 1.0),
    ]  # fmt: skip
    assert found["date"][0] == datetime(2026, 3, 4, 12, tzinfo=UTC)
    given = rf.history(folders, "map", order="given")
    assert given["result"].to_list() == ["first", "second"]
    assert given["metric"].to_list() == ["map", "map"]


def test_values_are_those_of_the_summaries(folders: list[Path]) -> None:
    found = rf.history({"mine": folders[0]})
    columns = ["metric", "value", "ci_low", "ci_high", "queries"]
    assert found.select(columns).equals(rf.Result.read(folders[0]).summary.select(columns))


def test_one_folder_and_results_in_memory(folders: list[Path]) -> None:
    assert rf.history(str(folders[0]))["result"].to_list() == ["first", "first"]
    fresh = rf.evaluate(QRELS, RUNS["first"], "mrr")
    found = rf.history([fresh, folders[0]])
    assert found["result"].to_list() == ["first", "first", "result 1"]
    assert found["date"].null_count() == 1


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    paths = [
        rf.evaluate(QRELS, RUNS["first"], "mrr").write(tmp_path / day / "result")
        for day in ("mon", "tue")
    ]
    assert rf.history(paths, order="given")["result"].to_list() == ["mon/result", "tue/result"]
    twice = rf.history([paths[0], paths[0]], order="given")["result"]
    assert twice.n_unique() == 2


def test_other_judgments_are_noticed() -> None:
    other = {"q1": {"a": 1}, "q2": {"b": 2, "c": 1}}
    results = [rf.evaluate(qrels, RUNS["first"], "mrr") for qrels in (QRELS, QRELS, other)]
    found = rf.history(results, order="given")
    assert found["same_judgments"].to_list() == [None, True, False]


def test_metrics_that_only_some_have(folders: list[Path]) -> None:
    fresh = rf.evaluate(QRELS, RUNS["first"], "ndcg@3")
    found = rf.history({"a": folders[0], "b": fresh}, "ndcg@3")
    assert found["result"].to_list() == ["b"]


def test_what_is_no_history_is_refused(folders: list[Path], tmp_path: Path, refusal) -> None:
    refusal(rf.history, [])
    refusal(rf.history, [3])
    refusal(rf.history, folders, "mapp")
    refusal(rf.history, folders, None, order="name")
    refusal(rf.history, [tmp_path])
    assert isinstance(rf.history(folders), pl.DataFrame)
