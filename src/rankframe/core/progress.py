"""Report the progress of an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown


@dataclass(frozen=True)
class Progress:
    """The current stage, and how much of it is done."""

    stage: str
    rows: int
    total_rows: int
    queries: int
    # what is counted, if not rows of the inputs
    unit: str = "rows"


Report = Callable[[Progress], None]


def check_progress(progress: object) -> None:
    """Refuse a `progress` that is no function."""
    if progress is not None and not callable(progress):
        raise OptionError(
            Option("progress", bare=True),
            " takes a function that is called with the progress so far, such as print, not ",
            f"{shown(progress)}.",
        )
