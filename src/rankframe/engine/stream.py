"""Two inputs that are sorted by query, read side by side, a stretch at a time.

Each stretch is worked on while the next one is read, nothing is written on the way, and little is
in memory at once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import BadValueError, DuplicateError, UnreadableInputError
from rankframe.core.memory_budget import MemoryBudget
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.memory import bytes_at_once, bytes_for_pieces, need_of
from rankframe.engine.split import EvaluatePartition
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.input_table import InputTable
from rankframe.io.validate import check_rows, count_rows

_PROBES = 9
_FEWEST = 1 << 10


class InOrder:
    """Accumulators in order of their queries, each of about so many rows, with how many it has.

    Reading waits while the pieces under way need more than a limit leaves for them.

    They end early where the inputs turn out not to be sorted, or something is wrong with a row
    that is better said of the whole: `complete` says whether all queries came.
    """

    def __init__(
        self,
        left: InputTable,
        right: InputTable,
        evaluate: EvaluatePartition,
        *,
        rows: int,
        row_bytes: tuple[int, int],
    ) -> None:
        at_once = bytes_at_once(left, right)
        self._budget = MemoryBudget(bytes_for_pieces(left, right))
        self._sides = [_Stretches(side, rows, at_once) for side in (left, right)]
        self._evaluate = evaluate
        self._row_bytes = row_bytes
        self.complete = False

    def __iter__(self) -> Iterator[tuple[Accumulator, int]]:
        if not all(side.looks_sorted() for side in self._sides):
            return
        workers = os.cpu_count() or 1
        waiting: deque[tuple[Future[Accumulator], int]] = deque()
        with ThreadPoolExecutor(workers) as pool, suppress(BadValueError, DuplicateError):
            for ours, theirs in _side_by_side(*self._sides):
                rows = ours.height + theirs.height
                need = sum(map(need_of, (ours, theirs), self._row_bytes))
                self._budget.acquire(need)
                waiting.append((pool.submit(self._releasing, ours, theirs, need), rows))
                del ours, theirs
                if len(waiting) > workers:
                    yield _first(waiting)
            while waiting:
                yield _first(waiting)
            self.complete = all(side.in_order for side in self._sides)

    def _releasing(self, ours: pl.DataFrame, theirs: pl.DataFrame, need: int) -> Accumulator:
        with self._budget.releasing(need):
            return self._evaluate(ours, theirs)


def _first(waiting: deque[tuple[Future[Accumulator], int]]) -> tuple[Accumulator, int]:
    piece, rows = waiting.popleft()
    return piece.result(), rows


def _side_by_side(
    left: _Stretches, right: _Stretches
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The rows of the same queries on both sides, as long as these come in order."""
    longer = left if left.total > right.total else right
    bound: str | None = ""
    while bound is not None:
        bound = longer.next_bound()
        ours, theirs = left.before(bound), right.before(bound)
        if not (left.in_order and right.in_order):
            return
        if ours.height or theirs.height:
            yield ours, theirs


class _Stretches:
    """An input that is read from its beginning to its end, so many rows and bytes at a time."""

    def __init__(self, side: InputTable, rows: int, at_once: int) -> None:
        self.total = count_rows(side)
        self._side, self._rows, self._at_once, self._read = side, rows, at_once, 0
        self.in_order = True
        self._held = side.frame.head(0).collect()

    def looks_sorted(self) -> bool:
        """Whether some queries, picked at even distances, are in order."""
        if not self.total:
            return True
        places = np.unique(np.linspace(0, self.total - 1, _PROBES).astype(int)).tolist()
        queries = self._side.frame.select(QUERY)
        picked = pl.concat([queries.slice(place, 1) for place in places])
        try:
            return picked.collect()[QUERY].is_sorted()
        except READ_ERRORS as error:
            raise unreadable(self._side.name, error) from error

    def next_bound(self) -> str | None:
        """Read on, and say which query is the first that may not be complete; None at the end."""
        self._more()
        while not self._ended and self._held[QUERY][0] == self._held[QUERY][-1]:
            self._more()
        return None if self._ended else self._held[QUERY][-1]

    def before(self, bound: str | None) -> pl.DataFrame:
        """All rows not given yet, up to where this query begins."""
        while not self._ended and (
            bound is None or not self._held.height or self._held[QUERY][-1] < bound
        ):
            self._more()
        cut = self._held.height if bound is None else self._held[QUERY].search_sorted(bound)
        given, self._held = self._held[:cut], self._held[cut:]
        return given.rechunk()

    @property
    def _ended(self) -> bool:
        return self._read >= self.total

    def _more(self) -> None:
        if self._ended:
            return
        try:
            rows = self._side.frame.slice(self._read, self._rows).collect(engine="in-memory")
        except READ_ERRORS as error:
            raise unreadable(self._side.name, error) from error
        expected = min(self._rows, self.total - self._read)
        if rows.height != expected:
            raise UnreadableInputError(
                self._side.name,
                f"of {expected:,} rows that were counted, {rows.height:,} were read",
                "It changed meanwhile. Try again",
            )
        self._read += rows.height
        check_rows(rows.lazy(), self._side.role, self._side.name)
        query, held = rows[QUERY], self._held[QUERY]
        follows = not len(held) or not rows.height or held[-1] <= query[0]
        self.in_order = self.in_order and follows and query.is_sorted()
        # Not in one piece: a query that goes on and on would be copied each time.
        self._held = pl.concat([self._held, rows])
        # Where ids are longer than those before, the next stretch has fewer rows.
        fit = self._at_once * rows.height // max(int(rows.estimated_size()), 1)
        self._rows = max(min(self._rows, fit), _FEWEST)
