"""Evaluate a run against judgments: the public function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Unpack

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import (
    EvaluateOptions,
    Intervals,
    Policies,
    Report,
    Storage,
    takes_options,
)
from rankframe.engine.document_metrics import ItemsBy
from rankframe.engine.evaluation import RUN_FRAMES, prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.engine.result import Result
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.memory import limit_of
from rankframe.io.output_paths import refuse_inputs
from rankframe.io.queries import By, read_attributes, slicings
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import Metrics, resolve

DEFAULT_METRICS = ("ndcg@10", "map", "mrr@10", "precision@10", "recall@100", "judged@10")


@takes_options(EvaluateOptions, Policies, Intervals, Storage)
def evaluate(
    qrels: Source | None,
    run: Source,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    columns: Columns | None = None,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    items_by: str | Sequence[str] | None = None,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Unpack[EvaluateOptions],
) -> Result:
    """Evaluate a run against judgments.

    `qrels` (the judgments) comes first, then `run`. Each is a polars frame; a pyarrow table or
    dataset, or anything else with `__arrow_c_stream__` (pandas, DuckDB, a reader); a list of dicts
    (rows); a dict by query (of {document: number}, of ranked lists or, for judgments, of relevant
    sets); a path (Parquet file, glob or folder, CSV, TSV, JSON, TREC text, plain or compressed) or
    the address of one (`s3://bucket/run.parquet`, `gs://`, `az://`, `hf://`, `https://`); the
    folder of a Delta or Iceberg table; a table or query of a database (`duckdb:shop.db#runs`,
    `sqlite:shop.db#runs`, `postgresql://host/shop#select …`); or `(connection, "select …")`.
    A table has a row for each document, or a row for each query with lists of documents and of
    their scores, ranks or grades. Lists of documents alone are in rank order if they are a run, and
    are relevant if they are judgments.

    Args:
        qrels: the judgments; None for metrics that use only the retrieved documents.
        run: the ranking.
        metrics: names (`rankframe metrics` lists them), polars expressions over the judged frame
            or the retrieved frame (`rf.retrieved`), or metrics that `rf.metric` returns.
            "gap(ndcg@10, by=group)" is the gap between the averages of slices by an attribute of
            `queries`: the largest minus the smallest average or, with kind=mean, the mean
            difference between two slices.
        columns: names in your data: `{"query_id": "user_id"}` for all inputs that have the column,
            or `{"qrels": {…}, "run": {"doc_id": "_id"}, "queries": {…}}` for single inputs.
        queries: attributes of queries: a frame with query_id, in any form that can be read.
        by: attributes to slice by, `["locale", "device"]`; a tuple of attributes slices by their
            combinations. The result's `slices` has every slice.
        weight: the attribute that weights queries, for `average=weighted`.
        items_by: attributes of `items` to slice documents by, `["genre"]`. "popularity" comes from
            `train`: head (the most popular documents, with 80% of the interactions), tail, and cold
            (not in train). The result's `items` has the exposure of each slice of documents in the
            top k of all lists; k is the largest cutoff of a metric, or 10.
        max_memory: the approximate memory limit, such as "2GiB" (default: what the machine has), of
            which Python and polars need about 150 MB. Larger inputs are evaluated in partitions of
            queries, with temporary files in TMPDIR; the values are the same, bit for bit. A single
            query that does not fit is refused. The values of all queries must fit, unless they are
            written to an output.
        output: a folder or an address for the result (see `Result.write`). With partitions, values
            are written as they are computed, and read again only if `per_query` is used.
        overwrite: replace the result that is in `output`.
        progress: a function called with a `Progress` (stage, rows, total_rows, queries) on the way.

    >>> result = rf.evaluate({"q1": {"a": 1}}, {"q1": {"x": 2.0, "a": 1.0}}, ["mrr", "recall@1"])
    >>> result["mrr"]
    0.5
    """
    requested = resolve(metrics, *RUN_FRAMES, "gap", any_average=True)
    averaged = [metric for metric in requested if metric.frame != "gap"]
    refuse_inputs(output, (qrels, run, queries), folder=True)
    policies = Policies.from_options(options)
    intervals = Intervals.from_options(options)
    ways = with_gaps(by, requested, has_queries=queries is not None)
    limit = limit_of(max_memory)
    attributes = read_attributes(
        queries, by=ways, weight=weight, metrics=averaged, columns=columns, limit=limit
    )
    judgments = None
    if qrels is not None:
        judgments = open_judgments(qrels, columns, relevance=policies.relevance, limit=limit)
    documents = open_run(run, policies, columns, limit=limit)
    evaluation = prepare_evaluation(
        requested,
        policies,
        judgments=qrels is not None,
        columns=columns,
        attributes=attributes,
        intervals=intervals,
        limit=limit,
        items_by=None
        if items_by is None
        else ItemsBy.from_names(items_by, averaged, judgments=qrels is not None),
    )
    opened = [side for side in (judgments, documents) if side is not None]
    refuse_absent_columns(columns, *opened, *evaluation.others, queries=attributes)
    return evaluate_inputs(
        evaluation,
        judgments,
        documents,
        max_memory=max_memory,
        output=output,
        overwrite=overwrite,
        on_progress=progress,
    )


def with_gaps(
    by: By | Sequence[By] | None, metrics: Sequence[Metric], *, has_queries: bool
) -> list[tuple[str, ...]] | None:
    """Return the attributes to slice queries by: those in `by`, and those that gaps compare.

    `has_queries`: whether a frame of queries was passed.
    """
    ways = slicings(by)
    for metric in metrics:
        if metric.gap is None:
            continue
        if not has_queries:
            raise OptionError(
                f"{metric.label!r} needs ", Option("queries"),
                f", a frame with query_id and {metric.gap.by!r}.",
            )  # fmt: skip
        if (metric.gap.by,) not in ways:
            ways.append((metric.gap.by,))
    return ways or None
