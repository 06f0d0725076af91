"""How results look: tables for a terminal, Markdown, CSV and JSON. Nothing here computes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rankframe.core.wording import (
    best_of,
    cell_text,
    count_text,
    markdown_row,
    markdown_text,
    number_text,
    plain_text,
)
from rankframe.engine.ledger import ORDER, POLICY
from rankframe.engine.result import Result
from rankframe.metrics import Definition
from rankframe.metrics.names import Metric, signature
from rankframe.metrics.registry import Family

_Cells: TypeAlias = Sequence[Sequence[Text]]
Format = Literal["table", "json", "csv", "markdown"]
# Up to so many runs have their intervals, though not all may stand side by side; more, if they do.
_MOST_WITH_INTERVALS = 5
_LONGEST_NAME = 20  # of a run above its numbers, which may be narrower; the rest is folded
_GAP, _EDGES = 3, 5  # around a column, and around the others
_NO_ROW = {"value": None, "ci_low": None, "queries": 0, "small": False}


def plain(text: str, style: str = "") -> Text:
    """Text from outside on a terminal: as it is, and nothing but text."""
    return Text(plain_text(text), style)


class _Row(NamedTuple):
    """A line of a table: what it is of, and a value of each run."""

    name: str
    metric: Metric
    values: Sequence[Mapping[str, Any]]
    # it stands apart from lines of another group
    group: str = ""

    @property
    def best(self) -> float | None:
        """The best of several runs."""
        values = [value["value"] for value in self.values]
        return best_of(self.metric, values) if len(values) > 1 else None

    @property
    def queries(self) -> str:
        """How many were averaged, and whether those are few."""
        counts = [value["queries"] for value in self.values]
        low, high = min(counts), max(counts)
        few = " (few)" if any(value.get("small") for value in self.values) else ""
        return f"{low:,}{few}" if low == high else f"{low:,}–{high:,}{few}"


def summary_table(
    results: Mapping[str, Result], metrics: Sequence[Metric], width: int
) -> RenderableType:
    """Metrics down, runs across, the best of each row in bold; then what to know about each run.

    Runs that find no room side by side stand in tables one below the other.
    """
    tables = _grids("metric", list(results), _summary_rows(results, metrics), width)
    notes = [plain(f"{run}: {result.caveat}", style="dim") for run, result in results.items()]
    return Group(*tables, *notes)


def slice_tables(
    results: Mapping[str, Result], metrics: Sequence[Metric], width: int
) -> RenderableType:
    """A table for each metric: slices down, runs across."""
    tables: list[RenderableType] = []
    for metric in metrics:
        if metric.gap is not None:  # it is between slices
            continue
        found = _grids("slice", list(results), _slice_rows(results, metric), width)
        found[0].title, found[0].title_justify = plain(f"{metric.label} by slice"), "left"
        tables += found
    return Group(*tables)


def _summary_rows(results: Mapping[str, Result], metrics: Sequence[Metric]) -> list[_Row]:
    summaries = [result.summary for result in results.values()]
    return [
        _Row(
            m.label, m, [one.filter(pl.col("metric") == m.label).to_dicts()[0] for one in summaries]
        )
        for m in metrics
    ]


def _slice_rows(results: Mapping[str, Result], metric: Metric) -> list[_Row]:
    slices = [one.slices.filter(pl.col("metric") == metric.label) for one in results.values()]
    rows = []
    for by, name in slices[0].select("by", "slice").rows():  # allowed: one row a slice
        this = (pl.col("by") == by) & (pl.col("slice") == name)
        here = [one.filter(this).to_dicts() for one in slices]
        values = [found[0] if found else _NO_ROW for found in here]
        rows.append(_Row(f"{by}: {name}", metric, values, by))
    return rows


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
    return _markdown(results, metrics)


def csv_text(frame: pl.DataFrame) -> str:
    """A few rows as people open them in a spreadsheet: no text is a formula, or more than text."""
    texts = [
        pl.Series(column.name, [None if text is None else cell_text(text) for text in column],
                  dtype=pl.String)
        for column in frame.select(pl.col(pl.String))
    ]  # fmt: skip
    shown = frame.with_columns(texts)
    shown.columns = [cell_text(name) for name in frame.columns]  # some are called like runs
    return shown.write_csv().rstrip("\n")


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


def _markdown(results: Mapping[str, Result], metrics: Sequence[Metric]) -> str:
    """Values with their intervals, the best in bold; slices below; then what to know of them."""
    parts = [_markdown_table("metric", results, _summary_rows(results, metrics))]
    if any(result.slices.height for result in results.values()):
        for metric in (one for one in metrics if one.gap is None):
            table = _markdown_table("slice", results, _slice_rows(results, metric))
            parts.append(f"{markdown_text(metric.label)} by slice:\n\n{table}")
    notes = [f"{run}: {result.caveat}." for run, result in results.items()]
    if (how := _policies(next(iter(results.values())).ledger).get("ci", "none")) != "none":
        notes.append(f"Intervals: {how}.")
    return "\n\n".join([*parts, "\n".join(f"- {markdown_text(note)}" for note in notes)])


def _markdown_table(first: str, runs: Iterable[str], rows: Sequence[_Row]) -> str:
    names = [markdown_text(run) for run in runs]
    lines = [
        markdown_row([first, *names, "queries"]),
        markdown_row(["---", *("---:" for _ in names), "---:"]),
    ]
    for row in rows:
        cells = [markdown_text(row.name)]
        for value in row.values:
            text = number_text(value["value"], row.metric)
            shown = f"**{text}**" if row.best is not None and value["value"] == row.best else text
            bounds = (number_text(value[end], row.metric) for end in ("ci_low", "ci_high"))
            cells.append(shown if value["ci_low"] is None else f"{shown} ({' to '.join(bounds)})")
        lines.append(markdown_row([*cells, row.queries]))
    return "\n".join(lines)


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
        **({"items": result.items.to_dicts()} if result.items.height else {}),
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


def _grids(first: str, runs: Sequence[str], rows: Sequence[_Row], width: int) -> list[Table]:
    """Tables with a column a run: one, or as many as it takes to stay within the width."""
    found = _fitting(first, runs, rows, _cells(rows, intervals=True), width)
    if len(found) > 1 and len(runs) > _MOST_WITH_INTERVALS:
        return _fitting(first, runs, rows, _cells(rows, intervals=False), width)
    return found


def _fitting(
    first: str, runs: Sequence[str], rows: Sequence[_Row], cells: _Cells, width: int
) -> list[Table]:
    """Tables of as many runs each as the width has room for, at least one."""
    label = max(len(plain_text(text)) for text in (first, *(row.name for row in rows)))
    counts = max(len(text) for text in ("queries", *(row.queries for row in rows)))
    room = width - min(label, width // 3) - counts - _EDGES
    wide = [
        _GAP + max(min(len(plain_text(run)), _LONGEST_NAME), *(len(line[at]) for line in cells))
        for at, run in enumerate(runs)
    ]
    groups = [[0]]
    for at in range(1, len(runs)):
        if sum(wide[one] for one in (*groups[-1], at)) > room:
            groups.append([])
        groups[-1].append(at)
    return [_grid(first, runs, rows, cells, chosen) for chosen in groups]


def _grid(
    first: str, runs: Sequence[str], rows: Sequence[_Row], cells: _Cells, chosen: Sequence[int]
) -> Table:
    """A table of some of the runs."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for at in chosen:
        least = max(len(line[at]) for line in cells)
        table.add_column(plain(runs[at]), justify="right", overflow="fold", min_width=least)
    table.add_column("queries", justify="right", style="dim", no_wrap=True)
    before = rows[0].group if rows else ""
    for row, line in zip(rows, cells, strict=True):
        if row.group != before:
            table.add_section()
        table.add_row(plain(row.name), *(line[at] for at in chosen), plain(row.queries))
        before = row.group
    return table


def _cells(rows: Sequence[_Row], *, intervals: bool) -> _Cells:
    """The values of several runs, each with half of its interval if wanted."""
    lines = []
    for row in rows:
        cells = []
        for value in row.values:
            best = row.best is not None and value["value"] == row.best
            cell = Text(number_text(value["value"], row.metric), style="bold green" if best else "")
            if value["ci_low"] is not None and intervals:
                half = number_text((value["ci_high"] - value["ci_low"]) / 2, row.metric)
                cell.append(f" ±{half.removeprefix('0') or half}", style="not bold dim")
            cells.append(cell)
        lines.append(cells)
    return lines


def _bounds(definition: Definition) -> str:
    low, high = definition.bounds
    return f"{'−∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"
