"""Write the pages of docs/reference that list every public function, a page for each package. The
public names are those in src/rankframe/__init__.py; mkdocstrings adds the docstrings.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

from generated import DOCS, table, with_sections, write

import rankframe
from rankframe.metrics import REGISTRY

REFERENCE = DOCS / "reference"
GLOSSARY = DOCS / "glossary.md"
COMMENT = "<!-- Written by docs/make.py. -->\n"
# Page, title and what stands above, by room; rooms that share a page are named alike.
PAGES: dict[str, tuple[str, str, str]] = {
    "evaluation": (
        "evaluation.md",
        "Evaluate",
        (
            "Functions that evaluate a run against judgments or compare two rankings, and the "
            "frames that metrics use. Inputs can be in any [supported format](formats.md)."
        ),
    ),
    "decisions": (
        "decisions.md",
        "Compare and decide",
        (
            "Functions that compare systems over the same queries and decide which one to ship. "
            "[Statistics](../statistics.md) explains how intervals and tests are computed."
        ),
    ),
    "fusion": (
        "fusion.md",
        "Fuse",
        (
            "Functions that fuse several runs of the same queries into one. "
            "[Fusing runs](../fusion.md) explains which method to use."
        ),
    ),
    "inputs": (
        "inputs.md",
        "Inputs",
        (
            "Functions that turn Python objects into judgments and runs. You do not need them for "
            "files, frames and tables (see [formats](formats.md))."
        ),
    ),
    "curves": ("curves.md", "Curves", "Functions that return the points of curves as frames."),
    "plot": (
        "plot.md",
        "Charts and the report",
        (
            "Each function returns an altair chart, which you can save (`.save(…)`) or show in a "
            "notebook. Requires the extra `report`. See [pictures of all charts](../gallery.md)."
        ),
    ),
    "metrics": (
        "metrics.md",
        "Your own metrics",
        "The [metric reference](../metrics.md) lists all built-in metrics.",
    ),
    "spark": (
        "spark.md",
        "Spark",
        "Evaluation on a cluster. Requires the extra `spark`. See [the guide](../spark.md).",
    ),
    "base": ("base.md", "Errors", "The errors and warnings that rankframe raises."),
}  # fmt: skip
FIRST = ("evaluate", "compare")  # of their pages
SHARED = {
    "engine": "evaluation", "analysis.fusion": "fusion", "analysis.tuning": "fusion",
    "analysis.curves": "curves", "analysis": "decisions", "io": "inputs", "io.sources": "inputs",
    "present.report": "plot", "core": "base",
}  # fmt: skip


def public() -> dict[str, list[tuple[str, str]]]:
    """Return for each page its public names, each with the place where it is defined."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    homes: dict[str, str] = vars(rankframe)["_HOMES"]
    for name, home in homes.items():
        room = home.rpartition(".")[0]
        found[SHARED.get(room, room)].append((f"rf.{name}", f"rankframe.{home}.{name}"))
    for package in vars(rankframe)["_PACKAGES"]:
        for name in getattr(rankframe, package).__all__:
            home = getattr(getattr(rankframe, package), name).__module__
            found[package].append((f"rf.{package}.{name}", f"{home}.{name}"))
    # What most want first, then functions, then what they give.
    return {page: sorted(names, key=_place) for page, names in found.items()}


def _place(named: tuple[str, str]) -> tuple[bool, bool, str]:
    last = named[0].rpartition(".")[2]
    return last not in FIRST, last[0].isupper(), named[0]


def written() -> dict[Path, str]:
    """Return the text of every page of the reference and of the glossary, by path."""
    names = public()
    if unknown := names.keys() - PAGES.keys():
        raise SystemExit(f"no page for public names of {', '.join(sorted(unknown))}: see PAGES.")
    pages = {REFERENCE / PAGES[room][0]: page(room, of) for room, of in names.items()}
    rows = [
        (f"[`{name}`](reference/{PAGES[room][0]}#{home})", _first(home))
        for room in PAGES
        for name, home in names[room]
    ]
    glossary = with_sections(GLOSSARY, {"names": table(["name", "what it is"], rows)})
    return {REFERENCE / "index.md": contents(names), GLOSSARY: glossary, **pages}


def page(room: str, names: list[tuple[str, str]]) -> str:
    """Return the text of the page on one package: title, introduction and names."""
    _, title, said = PAGES[room]
    parts = [COMMENT, f"# {title}\n", f"{said}\n"]
    for shown, home in names:
        parts.append(
            f'::: {home}\n    options:\n      heading: "{shown}"\n      toc_label: "{shown}"\n'
        )
    return "\n".join(parts)


def contents(names: dict[str, list[tuple[str, str]]]) -> str:
    """Return the text of the index page: all public names with the first sentences of their
    docstrings.
    """
    parts = [
        COMMENT,
        "# Reference\n",
        (
            "All public names of `import rankframe as rf`. Other pages list all "
            "[metrics](../metrics.md) with their formulas, the columns of "
            "[result frames](results.md), the recognised [column names](columns.md), "
            "[formats](formats.md), and the [command line](command_line.md).\n"
        ),
    ]
    for room, (file, title, _) in PAGES.items():
        rows = [(f"[`{shown}`]({file}#{home})", _first(home)) for shown, home in names[room]]
        parts += [f"## {title}\n", table(["name", "what it is"], rows), ""]
    rows = [(f"[`rf.{d.name}`](../metrics.md#{d.name})", d.summary) for d in REGISTRY.values()]
    parts += ["## Metrics\n", "Functions that return a polars expression.\n"]
    return "\n".join([*parts, table(["name", "what it is"], rows), ""])


def _first(home: str) -> str:
    """Return the first sentence of the docstring of an object, given by its full name."""
    module, _, name = home.rpartition(".")
    value = getattr(__import__(module, fromlist=[name]), name)
    if not callable(value):
        return f"`{value!r}`"
    said = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return said.split(". ")[0].rstrip(".:") + "."


if __name__ == "__main__":
    write(written())
