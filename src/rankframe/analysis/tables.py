"""Tables that people paste into a page or a paper: Markdown, and LaTeX with booktabs."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import polars as pl

from rankframe.core.wording import (
    best_of,
    markdown_row,
    markdown_text,
    marked_html,
    number_text,
    plain_text,
)
from rankframe.metrics.names import Metric

_MARK = "†"
# Of the cells of a comparison's lines: where numbers begin, and which are bold where significant.
_NUMBERS, _BOLD = 3, (4, 7)
_CHANGES = (4, 5)  # the difference, and its share
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$",
}  # fmt: skip


@dataclass(frozen=True)
class Contents:
    """What a table shows of a contents."""

    metrics: Sequence[Metric]
    names: Sequence[str]
    baseline: str | None
    # a row for each metric, slice and system; and for each pair of systems
    systems: pl.DataFrame
    pairs: pl.DataFrame
    # whether it speaks of slices
    sliced: bool
    # how it was decided that two systems differ
    decided: str
    # what makes the numbers doubtful
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Cell:
    """A system's value of a metric."""

    text: str
    best: bool
    # † where it differs from the baseline; else the letters of the systems that it differs from
    marks: str


@dataclass(frozen=True)
class Block:
    """All queries, or a slice: a row of cells for each system."""

    title: str
    rows: list[tuple[str, list[Cell]]]


def as_markdown(contents: Contents) -> str:
    """Systems down, metrics across; one block after another where there are slices."""
    metrics = [markdown_text(metric.label) for metric in contents.metrics]
    sliced = contents.sliced
    head = [*(["slice"] if sliced else []), "system", *metrics]
    lines = [markdown_row(head), markdown_row(["---"] * (1 + sliced) + ["---:"] * len(metrics))]
    for block in _blocks(contents):
        for name, cells in block.rows:
            shown = [
                (f"**{cell.text}**" if cell.best else cell.text)
                + (f"<sup>{cell.marks}</sup>" if cell.marks else "")
                for cell in cells
            ]
            of = [markdown_text(block.title)] if sliced else []
            lines.append(markdown_row([*of, markdown_text(name), *shown]))
    return "\n".join([*lines, "", markdown_text(_caption(contents))])


def rows_as_markdown(
    header: Sequence[str],
    rows: Sequence[tuple[Sequence[str], bool]],
    notes: Sequence[str],
    warnings: Sequence[str],
) -> str:
    """Lines of a comparison as they are, those that are significant with numbers in bold, and what
    to know of them. Columns without a word in them are left out.
    """
    shown = [at for at in range(len(header)) if any(cells[at] for cells, _ in rows)]
    texts = sum(at < _NUMBERS for at in shown)
    lines = [
        markdown_row([markdown_text(header[at]) for at in shown]),
        markdown_row(["---"] * texts + ["---:"] * (len(shown) - texts)),
    ]
    for cells, significant in rows:
        bold = {at for at in _BOLD if significant}
        row = [markdown_text(cells[at]) for at in shown]
        lines.append(
            markdown_row(
                [f"**{c}**" if at in bold and c else c for at, c in zip(shown, row, strict=True)]
            )
        )
    said = [f"**Warning:** {markdown_text(warning)}." for warning in warnings]
    return "\n\n".join(["\n".join(lines), *said, markdown_text(". ".join(notes) + ".")])


def as_latex(contents: Contents) -> str:
    """A table for the package booktabs."""
    metrics = [_latex(metric.label) for metric in contents.metrics]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(_caption(contents))}}}",
        rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}",
        r"\toprule",
        " & ".join(["system", *metrics]) + r" \\",
    ]
    for block in _blocks(contents):
        lines.append(r"\midrule")
        if contents.sliced:
            lines.append(
                rf"\multicolumn{{{1 + len(metrics)}}}{{l}}{{\emph{{{_latex(block.title)}}}}} \\"
            )
        for name, cells in block.rows:
            shown = [_latex_cell(cell) for cell in cells]
            lines.append(" & ".join([_latex(name), *shown]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{cell.text}}}" if cell.best else _latex(cell.text)
    if not cell.marks:
        return text
    marks = r"\dagger" if cell.marks == _MARK else cell.marks
    return rf"{text}$^{{{marks}}}$"


def _blocks(contents: Contents) -> list[Block]:
    names = contents.names
    if contents.baseline is not None:
        names = (contents.baseline, *(name for name in names if name != contents.baseline))
    letters = dict(zip(names, ascii_lowercase, strict=False))
    blocks = []
    subsets = contents.systems.select("by", "slice").unique(maintain_order=True)
    for by, slice_ in subsets.rows():  # allowed: one row a slice
        here = [
            frame.filter(
                pl.col("by").eq_missing(pl.lit(by, pl.String)),
                pl.col("slice").eq_missing(pl.lit(slice_, pl.String)),
            )
            for frame in (contents.systems, contents.pairs)
        ]
        rows = []
        for name in names:
            label = name
            if contents.baseline is None and name in letters:
                label = f"({letters[name]}) {name}"
            cells = [
                _cell(contents, metric, name, here[0], here[1], letters)
                for metric in contents.metrics
            ]
            rows.append((label, cells))
        few = " (few)" if here[0]["small"].any() else ""
        blocks.append(Block("all queries" if by is None else f"{by}: {slice_}{few}", rows))
    return blocks


def _cell(
    contents: Contents,
    metric: Metric,
    name: str,
    systems: pl.DataFrame,
    table: pl.DataFrame,
    letters: dict[str, str],
) -> Cell:
    values = systems.filter(pl.col("metric") == metric.label)
    value = values.filter(pl.col("system") == name)["value"][0]
    best = best_of(metric, values["value"].to_list())
    pairs = table.filter(pl.col("metric") == metric.label, pl.col("significant"))
    if contents.baseline is not None:
        marks = _MARK * pairs.filter(pl.col("system") == name).height
    else:
        others = [
            *pairs.filter(pl.col("system") == name)["baseline"],
            *pairs.filter(pl.col("baseline") == name)["system"],
        ]
        marks = "".join(sorted(letters.get(other, "") for other in others))
    text = "–" if value is None else number_text(value, metric)
    return Cell(text, value is not None and value == best, marks)


def _caption(contents: Contents) -> str:
    marks = (
        f"{_MARK} differs from {contents.baseline}"
        if contents.baseline is not None
        else "letters name the systems that it differs from"
    )
    warned = "".join(f" {warning}." for warning in contents.warnings)
    return f"Best in bold; {marks} ({contents.decided}).{warned}"


def _latex(text: str) -> str:
    text = plain_text(" ".join(text.split()))
    return "".join(_LATEX.get(c, c) for c in text).replace(_MARK, r"$\dagger$").replace("–", "--")


def lines_as_html(
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    marks: Sequence[tuple[bool, bool | None]],
    warnings: Sequence[str],
    said: str,
) -> str:
    """The lines of a comparison for a notebook: the best values in bold, and what is better or
    worse beyond chance (`marks`) in its colour.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>"
        + "".join(
            _html_cell(cell, at, best=best, good=good) for at, cell in enumerate(cells)
        )
        + "</tr>"
        for cells, (best, good) in zip(lines, marks, strict=True)
    )  # fmt: skip
    warned = "".join(f"<p><b>Warning: {html.escape(one)}</b></p>" for one in warnings)
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{warned}<p><small>{html.escape(said)}</small></p>"
    )


def _html_cell(text: str, at: int, *, best: bool, good: bool | None) -> str:
    side = "left" if at < _NUMBERS else "right"
    shown = html.escape(text)
    if at == _NUMBERS and best:
        shown = f"<b>{shown}</b>"
    elif at in _CHANGES:
        shown = marked_html(text, good=good)
    return f"<td style='text-align:{side}'>{shown}</td>"
