"""The protocol of an input that is read in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Protocol

import polars as pl

from rankframe.core.errors import DuplicateError
from rankframe.core.memory_budget import MemoryBudget
from rankframe.kernel.batch import Batch

# Takes a batch, from several threads; returns False to end reading.
Take = Callable[[Batch], bool]
# Called with the number of rows that were taken.
OnProgress = Callable[[int], None]


def ignore_progress(_: int) -> None:
    """Do nothing with the number of rows that were taken."""


class Source(Protocol):
    """An input whose rows are read in order, as tables with hashes (see `hashed`)."""

    @property
    def bounded(self) -> bool:
        """Return whether memory is limited."""
        ...

    def budget(self) -> MemoryBudget:
        """Return what the tables that are worked on may take together."""
        ...

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Read all rows, in tables of at most so many."""
        ...

    def beginning(self, rows: int) -> pl.DataFrame:
        """Read the first rows; none where that means to read more."""
        ...

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of a table that was read breaks a rule."""
        ...

    def by_name(self) -> Source:
        """Sort the input by the names of its queries."""
        ...

    def explain(self, error: DuplicateError) -> None:
        """Raise the error that says how many documents of the whole input come twice, and where."""
        ...


def workers() -> int:
    """Return how many threads to work with: as many as polars does."""
    return min(os.cpu_count() or 1, pl.thread_pool_size())
