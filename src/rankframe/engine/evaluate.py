"""The pipeline: read, validate, rank, judge once, every metric in one pass, summarise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, Unpack

import polars as pl

from rankframe.core.checks import check_flag
from rankframe.core.columns import RELEVANCE
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option
from rankframe.core.option import takes_options
from rankframe.core.options import EvaluateOptions, Intervals, Policies, Storage
from rankframe.core.progress import Progress, Report, check_progress
from rankframe.engine.about import about_frame
from rankframe.engine.combined import RUN_FRAMES, Both, job_for
from rankframe.engine.contiguous import Told
from rankframe.engine.grades import check_grades
from rankframe.engine.item_slices import ItemsBy
from rankframe.engine.job import Job, evaluate_found
from rankframe.engine.lookup import Lookup
from rankframe.engine.memory import bytes_at_once, count_pieces, left_fits, limit_of, limiting
from rankframe.engine.out_of_core import Into, in_pieces, with_values
from rankframe.engine.plan import PerQuery, Plan
from rankframe.engine.result import PER_QUERY_FILE, RESULT_FILES, Result
from rankframe.engine.summing import inputs_of, ledger_of, summed_up
from rankframe.engine.work import Piece, merged
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.output_paths import refuse_inputs
from rankframe.io.outputs import fresh_folder
from rankframe.io.queries import (
    By,
    asked_of,
    read_attributes,
    slicings,
)
from rankframe.io.sources.writers import About
from rankframe.io.storage import reaching
from rankframe.io.validate import count_rows, refuse_no_overlap
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import Metrics, resolve

DEFAULT_METRICS = ("ndcg@10", "map", "mrr@10", "precision@10", "recall@100", "judged@10")


@reaching
@limiting
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
    their scores, ranks or grades. Lists without these are in order (a run), or relevant (qrels).

    Args:
        qrels: the judgments; None for metrics that look only at what was retrieved.
        run: the ranking.
        metrics: names (`rankframe metrics` lists them), polars expressions over the judged frame
            or the retrieved frame (`rf.retrieved`), or what `rf.metric` makes of one.
            "gap(ndcg@10, by=group)" is the gap between the averages of slices by an attribute of
            `queries`: the largest less the least or, with kind=mean, the mean difference of two.
        columns: names in your data, `{"query_id": "user_id"}`, for the inputs that have such a
            column; or by input, `{"qrels": {…}, "run": {"doc_id": "_id"}, "queries": {…}}`.
        queries: attributes of queries: a frame with query_id, in any form that can be read.
        by: attributes to slice by, `["locale", "device"]`; a tuple of them for combinations. The
            result's `slices` has every slice.
        weight: the attribute that weights queries, for `average=weighted`.
        items_by: attributes of `items` to slice documents by, `["genre"]`. "popularity" comes from
            `train`: head (the most popular documents, with 80% of the interactions), tail, and cold
            (not in train). The result's `items` says what the documents of each slice get in the
            top k of all lists: k is the largest cutoff of a metric, or 10.
        max_memory: the approximate memory limit, such as "2GiB" (default: what the machine has), of
            which Python and polars need about 150 MB. Larger inputs are evaluated in partitions of
            queries, with temporary files in TMPDIR; the values are the same, bit for bit. A single
            query that does not fit is refused. The values of all queries must fit, unless they go
            to an output.
        output: a folder for the result, or its address, written as `Result.write` does. With
            partitions, values are written as they come, and read only if `per_query` is used.
        overwrite: replace the result that is in `output`.
        progress: a function called with a `Progress` (stage, rows, total_rows, queries) on the way.

    >>> result = rf.evaluate({"q1": {"a": 1}}, {"q1": {"x": 2.0, "a": 1.0}}, ["mrr", "recall@1"])
    >>> result["mrr"]
    0.5
    """
    check_progress(progress)
    check_flag("overwrite", overwrite)
    asked = resolve(metrics, *RUN_FRAMES, "gap", any_average=True)
    wanted = [metric for metric in asked if metric.frame != "gap"]
    refuse_inputs(output, (qrels, run, queries), folder=True)
    policies = Policies.from_options(options)
    intervals = Intervals.from_options(options)
    ways = with_gaps(by, asked, known=queries is not None)
    limit = limit_of(max_memory)
    attributes = read_attributes(
        queries, by=ways, weight=weight, metrics=wanted, columns=columns, limit=limit
    )
    judgments = None
    if qrels is not None:
        judgments = open_judgments(qrels, columns, relevance=policies.relevance, limit=limit)
    documents = open_run(run, policies, columns, limit=limit)
    job = job_for(
        wanted, policies, judgments=qrels is not None, columns=columns, attributes=attributes,
        intervals=intervals, limit=limit,
        items_by=ItemsBy.given(items_by, wanted, judgments=qrels is not None),
    )  # fmt: skip
    if len(asked) > len(wanted):
        job = replace(job, asked=tuple(asked))
    opened = [side for side in (judgments, documents) if side is not None]
    refuse_absent_columns(columns, *opened, *job.others, queries=asked_of(attributes))
    pieces = count_pieces(job.left(judgments), documents, job.row_bytes, max_memory)
    if output is None:
        return evaluate_scanned(judgments, documents, job, pieces=pieces, progress=progress)
    with fresh_folder(output, RESULT_FILES, overwrite=overwrite) as folder:
        evaluate_scanned(judgments, documents, job, pieces=pieces, into=folder, progress=progress)
    return Result.read(output)


def with_gaps(
    by: By | Sequence[By] | None, asked: Sequence[Metric], *, known: bool
) -> list[tuple[str, ...]] | None:
    """Ways of slicing, those that gaps are between included; `known`: whether anything is known of
    queries.
    """
    ways = slicings(by)
    for metric in asked:
        if metric.gap is None:
            continue
        if not known:
            raise OptionError(
                f"{metric.label!r} needs ", Option("queries"),
                f", a frame with query_id and {metric.gap.by!r}.",
            )  # fmt: skip
        if (metric.gap.by,) not in ways:
            ways.append((metric.gap.by,))
    return ways or None


def evaluate_scanned(
    qrels: InputTable | None,
    run: InputTable,
    job: Job | Both,
    *,
    pieces: int = 1,
    into: Path | None = None,
    progress: Report | None = None,
) -> Result:
    """The same for inputs that were opened already, in so many pieces; `into`: an empty folder."""
    return evaluate_computed(qrels, run, job, pieces=pieces, into=into, progress=progress)[0]


def evaluate_computed(
    qrels: InputTable | None,
    run: InputTable,
    job: Job | Both,
    *,
    pieces: int = 1,
    into: Path | None = None,
    progress: Report | None = None,
) -> tuple[Result, PerQuery]:
    """The same, and what was computed for each query, sums of averages over sums included."""
    if pieces == 1:
        piece = _in_one(qrels, run, job, progress)
    else:
        refuse_whole_input(job.plan)
        piece = _in_pieces(qrels, run, job, pieces, into, progress)

    def no_overlap(*, shared_queries: bool) -> NoReturn:
        assert qrels is not None  # nobody else looks for judged documents
        refuse_no_overlap(qrels, run, shared_queries=shared_queries)

    result = summed_up(piece, job, (qrels, run), no_overlap)
    if into is not None:
        result.write_files(into, values=pieces == 1)
    return result, piece.computed


def _in_one(
    qrels: InputTable | None, run: InputTable, job: Job | Both, report: Report | None
) -> Piece:
    """All queries, where what has to be held fits in memory."""
    if isinstance(job, Both):
        judged = None
        if job.judged is not None:
            judged = _in_one(qrels, run, job.judged_alone, report)
        rows = 0 if report is None else count_rows(run)

        def told(done: int) -> None:
            if report is not None:
                report(Progress("looking at what is shown", done, rows, 0))

        return job.together(judged, *job.shown(qrels, run, told))
    assert qrels is not None  # its metrics look at judgments
    lookup, job = _prepared(qrels, run, job)
    whole = merged(evaluate_found(lookup.found(_told(lookup, report)), job))
    assert whole is not None  # there is always one
    return whole


def _in_pieces(
    qrels: InputTable | None,
    run: InputTable,
    job: Job | Both,
    pieces: int,
    into: Path | None,
    report: Report | None,
) -> Piece:
    """All queries, in so many pieces; in one pass where the judgments fit in memory, and the rows
    of each query of the run are together.
    """
    if qrels is not None:
        count_rows(qrels)

    def about(piece: Piece) -> About:
        ledger = ledger_of(piece, job, (qrels, run))
        return about_frame("per_query", job.plan.labels, ledger, inputs_of((qrels, run)))

    values = None if into is None else Into(into / PER_QUERY_FILE, about)
    if isinstance(job, Both):
        if job.judged is not None and qrels is not None:
            highest = check_grades(job.judged.plan.metrics, qrels.frame)
            job = replace(job, judged=replace(job.judged, max_grade=highest))
        return in_pieces(job.left(qrels), run, job, pieces=pieces, into=values, report=report)
    assert qrels is not None  # its metrics look at judgments
    if left_fits(qrels, run, job.row_bytes, pieces):
        lookup, job = _prepared(qrels, run, job, bytes_at_once(qrels, run))
        found = lookup.found_if_grouped(_told(lookup, report))
        if found is not None:
            return with_values(evaluate_found(found, job), job, into=values, report=report)
        del lookup  # the judgments are read again, piece by piece
    else:
        job = replace(job, max_grade=check_grades(job.plan.metrics, qrels.frame))
    return in_pieces(qrels, run, job, pieces=pieces, into=values, report=report)


def _prepared(
    qrels: InputTable, run: InputTable, job: Job, at_once: int | None = None
) -> tuple[Lookup, Job]:
    lookup = job.lookup(qrels, run, at_once)
    highest = check_grades(job.plan.metrics, pl.LazyFrame({RELEVANCE: lookup.judgments.grades}))
    return lookup, replace(job, max_grade=highest)


def _told(lookup: Lookup, report: Report | None) -> Told:
    """Whoever wants to know is told how many rows of the run were read."""
    if report is None:
        return lambda _: None
    judged = lookup.judgments.read
    total = judged + count_rows(lookup.run.scanned)
    return lambda rows: report(Progress("evaluating", judged + rows, total, 0))


def refuse_whole_input(plan: Plan, advice: str = "leave it out, or raise max_memory") -> None:
    """Refuse what looks at all queries at once, where they come in pieces."""
    if plan.whole_input:
        label = next(metric.label for metric in plan.metrics if metric.whole_input)
        raise MetricParameterError(
            f"{label!r} compares the documents of all queries with each other, so it "
            f"needs the whole input in memory: {advice}."
        )
