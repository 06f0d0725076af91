"""Evaluate and compare rankings on a Spark cluster, with the same bits as on one machine.

The extra `spark` must be installed on the driver and on all executors. A hash of query_id sends the
rows of both inputs to the same partition, and a partition is evaluated by the code for one machine
(`engine/evaluation.py`). The driver's part is in `driver.py`, the executors' part in `worker.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import polars as pl

from rankframe.core.columns import DOC, QUERY, RELEVANCE
from rankframe.core.errors import EmptyInputError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import (
    Intervals,
    PairPolicies,
    Policies,
    SparkAgreeOptions,
    SparkEvaluateOptions,
    takes_options,
)
from rankframe.engine.agree import DEFAULT_METRICS as PAIR_METRICS
from rankframe.engine.document_metrics import ItemsBy
from rankframe.engine.evaluate import DEFAULT_METRICS, with_gaps
from rankframe.engine.evaluation import (
    RUN_FRAMES,
    RunEvaluation,
    passed_inputs,
    refuse_whole_input,
)
from rankframe.engine.judged_metrics import refuse_grades
from rankframe.engine.pair_evaluation import PairEvaluation
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.frames.side_inputs import BASE, JUDGED, TRAINED
from rankframe.io.inputs import (
    COUNT,
    Columns,
    Source,
    find_train,
    open_ranking,
    refuse_absent_columns,
    refuse_counts,
    units_of,
)
from rankframe.io.opening import open_table
from rankframe.io.queries import By, read_attributes
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.spark.driver import check_partitions, evaluate_on_cluster
from rankframe.spark.inputs import Input, open_input, open_qrels, open_run, refuse_row_order
from rankframe.spark.result import SparkResult
from rankframe.spark.session import collect, find_session, first_row, is_spark_frame, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        run: the ranking: a Spark DataFrame or a path to Parquet. Pass `train` and `reference` in
            the same forms.
        metrics: as in `rf.evaluate`.
        spark: the session (default: that of the inputs, the active one, or a new one).
        partitions: the number of partitions (default: about a million rows each).
        columns: names in your data, as in `rf.evaluate`.
        queries: attributes of queries, in any form that `rf.evaluate` reads, or as a Spark
            DataFrame. They are sent to every executor, like `items`, `catalogue`, and the counts of
            interactions per document in `train`.
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
    attribute_rows = collect(queries) if is_spark_frame(queries) else queries
    ways = with_gaps(by, requested, has_queries=attribute_rows is not None)
    attributes = read_attributes(
        attribute_rows, by=ways, weight=weight, metrics=averaged, columns=columns
    )
    judged = train = reference = None
    if qrels is not None:
        judged = open_qrels(qrels, session, columns, policies.relevance)
    documents = open_run(run, session, columns, policies)
    if policies.train is not None:
        train = _open_train(policies.train, session, columns)
    if policies.reference is not None:
        reference = open_input(
            policies.reference,
            session,
            lambda frame: open_table(frame, "run", columns, called="reference"),
            "reference",
        )
    if policies.exclude_seen:
        documents = _without_seen(documents, train)
    inputs = {JUDGED: judged, "run": documents, TRAINED: train, BASE: reference}
    opened = {kind: side for kind, side in inputs.items() if side is not None}
    refuse_absent_columns(columns, *(side.scanned for side in opened.values()), queries=attributes)

    def open_catalogue() -> Catalogue:
        items, catalogue = (
            collect(source) if is_spark_frame(source) else source
            for source in (policies.items, policies.catalogue)
        )
        trained = None if train is None else _count_trained(train)
        return Catalogue.from_inputs(trained, items, catalogue, columns, split=policies.split)

    sliced = None
    if items_by is not None:
        sliced = ItemsBy.from_names(items_by, averaged, judgments=judged is not None)
    evaluation = RunEvaluation.from_metrics(
        requested,
        # Tables that the driver has read are not sent to executors again.
        replace(policies, train=None, items=None, catalogue=None, reference=None),
        passed_inputs(policies, judgments=judged is not None),
        open_catalogue,
        attributes=attributes,
        intervals=intervals,
        items_by=sliced,
    )
    if judged is not None:
        evaluation = evaluation.with_max_grade(_checked_grades(averaged, judged))
    needed = {"run"} if evaluation.judged is None else {JUDGED, "run"}
    if evaluation.retrieved is not None:
        needed |= evaluation.retrieved.needed

    sides = [side for kind, side in opened.items() if kind in needed]
    return evaluate_on_cluster(
        sides, evaluation, judged, documents, partitions=partitions, policies=policies
    )


def _checked_grades(metrics: Sequence[Metric], qrels: Input) -> float:
    """Return the largest grade in the judgments; refuse grades that a metric does not accept."""
    highest = qrels.highest()

    def without_gain(valid: Sequence[float]) -> tuple[int, float | None]:
        listed = ", ".join(f"double('{grade!r}')" for grade in valid)
        bad = qrels.canonical.where(f"{RELEVANCE} > 0 and {RELEVANCE} not in ({listed})")
        count, example = first_row(bad.selectExpr("count(1)", f"min({RELEVANCE})"))
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
        b: the second ranking, in the same forms.
        metrics: as in `rf.agree`.
        spark: the session, as in `spark.evaluate`.
        partitions: the number of partitions, as in `spark.evaluate`.
        columns: names in your data, as in `rf.agree`.
    """
    policies = PairPolicies.from_options(options)
    evaluation = PairEvaluation.from_metrics(metrics, policies, Intervals.from_options(options))
    check_partitions(partitions)
    session = find_session(spark, (a, b))
    left = open_input(a, session, lambda frame: open_ranking(frame, "a", columns), "ranking")
    right = open_input(b, session, lambda frame: open_ranking(frame, "b", columns), "ranking")
    refuse_absent_columns(columns, left.scanned, right.scanned)
    for side in (left, right):
        refuse_row_order(side, policies.ties, policies.order)
    return evaluate_on_cluster(
        (left, right), evaluation, left, right, partitions=partitions, policies=policies
    )


def _open_train(source: Source, session: SparkSession, columns: Columns | None) -> Input:
    """Open interactions, each with a count: 1 where the table has none."""
    train = open_input(source, session, lambda frame: find_train(frame, columns), "train")
    count = train.scanned.mapping[COUNT]
    if count in train.frame.columns:
        return train
    return replace(train, frame=train.frame.selectExpr("*", f"1D as {quoted(count)}"))


def _without_seen(run: Input, train: Input | None) -> Input:
    """Return the run without documents that its queries (users) have in `train`."""
    if train is None:
        option = Option("exclude_seen", value=True)
        raise OptionError(option, " needs ", Option("train", bare=True), ".")
    from pyspark.sql import functions  # noqa: PLC0415 (an optional part)

    interactions = train.canonical.selectExpr(f"{QUERY} as _seen_by", f"{DOC} as _seen")
    query, doc = (quoted(run.scanned.mapping[name]) for name in (QUERY, DOC))
    same = functions.expr(f"cast({query} as string) = _seen_by and cast({doc} as string) = _seen")
    left = run.frame.join(interactions, same, "left_anti")
    excluded = run.rows - left.count()
    return Input(left, replace(run.scanned, excluded=lambda: excluded))


def _count_trained(train: Input) -> Trained:
    """Count the interactions with each document on the cluster."""
    rows = train.canonical
    bad = f"{COUNT} is null or isnan({COUNT}) or {COUNT} < 1 or {COUNT} <> floor({COUNT})"
    checks = [f"count_if({bad})", f"min(if({bad}, {COUNT}, null))", f"count(distinct {QUERY})"]
    count, wrong, example, queries = first_row(rows.selectExpr("count(1)", *checks))
    if not count:
        raise EmptyInputError("train", train.scanned.name)
    refuse_counts(wrong, example)
    pairs = rows.groupBy(QUERY, DOC).agg({COUNT: "sum"}).toDF(QUERY, DOC, COUNT)
    found = pairs.groupBy(DOC).agg({COUNT: "sum", QUERY: "count"})
    documents = collect(found.select(DOC, f"count({QUERY})", f"sum({COUNT})"))
    schema = {DOC: pl.String, "popularity": pl.Int64, COUNT: pl.Float64}
    documents.columns = list(schema)
    return Trained(documents.cast(schema), queries)  # pyright: ignore[reportArgumentType]
