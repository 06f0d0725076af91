"""Spark DataFrames and Parquet paths: ids, numbers and columns as on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.core.columns import SCORE_REST
from rankframe.io.opening import open_table
from rankframe.spark.inputs import open_input
from tests.support.on_spark import MARKS, QRELS, RUN, assert_same, sent

pytestmark = MARKS


def test_paths_names_types_and_duplicates(spark, tmp_path: Path) -> None:
    """Parquet paths, columns under other names, whole numbers as ids, numbers as text, a rank."""
    qrels = pl.DataFrame({"user": [1, 1, 2, 3], "item": [10, 11, 10, 12], "rating": [1, 2, 0, 3]})
    run = pl.DataFrame(
        {
            "user": ["1", "1", "2", "2", "2", "9", "9"],
            "item": ["11", "10", "10", "10", "7", "1", "1"],
            "score": [" 1.5", "1.25", "1e-1", "3", "3", "0", "0"],
            "rank": [1, 2, 3, 1, 2, 1, 2],
        }
    )
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_parquet(tmp_path / "run.parquet")
    paths = (tmp_path / "qrels.parquet", str(tmp_path / "run.parquet"))
    options: Any = {"columns": {"relevance": "rating"}, "duplicates": "keep_best"}
    for partitions in (None, 4):
        found = rf.spark.evaluate(
            *paths, ["ndcg@10"], spark=spark, partitions=partitions, **options
        )
        assert_same(found, rf.evaluate(*paths, ["ndcg@10"], **options))


def test_ids_in_folder_names_stay_as_they_are_written(spark, tmp_path: Path) -> None:
    for query, doc in {"1": "b", "01": "a", "007": "a"}.items():
        folder = tmp_path / "run" / f"query_id={query}"
        folder.mkdir(parents=True)
        pl.DataFrame({"doc_id": [doc], "score": [1.0]}).write_parquet(folder / "a.parquet")
    qrels = pl.DataFrame({"query_id": ["1", "007"], "doc_id": "a", "relevance": 1.0})
    found = rf.spark.evaluate(sent(spark, qrels), tmp_path / "run", ["map"])
    assert_same(found, rf.evaluate(qrels, tmp_path / "run", ["map"]))


def test_a_file_that_changed_is_read_again(spark, tmp_path: Path) -> None:
    paths = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    QRELS.write_parquet(paths[0])
    for run in (RUN, RUN.with_columns(-pl.col("score"))):
        run.write_parquet(paths[1])
        found = rf.spark.evaluate(paths[0], paths[1], ["map"], spark=spark, partitions=2)
        assert found.means == rf.evaluate(QRELS, run, ["map"]).means


def test_columns_as_they_are_sent(spark) -> None:
    frame = spark.createDataFrame(
        [("q", 7, " 1.5 ", 2)], "user string, item long, sim string, pos int"
    )
    found = open_input(frame, spark, lambda f: open_table(f, "run"), "run")
    # Text may hold whole numbers that are too large for a float.
    assert [row.asDict() for row in found.canonical.collect()] == [
        {"query_id": "q", "doc_id": "7", "score": 1.5, "rank": 2.0, SCORE_REST: 0.0}
    ]
    assert found.rows == 1
    assert list(found.id_lengths(10)) == [1.0, 1.0]


def test_large_whole_numbers_are_ranked_as_such(spark) -> None:
    large = 1_763_424_000_000_000_000
    scores = [large, large + 1, large + 2, -large, -large - 1, 5]
    docs = [f"d{at}" for at in range(len(scores))]
    qrels = pl.DataFrame({"query_id": "q", "doc_id": docs, "relevance": [0, 0, 1, 0, 1, 1]})
    for text in (False, True):
        run = pl.DataFrame({"query_id": "q", "doc_id": docs, "score": scores})
        kind = "string" if text else "bigint"
        there = spark.createDataFrame(
            [(q, d, str(s) if text else s) for q, d, s in run.rows()],
            f"query_id string, doc_id string, score {kind}",
        )
        judged = spark.createDataFrame(
            qrels.rows(), "query_id string, doc_id string, relevance bigint"
        )
        for name in ("score", "distance"):
            found = rf.spark.evaluate(judged, there.withColumnRenamed("score", name), ["map"])
            here = run.cast({"score": pl.String}) if text else run
            assert_same(found, rf.evaluate(qrels, here.rename({"score": name}), ["map"]))


def test_columns_are_found_and_grades_given_as_on_one_machine(spark, refusal) -> None:
    qrels = QRELS.select(pl.col("query_id").alias("Query-ID"), "doc_id")
    run = RUN.rename({"doc_id": "what"})
    sides = (
        sent(spark, QRELS).withColumnRenamed("query_id", "Query-ID").drop("relevance"),
        sent(spark, RUN).withColumnRenamed("doc_id", "what"),
    )
    options: Any = {"columns": {"doc_id": "what"}, "relevance": 2.5, "duplicates": "keep_best"}
    found = rf.spark.evaluate(*sides, ["ndcg@10", "dcg"], **options)
    assert_same(found, rf.evaluate(qrels, run, ["ndcg@10", "dcg"], **options))
    for change, message in (
        ({"columns": {"doc_id": "sku"}}, "has no column 'sku' to use as doc_id"),
        ({"columns": {"query_id": "sku", "run": {"doc_id": "what"}}}, "there is no column 'sku'"),
        ({"relevance": None}, "pass relevance=1.0"),
    ):
        here, there = (
            refusal(evaluate, *given, "map", **{**options, **change})
            for evaluate, given in ((rf.evaluate, (qrels, run)), (rf.spark.evaluate, sides))
        )
        assert message in here
        assert here == there
