"""Evaluate on a Spark cluster, for tests: `spark_job.py MASTER FOLDER [PARTITIONS [SECONDS]]`.

Evaluates FOLDER/qrels.parquet and FOLDER/run.parquet and writes the result to FOLDER/out. With
seconds, for a few metrics only: each partition leaves a file in FOLDER/begun, then takes so many
seconds longer than it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import rankframe as rf
from rankframe.metrics import names_over
from rankframe.spark import driver as spark_driver

FEW = ["ndcg@10", "map", "err", "precision(average=micro)@10"]
METRICS = [*names_over("judged"), "precision(average=micro)@10"]


def slowed(make: Callable[..., Any], folder: str, seconds: float) -> Callable[..., Any]:
    """Wrap `on_executors` so that its functions take `seconds` longer for each partition."""

    def made(work: str, *options: Any) -> Any:
        run = make(work, *options)
        if work != "work_on_partition":
            return run

        def slow(batches: Any) -> Any:
            import os
            import time
            import uuid

            with open(os.path.join(folder, uuid.uuid4().hex), "w"):  # noqa: PTH118, PTH123
                pass
            time.sleep(seconds)
            yield from run(batches)

        return slow

    return made


def main(master: str, folder: str, partitions: str = "", seconds: str = "0") -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if master.startswith("sc:"):
        builder = builder.remote(master)
    else:
        builder = builder.master(master)
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.sql.shuffle.partitions": "2",
            # Rows on a lost disk are given up in seconds, not minutes.
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "1s",
        }.items():
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if float(seconds):
        spark_driver.on_executors = slowed(
            spark_driver.on_executors, f"{folder}/begun", float(seconds)
        )
    qrels, run = (spark.read.parquet(f"{folder}/{name}.parquet") for name in ("qrels", "run"))
    metrics = FEW if float(seconds) else METRICS
    result = rf.spark.evaluate(qrels, run, metrics, partitions=int(partitions or 0) or None)
    result.write(f"{folder}/out")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
