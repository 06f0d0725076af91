"""Two rankings brought together: the first held by query, the second read once beside it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankframe.core.errors import DuplicateError
from rankframe.core.options import PairPolicies
from rankframe.engine.contiguous import BATCH_ROWS, Told, take_grouped, workers
from rankframe.engine.shuffled import take_scattered
from rankframe.frames.pair import Pairs
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches
from rankframe.io.input_table import InputTable, comparable
from rankframe.io.validate import load_unique
from rankframe.kernel.batch import Batch
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.tables import Index

Made = TypeVar("Made")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """Two rankings whose queries are looked at side by side."""

    held: QueryIndex
    sides: tuple[InputTable, InputTable]
    other: Batches
    policies: PairPolicies

    @classmethod
    def of(cls, a: InputTable, b: InputTable, policies: PairPolicies) -> Pairing:
        """Read the first; the second is not read yet."""
        left, right = comparable(a, b)
        held = Batches(a, left)
        return cls(index_ranking(held.whole()), (a, b), Batches(b, right), policies)

    def each(self, work: Callable[[Pairs], Made], told: Told = lambda _: None) -> list[Made]:
        """Work on all queries of both, some at a time and in any order, on all cores."""
        other = self.other
        made = self._attempt(work, lambda new: take_grouped(other, new.take, told), once=True)
        if made is None:
            made = self._attempt(work, lambda new: take_scattered(other, new.take, told))
        if made is None:  # queries with the same hash
            named = other.by_name()
            made = self._attempt(work, lambda new: take_grouped(named, new.take, told, surely=True))
        assert made is not None  # in order of their names, the rows of a query are together
        return made

    def _attempt(
        self,
        work: Callable[[Pairs], Made],
        read: Callable[[_Attempt[Made]], bool],
        *,
        once: bool = False,
    ) -> list[Made] | None:
        """None where the rows of a query are not together; `once`: those of no query may be."""
        try:
            with ThreadPoolExecutor(workers()) as pool:
                new = _Attempt(self, work, pool)
                try:
                    if not read(new) or (once and new.strangers_repeat()):
                        return None
                    return new.finished()
                finally:
                    pool.shutdown(wait=True, cancel_futures=True)
        except DuplicateError as error:
            # Said of the whole input: how many in all, and which rows of it.
            load_unique(next(side for side in self.sides if side.role == error.role))
            raise


class _Attempt(Generic[Made]):
    """What is made of the queries as they come, as long as none comes again."""

    def __init__(
        self, pairing: Pairing, work: Callable[[Pairs], Made], pool: ThreadPoolExecutor
    ) -> None:
        self._pairing, self._work, self._pool = pairing, work, pool
        held = pairing.held
        self._came = np.zeros(len(held.starts), np.bool_)
        self._turn = np.zeros(len(held.starts), np.int32)
        # hashes of queries that the first ranking lacks
        self._strangers: list[NDArray[np.uint64]] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(2 * workers())
        self._waiting: deque[Future[Made]] = deque()
        self._made: list[Made] = []

    def take(self, chunk: Batch) -> bool:
        """Work on a chunk; False where a query of it came before, in this chunk or another."""
        numbers = self._pairing.held.find(chunk)
        if not self._first_time(chunk, numbers):
            return False
        self._submit(numbers, Side(chunk, None, len(numbers), chunk.height))
        return True

    def strangers_repeat(self) -> bool:
        """Whether a query that the first ranking lacks seems to have come twice."""
        return bool(self._strangers) and Index(np.concatenate(self._strangers)).repeats

    def finished(self) -> list[Made]:
        """All that was made, of queries that only the first ranking has as well."""
        left = np.flatnonzero(~self._came)
        rows = np.cumsum(self._pairing.held.lengths[left])
        total = int(rows[-1]) if len(rows) else 0
        cuts = np.searchsorted(rows, np.arange(BATCH_ROWS, total, BATCH_ROWS), side="right")
        for numbers in np.split(left, cuts):
            if len(numbers):
                self._submit(numbers, None)
        return [*self._made, *(some.result() for some in self._waiting)]

    def _first_time(self, chunk: Batch, numbers: Ints) -> bool:
        known = numbers[numbers >= 0]
        turns = np.arange(len(known), dtype=np.int32)
        with self._lock:
            self._turn[known] = turns
            if self._came[known].any() or not np.array_equal(self._turn[known], turns):
                return False
            self._came[known] = True
            if len(known) < len(numbers):
                self._strangers.append(chunk.hashes[numbers < 0])
        return True

    def _submit(self, numbers: Ints, theirs: Side | None) -> None:
        self._room.acquire()
        future = self._pool.submit(self._paired, numbers, theirs)
        future.add_done_callback(lambda _: self._room.release())
        with self._lock:
            self._waiting.append(future)
            while self._waiting and self._waiting[0].done():
                self._made.append(self._waiting.popleft().result())

    def _paired(self, numbers: Ints, theirs: Side | None) -> Made:
        ours = Side.from_index(self._pairing.held, numbers)
        if theirs is None:
            theirs = nothing(ours.batch)
        queries = theirs.batch.queries if ours.has is not None else ours.batch.queries
        return self._work(Pairs(queries, ours, theirs, self._pairing.policies))


def nothing(chunk: Batch) -> Side:
    """No rows at all for the queries of a chunk."""
    empty = np.empty(0, np.int64)
    none = Batch(chunk.key[:0], empty, chunk.queries[:0], chunk.hashes[:0], chunk.docs, {})
    return Side(none, empty, len(chunk.starts), 0)
