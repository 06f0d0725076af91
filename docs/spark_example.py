"""Evaluate a run on a Spark cluster: `spark-submit docs/spark_example.py QRELS RUN OUT`.

The three are places that the cluster can reach: s3a://, abfss://, gs://, hdfs://, a shared disk.
Every executor needs a Python with `rankframe[spark]` (docs/spark.md says how).
"""

from __future__ import annotations

import sys

import rankframe as rf

METRICS = ["ndcg@10", "map", "mrr@10", "recall@100"]


def main(qrels: str, run: str, out: str) -> None:
    """Evaluate a run on Spark, print the summary, and write the values per query to `out`."""
    result = rf.spark.evaluate(qrels, run, METRICS)
    print(result)
    result.write(out, overwrite=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
