"""Evaluate and fuse on a Spark cluster: the same code on every partition, the same bits.

Needs the extra `spark`, there and here. Sessions, inputs and partitions of Spark are known here
only; what is done with a partition is the work of the rooms below.
"""

from rankframe.spark.entry import SparkResult, agree, evaluate
from rankframe.spark.fusing import SparkRun, fuse

__all__ = ["SparkResult", "SparkRun", "agree", "evaluate", "fuse"]
