"""How comparisons, changes and verdicts look on a terminal, and as JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rankframe.analysis.change import Diff
from rankframe.analysis.comparison import HEADER, HOLE_COLUMNS, Comparison
from rankframe.analysis.verdict import Verdict
from rankframe.core.messages import number_of
from rankframe.core.wording import count_text, number_text, plain_text, share_text, signed_text
from rankframe.present.terminal.tables import csv_text, plain

# Columns of a comparison that are left out first where a terminal is narrow.
_DISPENSABLE = ("W/T/L", "raw p", "judged", "%", "interval")
_COLOURS = {"pass": "green", "fail": "bold red", "undecided": "yellow", "skipped": "dim"}
_CHANGES = {"entered": "green", "left": "red", "up": "green", "down": "red", "same": "dim"}


def comparison_table(found: Comparison, width: int) -> RenderableType:
    """A table for each metric, a row for each system (and slice); what is significant in bold.

    Columns that do not fit are left out, and it is said which.
    """
    lines = [(tuple(map(plain_text, cells)), bold) for cells, bold in found.lines()]
    shown = [at for at in range(1, len(HEADER)) if any(cells[at] for cells, _ in lines)]
    cells_of = (found.header, *(cells for cells, _ in lines))
    widths = [max(map(len, column)) for column in zip(*cells_of, strict=True)]
    left_out = []
    for name in _DISPENSABLE:
        if sum(widths[at] + 2 for at in shown) > width and HEADER.index(name) in shown:
            shown.remove(HEADER.index(name))
            left_out.append(name)
    tables: list[Table] = []
    metric = None
    for cells, significant in lines:
        if cells[0] and cells[0] != metric:
            metric = cells[0]
            tables.append(_system_table(metric, [found.header[at] for at in shown]))
        elif cells[0]:
            tables[-1].add_section()
        style = "bold" if significant else ""
        tables[-1].add_row(*(plain(cells[at], style=style if at >= 2 else "") for at in shown))
    note = "".join(f"{said}. " for said in (found.legend, found.caveat) if said)
    if left_out:
        note += f"Not shown for want of room: {', '.join(left_out)} (see --format csv)."
    return Group(*tables, *warnings(found.warnings), plain(note.rstrip(), style="dim"))


def warnings(said: Sequence[str]) -> list[Text]:
    """What makes numbers doubtful, a line each."""
    return [plain(f"Warning: {warning}.", style="yellow") for warning in said]


def _system_table(metric: str, header: Sequence[str], last: str = "system") -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=plain(metric, style="bold"),
        title_justify="left",
    )
    names = header.index(last) + 1
    for at, name in enumerate(header):
        side = "left" if at < names else "right"
        table.add_column(plain(name), justify=side, overflow="fold", no_wrap=at >= names)
    return table


def bounds_table(found: Comparison) -> RenderableType:
    """What each metric could be, whatever the unjudged documents are."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title="Unjudged documents", title_justify="left")
    for name in ("metric", "system"):
        table.add_column(name, overflow="fold")
    for name in ("value", "least", "most", "if none", "if all", "judged"):
        table.add_column(name, justify="right")
    rows = found.systems.filter(pl.col("by").is_null())
    for row in rows.to_dicts():
        table.add_row(
            plain(row["metric"]),
            plain(row["system"]),
            number_text(row["value"]),
            *("–" if row[name] is None else number_text(row[name]) for name in HOLE_COLUMNS),
            share_text(row["judged"]),
        )
    said = (
        "Least, most: bounds, whatever the grades of unjudged documents in the cutoff; – where not "
        "known. If none, or all of them, were relevant: scenarios, not bounds. Over each system's "
        "own queries, whatever the others have."
    )
    return Group(table, plain(said, "dim"))


def comparison_ledger(found: Comparison) -> RenderableType:
    """Everything that was counted, and the policies in force."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("system", "counted"):
        table.add_column(name, overflow="fold")
    table.add_column("", justify="right")
    table.add_column("meaning", style="dim")
    for row in found.ledger.to_dicts():
        counted = "" if row["value"] is None else count_text(row["value"])
        table.add_row(plain(row["system"] or ""), plain(row["item"]), counted, plain(row["note"]))
    return table


def comparison_text(found: Comparison, style: Literal["json", "csv", "markdown", "latex"]) -> str:
    """A comparison for other programs, or to paste."""
    match style:
        case "markdown":
            return found.to_markdown(details=True)
        case "latex":
            return found.to_latex()
        case "csv":
            return csv_text(found.table)
        case "json":
            frames = {name: getattr(found, name) for name in ("table", "systems", "ledger")}
            return _json({name: frame.to_dicts() for name, frame in frames.items()})


def diff_tables(found: Diff) -> RenderableType:
    """The queries that moved most, and side by side what happened to their documents."""
    summary = found.summary.to_dicts()[0]
    a, b = found.names
    head = plain(
        f"{summary['metric']}: {number_text(summary['mean_a'])} ({a}) → "
        f"{number_text(summary['mean_b'])} ({b}), {number_of(summary['queries'], 'query')}: "
        f"{summary['wins']:,} better, {summary['ties']:,} the same, {summary['losses']:,} worse, "
        f"{summary['undefined']:,} undefined"
    )
    parts: list[RenderableType] = [
        head,
        Text(""),
        *(plain(str(lack), style="yellow" if lack.many else "dim") for lack in found.lacks),
    ]
    titled = "title" in found.documents.columns
    for mover in found.movers.to_dicts():
        title = f"{mover['query_id']}  {number_text(mover[a])} → {number_text(mover[b])} "
        table = Table(
            box=SIMPLE_HEAD,
            pad_edge=False,
            title=plain(f"{title} ({mover['delta']:+.4f}){_said_of(mover, found.described)}"),
            title_justify="left",
        )
        table.add_column("document", overflow="fold")
        if titled:
            table.add_column("title", overflow="fold")
        for name in ("grade", a, b):
            table.add_column(plain(name), justify="right")
        table.add_column("")
        documents = found.documents.filter(pl.col("query_id") == mover["query_id"])
        for row in documents.to_dicts():
            table.add_row(
                plain(row["doc_id"]),
                *([plain(row["title"] or "")] if titled else []),
                "-" if row["relevance"] is None else f"{row['relevance']:g}",
                *("-" if row[rank] is None else str(row[rank]) for rank in found.ranks),
                plain(row["change"], style=_CHANGES[row["change"]]),
            )
        parts.append(table)
    if not found.movers.height:
        parts.append(plain("No query moved."))
    return Group(*parts)


def _said_of(mover: Mapping[str, Any], names: Sequence[str]) -> str:
    """What is known of a query beside its values."""
    known = [(name, mover[name]) for name in names if mover[name] is not None]
    said = [
        str(one)
        if name == "text"
        else f"{name} {one:g}"
        if isinstance(one, float)
        else f"{name} {one}"
        for name, one in known
    ]
    return "".join(f"  {one}" for one in said)


def diff_text(found: Diff, *, style: Literal["json", "csv"]) -> str:
    """A change for other programs: CSV has the queries that moved, JSON their documents too."""
    if style == "csv":
        return csv_text(found.movers)
    frames = {name: getattr(found, name) for name in ("summary", "movers", "documents")}
    tables = {name: frame.to_dicts() for name, frame in frames.items()}
    return _json({"runs": dict(zip("ab", found.names, strict=True)), **tables})


def verdict_table(verdict: Verdict) -> RenderableType:
    """Every check, why it failed, and the verdict. Rules that speak of slices have a table each."""
    lines = verdict.lines()
    sliced = any(of for _, of, *_ in lines)
    tables: list[Table] = []
    before = None
    for rule, of, *numbers, status, _ in lines:
        if not tables or (sliced and rule != before):
            tables.append(_check_table(verdict.header, rule if sliced else None))
        cells = [plain(status, style=_COLOURS[status]), plain((of or "all") if sliced else rule)]
        tables[-1].add_row(*cells, *numbers)
        before = rule
    reasons = [
        plain(f"{status}: {rule}{f' [{of}]' if of else ''}: {reason}", style=_COLOURS[status])
        for rule, of, *_, status, reason in lines
        if reason
    ]
    colour = _COLOURS[verdict.status]
    return Group(
        *tables,
        *reasons,
        *warnings(verdict.warnings),
        plain(verdict.headline, style=f"bold {colour}"),
    )


def _check_table(header: Sequence[str], rule: str | None) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=None if rule is None else plain(rule, style="bold"),
        title_justify="left",
    )
    table.add_column("", no_wrap=True)
    table.add_column("rule" if rule is None else "slice", overflow="fold")
    for name in header:
        table.add_column(plain(name), justify="right", overflow="fold")
    return table


def _json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def history_table(found: pl.DataFrame) -> RenderableType:
    """A table for each metric, a row for each result, and how it changed from the one before."""
    tables: list[RenderableType] = []
    for (metric,), rows in found.group_by("metric", maintain_order=True):
        table = _system_table(
            str(metric),
            ["result", "written (UTC)", "value", "change", "interval", "queries"],
            last="written (UTC)",
        )
        before = None
        for row in rows.to_dicts():
            value, low, high = row["value"], row["ci_low"], row["ci_high"]
            change = "" if before is None or value is None else signed_text(value - before)
            table.add_row(
                plain(row["result"]),
                "–" if row["date"] is None else f"{row['date']:%Y-%m-%d %H:%M}",
                number_text(value),
                change,
                "" if low is None else f"{low:.4f} to {high:.4f}",
                f"{row['queries']:,}",
            )
            before = value
        tables.append(table)
    if (found["same_judgments"] == False).any():  # noqa: E712 (null is neither)
        tables += warnings(["judgments changed between results: values are no trend"])
    return Group(*tables)
