"""Partitions of two inputs that are sorted by query: both are read side by side, piece by piece.

Nothing is written on the way, and little is in memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import UnreadableInputError
from rankframe.engine.memory import bytes_at_once
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable
from rankframe.io.validate import check_rows, count_rows

_PROBES = 9  # queries that are looked at before anything is read
_FEWEST_ROWS = 1 << 10


class SortedPartitions:
    """Read the rows of the same queries on both sides, in partitions of limited size.

    Reading ends early where an input turns out not to be sorted: `complete` says after the last
    partition whether all rows came.
    """

    def __init__(self, left: InputTable, right: InputTable, rows: int) -> None:
        limit = bytes_at_once(left, right)
        self._left, self._right = (_SortedInput(side, rows, limit) for side in (left, right))
        self.complete = False

    def __iter__(self) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        left, right = self._left, self._right
        if not (left.looks_sorted() and right.looks_sorted()):
            return
        longer = left if left.total > right.total else right
        bound: str | None = ""
        while bound is not None:
            bound = longer.next_bound()
            partition = left.rows_before(bound), right.rows_before(bound)
            if not (left.in_order and right.in_order):
                return
            if partition[0].height or partition[1].height:
                yield partition
            del partition
        self.complete = True


class _SortedInput:
    """Read an input from its beginning to its end, in steps of limited rows and bytes."""

    def __init__(self, side: InputTable, rows: int, limit: int) -> None:
        self.total = count_rows(side)
        self._side, self._rows, self._limit, self._read = side, rows, limit, 0
        self.in_order = True
        self._pending = side.frame.head(0).collect()

    def looks_sorted(self) -> bool:
        """Return whether queries that are picked at even distances are in order."""
        if not self.total:
            return True
        places = np.unique(np.linspace(0, self.total - 1, _PROBES).astype(int)).tolist()
        queries = self._side.frame.select(QUERY)
        picked = pl.concat([queries.slice(place, 1) for place in places])
        with reading(self._side.name):
            return picked.collect()[QUERY].is_sorted()

    def next_bound(self) -> str | None:
        """Read on, and return the first query that may not be complete; None at the end."""
        self._read_more()
        while not self._ended and self._pending[QUERY][0] == self._pending[QUERY][-1]:
            self._read_more()
        return None if self._ended else self._pending[QUERY][-1]

    def rows_before(self, bound: str | None) -> pl.DataFrame:
        """Return all pending rows up to where a query begins."""
        while not self._ended and (
            bound is None or not self._pending.height or self._pending[QUERY][-1] < bound
        ):
            self._read_more()
        cut = self._pending.height
        if bound is not None:
            cut = self._pending[QUERY].search_sorted(bound)
        rows, self._pending = self._pending[:cut], self._pending[cut:]
        return rows.rechunk()

    @property
    def _ended(self) -> bool:
        return self._read >= self.total

    def _read_more(self) -> None:
        if self._ended:
            return
        with reading(self._side.name):
            rows = self._side.frame.slice(self._read, self._rows).collect(engine="in-memory")
        expected = min(self._rows, self.total - self._read)
        if rows.height != expected:
            raise UnreadableInputError(
                self._side.name,
                f"of {expected:,} rows that were counted, {rows.height:,} were read",
                "It changed meanwhile. Try again",
            )
        self._read += rows.height
        check_rows(rows.lazy(), self._side.role, self._side.name)
        query, pending = rows[QUERY], self._pending[QUERY]
        follows = not len(pending) or not rows.height or pending[-1] <= query[0]
        self.in_order = self.in_order and follows and query.is_sorted()
        # Not in one chunk: a query that goes on and on would be copied each time.
        self._pending = pl.concat([self._pending, rows])
        # Where ids are longer than those before, fewer rows are read next.
        fit = self._limit * rows.height // max(int(rows.estimated_size()), 1)
        self._rows = max(min(self._rows, fit), _FEWEST_ROWS)
