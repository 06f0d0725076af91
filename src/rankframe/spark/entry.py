"""`evaluate` and `agree` on a Spark cluster: the same code on every partition, the same bits. The
extra `spark` must be installed here and there.

Rows of both inputs are sent to the same partition by a hash of query_id, and a partition is
evaluated as it is on one machine (`engine/evaluation.py`). What the driver does is in `driver.py`,
what executors do in `worker.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import polars as pl

from rankframe.core.columns import DOC
from rankframe.core.errors import OptionError
from rankframe.core.options import (
    Intervals,
    PairPolicies,
    Policies,
    SparkAgreeOptions,
    SparkEvaluateOptions,
    is_count,
    takes_options,
)
from rankframe.engine.agree import DEFAULT_METRICS as PAIR_METRICS
from rankframe.engine.agree import pair_evaluation
from rankframe.engine.document_metrics import ItemsBy
from rankframe.engine.evaluate import DEFAULT_METRICS, with_gaps
from rankframe.engine.evaluation import RUN_FRAMES, refuse_whole_input
from rankframe.engine.finish import finish
from rankframe.engine.judged_metrics import refuse_grades
from rankframe.engine.memory import long_ids
from rankframe.io.inputs import (
    Columns,
    Source,
    open_judgments,
    open_ranking,
    refuse_absent_columns,
    units_of,
)
from rankframe.io.opening import open_table
from rankframe.io.queries import By, asked_of, read_attributes
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.spark.driver import evaluate_on_cluster
from rankframe.spark.inputs import Input, open_input, refuse_row_order
from rankframe.spark.result import SparkResult
from rankframe.spark.session import find_session, first_row, is_spark_frame
from rankframe.spark.side_inputs import SideInputs, collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkResult", "agree", "evaluate"]

# What `rf.evaluate` would take for the rows of a partition, beside which its Python worker has some
# copies of them: a million retrieved documents with short ids.
_BYTES_PER_PARTITION = 140_000_000
# Where cores are free, partitions may be smaller, down to where starting one costs more.
_FEWEST_ROWS = 100_000
_SAMPLE = 1_000


@takes_options(SparkEvaluateOptions, Policies, Intervals)
def evaluate(
    qrels: Source | None,
    run: Source,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    columns: Columns | None = None,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    items_by: str | Sequence[str] | None = None,
    **options: Unpack[SparkEvaluateOptions],
) -> SparkResult:
    """Evaluate a run against judgments on Spark: the numbers of `rf.evaluate`, to the last bit.

    Rows have no order on Spark: `ties="as_given"` is refused, and so is a run with neither score
    nor rank. The values are kept on the cluster until the result's `unpersist` is called or the
    session ends.

    Args:
        qrels: the judgments: a Spark DataFrame (of a classic session or of Spark Connect), or a
            path to Parquet that the executors can read; None as in `rf.evaluate`.
        run: the ranking, likewise. So are `train` and `reference`.
        metrics: as in `rf.evaluate`.
        spark: the session (default: that of the inputs, the active one, or a new one).
        partitions: the number of partitions (default: about a million rows each).
        columns: names in your data, as in `rf.evaluate`.
        queries: attributes of queries, in any form that `rf.evaluate` reads, or as a Spark
            DataFrame. They are sent to every executor; so are `items`, `catalogue`, and what
            `train` says of documents.
        by: attributes to slice by, as in `rf.evaluate`.
        weight: the attribute that weights queries, as in `rf.evaluate`.
        items_by: attributes to slice documents by, as in `rf.evaluate`.
    """
    requested = resolve(metrics, *RUN_FRAMES, "gap", any_average=True)
    averaged = [metric for metric in requested if metric.frame != "gap"]
    policies = Policies.from_options(options)
    if not isinstance(policies.unit, pl.Expr | None):
        policies = replace(policies, unit=units_of(policies.unit))  # sent to every executor
    intervals = Intervals.from_options(options)
    refuse_whole_input(averaged, "leave it out, or use rf.evaluate")
    check_partitions(partitions)
    session = find_session(spark, (run, qrels, policies.train, policies.reference))
    attribute_rows = collected(queries) if is_spark_frame(queries) else queries
    ways = with_gaps(by, requested, known=attribute_rows is not None)
    attributes = read_attributes(
        attribute_rows, by=ways, weight=weight, metrics=averaged, columns=columns
    )
    judged = None
    if qrels is not None:
        judged = open_input(
            qrels,
            session,
            lambda frame: open_judgments(frame, columns, relevance=policies.relevance),
            "qrels",
        )
    documents = open_input(
        run,
        session,
        lambda frame: open_table(frame, "run", columns, ranks=policies.ranks),
        "run",
    )
    refuse_row_order(documents, policies.ties, policies.order)
    side_inputs = SideInputs.open(policies, session, columns)
    if policies.exclude_seen:
        documents = side_inputs.without_seen(documents)
    opened = (judged, documents, side_inputs.train, side_inputs.base)
    inputs = [side for side in opened if side is not None]
    refuse_absent_columns(columns, *(side.scanned for side in inputs), queries=asked_of(attributes))
    evaluation = side_inputs.evaluation(
        requested,
        judgments=judged is not None,
        columns=columns,
        attributes=attributes,
        intervals=intervals,
        items_by=None
        if items_by is None
        else ItemsBy.from_names(items_by, averaged, judgments=judged is not None),
    )
    if judged is not None:
        evaluation = evaluation.with_max_grade(_checked_grades(averaged, judged))
    sides = side_inputs.sent(evaluation, judged, documents)

    def find_ids(key: str) -> tuple[list[str], list[str]]:
        assert judged is not None  # nobody else looks for judged documents
        sides = (judged, documents) if key == DOC else (None, None)
        return judged.some_ids(key, sides[1]), documents.some_ids(key, sides[0])

    opened = (None if judged is None else judged.scanned, documents.scanned)
    return evaluate_on_cluster(
        sides,
        evaluation,
        lambda accumulator: finish(evaluation, accumulator, opened, find_ids),
        partitions=partitions or partitions_for(session, sides, evaluation.row_bytes),
    )


def _checked_grades(metrics: Sequence[Metric], qrels: Input) -> float:
    """Return the largest grade; refuse grades that the metrics do not take."""
    highest = qrels.highest()

    def without_gain(valid: Sequence[float]) -> tuple[int, float | None]:
        listed = ", ".join(f"double('{grade!r}')" for grade in valid)
        bad = qrels.tagged().where(f"n0 > 0 and n0 not in ({listed})")
        count, example = first_row(bad.selectExpr("count(1)", "min(n0)"))
        return count, example

    refuse_grades(metrics, highest, without_gain)
    return highest


@takes_options(SparkAgreeOptions, PairPolicies, Intervals)
def agree(
    a: Source,
    b: Source,
    metrics: Metrics = PAIR_METRICS,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    columns: Columns | None = None,
    **options: Unpack[SparkAgreeOptions],
) -> SparkResult:
    """Compare two rankings of the same queries on Spark: the numbers of `rf.agree`.

    Args:
        a: the first ranking, the reference, as in `spark.evaluate`.
        b: the second ranking, likewise.
        metrics: as in `rf.agree`.
        spark: the session, as in `spark.evaluate`.
        partitions: the number of partitions, as in `spark.evaluate`.
        columns: names in your data, as in `rf.agree`.
    """
    policies = PairPolicies.from_options(options)
    evaluation = pair_evaluation(metrics, policies, Intervals.from_options(options))
    check_partitions(partitions)
    session = find_session(spark, (a, b))
    sides = (
        open_input(a, session, lambda frame: open_ranking(frame, "a", columns), "ranking"),
        open_input(b, session, lambda frame: open_ranking(frame, "b", columns), "ranking"),
    )
    refuse_absent_columns(columns, *(side.scanned for side in sides))
    for side in sides:
        refuse_row_order(side, policies.ties, policies.order)
    opened = sides[0].scanned, sides[1].scanned

    def find_ids(key: str) -> tuple[list[str], list[str]]:
        return sides[0].some_ids(key), sides[1].some_ids(key)

    return evaluate_on_cluster(
        sides,
        evaluation,
        lambda accumulator: finish(evaluation, accumulator, opened, find_ids),
        partitions=partitions or partitions_for(session, sides, evaluation.row_bytes),
    )


def check_partitions(partitions: int | None) -> None:
    """Refuse what is no number of partitions."""
    if partitions is not None and not is_count(partitions):
        raise OptionError(f"partitions must be a whole number of at least 1, not {partitions!r}.")


def partitions_for(session: SparkSession, sides: Sequence[Input], row_bytes: Sequence[int]) -> int:
    """Return the number of partitions that fits workers' memory and keeps all cores busy."""
    rows = [side.count() for side in sides]
    sizes = [*row_bytes, row_bytes[0], row_bytes[0]][: len(rows)]
    need = sum(
        count * (size + long_ids(side.id_lengths(_SAMPLE)))
        for side, count, size in zip(sides, rows, sizes, strict=True)
    )
    cores = 1
    with suppress(Exception):  # Spark Connect does not tell
        cores = session.sparkContext.defaultParallelism
    busy = min(cores, math.ceil(sum(rows) / _FEWEST_ROWS))
    return max(math.ceil(need / _BYTES_PER_PARTITION), busy, 1)
