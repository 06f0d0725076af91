"""Inputs that are sorted by query: read side by side, partition by partition."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.prepare import evaluate_judged
from rankframe.engine.sorted_partitions import SortedPartitions
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from tests.support.pieces import EVERYTHING, assert_same, shop_like

EVALUATION = evaluate_judged(resolve(EVERYTHING), Policies())


def sorted_shop() -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = (f.cast({"query_id": pl.String}).sort("query_id") for f in shop_like())
    return qrels, run


def partitions(qrels: pl.DataFrame, run: pl.DataFrame, rows: int) -> SortedPartitions:
    return SortedPartitions(open_table(qrels, "qrels"), open_table(run, "run"), rows)


def evaluated(qrels: pl.DataFrame, run: pl.DataFrame, rows: int) -> pl.DataFrame:
    evaluation = EVALUATION.with_max_grade(float(qrels["relevance"].to_numpy().max()))
    whole, read, parts = evaluation.empty(), 0, partitions(qrels, run, rows)
    for left, right in parts:
        whole.merge(evaluation.evaluate_partition(left, right))
        read += left.height + right.height
    assert parts.complete
    assert read == qrels.height + run.height
    return whole.join(ordered=True).values


@settings(max_examples=5, deadline=None)
@given(st.integers(15, 400))
def test_any_length_of_stretches_gives_the_same_bits(rows: int) -> None:
    qrels, run = sorted_shop()
    whole = rf.evaluate(qrels, run, EVERYTHING).per_query
    assert evaluated(qrels, run, rows).equals(whole)
    # also where the judgments are the longer side, and where one side ends early
    few = run.filter(pl.col("query_id") < "3")
    assert evaluated(qrels, few, rows).equals(rf.evaluate(qrels, few, EVERYTHING).per_query)


@pytest.fixture
def no_split(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("split though sorted")

    monkeypatch.setattr("rankframe.engine.hashed_partitions.HashedInput.write", refuse)
    monkeypatch.setattr("rankframe.engine.out_of_core._LEAST_ROWS", 20)


@pytest.mark.usefixtures("no_split")
def test_sorted_inputs_are_not_split(tmp_path: Path) -> None:
    qrels, run = sorted_shop()
    whole = rf.evaluate(qrels, run, EVERYTHING)
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_parquet(tmp_path / "run.parquet", row_group_size=50)
    paths = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    assert_same(whole, rf.evaluate(*paths, EVERYTHING, max_memory="8kB"))
    assert_same(
        whole, rf.evaluate(*paths, EVERYTHING, max_memory="8kB", output=tmp_path / "result")
    )
    swapped = rf.agree(run, qrels, ["rbo", "fcp"], max_memory="8kB")
    assert_same(swapped, rf.agree(run, qrels, ["rbo", "fcp"]))


def test_rows_out_of_order_between_the_probes_are_noticed() -> None:
    qrels, run = sorted_shop()
    mixed = pl.concat([run[:100], run[200:210], run[100:200], run[210:]])
    found = partitions(qrels, mixed, 30)
    assert len(list(found)) < mixed.height // 30
    assert not found.complete
    whole = rf.evaluate(qrels, run, EVERYTHING)
    assert_same(whole, rf.evaluate(qrels, mixed, EVERYTHING, max_memory="8kB"))


def test_one_query_longer_than_a_stretch() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": pl.int_range(500, eager=True)}).vstack(
        pl.DataFrame({"query_id": "r", "doc_id": pl.int_range(3, eager=True)})
    )
    run = run.with_columns(score=-pl.col("doc_id").cast(pl.Float64))
    qrels = run.filter(pl.col("doc_id") < 2).select("query_id", "doc_id", relevance=pl.lit(1.0))
    assert evaluated(qrels, run, 7).equals(rf.evaluate(qrels, run, EVERYTHING).per_query)


def test_what_can_be_read_from_anywhere(tmp_path: Path) -> None:
    _, run = sorted_shop()
    run.write_parquet(tmp_path / "run.parquet")
    run.write_csv(tmp_path / "run.csv")
    assert open_table(tmp_path / "run.parquet", "run").seekable
    assert open_table(run, "run").seekable
    assert not open_table(tmp_path / "run.csv", "run").seekable
    assert not open_table(run.lazy().filter(pl.col("score") > 0), "run").seekable
