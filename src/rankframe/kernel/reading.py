"""The protocol of an input that is read in batches."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import DuplicateError
from rankframe.core.memory_budget import MemoryBudget
from rankframe.kernel.batch import KEY, QUERY_HASH, Batch, numbers_of, query_starts, taken
from rankframe.kernel.segments import segment_lengths, segment_starts, sort_order
from rankframe.kernel.tables import Index, representatives

# Takes a batch, from several threads; returns False to end reading.
Take = Callable[[Batch], bool]
# Called with the number of rows that were taken.
OnProgress = Callable[[int], None]


def ignore_progress(_: int) -> None:
    """Do nothing with the number of rows that were taken."""


class Source(Protocol):
    """An input whose rows are read in order, as tables with hashes (see `hashed`)."""

    @property
    def bounded(self) -> bool:
        """Return whether memory is limited."""
        ...

    def budget(self) -> MemoryBudget:
        """Return what the tables that are worked on may take together."""
        ...

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Read all rows, in tables of at most so many."""
        ...

    def beginning(self, rows: int) -> pl.DataFrame:
        """Read the first rows; none where that means to read more."""
        ...

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of a table that was read breaks a rule."""
        ...

    def by_name(self) -> Source:
        """Sort the input by the names of its queries."""
        ...

    def explain(self, error: DuplicateError) -> None:
        """Raise the error that says how many documents of the whole input come twice, and where."""
        ...


def workers() -> int:
    """Return how many threads to work with: as many as polars does."""
    return min(os.cpu_count() or 1, pl.thread_pool_size())


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


_BATCH_BITS, _BUCKET_BITS = 17, 8  # of a batch: as a rule a row group, not copied
_BUCKETS = 1 << _BUCKET_BITS
_ROW = "_row"
_COMPARED = 1 << 18  # rows whose queries are compared at once
_SHUFFLED_ROWS = 45_000  # about: so that hardly any has more than 2^16
_LONG_SHUFFLED_ROWS = 180_000  # where much is done with each row, so that threads seldom wait


def read_shuffled(
    source: Source, take: Take, on_progress: OnProgress = ignore_progress, *, heavy: bool = False
) -> bool:
    """Work on all rows; return False where different queries have the same hash.

    `heavy`: the work takes longer than reading.
    """
    dealt, ids = _deal(source)
    rows = ids.height
    # For each row the first one of its query, as far as hashes tell.
    firsts = np.arange(rows, dtype=np.uint32)

    def work(buckets: range) -> int:
        """Return how many rows these buckets have; -1 to end reading."""
        batch = _make_batch(dealt, buckets, ids, firsts)
        return batch.height if not batch.height or take(batch) else -1

    batch_rows = _LONG_SHUFFLED_ROWS if heavy and not source.bounded else _SHUFFLED_ROWS
    step = max(1, _BUCKETS * batch_rows // max(rows, 1))
    stretches = [range(start, min(start + step, _BUCKETS)) for start in range(0, _BUCKETS, step)]
    done = 0
    with ThreadPoolExecutor(workers()) as pool:
        try:
            for height in pool.map(work, stretches):
                if height < 0:
                    return False
                done += height
                on_progress(done)
        except DuplicateError:
            # Of one query, or of several that were taken for one.
            if _same_queries(ids[QUERY], firsts, pool):
                raise
            return False
        return _same_queries(ids[QUERY], firsts, pool)


def _same_queries(query: pl.Series, firsts: NDArray[np.uint32], pool: ThreadPoolExecutor) -> bool:
    """Return whether each row's query is that of its first row.

    In the order in which they were read: 10 ns a row, 70 where ids are longer than 12 bytes. In
    any other, both strings are gathered from all over the memory.
    """

    def same(start: int) -> bool:
        first_queries = taken(query, firsts[start : start + _COMPARED])
        return bool((first_queries == query[start : start + _COMPARED]).all())

    return all(pool.map(same, range(0, len(query), _COMPARED)))


@dataclass(frozen=True)
class _Dealt:
    """The rows of a table, by bucket; in each, as they came."""

    # where each bucket begins, and the end
    ends: list[int]
    # the hashes, the numbers and the number of each row
    columns: Mapping[str, NDArray[np.generic]]

    @classmethod
    def from_table(cls, table: pl.DataFrame, first_row: int) -> _Dealt:
        """Deal the rows of a table by the leading bits of their query's hash."""
        bucket = (table[QUERY_HASH].to_numpy() >> np.uint64(64 - _BUCKET_BITS)).astype(np.uint32)
        ends = np.cumsum(np.bincount(bucket, minlength=_BUCKETS))
        # With the row behind it, a plain sort of small numbers.
        bucket <<= np.uint32(_BATCH_BITS)
        bucket |= np.arange(len(bucket), dtype=np.uint32)
        bucket.sort()
        order = (bucket & np.uint32((1 << _BATCH_BITS) - 1)).astype(np.int64)
        names = (KEY, QUERY_HASH, *numbers_of(table))
        columns = {name: table[name].to_numpy()[order] for name in names}
        columns[_ROW] = (order + first_row).astype(np.uint32)
        return cls([0, *ends.tolist()], columns)

    def column(self, name: str, buckets: range) -> NDArray[np.generic]:
        """Return a column of these buckets."""
        return self.columns[name][self.ends[buckets.start] : self.ends[buckets.stop]]


def _deal(source: Source) -> tuple[list[_Dealt], pl.DataFrame]:
    """Read and deal all rows; return also the ids of all."""
    dealt: list[_Dealt] = []
    ids: list[pl.DataFrame] = []
    rows = 0

    def deal(table: pl.DataFrame, first_row: int) -> _Dealt:
        source.check(table)
        return _Dealt.from_table(table, first_row)

    with ThreadPoolExecutor(workers()) as pool:
        waiting: deque[Future[_Dealt]] = deque()
        for table in source.read(1 << _BATCH_BITS):
            ids.append(table.select(QUERY, DOC))
            waiting.append(pool.submit(deal, table, rows))
            rows += table.height
            while len(waiting) > 2 * workers():
                dealt.append(waiting.popleft().result())
        dealt += [future.result() for future in waiting]
    return dealt, pl.concat(ids, rechunk=True)


@dataclass(frozen=True)
class _Ids:
    """Rows of a column of ids, looked up when they are needed."""

    column: pl.Series
    rows: NDArray[np.uint32]

    def taken(self, rows: NDArray[np.integer]) -> pl.Series:
        """Return the ids of these of the rows."""
        return taken(self.column, self.rows[rows])


def _make_batch(
    dealt: Sequence[_Dealt], buckets: range, ids: pl.DataFrame, firsts: NDArray[np.uint32]
) -> Batch:
    """Bring the rows of each query of these buckets together; `firsts` is filled for them."""
    columns = {
        name: np.concatenate([table.column(name, buckets) for table in dealt])
        for name in dealt[0].columns
    }
    query = representatives(columns[QUERY_HASH].astype(np.uint64, copy=False))
    # Of two bytes, as a rule: a radix sort.
    order = np.argsort(query, kind="stable") if query.itemsize < 4 else sort_order(query)
    starts = segment_starts(query[order])
    columns = {name: values[order] for name, values in columns.items()}
    rows = columns.pop(_ROW).astype(np.uint32, copy=False)
    firsts[rows] = np.repeat(rows[starts], segment_lengths(starts, len(rows)))
    return Batch(
        key=columns.pop(KEY).astype(np.uint64, copy=False),
        starts=starts,
        queries=taken(ids[QUERY], rows[starts]),
        hashes=columns.pop(QUERY_HASH)[starts].astype(np.uint64, copy=False),
        docs=_Ids(ids[DOC], rows),
        numbers={name: values.astype(np.float64, copy=False) for name, values in columns.items()},
    )


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
