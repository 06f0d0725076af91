"""Summaries: one number for each metric with its interval and spread, of all queries and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from rankframe.core.errors import OptionError
from rankframe.core.messages import listing, number_of
from rankframe.core.options import Intervals
from rankframe.core.table import Note, Part, Table
from rankframe.core.wording import number_text
from rankframe.engine.ledger import GAPS, Item
from rankframe.engine.slice_sums import SliceSums
from rankframe.io.queries import NO_VALUE
from rankframe.metrics.names import Metric
from rankframe.stats.gaps import gap_between, gap_interval
from rankframe.stats.intervals import around

SCHEMA = {
    "metric": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "std": pl.Float64,
    "queries": pl.Int64,
}
# With fewer queries than these, a slice's numbers are hints.
SMALL = 30
_MOST_SHOWN = 30  # slices in a notebook
SLICE_SCHEMA = {"by": pl.String, "slice": pl.String, **SCHEMA, "small": pl.Boolean}


def summarise(metrics: Sequence[Metric], finished: SliceSums) -> pl.DataFrame:
    """Return a row for each metric: its value, interval and spread, and over how many queries."""
    rows = []
    for metric, sums, bounds in zip(metrics, finished.sums, finished.bounds or (), strict=True):
        value = sums.average(metric)
        low, high = around(value, bounds)
        rows.append((metric.label, value, low, high, sums.deviation, sums.queries))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def summarise_slices(
    metrics: Sequence[Metric], slices: Mapping[tuple[str, str], SliceSums]
) -> pl.DataFrame:
    """Summarise every slice, named by attribute and value."""
    frames = [mark_slice(summarise(metrics, sums), *name) for name, sums in slices.items()]
    return pl.concat([pl.DataFrame(schema=SLICE_SCHEMA), *frames])


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
        return pl.DataFrame(schema=SCHEMA), []
    places = {metric.label: index for index, metric in enumerate(metrics)}
    rows: list[tuple[object, ...]] = []
    without: dict[str, list[str]] = {}
    for metric in gaps:
        assert metric.gap is not None  # that is what they are
        index, by = places[metric.gap.of.label], metric.gap.by
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
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), items


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


def slices_table(slices: pl.DataFrame) -> list[Part]:
    """Return the first slices as rows, a column per metric, and how many more there are."""
    rows: dict[tuple[str, str], list[str]] = {}
    queries: dict[tuple[str, str], str] = {}
    for row in slices.to_dicts():
        key = row["by"], row["slice"]
        rows.setdefault(key, []).append(number_text(row["value"]))
        queries[key] = f"{row['queries']:,}{' (few)' if row['small'] else ''}"
    if not rows:
        return []
    labels = slices["metric"].unique(maintain_order=True)
    lines = [[f"{by}: {name}", *values, queries[by, name]] for (by, name), values in rows.items()]
    table = Table.from_texts(["slice"], [*labels, "queries"], lines[:_MOST_SHOWN])
    hidden = len(rows) - _MOST_SHOWN
    return [table, *([Note(f"and {hidden:,} more: .slices")] if hidden > 0 else [])]
