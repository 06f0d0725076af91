"""What executors count of judgments: the same as on one machine, however queries are dealt."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.training import Hits, judge_runs
from rankframe.core.errors import BadValueError, DuplicateError, RankframeError
from rankframe.io.opening import open_table
from rankframe.spark.driver import read_answers
from rankframe.spark.fusing import count_hits
from rankframe.spark.worker import (
    PROBLEM,
    SUMS,
    Answer,
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


def work(method: str) -> partial[Answer]:
    return partial(count_hits, list(RUNS), method, FusionPolicies())


def part(number: int, of: int) -> list[pl.DataFrame]:
    mine = pl.col("query_id").hash(1) % of == number
    return [frame.filter(mine) for frame in (JUDGED, *RUNS.values())]


@pytest.mark.parametrize("method", ["posfuse", "mapfuse"])
def test_partitions_add_up(method: str) -> None:
    opened = {name: open_table(run, "run") for name, run in RUNS.items()}
    expected = judge_runs(open_table(JUDGED, "qrels"), opened, FusionPolicies(), method)
    whole: dict[Any, Hits] = {}
    for number in range(60):
        for key, hits in work(method)(part(number, 60)).sums:
            whole[key] = whole[key].merge(hits) if key in whole else hits
    assert sorted(whole) == [0, 1]
    for number, run in enumerate(expected):
        found, hits = whole[number], run.count()
        assert (found.queries, found.map) == (hits.queries, hits.map)
        assert found.table.sort("length", "rank").equals(hits.table.sort("length", "rank"))


def batches(frames: list[pl.DataFrame]) -> list[pa.RecordBatch]:
    tagged = (
        frame.with_columns(side=pl.lit(number, pl.Int8)) for number, frame in enumerate(frames)
    )
    rows = pl.concat(tagged, how="diagonal")
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


def answers(frames: list[pl.DataFrame]) -> list[dict[str, Any]]:
    schema = answer_schema({})
    runs = [SentSide("run", run.columns, repr(name)) for name, run in RUNS.items()]
    sides = SentSide("qrels", JUDGED.columns), *runs
    payload = pickle.dumps(Task(work("posfuse"), sides))
    return [
        row
        for batch in work_on_partition(payload, schema, batches(frames))
        for row in batch.to_pylist()
    ]


def test_an_executor_answers_with_numbers_or_with_what_is_wrong() -> None:
    assert [row["kind"] for row in answers(part(0, 1))] == [SUMS, SUMS]
    judged, first, second = part(0, 1)
    cases: list[tuple[list[pl.DataFrame], type[RankframeError], str]] = [
        ([pl.concat([judged, judged[:4]]), first, second], DuplicateError, "qrels has 4 dup"),
        ([judged, first, pl.concat([second, second[:4]])], DuplicateError, "'run 1' has 4 dup"),
        (
            [judged, first, second.with_columns(score=pl.lit(np.nan))],
            BadValueError,
            f"run 'run 1' has {second.height} rows with a NaN score",
        ),
    ]
    for frames, kind, text in cases:
        rows = answers(frames)
        assert [row["kind"] for row in rows] == [PROBLEM]
        with pytest.raises(kind, match=text):
            read_answers(rows)
