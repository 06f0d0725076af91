"""Runs under their names, and their queries side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import LoadedRuns, named_runs, open_runs, unscored
from rankframe.core.errors import OptionError, RankframeError
from tests.support.fusing import random_runs

RUN = {"q": {"a": 1.0}}


def test_names_are_those_of_files_or_numbers() -> None:
    assert list(named_runs([Path("x/bm25.trec.gz"), "dense.parquet"])) == ["bm25", "dense"]
    assert list(named_runs(["a/run.parquet", "b/run.parquet"])) == [
        "a/run.parquet",
        "b/run.parquet",
    ]
    assert list(named_runs([RUN, "x.csv"])) == ["run 1", "x"]
    assert list(named_runs(["bm25.k1=0.9.csv", "v1.2.csv"])) == ["bm25.k1=0.9", "v1.2"]
    assert list(named_runs({"x": RUN, "y": RUN})) == ["x", "y"]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ({}, "fusion needs at least two runs, and there is 0"),
        ({"x": RUN}, "fusion needs at least two runs, and there is 1: 'x'"),
        ([RUN], "there is 1: 'run 1'"),
        (["a.csv", "a.csv"], "two runs are named 'a.csv'"),
        ({"x": RUN, 3: RUN}, "the name of a run is text, not 3"),
        ({"x": RUN, "": RUN}, "the name of a run is text, not ''"),
        ("a.csv", "runs are a mapping of names to runs"),
        (pl.DataFrame({"query_id": ["q"]}), "runs are a mapping of names to runs"),
    ],
)
def test_what_are_no_runs(runs: Any, said: str) -> None:
    with pytest.raises(OptionError) as found:
        rf.fuse(runs)
    assert said in str(found.value)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([("q", "a", 1.0), ("q", "a", 2.0)], "run 'b' has 1 duplicate"),
        ([("q", "a", None)], "run 'b' has 1 row with a null score"),
        ([("", "a", 1.0)], "run 'b' has 1 row with an empty query_id"),
        ([], "run 'b' is empty"),
    ],
)
@pytest.mark.parametrize("depth", [None, 1])
def test_mistakes_are_said_of_the_run(bad: Any, said: str, depth: int | None) -> None:
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    runs = {"a": RUN, "b": pl.DataFrame(bad, schema=schema, orient="row")}
    with pytest.raises(RankframeError) as found:
        rf.fuse(runs, depth=depth).collect()
    assert said in str(found.value)


def test_the_best_of_duplicates_is_kept() -> None:
    twice = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [1, 2, 3]})
    runs = {"a": RUN, "b": twice}
    for depth in (None, 1):
        found = rf.fuse(runs, "sum", norm="none", duplicates="keep_best", depth=depth).collect()
        assert found.row(0)[1:] == ("a", 1, 4.0)


def test_all_queries_in_byte_order_and_where_each_run_has_them() -> None:
    runs = {"a": {"q9": {"x": 1.0}, "q10": {"x": 1.0}}, "b": {"é": {"x": 1.0}, "q9": {"y": 1.0}}}
    policies = FusionPolicies()
    held = LoadedRuns(open_runs(runs, policies), policies)
    assert held.queries.to_list() == ["q10", "q9", "é"]
    assert [numbers.tolist() for numbers in held.numbers] == [[1, 0, -1], [-1, 1, 0]]
    assert held.lengths.tolist() == [1, 2, 1]


def test_queries_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = random_runs(5, 3)
    expected = rf.fuse(runs, "sum").collect()

    def same(keys: Any) -> Any:
        return np.zeros(len(keys), np.int64)

    monkeypatch.setattr("rankframe.kernel.matching.representatives", same)
    monkeypatch.setattr("rankframe.kernel.matching.representatives", same)
    assert rf.fuse(runs, "sum").collect().equals(expected)


def test_blocks_hold_all_queries_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankframe.analysis.fusion.runs._LARGEST_BLOCK", 50)
    policies = FusionPolicies()
    held = LoadedRuns(open_runs(random_runs(1, 2), policies), policies)
    blocks = held.blocks()
    assert len(blocks) > 5
    assert np.concatenate(blocks).tolist() == list(range(len(held.queries)))


def test_runs_without_scores_are_known() -> None:
    lists = {"q": ["a", "b"]}
    assert unscored(open_runs({"a": RUN, "b": lists}, FusionPolicies())) == ("b",)
