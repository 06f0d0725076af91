"""Slices of the items on a terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from rankframe.core.wording import markdown_row, markdown_text
from rankframe.engine.result import Result
from rankframe.present.terminal.tables import plain

_HEADS = ("documents", "shown", "coverage", "places", "exposure", "hits", "of hits")


def item_tables(results: Mapping[str, Result]) -> RenderableType:
    """A table a run and attribute: slices down, what their documents get across."""
    tables: list[RenderableType] = []
    for title, by, lines in _tables(results):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, title=plain(title), title_justify="left")
        table.add_column(plain(by), overflow="fold")
        for head in _HEADS:
            table.add_column(head, justify="right")
        for cells in lines:
            table.add_row(*(plain(cell) for cell in cells))
        tables.append(table)
    return Group(*tables)


def items_markdown(results: Mapping[str, Result]) -> list[str]:
    """The same as text."""
    parts = []
    for title, by, lines in _tables(results):
        rows = [
            markdown_row([markdown_text(by), *_HEADS]),
            markdown_row(["---", *("---:" for _ in _HEADS)]),
            *(markdown_row([markdown_text(cell) for cell in cells]) for cells in lines),
        ]  # fmt: skip
        parts.append("\n".join([f"{markdown_text(title)}:", "", *rows]))
    return parts


def _tables(results: Mapping[str, Result]) -> list[tuple[str, str, list[list[str]]]]:
    """Of each run and attribute: a title, the attribute, and the cells of each slice."""
    found = []
    for run, result in results.items():
        for by in result.items["by"].unique(maintain_order=True):
            rows = result.items.filter(pl.col("by") == by).to_dicts()
            title = f"{run}, items by {by}: in the top {rows[0]['k']} of all lists"
            found.append((title, by, [_cells(row) for row in rows]))
    return found


def _cells(row: Mapping[str, float]) -> list[str]:
    counts = [f"{row[name]:,}" for name in ("documents", "documents_shown")]
    shares = [_share(row[n]) for n in ("coverage", "share_of_places", "share_of_exposure")]
    hits = "" if row["hits"] is None else f"{row['hits']:,}"
    return [str(row["slice"]), *counts, *shares, hits, _share(row["share_of_hits"])]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
