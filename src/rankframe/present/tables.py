"""Build the tables that both the terminal and the report show."""

from __future__ import annotations

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS, Comparison
from rankframe.core.caveats import PREFIX
from rankframe.core.table import Cell, Table
from rankframe.core.wording import count_text, number_text, share_text
from rankframe.engine.ledger import POLICY

BOUNDS_NOTE = (
    "Unjudged documents count as not relevant. Judged: the judged share of the top k (the metric's "
    "own k, else 10). Bounds: the least and the largest value, whatever the grades of the unjudged "
    "documents in the cutoff; – where not known. The last two columns are scenarios, not bounds: "
    "none of these documents relevant, or all."
)


def number_cell(value: float | None, text: str | None = None) -> Cell:
    """Make a cell with a number that the table is sorted by."""
    if value is None:
        return Cell("–")
    return Cell(number_text(value) if text is None else text, value=float(value))


def ledger_table(ledger: pl.DataFrame) -> Table:
    """Return the counts of a ledger, without policies and caveats: a column for each system.

    The column `all` has entries that belong to no system.
    """
    if "system" not in ledger.columns:
        ledger = ledger.with_columns(system=pl.lit(None, pl.String))
    item = pl.col("item")
    skipped = item.str.starts_with(POLICY) | item.str.starts_with(PREFIX)
    ledger = ledger.filter(~skipped).unique(["system", "item"], keep="first", maintain_order=True)
    systems = ledger["system"].unique(maintain_order=True).to_list()
    rows = []
    for (item,), entries in ledger.group_by("item", maintain_order=True):
        values = dict(entries.select("system", "value").iter_rows())  # allowed: a ledger
        cells = [
            number_cell(values[name], count_text(values[name])) if name in values else Cell("")
            for name in systems
        ]
        named = entries.select("system", "note").rows()  # allowed: a ledger
        notes = [f"{system}: {note}" for system, note in named]
        if entries["note"].n_unique() == 1:
            notes = [entries["note"][0]]
        rows.append([str(item), *cells, Cell("; ".join(notes), tone="muted")])
    names = ["all" if system is None else system for system in systems]
    return Table.from_texts(["counted"], names, rows, more_words=["meaning"])


def policies_of(ledger: pl.DataFrame) -> dict[str, str]:
    """Return the policies; if systems differ in a policy, return the values of all systems."""
    policies: dict[str, list[str]] = {}
    entries = ledger.filter(pl.col("item").str.starts_with(POLICY)).unique(
        ["item", "note"], maintain_order=True
    )
    for item, note in entries.select("item", "note").rows():  # allowed: a few policies
        policies.setdefault(item.removeprefix(POLICY), []).append(note)
    return {name: "; ".join(notes) for name, notes in policies.items()}


def bounds_table(comparison: Comparison) -> Table:
    """Return the bounds of each metric over all possible grades of unjudged documents."""
    rows = [
        [
            row["metric"],
            row["system"],
            number_cell(row["judged"], share_text(row["judged"])),
            *(number_cell(row[name]) for name in ("value", *HOLE_COLUMNS)),
        ]
        for row in comparison.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    numbers = ["judged", "value", *(name.replace("_", " ") for name in HOLE_COLUMNS)]
    return Table.from_texts(["metric", "system"], numbers, rows)
