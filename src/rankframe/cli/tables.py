"""How results look: tables for a terminal, Markdown, CSV and JSON. Nothing here computes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rankframe.base.wording import (
    best_of,
    cell_text,
    count_text,
    markdown_row,
    markdown_text,
    number_text,
    plain_text,
)
from rankframe.evaluation.ledger import ORDER, POLICY
from rankframe.evaluation.result import Result
from rankframe.metrics import Definition
from rankframe.metrics.names import Metric, signature
from rankframe.metrics.registry import Family

Format = Literal["table", "json", "csv", "markdown"]
_MOST_WITH_INTERVALS = 5  # runs side by side on a usual terminal
_NO_ROW = {"value": None, "ci_low": None, "queries": 0, "small": False}


def plain(text: str, style: str = "") -> Text:
    """Text from outside on a terminal: as it is, and nothing but text."""
    return Text(plain_text(text), style)


def summary_table(results: Mapping[str, Result], metrics: Sequence[Metric]) -> RenderableType:
    """Metrics down, runs across, the best of each row in bold; then what to know about each run."""
    table = _grid("metric", list(results))
    for metric in metrics:
        rows = [
            result.summary.filter(pl.col("metric") == metric.label).to_dicts()[0]
            for result in results.values()
        ]
        table.add_row(plain(metric.label), *_cells(rows, metric), plain(_queries(rows)))
    notes = [plain(f"{run}: {result.caveat}", style="dim") for run, result in results.items()]
    return Group(table, *notes)


def slice_tables(results: Mapping[str, Result], metrics: Sequence[Metric]) -> RenderableType:
    """A table for each metric: slices down, runs across."""
    tables: list[RenderableType] = []
    first = next(iter(results.values())).slices
    slices = first.select("by", "slice").unique(maintain_order=True)
    for metric in metrics:
        table = _grid("slice", list(results))
        table.title, table.title_justify = plain(f"{metric.label} by slice"), "left"
        before = None
        for by, name in slices.iter_rows():  # allowed: one row a slice
            this = (pl.col("by") == by) & (pl.col("slice") == name)
            here = [
                result.slices.filter(this, pl.col("metric") == metric.label).to_dicts()
                for result in results.values()
            ]
            rows = [found[0] if found else _NO_ROW for found in here]
            few = " (few)" if any(row["small"] for row in rows) else ""
            if before not in (None, by):
                table.add_section()
            table.add_row(plain(f"{by}: {name}"), *_cells(rows, metric), f"{_queries(rows)}{few}")
            before = by
        tables.append(table)
    return Group(*tables)


def ledger_table(results: Mapping[str, Result]) -> RenderableType:
    """Everything that was counted, a column a run, and the policies in force."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("counted", no_wrap=True)
    for run in results:
        table.add_column(plain(run), justify="right", overflow="fold")
    table.add_column("meaning", style="dim")
    items = pl.concat(_counts(r.ledger)["item"] for r in results.values())
    for item in items.unique(maintain_order=True):
        rows = {name: r.ledger.filter(pl.col("item") == item) for name, r in results.items()}
        cells = [count_text(row["value"][0]) if row.height else "-" for row in rows.values()]
        meanings = {name: row["note"][0] for name, row in rows.items() if row.height}
        said = "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())
        same = len(set(meanings.values())) == 1
        meaning = next(iter(meanings.values())) if same else said
        table.add_row(plain(item), *map(plain, cells), plain(meaning))
    policies = _policies(next(iter(results.values())).ledger)
    shown = ", ".join(f"{name}: {value}" for name, value in policies.items())
    return Group(table, plain(f"policies: {shown}"))


def summary_frame(results: Mapping[str, Result]) -> pl.DataFrame:
    """All summaries in one frame, with the name of the run in front; slices below, if any."""
    whole = _stacked({run: result.summary for run, result in results.items()})
    slices = _stacked({run: result.slices for run, result in results.items()})
    if slices.is_empty():
        return whole
    nothing = pl.lit(None, pl.String)
    columns = slices.drop("small").columns
    whole = whole.with_columns(by=nothing, slice=nothing).select(columns)
    return pl.concat([whole, slices.select(columns)])


def per_query_frame(results: Mapping[str, Result]) -> pl.DataFrame:
    """All per-query values in one frame, with the name of the run in front."""
    return _stacked({run: result.per_query for run, result in results.items()})


def as_text(results: Mapping[str, Result], metrics: Sequence[Metric], style: Format) -> str:
    """The summaries as JSON, CSV or Markdown."""
    if style == "csv":
        return csv_text(summary_frame(results))
    if style == "json":
        return json.dumps([_as_dict(run, result) for run, result in results.items()], indent=2)
    lines = [
        markdown_row(["metric", *map(markdown_text, results)]),
        markdown_row(["---", *("---:" for _ in results)]),
    ]
    for metric in metrics:
        values = [result[metric.label] for result in results.values()]
        cells = [markdown_text(metric.label), *(number_text(v, metric) for v in values)]
        lines.append(markdown_row(cells))
    return "\n".join(lines)


def csv_text(frame: pl.DataFrame) -> str:
    """A few rows as people open them in a spreadsheet: no text is a formula, or more than text."""
    texts = [
        pl.Series(column.name, [None if text is None else cell_text(text) for text in column],
                  dtype=pl.String)
        for column in frame.select(pl.col(pl.String))
    ]  # fmt: skip
    return frame.with_columns(texts).write_csv().rstrip("\n")


def metric_list(definitions: Sequence[Definition]) -> RenderableType:
    """The reference in one table a family."""
    tables: list[RenderableType] = []
    for family in get_args(Family):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, title=family, title_justify="left")
        table.add_column("name", style="bold", no_wrap=True)
        table.add_column("meaning")
        for definition in definitions:
            if definition.family == family:
                cutoff = "@k" if "k" in definition.parameters else ""
                table.add_row(f"{definition.name}{cutoff}", Text(definition.summary))
        tables.append(table)
    return Group(*tables)


def metric_page(definition: Definition) -> RenderableType:
    """One metric: what it means, how it is computed, how it is written."""
    direction = "higher is better" if definition.higher_is_better else "lower is better"
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column()
    facts.add_row("written", Text(signature(definition), style="bold"))
    facts.add_row("formula", Text(definition.formula))
    facts.add_row("range", f"{_bounds(definition)}, {direction}")
    facts.add_row("summary", f"average={definition.average} unless you say otherwise")
    also = ", ".join(definition.other_names)
    if also:
        facts.add_row("also", Text(also))
    parts: list[RenderableType] = [Text(definition.summary, style="bold"), Text(""), facts]
    if definition.notes:
        paragraphs = [" ".join(p.split()) for p in definition.notes.split("\n\n")]
        parts += [Text(""), Text("\n\n".join(paragraphs))]
    return Group(*parts)


def say(console: Console, message: str) -> None:
    """A line of plain text, whatever brackets are in it."""
    console.print(escape(message), highlight=False)


def _as_dict(run: str, result: Result) -> dict[str, object]:
    ledger = _counts(result.ledger)
    is_order = pl.col("item").str.ends_with(ORDER)
    counts, orders = ledger.filter(~is_order), ledger.filter(is_order)
    return {
        "run": run,
        "metrics": result.means,
        "intervals": {
            row["metric"]: [row["ci_low"], row["ci_high"]] for row in result.summary.to_dicts()
        },
        **({"slices": result.slices.to_dicts()} if result.slices.height else {}),
        "queries": dict(zip(result.summary["metric"], result.summary["queries"], strict=True)),
        "counted": {
            item: int(value) if value is not None and value == int(value) else value
            for item, value in zip(counts["item"], counts["value"], strict=True)
        },
        "ordered": dict(zip(orders["item"], orders["note"], strict=True)),
        "policies": _policies(result.ledger),
    }


def _counts(ledger: pl.DataFrame) -> pl.DataFrame:
    return ledger.filter(~pl.col("item").str.starts_with(POLICY))


def _policies(ledger: pl.DataFrame) -> dict[str, str]:
    policies = ledger.filter(pl.col("item").str.starts_with(POLICY))
    names = policies["item"].str.strip_prefix(POLICY)
    return dict(zip(names, policies["note"], strict=True))


def _stacked(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(
        [frame.select(pl.lit(run).alias("run"), pl.all()) for run, frame in frames.items()]
    )


def _grid(first: str, runs: Sequence[str]) -> Table:
    """A table with a column a run."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for run in runs:
        table.add_column(plain(run), justify="right", overflow="fold")
    table.add_column("queries", justify="right", style="dim")
    return table


def _cells(rows: Sequence[Mapping[str, Any]], metric: Metric) -> list[Text]:
    """The values of several runs, each with half of its interval where there is room for it."""
    values = [row["value"] for row in rows]
    best = best_of(metric, values) if len(values) > 1 else None
    cells = []
    for row in rows:
        cell = Text(
            number_text(row["value"], metric), style="bold green" if row["value"] == best else ""
        )
        if row["ci_low"] is not None and len(rows) <= _MOST_WITH_INTERVALS:
            half = (row["ci_high"] - row["ci_low"]) / 2
            cell.append(f" ±{number_text(half, metric).removeprefix('0')}", style="not bold dim")
        cells.append(cell)
    return cells


def _queries(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = [row["queries"] for row in rows]
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _bounds(definition: Definition) -> str:
    low, high = definition.bounds
    return f"{'−∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"
