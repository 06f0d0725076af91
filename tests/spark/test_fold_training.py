"""What executors count of judgments: the same as on one machine, however queries are dealt."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from rankframe.analysis.fusion.hits import Hits
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.training import judge_runs
from rankframe.io.opening import open_table
from rankframe.spark.fold_training import _Task, _worked_on, counted_here
from rankframe.spark.worker import SUMS, TROUBLE, VALUES, answer_schema
from rankframe.stats.exact import Exact
from tests.support.fusing import QRELS, random_runs

RUNS = random_runs(3, 2)
JUDGED = pl.DataFrame(
    [(q, d, float(grade)) for q, of in QRELS.items() for d, grade in of.items()],
    schema=["query_id", "doc_id", "relevance"],
    orient="row",
)
NUMBERS = ("run", "length", "rank", "count")


def task(**needed: bool) -> _Task:
    columns = {name: name for name in ("query_id", "doc_id", "n0")}
    renamed = [{**columns, "relevance": "n0"}, *({**columns, "score": "n0"} for _ in RUNS)]
    for one in renamed:
        del one["n0"]
    return _Task(tuple(RUNS), FusionPolicies(), needed, tuple(renamed))


def part(number: int, of: int) -> list[pl.DataFrame]:
    mine = pl.col("query_id").hash(1) % of == number
    return [frame.filter(mine) for frame in (JUDGED, *RUNS.values())]


@pytest.mark.parametrize("needed", [(True, False), (False, True)])
def test_partitions_add_up(needed: tuple[bool, bool]) -> None:
    by_rank, means = needed
    asked = task(by_rank=by_rank, means=means)
    opened = {name: open_table(run, "run") for name, run in RUNS.items()}
    qrels = open_table(JUDGED, "qrels")
    expected = judge_runs(qrels, opened, FusionPolicies(), by_rank=by_rank, means=means)
    found = [_worked_on(asked, part(number, 60)) for number in range(60)]
    for at, run in enumerate(expected):
        parts: list[Hits] = [some[at] for some in found if isinstance(some, tuple)]
        assert len(parts) == 60
        table = pl.concat([hits.table for hits in parts])
        table = (
            table.group_by("length", "rank").agg(pl.col("count").sum()).filter(pl.col("count") > 0)
        )
        total = sum((hits.precision for hits in parts), Exact())
        whole, hits = Hits(table, total, sum(hits.queries for hits in parts)), run.count()
        assert (whole.queries, whole.map) == (hits.queries, hits.map)
        if by_rank:
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
    payload = pickle.dumps(task(by_rank=True, means=False))
    found: dict[int, list[Any]] = {VALUES: [], SUMS: [], TROUBLE: []}
    for batch in counted_here(payload, schema, batches(frames)):
        for row in batch.to_pylist():
            said = row["rest"] and pickle.loads(row["rest"])[1]
            found[row["kind"]].append(said or [row[f"v{at}"] for at in range(len(NUMBERS))])
    return found


def test_an_executor_answers_with_numbers_or_with_what_is_wrong() -> None:
    found = answers(part(0, 1))
    assert not found[TROUBLE]
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
        (trouble,) = answers(frames)[TROUBLE]
        assert (trouble["is"], trouble.get("run")) == (kind, run)
        assert trouble["count"] == (4 if kind == "duplicates" else second.height)
