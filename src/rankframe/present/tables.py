"""Tables that the terminal and the report both show."""

from __future__ import annotations

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS, WARNING, Comparison
from rankframe.core.table import Cell, Table
from rankframe.core.wording import count_text, number_text, share_text
from rankframe.engine.ledger import POLICY

BOUNDS_NOTE = (
    "Unjudged documents count as not relevant. judged: the judged share of the top k (the metric's "
    "own k, else 10). least, most: bounds of the value, whatever the grades of the unjudged "
    "documents in the cutoff; – where not known. if none, if all: scenarios, not bounds, in which "
    "none of these documents is relevant, or all."
)
_BOUNDS = dict(zip(HOLE_COLUMNS, ("least", "most", "if none", "if all"), strict=True))


def number_cell(value: float | None, text: str | None = None) -> Cell:
    """Make a cell with a number that the table is sorted by."""
    if value is None:
        return Cell("–")
    return Cell(number_text(value) if text is None else text, value=float(value))


def ledger_table(ledger: pl.DataFrame) -> Table:
    """Return what was counted, without policies and warnings: a column for each system.

    The column `all` has entries that belong to no system.
    """
    if "system" not in ledger.columns:
        ledger = ledger.with_columns(system=pl.lit(None, pl.String))
    skipped = pl.col("item").str.starts_with(POLICY) | (pl.col("item") == WARNING)
    ledger = ledger.filter(~skipped).unique(["system", "item"], keep="first", maintain_order=True)
    systems = ledger["system"].unique(maintain_order=True).to_list()
    rows = []
    for (item,), entries in ledger.group_by("item", maintain_order=True):
        values = dict(entries.select("system", "value").iter_rows())  # allowed: a ledger
        cells = [
            number_cell(values[name], count_text(values[name])) if name in values else Cell("")
            for name in systems
        ]
        notes = [f"{system}: {note}" for system, note in entries.select("system", "note").rows()]
        if entries["note"].n_unique() == 1:
            notes = [entries["note"][0]]
        rows.append([str(item), *cells, Cell("; ".join(notes), tone="muted")])
    names = ["all" if system is None else system for system in systems]
    return Table.from_texts(["counted"], names, rows, more_words=["meaning"])


def policies_of(ledger: pl.DataFrame) -> dict[str, str]:
    """Return the policies in force; of a policy that differs between systems, all values."""
    policies: dict[str, list[str]] = {}
    entries = ledger.filter(pl.col("item").str.starts_with(POLICY)).unique(
        ["item", "note"], maintain_order=True
    )
    for item, note in entries.select("item", "note").rows():  # allowed: a few policies
        policies.setdefault(item.removeprefix(POLICY), []).append(note)
    return {name: "; ".join(notes) for name, notes in policies.items()}


def bounds_table(comparison: Comparison) -> Table:
    """Return what the value of each metric could be, whatever the unjudged documents are."""
    rows = [
        [
            row["metric"],
            row["system"],
            number_cell(row["judged"], share_text(row["judged"])),
            *(number_cell(row[name]) for name in ("value", *_BOUNDS)),
        ]
        for row in comparison.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    return Table.from_texts(["metric", "system"], ["judged", "value", *_BOUNDS.values()], rows)
