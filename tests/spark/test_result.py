"""Values that stay on the cluster: collected, written by executors, read as any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.on_spark import MARKS, QRELS, QUERIES, RUN, sent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = MARKS


def test_a_result_is_written_by_the_executors(spark, tmp_path: Path, refusal) -> None:
    metrics = ["ndcg(gain=exp2)@10", "map", "precision@1,5"]
    expected = rf.evaluate(QRELS, RUN, metrics, queries=QUERIES, by="locale")
    result = rf.spark.evaluate(
        sent(spark, QRELS), sent(spark, RUN), metrics, queries=QUERIES, by="locale", partitions=3
    )
    place = tmp_path / "new" / "out"
    result.write(place)
    assert len(list((place / "per_query").glob("*.parquet"))) == 3
    for name in ("summary", "ledger", "slices"):
        stored = pl.read_parquet(place / name / "*.parquet")
        assert_frame_equal(stored, getattr(expected, name), check_exact=True)
    stored = pl.read_parquet(place / "per_query" / "*.parquet").sort("query_id")
    assert_frame_equal(stored, expected.per_query, check_exact=True)
    refusal(result.write, place)
    result.write(place, overwrite=True)
    # It is read as any other.
    read = rf.Result.read(place)
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(read, name), getattr(expected, name), check_exact=True)
    assert rf.gate(None, place, expected, "map: no worse than -1%").status == "pass"
    # What Spark did not write is never touched.
    expected.write(tmp_path / "plain")
    mine = tmp_path / "mine" / "summary"
    mine.mkdir(parents=True)
    (mine / "dear.txt").write_text("x")
    for folder in ("plain", "mine"):
        refusal(result.write, tmp_path / folder, overwrite=True)
    assert not (tmp_path / "mine" / "per_query").exists()
    refusal(result.write, "/")
    file = tmp_path / "file"
    file.write_text("x")
    refusal(result.write, file)
    # What was written is a stored system as any other.
    compared = rf.compare(None, {"spark": str(place / "per_query"), "here": expected})
    assert compared.table["difference"].drop_nulls().abs().max() == 0
    assert result["map"] == expected["map"]
    assert result.means == expected.means
    assert result.count("queries_evaluated") == expected.count("queries_evaluated")
    assert "map" in repr(result)


def test_outputs_speak_of_users_where_the_judgments_do(spark, tmp_path: Path) -> None:
    names = {"query_id": "user_id", "doc_id": "item_id"}
    qrels, run = QRELS.rename(names), RUN.rename(names)

    def given(frame: pl.DataFrame) -> DataFrame:
        return spark.createDataFrame(frame.rows(), frame.columns)

    expected = rf.evaluate(qrels, run, "map")
    result = rf.spark.evaluate(given(qrels), given(run), "map", partitions=3)
    assert "users evaluated" in repr(result)
    assert_frame_equal(result.ledger, expected.ledger)
    result.write(tmp_path / "out")
    assert rf.Result.read(tmp_path / "out").vocabulary == expected.vocabulary
    twice = given(pl.concat([qrels, qrels]))
    with pytest.raises(rf.RankframeError, match=r"duplicate \(user_id, item_id\) pairs"):
        rf.spark.evaluate(twice, given(run), "map")
