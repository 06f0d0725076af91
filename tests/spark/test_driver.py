"""What the driver does: rounds of sums, settings, and what partitions found wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.spark import driver as spark_driver
from tests.support.on_spark import MARKS, QRELS, QUERIES, RUN, SCHEMAS, assert_same, sent

pytestmark = MARKS


def test_many_partitions_are_added_up_in_rounds(spark, monkeypatch) -> None:
    monkeypatch.setattr(spark_driver, "_FAN_IN", 3)
    options: Any = {"queries": QUERIES, "by": ["locale", "device"]}
    metrics = ["ndcg@10", "precision(average=micro)@10"]
    both = sent(spark, QRELS), sent(spark, RUN)
    found = rf.spark.evaluate(*both, metrics, partitions=10, **options)
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


def test_the_driver_gets_no_sums_that_grow_with_the_input(spark, monkeypatch) -> None:
    sizes: list[int] = []
    read_answers = spark_driver.read_answers

    def weighed(rows: Any) -> Any:
        sizes.append(sum(len(row["rest"]) for row in rows))
        return read_answers(rows)

    monkeypatch.setattr(spark_driver, "read_answers", weighed)
    run = pl.DataFrame({"query_id": [f"q{n}" for n in range(3000)], "doc_id": "d", "score": 1.0})
    qrels = run.rename({"score": "relevance"})
    for queries in (300, 3000):
        both = sent(spark, qrels.head(queries)), sent(spark, run.head(queries))
        rf.spark.evaluate(*both, ["map"], partitions=2).unpersist()
    assert abs(sizes[1] - sizes[0]) < 100


def test_values_are_evaluated_once(spark, tmp_path: Path) -> None:
    counter = spark.sparkContext.accumulator(0)

    def counted(batches: Any) -> Any:
        for batch in batches:
            counter.add(batch.num_rows)
            yield batch

    run = sent(spark, RUN).coalesce(1).mapInArrow(counted, SCHEMAS["score"])
    result = rf.spark.evaluate(sent(spark, QRELS), run, ["map"], partitions=2)
    assert result.per_query.count() == QRELS["query_id"].n_unique()
    result.write(tmp_path / "out")
    assert counter.value == RUN.height


class Raises:
    """Work that fails where a certain query is."""

    def __init__(self, work: Any) -> None:
        self.work = work

    def __call__(self, frames: Any) -> Any:
        if "q60" in frames[0]["query_id"]:
            raise ZeroDivisionError("by nothing")
        return self.work(frames)


def test_a_partition_that_raises_names_a_query(spark, monkeypatch, refusal) -> None:
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    task = spark_driver.Task
    monkeypatch.setattr(spark_driver, "Task", lambda work, sides: task(Raises(work), sides))  # pyright: ignore[reportArgumentType]
    refusal(rf.spark.evaluate, sent(spark, QRELS), sent(spark, RUN), "map", partitions=6)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_other_versions_on_executors_are_refused(spark, monkeypatch, refusal) -> None:
    both = sent(spark, QRELS), sent(spark, RUN)
    monkeypatch.setattr(
        spark_driver, "versions", lambda: {"rankframe": rf.__version__, "polars": "1.0"}
    )
    refusal(rf.spark.evaluate, *both, "map")
    monkeypatch.setattr(spark_driver, "versions", lambda: {"no_such_package": "1.0"})
    refusal(rf.spark.evaluate, *both, "map")


def test_settings_are_as_they_were(spark) -> None:
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    rf.spark.evaluate(sent(spark, QRELS), sent(spark, RUN), "map").unpersist()
    assert spark.conf.get(name) == before


def test_duplicates_of_unjudged_queries_are_refused_in_any_partition(spark, refusal) -> None:
    run = pl.concat([RUN, pl.DataFrame([("z", "d", 1.0)] * 2, schema=RUN.schema, orient="row")])
    refusal(rf.spark.evaluate, sent(spark, QRELS), sent(spark, run), "map", partitions=30)
