"""How far an evaluation has come, for whoever wants to know, and a bar on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_PATIENCE = 2.0  # seconds before anything moves on the screen


@dataclass(frozen=True)
class Progress:
    """What is being done, and how much of it is done."""

    stage: str
    rows: int
    total_rows: int
    queries: int
    # what is counted, where it is not rows of the inputs
    unit: str = "rows"


Report = Callable[[Progress], None]


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Report | None]:
    """A progress bar for what takes longer than a moment, on a terminal only."""
    from rich import progress as bars  # noqa: PLC0415 (only the command line needs it)
    from rich.console import Console  # noqa: PLC0415

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
    task = bar.add_task(what, total=None, seen="")
    begun = time.monotonic()

    def report(done: Progress) -> None:
        rate = done.rows / max(time.monotonic() - begun, 1e-9)
        seen = f"{done.rows:,} of {done.total_rows:,} {done.unit}, {rate:,.0f}/s"
        if done.unit == "rows":
            seen += f", {done.queries:,} queries"
        bar.update(
            task,
            description=f"{what}: {done.stage}",
            completed=done.rows,
            # No total yet: the bar only swings while the input is split.
            total=done.total_rows if done.rows else None,
            seen=seen if done.rows else "",
        )

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        bar.stop()
