"""Arrays of documents on Spark: the numbers of one machine, and the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.spark.session import quoted
from tests.support.on_spark import MARKS

pytestmark = MARKS

QRELS = pl.DataFrame({"user": ["u1", "u2", "u3"], "relevant": [["a", "b"], ["c"], ["x"]]})
RUN = pl.DataFrame(
    {
        "user": ["u1", "u2", "u3"],
        "my`recs": [["z", "a", "b"], ["c", "b"], []],
        "scores": [[1.0, 3.0, 2.0], [2.0, 5.0], None],
    },
    schema_overrides={"my`recs": pl.List(pl.String)},
)
NAMED: dict[str, Any] = {"columns": {"run": {"doc_id": "my`recs"}}}
SQL = "user string, `my``recs` array<string>, scores array<double>"


def on_spark(spark: Any, frame: pl.DataFrame, schema: str) -> Any:
    return spark.createDataFrame(frame.rows(), schema)


def same(found: Any, expected: rf.Result) -> None:
    assert_frame_equal(found.summary, expected.summary)
    assert_frame_equal(found.to_result().per_query, expected.per_query)


def test_arrays_are_unrolled_as_on_one_machine(spark: Any) -> None:
    qrels = on_spark(spark, QRELS, "user string, relevant array<string>")
    run = on_spark(spark, RUN, SQL)
    found = rf.spark.evaluate(qrels, run, ["ndcg@10", "mrr"], partitions=2, **NAMED)
    same(found, rf.evaluate(QRELS, RUN, ["ndcg@10", "mrr"], **NAMED))
    only = rf.spark.evaluate(qrels, run.drop("scores"), ["mrr"], partitions=2, **NAMED)
    same(only, rf.evaluate(QRELS, RUN.drop("scores"), ["mrr"], **NAMED))


def test_arrays_of_structs_with_whole_numbers(spark: Any) -> None:
    rows = [(1, [(7, 0.5), (8, 0.25)]), (2, [(9, 0.5)])]
    run = spark.createDataFrame(
        rows, "userId int, recommendations array<struct<movieId:int,rating:float>>"
    )
    qrels = spark.createDataFrame([(1, 8, 1), (2, 9, 1)], "userId int, item int, relevance int")
    columns = {"query_id": "userId", "doc_id": "movieId"}
    found = rf.spark.evaluate(
        qrels, run, "mrr", partitions=1, columns={"run": columns, "qrels": {"query_id": "userId"}}
    )
    assert found["mrr"] == 0.75


@pytest.mark.parametrize(
    ("rows", "dropped"),
    [
        ([("u1", ["a", "b"], [1.0]), ("u2", ["a"], None), ("u3", ["c"], [1.0])], ()),
        ([("u1", ["a"], None), ("u2", ["b"], None), ("u1", ["c"], None)], ("scores",)),
    ],
    ids=["ragged", "query twice"],
)
def test_what_is_refused(
    spark: Any, rows: list[Any], dropped: tuple[str, ...], refusal: Callable[..., str]
) -> None:
    run = spark.createDataFrame(rows, SQL).drop(*dropped)
    qrels = on_spark(spark, QRELS, "user string, relevant array<string>")
    refusal(rf.spark.evaluate, qrels, run, "mrr", **NAMED)


def test_names_as_sql_reads_them() -> None:
    assert quoted("a`b") == "`a``b`"
