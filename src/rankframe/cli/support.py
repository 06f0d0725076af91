"""What commands do alike: sources, names and targets from arguments, results to their places."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankframe.base.errors import OptionError, OutputError
from rankframe.base.messages import masked

if TYPE_CHECKING:
    from rankframe.evaluation.result import Result
    from rankframe.metrics.names import Metric


# The last name of a table of a database.
_TABLE = re.compile(r"^\w+:.*#(?:[\w$-]+\.)*([\w$-]+)$")


def open_sources(given: list[str]) -> list[Any]:
    """Paths as they are, and - as standard input."""
    if given.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    if "-" in given and sys.stdin is None:
        raise OptionError("standard input (-) is closed.")
    return [sys.stdin.buffer if source == "-" else source for source in given]


def run_names(runs: list[str]) -> list[str]:
    """File names without their endings, or the paths as given where those are not distinct; of a
    database, the table.
    """
    from rankframe.sources.packing import bare_name

    runs = [masked(run) for run in runs]
    short = [
        table[1]
        if (table := _TABLE.search(run))
        else bare_name(run.rstrip("/")).rsplit(".", 1)[0]
        if run != "-"
        else "stdin"
        for run in runs
    ]
    if len(set(short)) == len(short):
        return short
    if len(set(runs)) == len(runs):
        return runs
    return [f"{run} ({number})" for number, run in enumerate(runs, start=1)]


def column_names(given: list[str] | None) -> dict[str, Any]:
    """NAME=YOURS pairs as a mapping; SIDE.NAME=YOURS as one for that side.

    >>> column_names(["query_id=user", "run.doc_id=_id"])
    {'query_id': 'user', 'run': {'doc_id': '_id'}}
    """
    names: dict[str, Any] = {}
    for item in given or ():
        name, equals, yours = item.partition("=")
        if not (name and equals and yours):
            raise OptionError(
                "--column reads NAME=YOURS, e.g. query_id=user_id, or for one side "
                f"run.doc_id=_id, not {item!r}."
            )
        side, dot, column = name.partition(".")
        of = names.setdefault(side, {}) if dot and column else names
        key = column if dot and column else name
        if not isinstance(of, dict) or key in of:
            raise OptionError(f"--column names {name!r} twice. Leave one of them out.")
        of[key] = yours
    return names


def ways_to_slice(given: list[str] | None) -> list[tuple[str, ...]] | None:
    """Attributes, or several with commas between them for their combinations."""
    return [tuple(part.strip() for part in way.split(",")) for way in given or ()] or None


def check_tables(*targets: Path | None) -> None:
    """Refuse files whose endings name no format that tables are written in."""
    from rankframe.sources.writers import format_of

    for target in targets:
        if target is not None:
            format_of(target)


def check_outputs(
    sources: Sequence[object], *files: Path | None, folder: Path | None = None
) -> None:
    """Refuse, before any work is done, what cannot be written, what is an input, too, and two
    outputs in one place.
    """
    from rankframe.base.places import file_place, in_place, place, refuse_inputs

    taken: list[str] = []
    for target in (*files, folder):
        if target is None:
            continue
        path = place(target) if target is folder else file_place(target)
        refuse_inputs(target, sources, folder=target is folder)
        if in_place(path):
            continue
        real = os.path.realpath(path) if isinstance(path, Path) else str(path)
        if real in taken:
            raise OutputError(f"{target} is named for two outputs. Nothing written.")
        taken.append(real)


def tell_if_every_relevant(found: bool) -> None:
    """One line on stderr where the level of relevance tells no judged documents apart."""
    if found:
        from rankframe.evaluation.ledger import EVERY_RELEVANT

        print(
            f"rankframe: {EVERY_RELEVANT}. Pass --rel to say from which grade on.", file=sys.stderr
        )


def deliver(
    results: Mapping[str, Result],
    metrics: Sequence[Metric],
    style: Literal["table", "json", "csv", "markdown"],
    per_query: Path | None,
    summary: Path | None,
    *,
    ledger: bool,
) -> None:
    """Write what was asked for of results by the names of their runs, and print the rest."""
    from rich.console import Console

    from rankframe.cli import tables as show
    from rankframe.evaluation.ledger import says_every_relevant
    from rankframe.sources.writers import write_frame

    tell_if_every_relevant(any(says_every_relevant(one.ledger) for one in results.values()))
    for target, name, frame in (
        (per_query, "per_query", show.per_query_frame),
        (summary, "summary", show.summary_frame),
    ):
        if target:
            about = {run: result.about(name) for run, result in results.items()}
            write_frame(frame(results), target, {"frame": name, "runs": about})
    if style != "table":
        print(show.as_text(results, metrics, style))
        return
    console = Console()
    console.print(show.summary_table(results, metrics))
    if any(result.slices.height for result in results.values()):
        console.print(show.slice_tables(results, metrics))
    if ledger:
        console.print(show.ledger_table(results))
