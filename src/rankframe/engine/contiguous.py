"""An input whose queries each have their rows together, read once in chunks of whole queries.

Batches are worked on by all cores while the next ones are read. The first and the last query of a
batch may go on in its neighbours: these are put aside, and make chunks of their own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.io.batches import Batches
from rankframe.kernel.batch import QUERY_HASH, Batch, query_starts, taken
from rankframe.kernel.segments import segment_starts
from rankframe.kernel.tables import Index

# Their table fits in the cache, and what a batch costs by itself is little beside its rows.
BATCH_ROWS = 1 << 17
# Where much is done with each row, so that threads seldom wait for each other; where memory is
# short.
_LONG_BATCH, _SHORT_BATCH = 1 << 18, 1 << 16

_MOST_EDGES = 32  # that are put aside
_LOOKED_AT = 1 << 14

# Works on a chunk; False where a query of it came before.
Take = Callable[[Batch], bool]
# Is told how many rows are done.
Told = Callable[[int], None]


def workers() -> int:
    """How many threads to work with: as many as polars does."""
    return min(os.cpu_count() or 1, pl.thread_pool_size())


class _Split(NamedTuple):
    """A batch that was worked on, but for its first and last query."""

    fresh: bool
    height: int
    edges: list[pl.DataFrame]


def take_grouped(
    batches: Batches,
    take: Take,
    told: Told = lambda _: None,
    *,
    surely: bool = False,
    much: bool = False,
) -> bool:
    """Work on all rows; False, early, where the rows of some query turn out not to be together.

    `surely`: they are known to be. `much`: the work takes longer than reading.
    """

    def split_within_budget(batch: pl.DataFrame, size: int) -> _Split:
        with budget.releasing(size):
            return split(batch)

    def split(batch: pl.DataFrame) -> _Split:
        batches.check(batch)
        starts = query_starts(batch[QUERY])
        first, last = (int(starts[1]), int(starts[-1])) if len(starts) > 1 else (batch.height,) * 2
        inner = starts[1:-1] - first
        fresh = not len(inner) or take(Batch.from_hashed(batch[first:last], inner))
        edges = [(0, first), (last, batch.height)]
        return _Split(
            fresh, batch.height, [_copied(batch, *edge) for edge in edges if edge[0] < edge[1]]
        )

    waiting: deque[Future[_Split]] = deque()
    edges = _Edges()
    rows = 0
    # The other half reads: more threads than cores cost a fifth of the time of all.
    threads = workers() if much else max(workers() // 2, 1)
    at_once = _LONG_BATCH if much else BATCH_ROWS
    if batches.bounded:
        at_once = min(BATCH_ROWS, _SHORT_BATCH)
    budget = batches.budget()
    with ThreadPoolExecutor(threads) as pool:
        chunks: deque[Future[bool]] = deque()

        def settled(most: int) -> bool:
            """Wait until no more than so many are under way; False if a query came again."""
            nonlocal rows
            while len(waiting) > most:
                done = waiting.popleft().result()
                rows += done.height
                told(rows)
                if not done.fresh:
                    return False
                for edge in done.edges:
                    complete = edges.add(edge)
                    if complete is not None:
                        chunks.append(pool.submit(take, complete))
            while len(chunks) > most:
                if not chunks.popleft().result():
                    return False
            return True

        unsure = not surely
        # Reading is not easily stopped once it began.
        if unsure and not _looks_grouped(batches.beginning(_LOOKED_AT)):
            return False
        for batch in batches.read(at_once, threads):
            if unsure and not _looks_grouped(batch):
                return False
            unsure = False
            size = int(batch.estimated_size()) if batches.bounded else 0
            budget.acquire(size)
            waiting.append(pool.submit(split_within_budget, batch, size))
            del batch
            if not settled(2 * threads):
                return False
        if not settled(0):
            return False
        rest = edges.rest()
        return rest is None or take(rest)


def _copied(table: pl.DataFrame, first: int, end: int) -> pl.DataFrame:
    """Copy some rows, text included.

    A slice, and rows that are gathered, would keep the text of the whole batch in memory: edges of
    32 batches would then take as much as all that a limit allows.
    """
    rows = np.arange(first, end)
    columns = [taken(column, rows) for column in table]
    # Only a concatenation writes the bytes of long texts anew.
    return pl.DataFrame([c + "" if c.dtype == pl.String else c for c in columns])


def _looks_grouped(batch: pl.DataFrame) -> bool:
    hashes = batch[QUERY_HASH].to_numpy()
    return not Index(hashes[segment_starts(hashes)]).repeats


class _Edges:
    """Queries at the edges of batches, put together again."""

    def __init__(self) -> None:
        # of queries that are complete
        self._done: list[pl.DataFrame] = []
        # of the last query
        self._open: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> Batch | None:
        """The next rows, all of one query; a chunk whenever there is enough for one."""
        full = None
        if self._open and self._open[-1][QUERY][-1] != rows[QUERY][0]:
            self._done += self._open
            self._open = []
            if len(self._done) >= _MOST_EDGES:
                full = _chunk(self._done)
                self._done = []
        self._open.append(rows)
        return full

    def rest(self) -> Batch | None:
        """What is left at the end."""
        parts = [*self._done, *self._open]
        return _chunk(parts) if parts else None


def _chunk(parts: list[pl.DataFrame]) -> Batch:
    return Batch.from_hashed(pl.concat(parts, rechunk=True))
