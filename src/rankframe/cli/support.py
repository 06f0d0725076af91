"""What commands do alike: sources, names and targets from arguments, results to their places."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankframe.base.errors import OptionError, OutputError

if TYPE_CHECKING:
    from rankframe.evaluation.result import Result
    from rankframe.metrics.names import Metric


def open_sources(given: list[str]) -> list[Any]:
    """Paths as they are, and - as standard input."""
    if given.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    if "-" in given and sys.stdin is None:
        raise OptionError("standard input (-) is closed.")
    return [sys.stdin.buffer if source == "-" else source for source in given]


def run_names(runs: list[str]) -> list[str]:
    """File names without their endings, or the paths as given where those are not distinct."""
    short = [
        Path(run.rstrip("/")).name.removesuffix(".gz").rsplit(".", 1)[0] if run != "-" else "stdin"
        for run in runs
    ]
    if len(set(short)) == len(short):
        return short
    if len(set(runs)) == len(runs):
        return runs
    return [f"{run} ({number})" for number, run in enumerate(runs, start=1)]


def column_names(given: list[str] | None) -> Mapping[str, str]:
    """NAME=YOURS pairs as a mapping."""
    pairs = [item.partition("=") for item in given or ()]
    for name, equals, yours in pairs:
        if not (name and equals and yours):
            raise OptionError(f"--column reads NAME=YOURS, e.g. query_id=user_id, not {name!r}.")
    return {name: yours for name, _, yours in pairs}


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
        real = os.path.realpath(path)
        if real in taken:
            raise OutputError(f"{target} is named for two outputs. Nothing written.")
        taken.append(real)


def tell_if_not_held(max_memory: str | None) -> None:
    """One line on stderr where less memory was asked for than anything takes."""
    if max_memory is not None:
        from rankframe.engine.memory import not_held

        why = not_held(max_memory)
        if why is not None:
            print(f"rankframe: {why}.", file=sys.stderr)


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
    for target, frame in ((per_query, show.per_query_frame), (summary, show.summary_frame)):
        if target:
            write_frame(frame(results), target)
    if style != "table":
        print(show.as_text(results, metrics, style))
        return
    console = Console()
    console.print(show.summary_table(results, metrics))
    if any(result.slices.height for result in results.values()):
        console.print(show.slice_tables(results, metrics))
    if ledger:
        console.print(show.ledger_table(results))
