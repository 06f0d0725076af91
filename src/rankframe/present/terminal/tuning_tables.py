"""How a tuning looks on a terminal, and as JSON, CSV or Markdown."""

from __future__ import annotations

import json
from typing import Literal

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from rankframe.analysis.tuning.outcome import HEADER, Tuning
from rankframe.core.wording import count_text, plain_text
from rankframe.present.terminal.decision_tables import warnings
from rankframe.present.terminal.tables import csv_text, plain

# Columns that are left out first where a terminal is narrow.
_DISPENSABLE = ("its interval", "folds", "interval", "from best")


def tuning_table(found: Tuning, width: int, most: int) -> RenderableType:
    """The best candidates and the runs, what was found, and how sure that is.

    In bold what cannot be told apart from the best. Columns that do not fit are left out.
    """
    lines = [(tuple(map(plain_text, cells)), bold) for cells, bold in found.lines(most)]
    shown = [at for at in range(len(HEADER)) if any(cells[at] for cells, _ in lines)]
    cells_of = (found.header, *(cells for cells, _ in lines))
    widths = [max(map(len, column)) for column in zip(*cells_of, strict=True)]
    left_out = []
    for name in _DISPENSABLE:
        if sum(widths[at] + 2 for at in shown) > width and HEADER.index(name) in shown:
            shown.remove(HEADER.index(name))
            left_out.append(name)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for at in shown:
        side = "left" if at < 2 else "right"
        table.add_column(plain(found.header[at]), justify=side, overflow="fold", no_wrap=at > 0)
    candidates = min(most, found.candidates.height)
    for number, (cells, bold) in enumerate(lines):
        if number == candidates:
            table.add_section()
        table.add_row(*(plain(cells[at], style="bold" if bold else "") for at in shown))
    hidden = found.candidates.height - candidates
    note = "In bold: cannot be told apart from the best. " + found.caveat + "."
    if hidden:
        note += f" Not shown: {hidden:,} candidates (see --top, --format csv)."
    if left_out:
        note += f" Not shown for want of room: {', '.join(left_out)}."
    colour = "bold green" if found.improved else "bold"
    return Group(
        table,
        plain(f"{found.headline}.", style=colour),
        *(plain(f"Out of fold {test}.") for test in found.tests),
        *warnings(found.warnings),
        plain(note, style="dim"),
    )


def tuning_ledger(found: Tuning) -> RenderableType:
    """Everything that was counted, and the policies in force."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("counted", overflow="fold")
    table.add_column("", justify="right")
    table.add_column("meaning", style="dim")
    for row in found.ledger.to_dicts():
        counted = "" if row["value"] is None else count_text(row["value"])
        table.add_row(plain(row["item"]), counted, plain(row["note"]))
    return table


def tuning_text(found: Tuning, style: Literal["json", "csv", "markdown"], most: int) -> str:
    """A tuning for other programs, or to paste: CSV has all candidates, JSON all of it."""
    match style:
        case "markdown":
            return found.to_markdown(most)
        case "csv":
            # A cell holds no list.
            weights = pl.col("weights").list.eval(pl.element().cast(pl.String)).list.join(" ")
            return csv_text(found.candidates.with_columns(weights))
        case "json":
            frames = ("candidates", "against", "folds", "runs", "ledger")
            tables = {name: getattr(found, name).to_dicts() for name in frames}
            said = {"headline": found.headline, "improved": found.improved, **tables}
            return json.dumps(said, indent=2, ensure_ascii=False)
