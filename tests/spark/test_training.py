"""What executors count of judgments: the same as on one machine, however queries are dealt."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.training import Hits, judge_runs
from rankframe.io.opening import open_table
from rankframe.spark.fusing import CountPartition
from rankframe.spark.worker import (
    PROBLEM,
    SUMS,
    VALUES,
    SentSide,
    Task,
    answer_schema,
    work_on_partition,
)
from tests.support.fusing import QRELS, random_runs

RUNS = random_runs(3, 2)
JUDGED = pl.DataFrame(
    [(q, d, float(grade)) for q, of in QRELS.items() for d, grade in of.items()],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)


def work(method: str) -> CountPartition:
    return CountPartition(tuple(RUNS), method, FusionPolicies())


def part(number: int, of: int) -> list[pl.DataFrame]:
    mine = pl.col("query_id").hash(1) % of == number
    return [frame.filter(mine) for frame in (JUDGED, *RUNS.values())]


@pytest.mark.parametrize("method", ["posfuse", "mapfuse"])
def test_partitions_add_up(method: str) -> None:
    opened = {name: open_table(run, "run") for name, run in RUNS.items()}
    expected = judge_runs(open_table(JUDGED, "qrels"), opened, FusionPolicies(), method)
    whole: dict[Any, Hits] = {}
    for number in range(60):
        for key, hits in work(method).answer(part(number, 60)).sums:
            whole[key] = whole[key].merge(hits) if key in whole else hits
    assert sorted(whole) == [0, 1]
    for number, run in enumerate(expected):
        found, hits = whole[number], run.count()
        assert (found.queries, found.map) == (hits.queries, hits.map)
        assert found.table.sort("length", "rank").equals(hits.table.sort("length", "rank"))


def batches(frames: list[pl.DataFrame]) -> list[pa.RecordBatch]:
    number = {"relevance": "n0", "score": "n0"}
    rows = pl.concat(
        one.rename(number, strict=False).with_columns(side=pl.lit(at, pl.Int8))
        for at, one in enumerate(frames)
    )
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def answers(frames: list[pl.DataFrame]) -> dict[int, list[Any]]:
    schema = answer_schema({})
    ids = {name: name for name in ("query_id", "doc_id")}
    runs = [SentSide("run", {**ids, "score": "n0"}, name) for name in RUNS]
    sides = SentSide("qrels", {**ids, "relevance": "n0"}), *runs
    payload = pickle.dumps(Task(work("posfuse"), sides))
    found: dict[int, list[Any]] = {VALUES: [], SUMS: [], PROBLEM: []}
    for batch in work_on_partition(payload, schema, batches(frames)):
        for row in batch.to_pylist():
            found[row["kind"]].append(pickle.loads(row["rest"])[1])
    return found


def test_an_executor_answers_with_numbers_or_with_what_is_wrong() -> None:
    found = answers(part(0, 1))
    assert not found[PROBLEM]
    assert len(found[SUMS]) == 2
    judged, first, second = part(0, 1)
    cases: list[tuple[list[pl.DataFrame], str, str | None]] = [
        ([pl.concat([judged, judged[:4]]), first, second], "duplicates", None),
        ([judged, first, pl.concat([second, second[:4]])], "duplicates", "'run 1'"),
        ([judged, first, second.with_columns(score=pl.lit(np.nan))], "bad", "'run 1'"),
    ]
    for frames, kind, run in cases:
        (problem,) = answers(frames)[PROBLEM]
        assert (problem["is"], problem.get("run")) == (kind, run)
        assert problem["count"] == (4 if kind == "duplicates" else second.height)
