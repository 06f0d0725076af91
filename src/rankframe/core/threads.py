"""Work on several threads: how many there are, in which order results come, and how many bytes are
under way.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import TypeVar

import polars as pl

T = TypeVar("T")
R = TypeVar("R")

_VIEW = 16  # bytes of a text in its column, beside its characters


def size_of(table: pl.DataFrame) -> int:
    """Return how many bytes a table takes.

    For texts, `estimated_size` of polars counts the characters alone, also for those in lists.
    """
    return int(table.estimated_size()) + _VIEW * sum(map(_count_texts, table))


def _count_texts(column: pl.Series) -> int:
    """Return how many texts a column holds, null included, also in lists of texts or structs."""
    kind, count = column.dtype, len(column)
    if isinstance(kind, pl.List):
        kind, count = kind.inner, int(column.list.len().sum())
    elif isinstance(kind, pl.Array):
        kind, count = kind.inner, count * kind.size
    kinds = [field.dtype for field in kind.fields] if isinstance(kind, pl.Struct) else [kind]
    return count * sum(kind in (pl.String, pl.Binary) for kind in kinds)


class MemoryBudget:
    """Bound the bytes of the batches under way: decoded, waiting, worked on, written.

    The reader calls `acquire` for a batch before it hands the batch over, and thus waits before it
    reads the next one; the thread that finishes the batch calls `release`. The memory in use stays
    within the budget whichever of the two is faster.

    A batch that is larger than the budget passes when nothing else is under way, so that no batch
    waits forever. For the same reason, rows that the reader itself keeps must not be acquired:
    nobody would release them while it waits.
    """

    def __init__(self, size: int | None = None) -> None:
        """Allow `size` bytes under way; None: count them without a bound."""
        self.size = size
        self.used = 0
        self._changed = Condition()

    def acquire(self, size: int) -> None:
        """Wait until `size` more bytes fit into the budget, and count them."""
        with self._changed:
            while self.size is not None and self.used > 0 and self.size < self.used + size:
                self._changed.wait()
            self.used += size

    def release(self, size: int) -> None:
        """Stop counting `size` bytes that were acquired."""
        with self._changed:
            self.used -= size
            self._changed.notify_all()

    @contextmanager
    def releasing(self, size: int) -> Iterator[None]:
        """Release `size` bytes when the block ends, also by an error."""
        try:
            yield
        finally:
            self.release(size)


def workers() -> int:
    """Return how many threads to work with: as many as polars does."""
    return min(os.cpu_count() or 1, pl.thread_pool_size())


def map_blocks(function: Callable[[T], R], blocks: Sequence[T]) -> Iterator[R]:
    """Call a function with each block of rows, on all cores; yield the results in order.

    A single block is worked on by this thread: another one would take longer to start than it
    helps. No more results are made ahead than `map_ahead` makes.
    """
    if len(blocks) < 2:
        yield from map(function, blocks)
        return
    with ThreadPoolExecutor(workers()) as pool:
        yield from map_ahead(pool, function, blocks, 2 * workers())


def map_ahead(
    pool: Executor, function: Callable[[T], R], items: Iterable[T], ahead: int
) -> Iterator[R]:
    """Call a function with each item, on a pool; yield the results in order.

    At most `ahead` results are made before somebody takes them. `pool.map` makes all, and holds
    them in memory if taking them (writing to a file, for example) is slower.
    """
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            del item  # not held while the next one is made
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
