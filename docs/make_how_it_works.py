"""Write the packages in docs/how_it_works.md and the frames in docs/reference/frames.md."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Collection, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from generated import DOCS, ROOT, SOURCE, table, with_sections

from rankframe.core import columns
from rankframe.core.columns import ColumnRequest, FrameColumns

PAGE = DOCS / "how_it_works.md"
FRAMES = DOCS / "reference" / "frames.md"
FRAMES_HEADER = """<!-- Written by docs/make.py. -->

# Frames

Metrics are expressions over these frames. Columns that no metric uses are not computed. Some
columns have a parameter in their name, as the last column of each table shows: `found_rel2` counts
documents of grade 2 and above, `concordant_top10` compares the top 10 of both lists.
"""
LAYERS = ROOT / "tests" / "contracts" / "test_layers.py"
# Values that stand for a column's parameters in the example of its name.
_EXAMPLES: dict[str, Any] = {
    "attribute": "genre", "value": "drama", "alpha": 0.7, "rel": 2, "ties": "w", "k": 10,
}  # fmt: skip


def written() -> dict[Path, str]:
    """Return the text of docs/how_it_works.md and docs/reference/frames.md, by path."""
    return {
        PAGE: with_sections(PAGE, {"packages": packages()}),
        FRAMES: f"{FRAMES_HEADER}\n{frames()}\n",
    }


def packages() -> str:
    """Return the table of packages, top layer first, as their docstrings describe them."""
    layers = runpy.run_path(str(LAYERS))
    top = len(layers["LINES"]) - 1
    rows = [
        (str(top - at), f"`{room}`", _said(room), _packages(room, layers["HOMES"]))
        for at, line in enumerate(layers["LINES"])
        for room in line
    ]
    return table(["layer", "package", "what it is for", "may import"], rows)


def _said(room: str) -> str:
    """Return the first two paragraphs of a package's docstring: what it is for, and its rules."""
    tree = ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8"))
    paragraphs = (ast.get_docstring(tree) or "").split("\n\n")[:2]
    return " ".join(" ".join(paragraphs).split())


def _packages(room: str, homes: Mapping[str, Collection[str]]) -> str:
    return ", ".join(package for package, rooms in homes.items() if room in rooms)


def frames() -> str:
    """Return a Markdown table for every kind of frame, with a row for each of its columns."""
    found = [one for one in vars(columns).values() if isinstance(one, FrameColumns)]
    return "\n\n".join(map(_frame, found))


def _frame(frame: FrameColumns) -> str:
    rows = []
    # Columns that mean the same stand in one row.
    for column, names in groupby(frame.columns, frame.columns.__getitem__):
        called = list(names)
        parameters = {name: _EXAMPLES[name] for name in column.parameters}
        example = f"`{ColumnRequest(called[0], **parameters).name}`" if parameters else ""
        shown = ", ".join(f"`{name}`" for name in called)
        rows.append((shown, str(column.type), column.meaning, example))
    header = [f"column of the {frame.kind} frame", "type", "meaning", "for a parameter"]
    return f"The **{frame.kind} frame**. A row is {frame.row}.\n\n{table(header, rows)}"
