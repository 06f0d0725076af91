"""`rankframe evaluate --engine spark`: the same command on a Spark cluster."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankframe.evaluation.result import Result


def evaluate_on_spark(
    qrels: str,
    runs: Mapping[str, str],
    metrics: list[str],
    how: Mapping[str, Any],
    where: Mapping[str, Path | None],
    *,
    overwrite: bool,
    master: str | None,
    partitions: int | None,
    values: bool,
    quiet: bool,
) -> dict[str, Result]:
    """Evaluate each run, and write it where it belongs.

    `values`: bring those of each query here, too.
    """
    import rankframe as rf
    from rankframe.evaluation.result import Result
    from rankframe.spark.result import refuse_target
    from rankframe.spark.session import load_pyspark, start_session

    load_pyspark()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    # Under spark-submit there is a master already. Here, a task that fails is tried again.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    spark = start_session(
        master or (None if submitted else "local[*,4]"),
        progress=sys.stderr.isatty() and not quiet,
        log_level="OFF",  # what matters is raised
    )
    targets = {name: _target(place) for name, place in where.items() if place is not None}
    for target in targets.values():
        refuse_target(spark, target, overwrite=overwrite)
    results: dict[str, Result] = {}
    for name, run in runs.items():
        found = rf.spark.evaluate(qrels, run, metrics, spark=spark, partitions=partitions, **how)
        if name in targets:
            found.write(targets[name], overwrite=overwrite)
        results[name] = (
            found.to_result()
            if values
            else Result(found.summary, found.no_values, found.ledger, found.slices, found.inputs)
        )
        found.unpersist()
    return results


def _target(place: Path) -> str:
    """A path of this machine has no double slash; a URL does."""
    return re.sub(r"^(\w\w+):/", r"\1://", str(place))
