"""Tables in memory: chunks of any size give the same bits, and the same errors."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import rankframe as rf
from rankframe.base.options import Policies
from rankframe.engine import chunks
from rankframe.engine.work import Piece
from rankframe.evaluation.job import Job, judged_plan
from rankframe.metrics.names import resolve
from tests.support.pieces import assert_same, shop_like

PAIR_METRICS = ["rbo", "kendall_tau", "spearman"]


@pytest.mark.parametrize("order", ["sorted", "together", "scattered"])
@pytest.mark.parametrize("rows", [1, 7, 50, 100])
def test_chunks_of_tables_give_the_same_bits(
    rows: int, order: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    _, run = (f.cast({"query_id": pl.String}) for f in shop_like())
    if order != "scattered":
        by = pl.col("query_id") if order == "sorted" else pl.col("query_id").str.reverse()
        run = run.sort(by)
    other = run.with_columns(score=-pl.col("score"))
    whole = rf.agree(run, other, PAIR_METRICS)
    twice = pl.concat([run, run[[40]]])
    twice = twice.sort("query_id", maintain_order=True) if order == "sorted" else twice
    said = refusal(rf.agree, other, twice, "rbo")
    monkeypatch.setattr("rankframe.engine.chunks.CHUNK_ROWS", rows)
    assert_same(whole, rf.agree(run, other, PAIR_METRICS))
    assert refusal(rf.agree, other, twice, "rbo") == said


def asked(*metrics: str) -> Job:
    return Job(judged_plan(resolve(list(metrics))), Policies(), max_grade=3.0)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("sort", [True, False])
def test_a_chunk_holds_all_rows_of_its_queries(
    rows: int, sort: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = [f.cast({"query_id": pl.String, "doc_id": pl.String}) for f in shop_like()]
    qrels, run = (f.sort("query_id") for f in sides) if sort else sides
    job, seen = asked("map"), []

    def watched(left: pl.DataFrame, right: pl.DataFrame) -> Piece:
        seen.append({*left["query_id"], *right["query_id"]})
        return job.piece(left, right)

    monkeypatch.setattr(chunks, "CHUNK_ROWS", rows)
    whole = chunks.in_chunks(qrels, run, watched, ("qrels", "run"))
    assert len(seen) > 2
    assert sum(map(len, seen)) == len(set().union(*seen))
    assert whole.values.equals(job.piece(qrels, run).values)
    assert whole.counts == job.piece(qrels, run).counts
