"""Evaluate and fuse on a Spark cluster, with the same code on every partition and the same bits.

Requires the extra `spark` on driver and executors. Only this package knows sessions, inputs and
partitions of Spark.
"""

from rankframe.spark.entry import agree, evaluate
from rankframe.spark.fusing import fuse
from rankframe.spark.result import SparkResult, SparkRun

__all__ = ["SparkResult", "SparkRun", "agree", "evaluate", "fuse"]
