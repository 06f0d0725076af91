"""What commands do alike: sources, names and targets from arguments, a progress bar while it takes
its time, results to their places.
"""

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

# What is said for judgments where there are none.
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


def open_sources(given: Sequence[str]) -> list[Any]:
    """Return paths as they are, and standard input for -."""
    if given.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    if "-" in given and sys.stdin is None:
        raise OptionError("standard input (-) is closed.")
    return [sys.stdin.buffer if source == "-" else source for source in given]


def runs_by_name(given: Sequence[str], *, here: bool = True) -> dict[str, str]:
    """Where each run is, by its name: the one given with it, `old=runs/a.parquet`, or else that of
    its file.

    `here`: what is on no disk of this machine, and no address, is not there at all.
    """
    split = [split_name(one, here=here) for one in given]
    chosen = [name for name, _ in split if name is not None]
    others = _file_names([path for name, path in split if name is None], taken=set(chosen))
    names = [next(others) if name is None else name for name, _ in split]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise OptionError(f"two runs are named {twice[0]!r}. Give each a name of its own.")
    return {name: path for name, (_, path) in zip(names, split, strict=True)}


def split_name(given: str, *, here: bool = True) -> tuple[str | None, str]:
    """NAME=PATH taken apart; no name, where that is a path as a whole.

    A file that is there under all of it is meant, and so is a Hive folder, `day=2026-01-01`.
    """
    found = _NAMED.fullmatch(given)
    if found is None or _is_there(given):
        return None, given
    name, path = found[1].strip(), found[2]
    if here and path != "-" and not is_address(path) and ":" not in path and not _is_there(path):
        folder = Path(os.path.expanduser(path)).parent  # noqa: PTH111 (as where it is opened)
        there = [one.name for one in folder.iterdir()] if folder.is_dir() else []
        nor = f"Nor is there {path!r}, for a run named {name!r}"
        near = did_you_mean(Path(path).name, there)
        raise UnreadableInputError(given, "no such file", f"{nor}. {near}" if near else nor)
    return (name, path) if name else (None, given)


def _is_there(path: str) -> bool:
    """Whether a path or a pattern leads to anything."""
    path = os.path.expanduser(path)  # noqa: PTH111 (as where it is opened)
    # Unlike pathlib's, this one says no of what cannot be a path.
    exists = os.path.exists(path)  # noqa: PTH110
    return exists or ("\0" not in path and bool(globbing.glob(path, recursive=True)))


def _file_names(runs: list[str], taken: set[str]) -> Iterator[str]:
    """File names without their endings, or the paths as given where those are not distinct; of a
    database, the table.
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


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Report | None]:
    """Who is to be told how far it has come; nobody, where there is no terminal to show it on."""
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
    """How much is done, and how fast.

    >>> _seen(Progress("matching", 2_000, 10_000, 40), 0.5)
    '2,000 of 10,000 rows, 4,000/s, 40 queries'
    """
    rate = done.rows / max(seconds, 1e-9)
    seen = f"{done.rows:,} of {done.total_rows:,} {done.unit}, {rate:,.0f}/s"
    return f"{seen}, {number_of(done.queries, 'query')}" if done.unit == "rows" else seen


def check_tables(*targets: Path | None) -> None:
    """Refuse files whose endings name no format that tables are written in."""
    from rankframe.io.sources.writers import format_of

    for target in targets:
        if target is not None:
            format_of(target)


def check_outputs(
    sources: Sequence[object], *files: Path | None, folder: Path | None = None
) -> None:
    """Refuse, before any work is done, what cannot be written, what is an input, too, and two
    outputs in one place.
    """
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
    """One line on stderr where less memory was asked for than anything takes."""
    if max_memory is not None:
        from rankframe.engine.memory import not_held

        why = not_held(max_memory)
        if why is not None:
            print(f"rankframe: {why}.", file=sys.stderr)


def tell_if_every_relevant(found: bool) -> None:
    """One line on stderr where the level of relevance tells no judged documents apart."""
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
    """Write what was asked for of results by the names of their runs, and print the rest."""
    from rich.console import Console

    from rankframe.engine.ledger import says_every_relevant
    from rankframe.io.sources.writers import write_frame
    from rankframe.present.terminal import result_tables as show

    tell_if_every_relevant(any(says_every_relevant(one.ledger) for one in results.values()))
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
