"""How far an evaluation has come, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown


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


def check_progress(progress: object) -> None:
    """Refuse what cannot be told of it."""
    if progress is not None and not callable(progress):
        raise OptionError(
            Option("progress", bare=True),
            " takes a function that is called with how far it has come, such as print, not ",
            f"{shown(progress)}.",
        )
