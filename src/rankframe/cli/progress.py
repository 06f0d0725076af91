"""A progress bar on a terminal, for what takes longer than a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rankframe.base.progress import Progress, Report
from rankframe.base.wording import plain_text

_PATIENCE = 2.0  # seconds before anything moves on the screen


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
    return f"{seen}, {done.queries:,} queries" if done.unit == "rows" else seen
