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
from rankframe.spark.fold_training import CountPartition
from rankframe.spark.worker import (
    PROBLEM,
    SUMS,
    VALUES,
    SentSide,
    Task,
    answer_schema,
    work_on_partition,
)
from rankframe.stats.exact import Exact
from tests.support.fusing import QRELS, random_runs

RUNS = random_runs(3, 2)
JUDGED = pl.DataFrame(
    [(q, d, float(grade)) for q, of in QRELS.items() for d, grade in of.items()],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)
NUMBERS = ("run", "length", "rank", "count")


def work(method: str) -> CountPartition:
    return CountPartition(tuple(RUNS), FusionPolicies(), method)


def part(number: int, of: int) -> list[pl.DataFrame]:
    mine = pl.col("query_id").hash(1) % of == number
    return [frame.filter(mine) for frame in (JUDGED, *RUNS.values())]


@pytest.mark.parametrize("method", ["posfuse", "mapfuse"])
def test_partitions_add_up(method: str) -> None:
    counting = work(method)
    opened = {name: open_table(run, "run") for name, run in RUNS.items()}
    qrels = open_table(JUDGED, "qrels")
    expected = judge_runs(qrels, opened, FusionPolicies(), method)
    answers = [counting.answer(part(number, 60)) for number in range(60)]
    tables = [answer.values for answer in answers if answer.values is not None]
    sums = [content for answer in answers for _, content in answer.sums]
    assert len(sums) == 60
    for at, run in enumerate(expected):
        table = pl.concat(tables).filter(pl.col("run") == at, pl.col("count") > 0)
        table = table.group_by("length", "rank").agg(pl.col("count").sum())
        total = sum((some[at][0] for some in sums), Exact())
        hits = run.count()
        whole = Hits(table, total, sum(some[at][1] for some in sums))
        assert (whole.queries, whole.map) == (hits.queries, hits.map)
        if method == "posfuse":
            assert table.sort("length", "rank").equals(hits.table.sort("length", "rank"))


def batches(frames: list[pl.DataFrame]) -> list[pa.RecordBatch]:
    number = {"relevance": "n0", "score": "n0"}
    rows = pl.concat(
        one.rename(number, strict=False).with_columns(side=pl.lit(at, pl.Int8))
        for at, one in enumerate(frames)
    )
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def answers(frames: list[pl.DataFrame]) -> dict[int, list[Any]]:
    schema = answer_schema(dict.fromkeys(NUMBERS, "int64"))
    ids = {name: name for name in ("query_id", "doc_id")}
    runs = [SentSide("run", {**ids, "score": "n0"}, name) for name in RUNS]
    sides = SentSide("qrels", {**ids, "relevance": "n0"}), *runs
    payload = pickle.dumps(Task(work("posfuse"), sides))
    found: dict[int, list[Any]] = {VALUES: [], SUMS: [], PROBLEM: []}
    for batch in work_on_partition(payload, schema, batches(frames)):
        for row in batch.to_pylist():
            said = row["rest"] and pickle.loads(row["rest"])[1]
            found[row["kind"]].append(said or [row[f"v{at}"] for at in range(len(NUMBERS))])
    return found


def test_an_executor_answers_with_numbers_or_with_what_is_wrong() -> None:
    found = answers(part(0, 1))
    assert not found[PROBLEM]
    assert {row[0] for row in found[VALUES]} == {0, 1}
    (sums,) = found[SUMS]
    assert len(sums) == 2
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
