"""Define tables of text, and render them as plain text, HTML, Markdown and LaTeX.

A result builds a `Table` and its `Note`s once, and each medium has a renderer for them. Nothing
here computes a number. The terminal and the report have their own renderers of the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, Literal, TypeAlias

from rankframe.core.caveats import Caveat
from rankframe.core.records import record
from rankframe.core.wording import markdown_text, plain_text

# The meaning that the colour of a cell shows: better or worse, undecided, or not important.
Tone: TypeAlias = Literal["", "good", "bad", "doubtful", "muted"]
# Colours that are readable on white and on black, with any kind of colour vision.
_COLOURS: Final = {"good": "#12875a", "bad": "#c9541f"}
# Without `html`, whose import takes longer than that of this module.
_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
)
_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$",
    "†": r"$\dagger$", "–": "--",
}  # fmt: skip


@record
class Cell:
    """Hold the text of a cell and how it stands out."""

    text: str
    bold: bool = False
    tone: Tone = ""
    # a superscript after the text, such as † or the letters of other systems
    mark: str = ""
    # less prominent, behind or below the text, such as an interval
    detail: str = ""
    # the sort key of the cell, where readers can sort the table
    value: float | None = None


@record
class Column:
    """Describe a column: its title, and whether it holds numbers, which are right-aligned."""

    title: str
    numeric: bool = True

    @property
    def align(self) -> str:
        """Return the side to which the cells of the column are aligned."""
        return "right" if self.numeric else "left"


Row: TypeAlias = Sequence[Cell]


@record
class Table:
    """Hold rows of cells, in groups that media may separate by a rule.

    dispensable: titles of the columns that a narrow terminal hides, the first one first.
    """

    columns: Sequence[Column]
    groups: Sequence[Sequence[Row]]
    title: str = ""
    dispensable: Sequence[str] = ()

    @classmethod
    def from_texts(
        cls,
        words: Sequence[str],
        numbers: Sequence[str],
        rows: Iterable[Sequence[str | Cell]],
        title: str = "",
        more_words: Sequence[str] = (),
    ) -> Table:
        """Make a table of one group: columns of words, then of numbers, then again of words."""
        before, after = ([Column(name, numeric=False) for name in ns] for ns in (words, more_words))
        columns = [*before, *map(Column, numbers), *after]
        return cls(columns, [[tuple(map(as_cell, row)) for row in rows]], title)

    @property
    def rows(self) -> list[Row]:
        """Return the rows of all groups."""
        return [row for group in self.groups for row in group]

    @property
    def titles(self) -> list[str]:
        """Return the titles of the columns."""
        return [column.title for column in self.columns]

    def take(self, places: Sequence[int]) -> Table:
        """Return a table of the columns at the positions `places`."""
        groups = [[[row[place] for place in places] for row in group] for group in self.groups]
        return replace(self, columns=[self.columns[place] for place in places], groups=groups)

    def without(self, *titles: str) -> Table:
        """Return the table without the columns called `titles`."""
        return self.take([place for place, title in enumerate(self.titles) if title not in titles])

    def without_empty_columns(self) -> Table:
        """Return the table without columns in which no row has text."""
        rows = self.rows
        used = [place for place in range(len(self.columns)) if any(row[place].text for row in rows)]
        return self.take(used)

    def split(self) -> list[Table]:
        """Split the table: groups that begin with the same text become a table with that title."""
        rest = range(1, len(self.columns))
        return [
            replace(self, groups=list(groups), title=title).take(rest)
            for title, groups in groupby(self.groups, key=lambda group: group[0][0].text)
        ]


@record
class Note:
    """Hold a sentence that belongs to a table; `lead` is its highlighted beginning."""

    text: str
    lead: str = ""
    tone: Tone = ""

    @classmethod
    def from_headline(cls, headline: str, tone: Tone = "") -> Note:
        """Make a note whose lead is the text before the colon."""
        lead, _, text = headline.partition(": ")
        return cls(text, lead, tone)

    def __str__(self) -> str:
        return f"{self.lead}: {self.text}" if self.lead else self.text


Part: TypeAlias = Table | Note


def as_cell(content: str | Cell) -> Cell:
    """Turn a text into a cell; return cells unchanged."""
    return content if isinstance(content, Cell) else Cell(content)


def warning_notes(warnings: Iterable[str | Caveat]) -> list[Part]:
    """Make a note of each warning."""
    return [Note(str(warning), "Warning", "bad") for warning in warnings]


def as_text(title: str, parts: Iterable[Part]) -> str:
    """Write a title and, indented below it, tables and notes as plain text."""
    lines = [title]
    for part in parts:
        lines += [f"  {line}" for line in _text_lines(part)]
    return "\n".join(lines)


def _text_lines(part: Part) -> list[str]:
    if isinstance(part, Note):
        return [str(part)]
    table = part.without_empty_columns()
    rows = [[plain_text(cell.text) for cell in row] for row in table.rows]
    if any(table.titles):
        rows.insert(0, list(map(plain_text, table.titles)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if column.numeric else "<" for column in table.columns]
    return [
        "  ".join(
            f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def as_html(parts: Iterable[Part]) -> str:
    """Write tables and notes as HTML for a notebook."""
    return "".join(map(_html, parts))


def _html(part: Part) -> str:
    if isinstance(part, Note):
        text = part.text.translate(_ESCAPES)
        if not part.lead:
            return f"<p><small>{text}</small></p>"
        return f"<p><b>{_coloured(part.lead, part.tone)}</b>: {text}</p>"
    sides = [f" style='text-align:{column.align}'" for column in part.columns]
    head = "".join(
        f"<th{side}>{title.translate(_ESCAPES)}</th>"
        for side, title in zip(sides, part.titles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{side}>{_html_cell(c)}</td>" for side, c in zip(sides, row, strict=True))
        + "</tr>"
        for row in part.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(cell: Cell) -> str:
    text = _coloured(cell.text, cell.tone)
    return f"<b>{text}</b>" if cell.bold else text


def _coloured(text: str, tone: Tone) -> str:
    text = text.translate(_ESCAPES)
    return f'<span style="color:{_COLOURS[tone]}">{text}</span>' if tone in _COLOURS else text


def as_markdown(parts: Iterable[Part]) -> str:
    """Write tables and notes as Markdown. Bold replaces the colours for better and worse."""
    blocks = []
    for is_small, together in groupby(parts, key=lambda p: isinstance(p, Note) and not p.lead):
        texts = list(map(_markdown, together))
        if is_small and len(texts) > 1:
            texts = ["\n".join(f"- {text}" for text in texts)]
        blocks += texts
    return "\n\n".join(blocks)


def _markdown(part: Part) -> str:
    if isinstance(part, Note):
        text = markdown_text(part.text)
        return f"**{markdown_text(part.lead)}**: {text}" if part.lead else text
    table = part.without_empty_columns()
    lines = [
        [markdown_text(title) for title in table.titles],
        ["---:" if column.numeric else "---" for column in table.columns],
        *([_markdown_cell(cell) for cell in row] for row in table.rows),
    ]
    title = f"**{markdown_text(table.title)}**\n\n" if table.title else ""
    return title + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(cell: Cell) -> str:
    text = markdown_text(cell.text)
    if text and (cell.bold or cell.tone in _COLOURS):
        text = f"**{text}**"
    mark = f"<sup>{cell.mark}</sup>" if cell.mark else ""
    return text + mark + (f" ({markdown_text(cell.detail)})" if cell.detail else "")


def as_latex(tables: Sequence[Table], caption: str) -> str:
    """Write tables with the same columns as a single table for the LaTeX package booktabs."""
    columns = tables[0].columns
    sides = "".join(column.align[0] for column in columns)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}",
             rf"\begin{{tabular}}{{{sides}}}", r"\toprule",
             " & ".join(map(_latex, tables[0].titles)) + r" \\"]  # fmt: skip
    for table in tables:
        lines.append(r"\midrule")
        if table.title:
            title = rf"\emph{{{_latex(table.title)}}}"
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{{title}}} \\")
        lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _latex_cell(cell: Cell) -> str:
    text = _latex(cell.text)
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    return text + (rf"$^{{{cell.mark.replace('†', chr(92) + 'dagger')}}}$" if cell.mark else "")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in plain_text(" ".join(text.split())))
