"""Render parts of a self-contained web page; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

from rankframe.core.table import Cell, Table
from rankframe.core.wording import plain_text

# Classes of the style sheet, by the tone of a cell.
CLASSES: Final = {"good": "up", "bad": "down", "doubtful": "few", "muted": "ci"}
_SEVERAL = re.compile(r"\d(?: to |/)[-+\d]")  # matches a cell with several numbers

_LONGEST = 120  # characters of an id on the page
_SHORT = 18  # characters that stay on one line
_PAGE = 20  # rows of a table that are shown at once


def escaped(content: str) -> str:
    """Escape text of any length for HTML."""
    return escape(plain_text(content))


def text(content: object, *, limit: int = _LONGEST) -> str:
    """Escape text for HTML; text over the limit is shortened, with the whole text in a tooltip."""
    whole = plain_text(str(content), 4 * limit)
    if len(whole) <= limit:
        return escape(whole)
    return f'<span title="{escape(whole)}">{escape(whole[: limit - 1])}…</span>'


def table(name: str, content: Table, *, search: str | None = None, page: int = _PAGE) -> str:
    """Render a table that readers can sort, page through and save as CSV.

    search: the label of a search box, which hides rows without the entered words.
    """
    head = "".join(
        f'<th scope="col"{"" if column.numeric else " class=text"}>'
        f'<button type="button">{text(column.title)}</button></th>'
        for column in content.columns
    )
    body = "".join(
        f"<tr>{''.join(map(_cell, row, (c.numeric for c in content.columns)))}</tr>"
        for row in content.rows
    )
    box = search_box(name, search, f"#{name} tbody tr") if search else ""
    save = f'<button type="button" class="save" data-table="{name}">Save as CSV</button>'
    return (
        f'<div class="tools">{box}{save}</div>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(name)} table">'
        f'<table id="{name}" class="sortable" data-page="{page}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Cell, numeric: bool) -> str:  # noqa: FBT001
    content = _content(cell)
    if not numeric:
        size = " short" if len(content) <= _SHORT and "<" not in content else ""
        return f'<td class="text{size}">{content}</td>'
    sort = "" if cell.value is None else repr(float(cell.value))
    # The CSV file gets the number itself, or the text if the cell holds several numbers.
    saved = f' data-csv="{escaped(cell.text)}"' if _SEVERAL.search(cell.text) else ""
    return f'<td data-sort="{sort}"{saved}>{content}</td>'


def _content(cell: Cell) -> str:
    """Render the content of a table cell as HTML: its text, its mark, and the detail below them.

    The tone colours the mark or, without a mark, the text.
    """
    style = CLASSES.get(cell.tone, "")
    content = text(cell.text)
    if cell.bold:
        content = f'<span class="best">{content}</span>'
    if cell.mark:
        content = f'{content} <span class="{style or "ci"}">{escaped(cell.mark)}</span>'
    elif style:
        content = f'<span class="{style}">{content}</span>'
    return content + (f'<br><span class="ci">{escaped(cell.detail)}</span>' if cell.detail else "")


def search_box(name: str, label: str, chosen: str) -> str:
    """Render a search box that hides those elements of the selector `chosen` that do not match."""
    return (
        f'<p class="search"><label for="{name}-search">{escaped(label)}</label>'
        f'<input id="{name}-search" type="search" data-filter="{escaped(chosen)}" '
        f'aria-describedby="{name}-count" autocomplete="off">'
        f'<span id="{name}-count" role="status"></span></p>'
    )


def figure(svg: str, caption: str) -> str:
    """Render a drawing with its caption."""
    return (
        f'<figure><div class="scroll" role="img" aria-label="{escaped(caption)}">{svg}</div>'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def section(name: str, title: str, *parts: str) -> str:
    """Render a section with a heading that can be linked to."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{text(title)}</h2>{"".join(parts)}</section>'
    )


def fold(summary: str, *parts: str, kind: str = "", is_open: bool = False) -> str:
    """Render content that readers unfold; the summary is HTML."""
    state = " open" if is_open else ""
    return (
        f'<details class="{kind}"{state}><summary>{summary}</summary>'
        f"<div>{''.join(parts)}</div></details>"
    )


def note(content: str) -> str:
    """Render a small remark."""
    return f'<p class="note">{escaped(content)}</p>'


def page(title: str, lead: str, sections: Sequence[tuple[str, str, str]], footer: str) -> str:
    """Render the page from (name, title, html) of its sections."""
    assets = files("rankframe.present.report") / "assets"
    template, style, script = (
        (assets / f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    return Template(template).substitute(
        title=escaped(title),
        lead=escaped(lead),
        footer=escaped(footer),
        style=style,
        script=script,
        links="".join(f'<a href="#{name}">{escaped(short)}</a>' for name, short, _ in sections),
        body="".join(html for _, _, html in sections),
    )
