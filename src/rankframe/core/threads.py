"""Work on several threads, with results in order and a bound on the bytes in flight."""

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

_VIEW = 16  # bytes that a column needs per text, besides its characters


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
    """Bound the bytes of all batches in flight: read, waiting, being processed or written.

    The reader calls `acquire` for a batch before it hands the batch over, and thus waits before it
    reads the next one; the thread that finishes the batch calls `release`. The memory in use stays
    within the budget whichever of the two is faster.

    A batch that is larger than the budget passes when no other batch is in flight, so that no batch
    waits forever. For the same reason, do not acquire rows that the reader itself keeps: no thread
    would release them while the reader waits.
    """

    def __init__(self, size: int | None = None) -> None:
        """Allow `size` bytes in flight; None: count them without a bound."""
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
        """Release `size` bytes when the `with` block ends, also by an error."""
        try:
            yield
        finally:
            self.release(size)


def workers() -> int:
    """Return the number of threads to use, which is that of polars."""
    return min(os.cpu_count() or 1, pl.thread_pool_size())


@contextmanager
def in_background(function: Callable[[], object]) -> Iterator[None]:
    """Call a function on another thread while the block runs; raise its error afterwards."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(function)
        yield
        future.result()


def map_blocks(function: Callable[[T], R], blocks: Sequence[T]) -> Iterator[R]:
    """Call a function with each of several blocks, on all cores; yield the results in order.

    The calling thread processes a single block itself, because starting another thread costs more
    than it saves. The number of results that wait for the consumer is bounded, as in `map_ahead`.
    """
    if len(blocks) < 2:
        yield from map(function, blocks)
        return
    with ThreadPoolExecutor(workers()) as pool:
        yield from map_ahead(pool, function, blocks, 2 * workers())


def map_ahead(
    pool: Executor, function: Callable[[T], R], items: Iterable[T], ahead: int
) -> Iterator[R]:
    """Call a function with each item on a pool of threads; yield the results in order.

    At most `ahead` results wait for the consumer. `pool.map` has no such bound: it holds all
    results in memory if the consumer (which may write to a file) is slower than the function.
    """
    waiting: deque[Future[R]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            del item  # free it while the next item is made
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
