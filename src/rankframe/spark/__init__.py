"""Evaluate and fuse on a Spark cluster: each partition runs the code that one machine runs.

The results are equal, bit for bit. Requires the extra `spark` on driver and executors. Only this
package deals with sessions, inputs and partitions of Spark.
"""

from rankframe.spark.entry import agree, evaluate
from rankframe.spark.fusing import fuse
from rankframe.spark.result import SparkResult, SparkRun

__all__ = ["SparkResult", "SparkRun", "agree", "evaluate", "fuse"]
