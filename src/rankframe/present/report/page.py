"""Pieces of a web page that stands alone: all text escaped, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from rankframe.core.wording import plain_text

_LONGEST = 120  # characters of an id on the page
_SHORT = 18  # characters that stay on one line
_PAGE = 20  # rows of a table that are shown at once


@dataclass(frozen=True)
class Cell:
    """What a table shows in one place, what it is sorted by, and what a CSV file has of it."""

    html: str
    sort: float | None = None
    # text is sorted as it reads, numbers by `sort`
    is_text: bool = False
    # None: the number that it is sorted by, else what is shown
    csv: str | None = None


def escaped(content: str) -> str:
    """Text of any length as HTML."""
    return escape(plain_text(content))


def text(content: object, *, most: int = _LONGEST) -> str:
    """Any text as HTML: cut where it is too long for a page, in full for who points at it."""
    whole = plain_text(str(content), 4 * most)
    if len(whole) <= most:
        return escape(whole)
    return f'<span title="{escape(whole)}">{escape(whole[: most - 1])}…</span>'


def words(content: object) -> Cell:
    """A cell with text."""
    return Cell(text(content), is_text=True)


def number(value: float | None, shown: str | None = None, *, style: str = "") -> Cell:
    """A cell with a number."""
    if value is None:
        return Cell("–")
    body = escaped(f"{value:.4f}" if shown is None else shown)
    return Cell(f'<span class="{style}">{body}</span>' if style else body, float(value))


def table(
    name: str,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    search: str | None = None,
    page: int = _PAGE,
) -> str:
    """A table that sorts itself, shows so many rows at once, and can be saved as CSV.

    `search` is what its box for searching is called.
    """
    texts = [all(row[at].is_text for row in rows) and bool(rows) for at in range(len(header))]
    head = "".join(
        f'<th scope="col"{" class=text" if is_text else ""}>'
        f'<button type="button">{text(title)}</button></th>'
        for title, is_text in zip(header, texts, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(c, t) for c, t in zip(row, texts, strict=True)) + "</tr>"
        for row in rows
    )
    box = search_box(name, search, f"#{name} tbody tr") if search else ""
    save = f'<button type="button" class="save" data-table="{name}">Save as CSV</button>'
    return (
        f'<div class="tools">{box}{save}</div>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(name)} table">'
        f'<table id="{name}" class="sortable" data-page="{page}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def search_box(name: str, label: str, chosen: str) -> str:
    """A box that hides what does not match."""
    return (
        f'<p class="search"><label for="{name}-search">{escaped(label)}</label>'
        f'<input id="{name}-search" type="search" data-filter="{escaped(chosen)}" '
        f'aria-describedby="{name}-count" autocomplete="off">'
        f'<span id="{name}-count" role="status"></span></p>'
    )


def figure(svg: str, caption: str) -> str:
    """A drawing with what it shows."""
    return (
        f'<figure><div class="scroll" role="img" aria-label="{escaped(caption)}">{svg}</div>'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page with a heading that can be linked to."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{text(title)}</h2>{"".join(parts)}</section>'
    )


def fold(summary: str, *parts: str, kind: str = "", is_open: bool = False) -> str:
    """What is opened by who wants to see it; the summary is HTML."""
    state = " open" if is_open else ""
    return (
        f'<details class="{kind}"{state}><summary>{summary}</summary>'
        f"<div>{''.join(parts)}</div></details>"
    )


def note(content: str) -> str:
    """A small remark."""
    return f'<p class="note">{escaped(content)}</p>'


def page(title: str, lead: str, sections: Sequence[tuple[str, str, str]], footer: str) -> str:
    """The whole page from (name, title, html) sections."""
    assets = files("rankframe.present.report") / "assets"
    style = (assets / "report.css").read_text(encoding="utf-8")
    script = (assets / "report.js").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{name}">{escaped(short)}</a>' for name, short, _ in sections)
    body = "".join(html for _, _, html in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header class="top"><nav aria-label="Sections">{links}</nav>
<button type="button" id="theme" aria-label="Change between light and dark">Dark</button></header>
<main id="main">
<h1>{escaped(title)}</h1>
<p class="lead">{escaped(lead)}</p>
{body}
<footer>{escaped(footer)}</footer>
</main>
<script>{script}</script>
</body>
</html>
"""


def _cell(cell: Cell, in_text_column: bool) -> str:  # noqa: FBT001
    saved = "" if cell.csv is None else f' data-csv="{escaped(cell.csv)}"'
    if in_text_column:
        size = " short" if len(cell.html) <= _SHORT and "<" not in cell.html else ""
        return f'<td class="text{size}"{saved}>{cell.html}</td>'
    sort = "" if cell.sort is None else repr(cell.sort)
    return f'<td data-sort="{sort}"{saved}>{cell.html}</td>'
