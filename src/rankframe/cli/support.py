"""Shared work of commands: open inputs, check outputs, show progress, print results."""

from __future__ import annotations

import glob as globbing
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankframe.core.errors import OptionError, OutputError, UnreadableInputError
from rankframe.core.messages import did_you_mean, masked, number_of
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import plain_text
from rankframe.io.remote import is_address

if TYPE_CHECKING:
    from rankframe.engine.result import Result
    from rankframe.metrics.names import Metric

_PATIENCE = 2.0  # seconds before anything moves on the screen
# A run under a name. What may be an address or a path up to a Hive folder is no name.
_NAMED = re.compile(r"([^/\\:=]+)=(.+)", re.DOTALL)


# The last name of a table of a database.
_TABLE = re.compile(r"^\w+:.*#(?:[\w$-]+\.)*([\w$-]+)$")

# Stands for no judgments.
NOTHING = "none"


def open_inputs(
    qrels: str | None, runs: Sequence[str], *, here: bool = True
) -> tuple[Any, dict[str, Any]]:
    """Return judgments and runs by name, opened; judgments are None without a path, or as "none".

    `here`: a path that is on no disk of this machine, and no address, is refused.
    """
    named = runs_by_name(runs, here=here)
    opened = open_sources([*([] if qrels is None else [qrels]), *named.values()])
    judgments = None if qrels is None else opened.pop(0)
    return None if qrels == NOTHING else judgments, dict(zip(named, opened, strict=True))


def open_sources(paths: Sequence[str]) -> list[Any]:
    """Return paths as they are, and standard input for -."""
    if paths.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    if "-" in paths and sys.stdin is None:
        raise OptionError("standard input (-) is closed.")
    return [sys.stdin.buffer if source == "-" else source for source in paths]


def runs_by_name(texts: Sequence[str], *, here: bool = True) -> dict[str, str]:
    """Return the path of each run by its name: `old=runs/a.parquet`, or that of the file.

    `here`: a path that is on no disk of this machine, and no address, is refused.
    """
    split = [split_name(text, here=here) for text in texts]
    chosen = [name for name, _ in split if name is not None]
    file_names = _file_names([path for name, path in split if name is None], taken=set(chosen))
    names = [next(file_names) if name is None else name for name, _ in split]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise OptionError(f"two runs are named {twice[0]!r}. Give each a name of its own.")
    return {name: path for name, (_, path) in zip(names, split, strict=True)}


def split_name(text: str, *, here: bool = True) -> tuple[str | None, str]:
    """Split NAME=PATH; the name is None if the whole text is a path.

    An existing path wins over a name, such as a Hive folder, `day=2026-01-01`.
    """
    match = _NAMED.fullmatch(text)
    if match is None or _is_there(text):
        return None, text
    name, path = match[1].strip(), match[2]
    if here and path != "-" and not is_address(path) and ":" not in path and not _is_there(path):
        folder = Path(os.path.expanduser(path)).parent  # noqa: PTH111 (as where it is opened)
        there = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        nor = f"Nor is there {path!r}, for a run named {name!r}"
        near = did_you_mean(Path(path).name, there)
        raise UnreadableInputError(text, "no such file", f"{nor}. {near}" if near else nor)
    return (name, path) if name else (None, text)


def _is_there(path: str) -> bool:
    """Tell whether a path or a pattern leads to a file."""
    path = os.path.expanduser(path)  # noqa: PTH111 (as where it is opened)
    # Unlike pathlib's, this one says no of what cannot be a path.
    exists = os.path.exists(path)  # noqa: PTH110
    return exists or ("\0" not in path and bool(globbing.glob(path, recursive=True)))


def _file_names(runs: list[str], taken: set[str]) -> Iterator[str]:
    """Return file names without endings, or whole paths if names are not distinct.

    A run in a database is named by its table.
    """
    from rankframe.io.formats.packing import bare_name

    runs = [masked(run) for run in runs]
    short = [
        table[1]
        if (table := _TABLE.search(run))
        else bare_name(run.rstrip("/")).rsplit(".", 1)[0]
        if run != "-"
        else "stdin"
        for run in runs
    ]
    for names in (short, runs):
        if len(set(names)) == len(names) and taken.isdisjoint(names):
            return iter(names)
    return (f"{run} ({number})" for number, run in enumerate(runs, start=1))


def column_names(texts: list[str] | None) -> dict[str, Any]:
    """Read NAME=YOURS pairs into a mapping; SIDE.NAME=YOURS into one for that side.

    >>> column_names(["query_id=user", "run.doc_id=_id"])
    {'query_id': 'user', 'run': {'doc_id': '_id'}}
    """
    names: dict[str, Any] = {}
    for item in texts or ():
        name, equals, yours = item.partition("=")
        if not (name and equals and yours):
            raise OptionError(
                "--column reads NAME=YOURS, e.g. query_id=user_id, or for one side "
                f"run.doc_id=_id, not {item!r}."
            )
        side, dot, column = name.partition(".")
        side_names = names.setdefault(side, {}) if dot and column else names
        key = column if dot and column else name
        if not isinstance(side_names, dict) or key in side_names:
            raise OptionError(f"--column names {name!r} twice. Leave one of them out.")
        side_names[key] = yours
    return names


def ways_to_slice(texts: list[str] | None) -> list[tuple[str, ...]] | None:
    """Read attributes; commas join the attributes of a combination."""
    return [tuple(part.strip() for part in way.split(",")) for way in texts or ()] or None


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Report | None]:
    """Show a progress bar; yields None without a terminal to show it on."""
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    bar = bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[seen]}"),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    what = plain_text(what)
    task = bar.add_task(what, total=None, seen="")
    begun = time.monotonic()

    def report(done: Progress) -> None:
        bar.update(
            task,
            description=f"{what}: {done.stage}",
            completed=done.rows,
            # No total yet: the bar only swings while the input is split.
            total=done.total_rows if done.rows else None,
            seen=_seen(done, time.monotonic() - begun) if done.rows else "",
        )

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        bar.stop()


def _seen(done: Progress, seconds: float) -> str:
    """Return how much is done, and how fast.

    >>> _seen(Progress("matching", 2_000, 10_000, 40), 0.5)
    '2,000 of 10,000 rows, 4,000/s, 40 queries'
    """
    rate = done.rows / max(seconds, 1e-9)
    text = f"{done.rows:,} of {done.total_rows:,} {done.unit}, {rate:,.0f}/s"
    return f"{text}, {number_of(done.queries, 'query')}" if done.unit == "rows" else text


def check_tables(*targets: Path | None) -> None:
    """Refuse files whose endings name no format that tables are written in."""
    from rankframe.io.outputs import format_of

    for target in targets:
        if target is not None:
            format_of(target)


def check_outputs(
    sources: Sequence[object], *files: Path | None, folder: Path | None = None
) -> None:
    """Refuse, before any work, outputs that cannot be written, are inputs, or share a place."""
    from rankframe.io.output_paths import file_place, in_place, place, refuse_inputs

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


def tell_if_not_held(max_memory: str | None) -> None:
    """Warn on stderr if no evaluation fits into the memory limit."""
    if max_memory is not None:
        from rankframe.engine.memory import not_held

        why = not_held(max_memory)
        if why is not None:
            print(f"rankframe: {why}.", file=sys.stderr)


def tell_if_every_relevant(found: bool) -> None:
    """Warn on stderr if every judged document is relevant."""
    if found:
        from rankframe.engine.ledger import EVERY_RELEVANT

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
    """Write results to files, and print them, by the names of their runs."""
    from rich.console import Console

    from rankframe.engine.ledger import says_every_relevant
    from rankframe.io.outputs import write_frame
    from rankframe.present.terminal import result_tables as show

    tell_if_every_relevant(any(says_every_relevant(result.ledger) for result in results.values()))
    for target, name, frame in (
        (per_query, "per_query", show.per_query_frame),
        (summary, "summary", show.summary_frame),
    ):
        if target:
            about = {run: result.about(name) for run, result in results.items()}
            write_frame(frame(results), target, {"frame": name, "runs": about})
    if style != "table":
        print(show.results_text(results, metrics, style))
        return
    console = Console()
    console.print(show.summary_table(results, metrics, console.width))
    if any(result.slices.height for result in results.values()):
        console.print(show.slice_tables(results, metrics, console.width))
    if any(result.items.height for result in results.values()):
        console.print(show.item_tables(results))
    if ledger:
        console.print(show.ledger_table(results))
