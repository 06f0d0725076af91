"""From an evaluation to its result: evaluate inputs, and finish what was accumulated."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeAlias, cast

import numpy as np
import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import (
    MissingQueriesError,
    NoOverlapError,
    NoSharedQueryError,
    OptionError,
)
from rankframe.core.messages import listing, number_of
from rankframe.core.options import Intervals, Policies, Report
from rankframe.engine.accumulator import WHOLE, Accumulator, SliceKey, SliceSums
from rankframe.engine.document_metrics import Aggregate, item_slices
from rankframe.engine.evaluation import Evaluation, Sides
from rankframe.engine.ledger import GAPS, Item, PairCounts, RunCounts
from rankframe.engine.memory import count_partitions
from rankframe.engine.result import RESULT_FILES, SLICES_SCHEMA, SMALL, SUMMARY_SCHEMA, Result
from rankframe.io.batches import some_ids
from rankframe.io.input_table import InputTable
from rankframe.io.outputs import fresh_folder
from rankframe.io.queries import NO_VALUE, refuse_unknown_queries, unweighted_error
from rankframe.metrics.metric import Metric
from rankframe.stats.gaps import gap_between, gap_interval
from rankframe.stats.intervals import around

# Some ids of both sides: of queries, or of documents of queries that both sides have.
FindIds: TypeAlias = Callable[[str], tuple[list[str], list[str]]]


def evaluate_inputs(
    evaluation: Evaluation,
    left: InputTable | None,
    right: InputTable,
    *,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_progress: Report | None = None,
    partitions: int | None = None,
) -> Result:
    """Evaluate two inputs within a limit of memory, and write the result to an output, if any.

    `partitions`: how many the inputs are divided into (default: as many as the limit requires).
    """
    if partitions is None:
        sides = evaluation.left(left), right
        partitions = count_partitions(sides, evaluation.row_bytes, max_memory)
    with (
        nullcontext()
        if output is None
        else fresh_folder(output, RESULT_FILES, overwrite=overwrite) as folder
    ):
        accumulator = evaluation.evaluate(
            left, right, partitions=partitions, folder=folder, on_progress=on_progress
        )
        result = finish(evaluation, accumulator, (left, right))
        if folder is not None:
            result.write_files(folder, values=partitions == 1)
    return result if output is None else Result.read(output)


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
    sums = accumulator.finish(replicates_for_gaps(evaluation))
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
        return some_ids(left, right, key)

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
    if counts.absent:
        refuse_unknown_queries(counts.absent, counts.evaluated, accumulator.join().queries)
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
            needed.setdefault(numbers[metric.gap.by], set()).add(places[metric.gap.metric.label])
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
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


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


def summarise(metrics: Sequence[Metric], finished: SliceSums) -> pl.DataFrame:
    """Return a row for each metric: its value, interval and spread, and over how many queries."""
    rows = []
    for metric, sums, bounds in zip(metrics, finished.sums, finished.bounds or (), strict=True):
        value = sums.average(metric)
        low, high = around(value, bounds)
        rows.append((metric.label, value, low, high, sums.deviation, sums.queries))
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def summarise_slices(
    metrics: Sequence[Metric], slices: Mapping[tuple[str, str], SliceSums]
) -> pl.DataFrame:
    """Summarise every slice, named by attribute and value."""
    frames = [mark_slice(summarise(metrics, sums), *name) for name, sums in slices.items()]
    return pl.concat([pl.DataFrame(schema=SLICES_SCHEMA), *frames])


def mark_slice(summary: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    """Add to the summary of a slice what it is called, and whether it has few queries."""
    return summary.select(
        pl.lit(by).alias("by"),
        pl.lit(name).alias("slice"),
        pl.all(),
        (pl.col("queries") < SMALL).alias("small"),
    )


def summarise_gaps(
    gaps: Sequence[Metric],
    metrics: Sequence[Metric],
    slices: Mapping[tuple[str, str], SliceSums],
    intervals: Intervals,
) -> tuple[pl.DataFrame, list[Item]]:
    """Return a row for each gap between slices, and what the ledger says of gaps."""
    if not gaps:
        return pl.DataFrame(schema=SUMMARY_SCHEMA), []
    places = {metric.label: index for index, metric in enumerate(metrics)}
    rows: list[tuple[object, ...]] = []
    without: dict[str, list[str]] = {}
    for metric in gaps:
        assert metric.gap is not None  # that is what they are
        index, by = places[metric.gap.metric.label], metric.gap.by
        groups = {name: sums for (attribute, name), sums in slices.items() if attribute == by}
        large = {
            name: sums
            for name, sums in groups.items()
            if name != NO_VALUE and sums.sums[index].queries >= SMALL
        }
        if len(large) < 2:
            raise OptionError(too_few_slices(metric, len(large), len(groups) - len(large)))
        if out := [name for name in groups if name not in large]:
            without[metric.label] = out
        rows.append(_gap_row(metric, index, metrics, list(large.values()), intervals))
    items: list[Item] = [(GAPS, len(gaps), "between slices: without values per query")]
    items += gap_item(without)
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row"), items


def too_few_slices(metric: Metric, large: int, small: int) -> str:
    """Return the error text of a gap between fewer than two slices that are large enough."""
    assert metric.gap is not None  # that is what it is
    return (
        f"{metric.label!r} needs two slices or more of at least {SMALL} queries: "
        f"{metric.gap.by!r} has {large}, and {number_of(small, 'slice')} of fewer queries, or "
        "without a value."
    )


def gap_item(without: Mapping[str, Sequence[str]]) -> list[Item]:
    """Return the ledger's row of slices that gaps leave out, if there are any."""
    if not without:
        return []
    listed = "; ".join(f"{label}: {listing(out)}" for label, out in without.items())
    note = f"slices of fewer than {SMALL} queries, or without a value: {listed}"
    return [("gap_slices_left_out", sum(map(len, without.values())), note)]


def _gap_row(
    metric: Metric, index: int, metrics: Sequence[Metric], slices: Sequence[SliceSums],
    intervals: Intervals,
) -> tuple[object, ...]:  # fmt: skip
    assert metric.gap is not None  # that is what it is
    averages = [of_slice.sums[index].average(metrics[index]) for of_slice in slices]
    queries = [of_slice.sums[index].queries for of_slice in slices]
    if None in averages:  # weights of 0
        return metric.label, None, None, None, None, sum(queries)
    means, kind = np.array(averages, np.float64), metric.gap.kind
    bounds = None
    if intervals.ci == "bootstrap":
        drawn = [of_slice.replicates.get(index) for of_slice in slices]
        if all(replicates is not None for replicates in drawn):
            together = np.column_stack(drawn)  # pyright: ignore[reportCallIssue, reportArgumentType]
            bounds = gap_interval(means, together, min(queries), intervals.confidence, kind)
    value = float(gap_between(means, kind))
    return metric.label, value, *(bounds or (None, None)), None, sum(queries)
