"""Count the bytes under way, and make the reader wait while they exceed the budget."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from threading import Condition
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


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
