"""Two rankings brought together: the first held by query, the second read once beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankframe.core.errors import DuplicateError
from rankframe.core.options import PairPolicies
from rankframe.frames.pair import Pairs
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches
from rankframe.io.input_table import InputTable, comparable
from rankframe.io.validate import load_unique
from rankframe.kernel.batch import Batch
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.reading import BATCH_ROWS, OnProgress, ignore_progress, read_batches, workers

T = TypeVar("T")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """Two rankings whose queries are compared."""

    a: InputTable
    index: QueryIndex
    b: Batches
    policies: PairPolicies

    @classmethod
    def of(cls, a: InputTable, b: InputTable, policies: PairPolicies) -> Pairing:
        """Read the first; the second is not read yet."""
        left, right = comparable(a, b)
        return cls(a, index_ranking(Batches(a, left).whole()), Batches(b, right), policies)

    def each(
        self, work: Callable[[Pairs], T], on_progress: OnProgress = ignore_progress
    ) -> list[T]:
        """Work on all queries of both rankings, batch by batch, in any order and on all cores."""
        try:
            pairs = read_batches(self.b, lambda: _PairBatches(self, work), on_progress, heavy=True)
            return pairs.finish()
        except DuplicateError as error:
            if error.role == self.a.role:  # tell of the whole input: how many, and which rows
                load_unique(self.a)
            raise


class _PairBatches(Generic[T]):
    """Work on the pairs of batches of the second ranking."""

    def __init__(self, pairing: Pairing, work: Callable[[Pairs], T]) -> None:
        self._pairing, self._work = pairing, work
        self._came = np.zeros(len(pairing.index.starts), np.bool_)
        self._results: list[T] = []
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> None:
        """Work on a batch of the second ranking."""
        numbers = self._pairing.index.find(batch)
        self._came[numbers[numbers >= 0]] = True
        result = self._pair(numbers, Side(batch, None, len(numbers), batch.height))
        with self._lock:
            self._results.append(result)

    def finish(self) -> list[T]:
        """Work on the queries that only the first ranking has, and return all results."""
        left = np.flatnonzero(~self._came)
        block = np.cumsum(self._pairing.index.lengths[left]) // BATCH_ROWS
        blocks = np.split(left, np.flatnonzero(np.diff(block)) + 1) if len(left) else []
        with ThreadPoolExecutor(workers()) as pool:
            return [*self._results, *pool.map(self._pair, blocks)]

    def _pair(self, numbers: Ints, b: Side | None = None) -> T:
        a = Side.from_index(self._pairing.index, numbers)
        if b is None:
            b = a.without_rows()
        queries = b.batch.queries if a.has is not None else a.batch.queries
        return self._work(Pairs(queries, a, b, self._pairing.policies))
