"""Read an input once in batches of whole queries, whatever the order of its rows.

The quickest way is tried first: rows of a query are contiguous, as in most runs. Where a query
comes a second time, what was consumed is dropped, and the input is read again as a shuffled one.
Where two queries share a hash of 64 bits, it is sorted by the names of its queries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankframe.core.errors import DuplicateError
from rankframe.kernel.batch import Batch
from rankframe.kernel.contiguous import read_contiguous
from rankframe.kernel.shuffled import read_shuffled
from rankframe.kernel.source import OnProgress, Source, Take, ignore_progress


class Consumer(Protocol):
    """Add up batches, from several threads."""

    def add(self, batch: Batch, /) -> None:
        """Add a batch."""
        ...


C = TypeVar("C", bound=Consumer)


def read_batches(
    source: Source,
    new_consumer: Callable[[], C],
    on_progress: OnProgress = ignore_progress,
    *,
    heavy: bool = False,
) -> C:
    """Return a consumer that took every query of an input, with all of its rows.

    Args:
        source: The input.
        new_consumer: Makes a consumer; another one where an attempt fails.
        on_progress: Called with the number of rows that were taken.
        heavy: A consumer needs more time for a row than reading it takes.
    """
    consumer = read_if_contiguous(source, new_consumer, on_progress, heavy=heavy)
    if consumer is None:
        consumer = _attempt(
            source,
            new_consumer,
            lambda take: read_shuffled(source, take, on_progress, heavy=heavy),
        )
    if consumer is None:  # queries with the same hash
        named = source.by_name()
        consumer = _attempt(
            source,
            new_consumer,
            lambda take: read_contiguous(named, take, on_progress, sure=True, heavy=heavy),
        )
    assert consumer is not None  # in order of their names, the rows of a query are contiguous
    return consumer


def read_if_contiguous(
    source: Source,
    new_consumer: Callable[[], C],
    on_progress: OnProgress = ignore_progress,
    *,
    heavy: bool = False,
) -> C | None:
    """Read an input in one pass; return None where the rows of a query are not contiguous."""
    queries = SeenQueries()

    def read(take: Take) -> bool:
        def take_new(batch: Batch) -> bool:
            return queries.add(batch.hashes) and take(batch)

        read = read_contiguous(source, take_new, on_progress, heavy=heavy)
        return read and not queries.repeat()

    return _attempt(source, new_consumer, read)


def _attempt(
    source: Source, new_consumer: Callable[[], C], read: Callable[[Take], bool]
) -> C | None:
    consumer = new_consumer()

    def take(batch: Batch) -> bool:
        consumer.add(batch)
        return True

    try:
        return consumer if read(take) else None
    except DuplicateError as error:
        source.explain(error)
        raise


class SeenQueries:
    """The hashes of the queries that came, as far as the rows of a query seem contiguous."""

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []
        self._count = self._checked = 0
        self._lock = threading.Lock()

    def add(self, hashes: NDArray[np.uint64]) -> bool:
        """Add queries; return False if one is known to have come twice.

        They are compared whenever their number has doubled: that costs little, and an input in
        which all queries repeat is not read to its end.
        """
        with self._lock:
            self._hashes.append(hashes)
            self._count += len(hashes)
            return self._count < 2 * self._checked or not self._compare()

    def repeat(self) -> bool:
        """Return whether a query came twice."""
        with self._lock:
            return self._checked < self._count and self._compare()

    def _compare(self) -> bool:
        hashes = np.sort(np.concatenate(self._hashes))
        self._hashes, self._checked = [hashes], self._count
        return bool((hashes[1:] == hashes[:-1]).any())
