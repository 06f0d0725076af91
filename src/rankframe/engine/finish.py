"""Evaluate inputs, and turn the accumulated values into a result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl

from rankframe.core.arrays import Floats
from rankframe.core.errors import OptionError, in_vocabulary
from rankframe.core.messages import listing, number_of
from rankframe.core.options import Intervals, Report
from rankframe.engine.accumulator import WHOLE, Accumulator, SliceKey, SliceSums
from rankframe.engine.document_metrics import Aggregate, OverDocuments, item_slices
from rankframe.engine.evaluation import Evaluation, FindIds, RunEvaluation, Sides
from rankframe.engine.ledger import GAPS, Item, RunCounts
from rankframe.engine.plan import metric_values
from rankframe.engine.result import (
    RESULT_FILES,
    SLICES_SCHEMA,
    SMALL,
    SUMMARY_SCHEMA,
    Result,
    Summary,
)
from rankframe.io.batches import some_ids
from rankframe.io.input_table import InputTable
from rankframe.io.memory import count_partitions
from rankframe.io.outputs import fresh_folder
from rankframe.io.queries import NO_VALUE
from rankframe.metrics.metric import Metric
from rankframe.stats.gaps import gap_between, gap_interval
from rankframe.stats.intervals import around


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

    `partitions` is the number of partitions (default: as many as the memory limit requires).
    """
    with (
        in_vocabulary(evaluation.vocabulary((left, right))),
        nullcontext()
        if output is None
        else fresh_folder(output, RESULT_FILES, overwrite=overwrite) as folder,
    ):
        if partitions is None:
            sides = evaluation.left(left), right
            partitions = count_partitions(sides, evaluation.row_bytes, max_memory)
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
    """Turn the accumulated values, sums and counts of all queries into a `Result`.

    Args:
        evaluation: the evaluation.
        accumulator: the accumulated values, sums and counts of all queries.
        sides: both inputs, opened.
        find_ids: a callback that finds example ids for error messages (default: read the inputs).
    """
    accumulator.join()
    evaluation.check(accumulator, find_ids or partial(find_example_ids, sides))
    averages, counts = evaluation.averages, accumulator.counts
    metrics, intervals, attributes = averages.metrics, averages.intervals, averages.attributes
    retrieved = over_documents = items_by = None
    if isinstance(evaluation, RunEvaluation) and evaluation.retrieved is not None:
        retrieved, over_documents = evaluation.retrieved, evaluation.over_documents(counts)
        items_by = retrieved.items_by
    sums = accumulator.finish(replicates_for_gaps(evaluation))
    places = {metric.label: place for place, metric in enumerate(evaluation.metrics)}
    summary: list[Summary] = []
    slices: list[tuple[Any, ...]] = []
    by_name: dict[tuple[str, str], SliceSums] = {}
    for key, slice_sums in sums.items():
        rows = summarise(metrics, slice_sums)
        if retrieved is not None and retrieved.documents:
            rows += _summarise_documents(retrieved.documents, over_documents, key, intervals)
        if key == WHOLE:
            summary = rows
        elif attributes is not None:
            name = attributes.name(*key)
            by_name[name] = slice_sums
            rows.sort(key=lambda row: places[row.metric])
            slices += [(*name, *row, row.queries < SMALL) for row in rows]
    items: list[Item] = []
    if attributes is not None:
        gaps, items = summarise_gaps(evaluation.metrics, metrics, by_name, intervals)
        summary += gaps
    summary.sort(key=lambda row: places[row.metric])
    return Result(
        summary=pl.DataFrame(summary, schema=SUMMARY_SCHEMA, orient="row"),
        per_query=metric_values(accumulator.parts[0]),
        ledger=evaluation.ledger(counts, sides, items),
        slices=pl.DataFrame(slices, schema=SLICES_SCHEMA, orient="row") if slices else None,
        inputs=evaluation.inputs(sides),
        over_documents=over_documents,
        items=None
        if retrieved is None or items_by is None
        else item_slices(items_by, cast("RunCounts", counts).exposure, retrieved.catalogue),
    )


def find_example_ids(sides: Sides, key: str) -> tuple[list[str], list[str]]:
    """Return example ids of both inputs for an error message: of queries or documents."""
    left, right = sides
    assert left is not None  # this error needs two inputs
    return some_ids(left, right, key)


def replicates_for_gaps(evaluation: Evaluation) -> dict[int, set[int]]:
    """Return, by slicing attribute, the metrics whose bootstrap replicates gaps need.

    Attributes are numbers, and metrics are indices.
    """
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


def _summarise_documents(
    metrics: Sequence[Metric], over: OverDocuments | None, key: SliceKey, intervals: Intervals
) -> list[Summary]:
    """Return a row of the summary for each metric over documents."""
    aggregates = [Aggregate(None, 0)] * len(metrics)
    if over is not None:
        with_intervals = intervals.ci is not None and key == WHOLE
        aggregates = over.aggregate(metrics, key, groups=with_intervals)
    rows = []
    for metric, aggregate in zip(metrics, aggregates, strict=True):
        bounds = aggregate.bounds(intervals.confidence) or (None, None)
        rows.append(Summary(metric.label, aggregate.value, *bounds, None, aggregate.lists))
    return rows


def summarise(metrics: Sequence[Metric], finished: SliceSums) -> list[Summary]:
    """Return a row of the summary for each metric, from finished sums over some queries."""
    rows: list[Summary] = []
    for metric, sums, bounds in zip(metrics, finished.sums, finished.bounds or (), strict=True):
        value = sums.average(metric)
        low, high = around(value, bounds)
        rows.append(Summary(metric.label, value, low, high, sums.deviation, sums.queries))
    return rows


def summarise_gaps(
    requested: Sequence[Metric],
    metrics: Sequence[Metric],
    slices: Mapping[tuple[str, str], SliceSums],
    intervals: Intervals,
) -> tuple[list[Summary], list[Item]]:
    """Return a row of the summary for each gap between slices, and ledger rows about gaps.

    Args:
        requested: the gaps, among other metrics.
        metrics: the metrics with values per query, in the order of the sums.
        slices: finished sums by attribute and value.
        intervals: which intervals gaps get.
    """
    places = {metric.label: place for place, metric in enumerate(metrics)}
    rows: list[Summary] = []
    left_out: dict[str, list[str]] = {}
    for metric in requested:
        gap = metric.gap
        if gap is None:
            continue
        place = places[gap.metric.label]
        groups = {name: sums for (by, name), sums in slices.items() if by == gap.by}
        large = {
            name: sums
            for name, sums in groups.items()
            if name != NO_VALUE and sums.sums[place].queries >= SMALL
        }
        if len(large) < 2:
            raise OptionError(too_few_slices(metric, len(large), len(groups) - len(large)))
        if out := [name for name in groups if name not in large]:
            left_out[metric.label] = out
        averages = [sums.sums[place].average(metrics[place]) for sums in large.values()]
        queries = [sums.sums[place].queries for sums in large.values()]
        value = bounds = None
        if None not in averages:  # an average is None if all weights are 0
            means = np.array(averages, np.float64)
            value = float(gap_between(means, gap.kind))
            drawn = [sums.replicates.get(place) for sums in large.values()]
            if intervals.ci == "bootstrap" and all(averages is not None for averages in drawn):
                replicates = np.column_stack(cast("list[Floats]", drawn))
                bounds = gap_interval(
                    means, replicates, min(queries), intervals.confidence, gap.kind
                )
        low, high = bounds or (None, None)
        rows.append(Summary(metric.label, value, low, high, None, sum(queries)))
    items: list[Item] = []
    if rows:
        items = [(GAPS, len(rows), "between slices: without values per query")]
    items += gap_item(left_out)
    return rows, items


def too_few_slices(metric: Metric, large: int, small: int) -> str:
    """Return the error text for a gap if fewer than two of its slices are large enough."""
    assert metric.gap is not None  # it is a gap
    uncounted = f"; {number_of(small, 'slice')} with fewer queries or no value" if small else ""
    return (
        f"{metric.label!r} needs at least two slices with {SMALL} or more queries: "
        f"{metric.gap.by!r} has {large}{uncounted}."
    )


def gap_item(left_out: Mapping[str, Sequence[str]]) -> list[Item]:
    """Return the ledger's row of slices that gaps leave out, if there are any."""
    if not left_out:
        return []
    listed = "; ".join(f"{label}: {listing(names)}" for label, names in left_out.items())
    note = f"slices of fewer than {SMALL} queries, or without a value: {listed}"
    return [("gap_slices_left_out", sum(map(len, left_out.values())), note)]
