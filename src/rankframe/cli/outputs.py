"""Check outputs before the work, show progress, and print or write results."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankframe.core.caveats import Caveat
from rankframe.core.errors import OutputError
from rankframe.core.messages import number_of
from rankframe.core.options import Progress, Report
from rankframe.core.records import record
from rankframe.core.wording import plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankframe.engine.result import Result
    from rankframe.metrics.names import Metric

_PATIENCE = 2.0  # seconds before anything moves on the screen


@record
class Output:
    """Hold the output options of a command; a command has flags for some of them."""

    style: Any = "table"  # a format that the command offers
    target: Path | None = None
    overwrite: bool = False
    per_query: Path | None = None
    summary: Path | None = None
    ledger: bool = False
    quiet: bool = False

    @contextmanager
    def progress(self, task: str) -> Iterator[Report | None]:
        """Show a progress bar; yields None without a terminal to show it on."""
        from rich import progress as bars
        from rich.console import Console

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
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
        what = plain_text(task)
        shown = bar.add_task(what, total=None, seen="")
        begun = time.monotonic()

        def report(done: Progress) -> None:
            bar.update(
                shown,
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

    def refuse_taken(self, sources: Sequence[object], files: Collection[str]) -> None:
        """Refuse a folder that cannot be written, or that has other files than these."""
        from rankframe.io.output_paths import refuse_taken

        check_outputs(sources, folder=self.target)
        if self.target is not None:
            refuse_taken(self.target, files, overwrite=self.overwrite)

    def print(
        self, text: Callable[[], str], tables: Callable[[int], Iterable[RenderableType]]
    ) -> None:
        """Print the text of a format, or tables for a terminal of some width."""
        if self.style != "table":
            print(text())
            return
        from rich.console import Console

        console = Console()
        for table in tables(console.width):
            console.print(table)

    def deliver(
        self, found: Any, text: Callable[[], str], tables: Callable[[int], Iterable[RenderableType]]
    ) -> None:
        """Write a comparison or a tuning to its folder, and print it, with its ledger if wanted."""
        from rankframe.present.terminal.analysis_tables import ledger_table

        if self.target is not None:
            found.write(self.target, overwrite=self.overwrite)
        ledger = [ledger_table(found.ledger)] if self.ledger else []
        self.print(text, lambda width: [*tables(width), *ledger])

    def warn(self, caveats: Iterable[Caveat], name: str = "") -> None:
        """Print caveats on stderr, a line each, unless the same terminal shows them in a table.

        `name`: the system that they are about, if there are several.
        """
        if self.style == "table" and sys.stdout.isatty() and sys.stderr.isatty():
            return
        for caveat in caveats:
            about = f"{plain_text(name)}: " if name else ""
            print(f"rankframe: warning: {about}{plain_text(str(caveat))}.", file=sys.stderr)

    def deliver_results(self, results: Mapping[str, Result], metrics: Sequence[Metric]) -> None:
        """Write tables of results to files, and print results, by the names of their runs."""
        from rankframe.io.outputs import write_frame
        from rankframe.present.terminal import result_tables as show
        from rankframe.present.terminal.analysis_tables import ledger_table

        for run, result in results.items():
            self.warn(result.caveats, run if len(results) > 1 else "")
        for target, name, frame in (
            (self.per_query, "per_query", show.per_query_frame),
            (self.summary, "summary", show.summary_frame),
        ):
            if target:
                about = {run: result.about(name) for run, result in results.items()}
                write_frame(frame(results), target, {"frame": name, "runs": about})

        def tables(width: int) -> Iterator[RenderableType]:
            yield show.summary_table(results, metrics, width)
            if any(result.slices.height for result in results.values()):
                yield show.slice_tables(results, metrics, width)
            if any(result.items.height for result in results.values()):
                yield show.item_tables(results)
            if self.ledger:
                yield ledger_table(show.ledger_of(results))

        self.print(lambda: show.results_text(results, metrics, self.style), tables)


def check_outputs(
    sources: Sequence[object],
    *files: Path | None,
    tables: Sequence[Path | None] = (),
    folder: Path | None = None,
) -> None:
    """Refuse, before any work, outputs that cannot be written, are inputs, or share a place.

    `tables`: files whose endings must name a format that tables are written in.
    """
    from rankframe.io.output_paths import file_place, in_place, place, refuse_inputs
    from rankframe.io.outputs import format_of

    taken: list[str] = []
    for target in (*files, *tables, folder):
        if target is None:
            continue
        if target in tables:
            format_of(target)
        path = place(target) if target is folder else file_place(target)
        refuse_inputs(target, sources, folder=target is folder)
        if in_place(path):
            continue
        real = os.path.realpath(path) if isinstance(path, Path) else str(path)
        if real in taken:
            raise OutputError(f"{target} is named for two outputs. Nothing written.")
        taken.append(real)


def _seen(done: Progress, seconds: float) -> str:
    """Return a text for the progress bar: how many rows are done, and how many per second.

    >>> _seen(Progress("matching", 2_000, 10_000, 40), 0.5)
    '2,000 of 10,000 rows, 4,000/s, 40 queries'
    """
    rate = done.rows / max(seconds, 1e-9)
    text = f"{done.rows:,} of {done.total_rows:,} {done.unit}, {rate:,.0f}/s"
    return f"{text}, {number_of(done.queries, 'query')}" if done.unit == "rows" else text


def warn_if_not_held(max_memory: str) -> str:
    """Warn on stderr if no evaluation fits into the memory limit, and return the limit."""
    from rankframe.io.memory import not_held

    why = not_held(max_memory)
    if why is not None:
        print(f"rankframe: {why}.", file=sys.stderr)
    return max_memory
