"""Read an input in which the rows of each query are contiguous, once, in batches of whole queries.

Tables are worked on by all cores while the next ones are read. The first and the last query of a
table may go on in its neighbours: their rows are collected, and make batches of their own.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.kernel.batch import QUERY_HASH, Batch, query_starts, taken
from rankframe.kernel.segments import segment_starts
from rankframe.kernel.source import OnProgress, Source, Take, ignore_progress, workers
from rankframe.kernel.tables import Index

# Their table fits in the cache, and what a batch costs by itself is little beside its rows.
BATCH_ROWS = 1 << 17
# Where much is done with each row, so that threads seldom wait for each other; where memory is
# short.
_LONG_BATCH, _SHORT_BATCH = 1 << 18, 1 << 16

_MOST_EDGES = 32  # that are collected for a batch
_LOOKED_AT = 1 << 14


class _Split(NamedTuple):
    """A table that was worked on, but for its first and last query."""

    ended: bool
    height: int
    edges: list[pl.DataFrame]


def read_contiguous(
    source: Source,
    take: Take,
    on_progress: OnProgress = ignore_progress,
    *,
    sure: bool = False,
    heavy: bool = False,
) -> bool:
    """Work on all rows; return False, early, where the rows of a query seem not to be contiguous.

    `sure`: they are known to be. `heavy`: the work takes longer than reading.
    """

    def split_within_budget(table: pl.DataFrame, size: int) -> _Split:
        with budget.releasing(size):
            return split(table)

    def split(table: pl.DataFrame) -> _Split:
        source.check(table)
        starts = query_starts(table[QUERY])
        first, last = (int(starts[1]), int(starts[-1])) if len(starts) > 1 else (table.height,) * 2
        inner = starts[1:-1] - first
        ended = len(inner) > 0 and not take(Batch.from_hashed(table[first:last], inner))
        edges = [(0, first), (last, table.height)]
        return _Split(
            ended, table.height, [_copied(table, *edge) for edge in edges if edge[0] < edge[1]]
        )

    waiting: deque[Future[_Split]] = deque()
    edges = _Edges()
    rows = 0
    # The other half reads: more threads than cores cost a fifth of the time of all.
    threads = workers() if heavy else max(workers() // 2, 1)
    batch_rows = _LONG_BATCH if heavy else BATCH_ROWS
    if source.bounded:
        batch_rows = min(BATCH_ROWS, _SHORT_BATCH)
    budget = source.budget()
    with ThreadPoolExecutor(threads) as pool:
        from_edges: deque[Future[bool]] = deque()

        def wait(limit: int) -> bool:
            """Wait until no more than `limit` are under way; return False to end reading."""
            nonlocal rows
            while len(waiting) > limit:
                done = waiting.popleft().result()
                rows += done.height
                on_progress(rows)
                if done.ended:
                    return False
                for edge in done.edges:
                    complete = edges.add(edge)
                    if complete is not None:
                        from_edges.append(pool.submit(take, complete))
            while len(from_edges) > limit:
                if not from_edges.popleft().result():
                    return False
            return True

        # Reading is not easily stopped once it began.
        if not (sure or _looks_contiguous(source.beginning(_LOOKED_AT))):
            return False
        for table in source.read(batch_rows, threads):
            if not (sure or _looks_contiguous(table)):
                return False
            sure = True
            size = int(table.estimated_size()) if source.bounded else 0
            budget.acquire(size)
            waiting.append(pool.submit(split_within_budget, table, size))
            del table
            if not wait(2 * threads):
                return False
        if not wait(0):
            return False
        rest = edges.rest()
        return rest is None or take(rest)


def _copied(table: pl.DataFrame, first: int, end: int) -> pl.DataFrame:
    """Copy some rows, text included.

    A slice, and rows that are gathered, would keep the text of the whole batch in memory: edges of
    32 batches would then take as much as the whole limit.
    """
    rows = np.arange(first, end)
    columns = [taken(column, rows) for column in table]
    # Only a concatenation copies the bytes of long texts.
    return pl.DataFrame([c + "" if c.dtype == pl.String else c for c in columns])


def _looks_contiguous(table: pl.DataFrame) -> bool:
    hashes = table[QUERY_HASH].to_numpy()
    return not Index(hashes[segment_starts(hashes)]).repeats


class _Edges:
    """Collect the rows of queries at the edges of tables."""

    def __init__(self) -> None:
        # of queries that are complete
        self._done: list[pl.DataFrame] = []
        # of the last query
        self._open: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> Batch | None:
        """Add the next rows, all of one query; return a batch whenever there is enough for one."""
        full = None
        if self._open and self._open[-1][QUERY][-1] != rows[QUERY][0]:
            self._done += self._open
            self._open = []
            if len(self._done) >= _MOST_EDGES:
                full = _batch(self._done)
                self._done = []
        self._open.append(rows)
        return full

    def rest(self) -> Batch | None:
        """Return a batch of the rows that are left at the end."""
        parts = [*self._done, *self._open]
        return _batch(parts) if parts else None


def _batch(parts: list[pl.DataFrame]) -> Batch:
    return Batch.from_hashed(pl.concat(parts, rechunk=True))
