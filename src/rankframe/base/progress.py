"""How far an evaluation has come, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
