"""Count the bytes that are under way, and make whoever reads wait while they are too many."""

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

    Whoever reads calls `acquire` for a batch before it hands the batch over, and thus waits before
    it reads the next one; whoever is done with the batch calls `release`, on another thread. Which
    of them is faster does not matter to how much is in memory.

    A batch that is larger than the budget passes when nothing else is under way, so that no batch
    waits forever. For the same reason, rows that the reader itself keeps must not be acquired:
    nobody would release them while it waits.
    """

    def __init__(self, size: int | None = None) -> None:
        """Allow so many bytes; None: any number, which are counted only."""
        self.size = size
        self.used = 0
        self.most = 0  # that were ever under way
        self._changed = Condition()

    def acquire(self, size: int) -> None:
        """Wait until so many bytes fit beside what is under way, and count them."""
        with self._changed:
            self._changed.wait_for(lambda: self._fits(size))
            self.used += size
            self.most = max(self.most, self.used)

    def release(self, size: int) -> None:
        """Count so many bytes no more."""
        with self._changed:
            self.used -= size
            self._changed.notify_all()

    @contextmanager
    def releasing(self, size: int) -> Iterator[None]:
        """Release so many bytes when the block ends, however it ends."""
        try:
            yield
        finally:
            self.release(size)

    def _fits(self, size: int) -> bool:
        return self.size is None or not self.used or self.used + size <= self.size


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
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
