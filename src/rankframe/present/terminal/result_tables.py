"""Render results of evaluations as terminal tables, JSON, CSV and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import polars as pl
from rich.console import RenderableType

from rankframe.core.caveats import PREFIX
from rankframe.core.table import Cell, Column, Note, Part, Table, as_markdown, warning_notes
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import best_of, number_text, range_text
from rankframe.engine.ledger import ORDER, POLICY
from rankframe.engine.result import Result
from rankframe.metrics.names import Metric
from rankframe.present.tables import policies_of
from rankframe.present.terminal.render import (
    csv_text,
    render,
    spread_columns,
)

Format = Literal["table", "json", "csv", "markdown"]
# The style of an interval: half of its width, both ends, or no interval.
_Interval: TypeAlias = Literal["half", "ends", "none"]
# With more runs than this, intervals are left out if the runs do not fit side by side otherwise.
_MOST_WITH_INTERVALS = 5
_NO_ROW = {"value": None, "ci_low": None, "queries": 0, "small": False}


def summary_table(
    results: Mapping[str, Result], metrics: Sequence[Metric], width: int
) -> RenderableType:
    """Render a row per metric and a column per run, with the best value bold; then notes on runs.

    Runs that do not fit side by side stand in tables below each other.
    """
    return render([*_fitted(results, metrics, width), *_caveats(results)], loose=True)


def slice_tables(
    results: Mapping[str, Result], metrics: Sequence[Metric], width: int
) -> RenderableType:
    """Render a table for each metric, with a row per slice and a column per run."""
    tables = [
        table
        for metric in _sliceable(metrics)
        for table in _fitted(results, [metric], width, sliced=True)
    ]
    return render(tables, loose=True)


def item_tables(results: Mapping[str, Result]) -> RenderableType:
    """Render a table for each run and attribute of items."""
    return render(_item_tables(results), loose=True)


def ledger_of(results: Mapping[str, Result]) -> pl.DataFrame:
    """Stack the ledgers of all runs, with the name of the run in the column `system`."""
    return _stacked({run: result.ledger for run, result in results.items()}, "system")


def summary_frame(results: Mapping[str, Result]) -> pl.DataFrame:
    """Stack all summaries, with the name of the run in front; slices below, if there are any."""
    whole = _stacked({run: result.summary for run, result in results.items()})
    slices = _stacked({run: result.slices for run, result in results.items()})
    if slices.is_empty():
        return whole
    nothing = pl.lit(None, pl.String)
    columns = slices.drop("small").columns
    whole = whole.with_columns(by=nothing, slice=nothing).select(columns)
    return pl.concat([whole, slices.select(columns)])


def per_query_frame(results: Mapping[str, Result]) -> pl.DataFrame:
    """Stack all values per query, with the name of the run in front."""
    return _stacked({run: result.per_query for run, result in results.items()})


def results_text(results: Mapping[str, Result], metrics: Sequence[Metric], style: Format) -> str:
    """Write the summaries as JSON, CSV or Markdown."""
    if style == "csv":
        return csv_text(summary_frame(results))
    if style == "json":
        return json.dumps([_as_dict(run, result) for run, result in results.items()], indent=2)
    parts: list[Part] = [_runs_table(results, metrics, "ends")]
    if any(result.slices.height for result in results.values()):
        parts += [
            _runs_table(results, [metric], "ends", sliced=True) for metric in _sliceable(metrics)
        ]
    notes = _caveats(results)
    if (how := policies_of(next(iter(results.values())).ledger).get("ci", "none")) != "none":
        notes.append(Note(f"Intervals: {how}."))
    return as_markdown([*parts, *_item_tables(results), *notes])


def _fitted(
    results: Mapping[str, Result], metrics: Sequence[Metric], width: int, *, sliced: bool = False
) -> list[Table]:
    """Distribute runs over tables that fit; omit intervals if there are too many runs."""
    tables = spread_columns(_runs_table(results, metrics, "half", sliced=sliced), width)
    if len(tables) > 1 and len(results) > _MOST_WITH_INTERVALS:
        tables = spread_columns(_runs_table(results, metrics, "none", sliced=sliced), width)
    return tables


def _runs_table(
    results: Mapping[str, Result],
    metrics: Sequence[Metric],
    interval: _Interval,
    *,
    sliced: bool = False,
) -> Table:
    """Return a table with a row per metric (or per slice of a metric) and a column per run."""
    groups: dict[str, list[list[Cell]]] = {}
    words = Vocabulary.common(result.vocabulary for result in results.values())
    for label, by, metric, rows in _rows(results, metrics, sliced=sliced):
        best = best_of(metric, [row["value"] for row in rows]) if len(rows) > 1 else None
        values = [_value_cell(row, metric, best, interval) for row in rows]
        low, high = (pick(row["queries"] for row in rows) for pick in (min, max))
        few = " (few)" if any(row.get("small") for row in rows) else ""
        queries = f"{low:,}{few}" if low == high else f"{low:,}–{high:,}{few}"
        groups.setdefault(by, []).append([Cell(label), *values, Cell(queries, tone="muted")])
    columns = [Column("slice" if sliced else "metric", numeric=False),
               *map(Column, (*results, words.render("queries")))]  # fmt: skip
    return Table(columns, list(groups.values()), f"{metrics[0].label} by slice" if sliced else "")


def _rows(
    results: Mapping[str, Result], metrics: Sequence[Metric], *, sliced: bool
) -> Iterator[tuple[str, str, Metric, list[dict[str, Any]]]]:
    """Yield the rows of a table: label, attribute, metric, and the summary row of each run."""
    frames = [result.slices if sliced else result.summary for result in results.values()]
    for metric in metrics:
        first, *rest = (
            {(row.get("by", ""), row.get("slice")): row for row in frame.to_dicts()}
            for frame in (frame.filter(metric=metric.label) for frame in frames)
        )
        for (by, name), row in first.items():
            label = f"{by}: {name}" if sliced else metric.label
            yield label, by, metric, [row, *(rows.get((by, name), _NO_ROW) for rows in rest)]


def _value_cell(
    row: Mapping[str, Any], metric: Metric, best: float | None, interval: _Interval
) -> Cell:
    low, high, detail = row["ci_low"], row.get("ci_high"), ""
    if low is not None and interval == "half":
        half = number_text((row["ci_high"] - low) / 2, metric)
        detail = f"±{half.removeprefix('0') or half}"
    elif interval == "ends":
        detail = range_text(low, high, metric)
    is_best = best is not None and row["value"] == best
    text = number_text(row["value"], metric)
    return Cell(text, bold=is_best, tone="good" if is_best else "", detail=detail)


def _item_tables(results: Mapping[str, Result]) -> list[Table]:
    """Return a table of the exposure of each slice of documents, for each run and attribute."""
    heads = ("documents", "retrieved", "coverage", "places", "exposure", "hits", "of hits")
    tables = []
    for run, result in results.items():
        for by in result.items["by"].unique(maintain_order=True):
            rows = result.items.filter(pl.col("by") == by).to_dicts()
            title = f"{run}, items by {by}: in the top {rows[0]['k']} of all lists"
            titles = [result.vocabulary.render(head) for head in heads]
            tables.append(Table.from_texts([by], titles, map(_item_cells, rows), title))
    return tables


def _item_cells(row: Mapping[str, Any]) -> list[str]:
    formats = {
        "documents": ",", "documents_retrieved": ",", "coverage": ".1%", "share_of_places": ".1%",
        "share_of_exposure": ".1%", "hits": ",", "share_of_hits": ".1%",
    }  # fmt: skip
    texts = ["" if row[name] is None else f"{row[name]:{form}}" for name, form in formats.items()]
    return [str(row["slice"]), *texts]


def _sliceable(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the metrics that have values in slices: all but gaps, which compare slices."""
    return [metric for metric in metrics if metric.gap is None]


def _caveats(results: Mapping[str, Result]) -> list[Part]:
    notes = [Note(f"{run}: {result.overview}") for run, result in results.items()]
    named = (f"{run}: {caveat}" for run, result in results.items() for caveat in result.caveats)
    return [*warning_notes(named), *notes]


def _as_dict(run: str, result: Result) -> dict[str, object]:
    item = pl.col("item")
    ledger = result.ledger.filter(~item.str.starts_with(POLICY), ~item.str.starts_with(PREFIX))
    is_order = pl.col("item").str.ends_with(ORDER)
    counts, orders = ledger.filter(~is_order), ledger.filter(is_order)
    return {
        "run": run,
        "metrics": result.means,
        "intervals": {
            row["metric"]: [row["ci_low"], row["ci_high"]] for row in result.summary.to_dicts()
        },
        **({"slices": result.slices.to_dicts()} if result.slices.height else {}),
        **({"items": result.items.to_dicts()} if result.items.height else {}),
        "caveats": [caveat._asdict() for caveat in result.caveats],
        "queries": dict(zip(result.summary["metric"], result.summary["queries"], strict=True)),
        "counted": {
            item: int(value) if value is not None and value == int(value) else value
            for item, value in zip(counts["item"], counts["value"], strict=True)
        },
        "ordered": dict(zip(orders["item"], orders["note"], strict=True)),
        "policies": policies_of(result.ledger),
    }


def _stacked(frames: Mapping[str, pl.DataFrame], name: str = "run") -> pl.DataFrame:
    return pl.concat(
        [frame.select(pl.lit(run).alias(name), pl.all()) for run, frame in frames.items()]
    )
