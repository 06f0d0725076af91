"""Report the progress of an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
