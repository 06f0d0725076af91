"""Runs in pieces: how many, what is written, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import LoadedRuns, PartitionedRuns, load_runs, open_runs
from rankframe.core.errors import DuplicateError, OptionError, RankframeError
from rankframe.core.options import Progress
from tests.support.fusing import random_runs


@pytest.fixture
def in_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankframe.analysis.fusion.runs.count_partitions", lambda *_: 3)


def test_what_fits_is_one_piece() -> None:
    policies = FusionPolicies()
    runs = open_runs(random_runs(1, 2), policies)
    for limit in (None, "2GiB"):
        with load_runs(runs, policies, limit) as loaded:
            assert isinstance(loaded, LoadedRuns)


def test_a_large_input_takes_more_and_gives_the_same(tmp_path: Path) -> None:
    rows = pl.DataFrame({"n": range(200_000)})
    run = rows.select(
        query_id=pl.col("n") // 10,
        doc_id=(pl.col("n") * 7919) % 1_000_003,
        score=(pl.col("n") * 31) % 1_000,
    ).cast({"query_id": pl.String, "doc_id": pl.String})
    other = run.with_columns(score=1_000 - pl.col("score"))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, frame in zip(paths, (run, other), strict=True):
        frame.write_parquet(path)
    policies = FusionPolicies()
    opened = open_runs({"a": paths[0], "b": paths[1]}, policies)
    with load_runs(opened, policies, "160MB") as loaded:
        assert isinstance(loaded, PartitionedRuns)
    target = tmp_path / "c.parquet"
    written = rf.fuse(paths, "sum", max_memory="160MB", output=target).collect()
    assert written.equals(rf.fuse(paths, "sum").collect())
    assert pl.read_parquet(target).equals(written)


def test_a_query_that_does_not_fit_is_refused(message) -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": [f"d{n}" for n in range(600_000)]})
    run = run.with_columns(score=pl.int_range(pl.len()).cast(pl.Float64))
    with pytest.raises(OptionError) as found:
        rf.fuse([run, run], max_memory="200MB").collect()
    message(str(found.value))


@pytest.mark.usefixtures("in_three")
def test_mistakes_are_said_of_the_whole_run(refusal, message) -> None:
    runs = random_runs(1, 2)
    name = "run 1"
    twice = {**runs, name: pl.concat([runs[name], runs[name][:60]])}
    with pytest.raises(DuplicateError) as found:
        rf.fuse(twice).collect()
    message(str(found.value))
    empty = {**runs, name: runs[name].clear()}
    refusal(rf.fuse(empty).collect)
    null = {**runs, name: runs[name].with_columns(score=pl.lit(None, pl.Float64))}
    with pytest.raises(RankframeError) as bad:
        rf.fuse(null).collect()
    message(str(bad.value))


@pytest.mark.usefixtures("in_three")
def test_progress_and_outputs(tmp_path: Path) -> None:
    told: list[Progress] = []
    runs = random_runs(1, 2)
    for ending in ("parquet", "csv"):
        found = rf.fuse(runs, output=tmp_path / f"x.{ending}", progress=told.append).collect()
        assert found.equals(rf.fuse(runs).collect().select(found.columns))
    assert told[-1].rows == told[-1].total_rows == sum(run.height for run in runs.values())
