"""Render tables and notes with rich, within the width of a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from rankframe.core.table import Cell, Note, Part, Table
from rankframe.core.wording import cell_text, plain_text

STYLES: Final = {"good": "green", "bad": "bold red", "doubtful": "yellow", "muted": "dim"}
_LONGEST_NAME = 20  # longest title that is not folded if columns are spread
_GAP, _EDGES = 3, 5  # characters between columns, and at both edges of a table


def plain(text: str, style: str = "") -> Text:
    """Return a user's text without interpreting markup, and with invisible characters escaped."""
    return Text(plain_text(text), style)


def print_line(console: Console, message: str) -> None:
    """Print a line of plain text; brackets in it are not markup."""
    console.print(escape(message), highlight=False)


def render(parts: Iterable[Part], *, loose: bool = False) -> RenderableType:
    """Render tables and notes below each other; `loose` leaves more room between columns."""
    return Group(
        *(_note(part) if isinstance(part, Note) else _table(part, loose=loose) for part in parts)
    )


def _note(note: Note) -> Text:
    if note.lead == "Warning":
        return plain(f"{note}.", STYLES["doubtful"])
    return plain(str(note), STYLES.get(note.tone, "bold" if note.lead else "dim"))


def _table(table: Table, *, loose: bool) -> RichTable:
    rich = RichTable(
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1) if loose else (0, 1, 0, 0),
        title=plain(table.title, "bold") if table.title else None,
        title_justify="left",
    )
    for place, column in enumerate(table.columns):
        longest_word = max(map(len, column.title.split()), default=0)
        widths = [_width(row[place]) for row in table.rows]
        widest = max([min(longest_word, _LONGEST_NAME), *widths])
        rich.add_column(
            plain(column.title),
            justify="right" if column.numeric else "left",
            overflow="fold",
            min_width=widest if column.numeric else None,
        )
    for group in table.groups:
        for row in group:
            rich.add_row(*map(_text, row))
        rich.add_section()
    return rich


def _text(cell: Cell) -> Text:
    style = STYLES.get(cell.tone, "")
    text = plain(cell.text, f"bold {style.removeprefix('bold ')}" if cell.bold else style)
    return text.append(f" {cell.detail}", "not bold dim") if cell.detail else text


def _width(cell: Cell) -> int:
    return len(plain_text(cell.text)) + (len(cell.detail) + 1 if cell.detail else 0)


def _widths(table: Table, width: int) -> list[int]:
    """Return the characters that each column takes; long titles are folded."""
    return [
        max([min(len(plain_text(column.title)), _LONGEST_NAME if column.numeric else width),
             *(_width(row[index]) for row in table.rows)])
        for index, column in enumerate(table.columns)
    ]  # fmt: skip


def hide_columns(table: Table, width: int, *, titles: int = 0) -> tuple[Table, list[Note]]:
    """Hide empty columns, and dispensable columns until the table fits; return notes on the latter.

    titles: how many of the first columns become titles and need no room.
    """
    table = table.without_empty_columns()
    hidden = []
    for title in table.dispensable:
        widths = _widths(table, width)[titles:]
        if title in table.titles and sum(2 + wide for wide in widths) > width:
            table = table.without(title)
            hidden.append(title)
    text = f"Hidden (terminal too narrow): {', '.join(hidden)}. See --format csv."
    return table, [Note(text)] if hidden else []


def spread_columns(table: Table, width: int) -> list[Table]:
    """Spread columns over tables that fit; each table has the first and the last column."""
    widths = _widths(table, width)
    last = len(widths) - 1
    room = width - min(widths[0], width // 3) - widths[last] - _EDGES
    places: list[list[int]] = [[1]]
    for place in range(2, last):
        if sum(_GAP + widths[index] for index in (*places[-1], place)) > room:
            places.append([])
        places[-1].append(place)
    return [table.take([0, *chosen, last]) for chosen in places]


def csv_text(frame: pl.DataFrame) -> str:
    """Write a frame as CSV that is safe in a spreadsheet: no text is taken for a formula."""
    texts = [
        pl.Series(column.name, [None if text is None else cell_text(text) for text in column],
                  dtype=pl.String)
        for column in frame.select(pl.col(pl.String))
    ]  # fmt: skip
    safe = frame.with_columns(texts)
    safe.columns = [cell_text(name) for name in frame.columns]  # some are names of runs
    return safe.write_csv().rstrip("\n")


def json_text(content: object) -> str:
    """Write JSON that people can read."""
    return json.dumps(content, indent=2, ensure_ascii=False)


def frames_as_json(holder: object, names: Sequence[str], **more: object) -> str:
    """Return JSON of the content in `more`, and of frames, which are attributes of an object."""
    return json_text(more | {name: getattr(holder, name).to_dicts() for name in names})
