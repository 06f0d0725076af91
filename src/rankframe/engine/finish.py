"""From an evaluation to its result: evaluate inputs, and finish what was accumulated."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, cast

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import MissingQueriesError, NoOverlapError, NoSharedQueryError
from rankframe.core.options import Policies
from rankframe.core.progress import Report
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.counts import PairCounts, RunCounts
from rankframe.engine.document_metrics import Aggregate
from rankframe.engine.evaluation import Evaluation, Sides
from rankframe.engine.item_slices import item_slices
from rankframe.engine.memory import count_partitions
from rankframe.engine.result import RESULT_FILES, Result
from rankframe.engine.slice_sums import WHOLE, SliceKey
from rankframe.engine.summary import (
    SCHEMA,
    mark_slice,
    summarise,
    summarise_gaps,
    summarise_slices,
)
from rankframe.io.input_table import InputTable
from rankframe.io.outputs import fresh_folder
from rankframe.io.queries import refuse_strangers, unweighted_error
from rankframe.io.validate import some_ids
from rankframe.metrics.metric import Metric

# Some ids of both sides: of queries, or of documents of queries that both sides have.
FindIds: TypeAlias = Callable[[str], tuple[list[str], list[str]]]


def evaluate_to(
    evaluation: Evaluation,
    left: InputTable | None,
    right: InputTable,
    *,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_progress: Report | None = None,
) -> Result:
    """Evaluate two inputs within a limit of memory, and write the result to an output, if any."""
    beside_run = evaluation.left(left)
    partitions = count_partitions(beside_run, right, evaluation.row_bytes, max_memory)
    if output is None:
        return evaluate_inputs(
            evaluation, left, right, partitions=partitions, on_progress=on_progress
        )
    with fresh_folder(output, RESULT_FILES, overwrite=overwrite) as folder:
        result = evaluate_inputs(
            evaluation, left, right, partitions=partitions, folder=folder, on_progress=on_progress
        )
        result.write_files(folder, values=partitions == 1)
    return Result.read(output)


def evaluate_inputs(
    evaluation: Evaluation,
    left: InputTable | None,
    right: InputTable,
    *,
    partitions: int = 1,
    folder: Path | None = None,
    on_progress: Report | None = None,
) -> Result:
    """Evaluate two inputs (see `Evaluation.evaluate`), and return the result."""
    accumulator = evaluation.evaluate(
        left, right, partitions=partitions, folder=folder, on_progress=on_progress
    )
    return finish(evaluation, accumulator, (left, right))


def finish(
    evaluation: Evaluation, accumulator: Accumulator, sides: Sides, find_ids: FindIds | None = None
) -> Result:
    """Return the result of all queries.

    Args:
        evaluation: what was evaluated.
        accumulator: what became of it.
        sides: both inputs, as they were opened.
        find_ids: finds ids for an error, where the inputs are not at hand.
    """
    check(evaluation, accumulator, sides, find_ids)
    averages, retrieved = evaluation.averages, evaluation.retrieved
    metrics, intervals, attributes = averages.metrics, averages.intervals, averages.attributes
    kept = replicates_for_gaps(evaluation)
    sums = {
        key: of_slice.finish(metrics, intervals, kept.get(key[0], ()))
        for key, of_slice in accumulator.sums().items()
    }
    keys = [key for key in sums if key != WHOLE]
    named = {} if attributes is None else {attributes.name(*key): sums[key] for key in keys}
    summary = summarise(metrics, sums[WHOLE])
    slices = summarise_slices(metrics, named)
    if retrieved is not None and retrieved.documents:
        summary = pl.concat([summary, _over_documents(evaluation, accumulator, WHOLE)])
        of_slices = [
            mark_slice(_over_documents(evaluation, accumulator, key), *name)
            for key, name in zip(keys, named, strict=True)
        ]
        slices = _in_order(pl.concat([slices, *of_slices]), evaluation.metrics, list(named))
    gaps = [metric for metric in evaluation.metrics if metric.frame == "gap"]
    of_gaps, items = summarise_gaps(gaps, metrics, named, intervals)
    items_by = None if retrieved is None else retrieved.items_by
    counts = accumulator.counts
    return Result(
        summary=_in_order(pl.concat([summary, of_gaps]), evaluation.metrics),
        per_query=accumulator.join().values,
        ledger=evaluation.ledger(counts, sides, items),
        slices=slices,
        inputs=evaluation.inputs(sides),
        over_documents=evaluation.over_documents(counts),
        items=None
        if retrieved is None or items_by is None
        else item_slices(items_by, cast("RunCounts", counts).exposure, retrieved.catalogue),
    )


def check(
    evaluation: Evaluation, accumulator: Accumulator, sides: Sides, find_ids: FindIds | None = None
) -> None:
    """Refuse inputs that have nothing in common, or that lack what policies ask for."""

    def ids(key: str) -> tuple[list[str], list[str]]:
        if find_ids is not None:
            return find_ids(key)
        left, right = sides
        assert left is not None  # with nothing, nothing is in common
        if key == DOC:  # of queries that both sides have
            return some_ids(left, DOC, right), some_ids(right, DOC, left)
        return some_ids(left, QUERY), some_ids(right, QUERY)

    if evaluation.pairs is not None:
        if not cast("PairCounts", accumulator.counts).shared_queries:
            raise NoSharedQueryError(*ids(QUERY))
        return
    counts, policies = cast("RunCounts", accumulator.counts), cast("Policies", evaluation.policies)
    if evaluation.judged is not None:
        if not counts.overlap and policies.no_overlap == "error":
            key = DOC if counts.missing < counts.qrels_queries else QUERY
            qrels_ids, run_ids = ids(key)
            raise NoOverlapError(key, run_ids, qrels_ids)
        if counts.lacking is not None and policies.missing == "error":
            raise MissingQueriesError(counts.missing, counts.qrels_queries, counts.lacking)
    refuse_strangers(counts.absent, counts.evaluated, accumulator.join().queries)
    if counts.unweighted:
        raise unweighted_error(counts.unweighted, counts.evaluated, counts.weightless)


def replicates_for_gaps(evaluation: Evaluation) -> dict[int, set[int]]:
    """Return whose replicates gaps need, by attribute: the places of metrics by its number."""
    attributes = evaluation.averages.attributes
    if attributes is None:
        return {}
    numbers = {by: number for number, (by, _) in enumerate(attributes.slices)}
    places = {label: place for place, label in enumerate(evaluation.labels)}
    needed: dict[int, set[int]] = {}
    for metric in evaluation.metrics:
        if metric.gap is not None:
            needed.setdefault(numbers[metric.gap.by], set()).add(places[metric.gap.of.label])
    return needed


def _over_documents(
    evaluation: Evaluation, accumulator: Accumulator, key: SliceKey
) -> pl.DataFrame:
    """Return the rows of a summary for metrics over documents."""
    assert evaluation.retrieved is not None  # it has metrics over documents
    metrics, intervals = evaluation.retrieved.documents, evaluation.averages.intervals
    over = evaluation.over_documents(accumulator.counts)
    aggregates = [Aggregate(None, 0)] * len(metrics)
    if over is not None:
        with_intervals = intervals.ci is not None and key == WHOLE
        aggregates = over.of(metrics, key, groups=with_intervals)
    rows = [
        (
            metric.label,
            aggregate.value,
            *(aggregate.bounds(intervals.confidence) or (None, None)),
            None,
            aggregate.lists,
        )
        for metric, aggregate in zip(metrics, aggregates, strict=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _in_order(
    rows: pl.DataFrame, metrics: Sequence[Metric], slices: Sequence[tuple[str, str]] = ()
) -> pl.DataFrame:
    """Sort the rows of summaries: slices in their order, and metrics as they were requested."""
    places = {metric.label: place for place, metric in enumerate(metrics)}
    keys = [pl.col("metric").replace_strict(places, return_dtype=pl.Int64)]
    if slices:
        order = {f"{by}\0{name}": place for place, (by, name) in enumerate(slices)}
        named = pl.concat_str("by", "slice", separator="\0")
        keys.insert(0, named.replace_strict(order, return_dtype=pl.Int64))
    return rows.sort(keys)
