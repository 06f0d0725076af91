"""Read an input once in batches of whole queries, in any order of rows.

A small input is read whole. For other inputs, the fastest way is tried first: assume that the rows
of each query are contiguous, as in most runs. If a query turns out not to be contiguous, the
consumer is discarded, and the input is read again as shuffled: hashes, numbers and row numbers are
partitioned into buckets by the hash of the query, while ids stay where they were read. If two
queries share a 64-bit hash, the input is read a third time, sorted by query id.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Keys
from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import DuplicateError
from rankframe.core.records import record
from rankframe.core.threads import MemoryBudget, map_ahead, size_of, workers
from rankframe.kernel.batch import KEY, QUERY_HASH, Batch, Ids, numbers_of, query_starts, taken
from rankframe.kernel.segments import segment_lengths, segment_starts, sort_order
from rankframe.kernel.tables import repeats, representatives

# A callback that processes a batch; called from several threads.
Take = Callable[[Batch], None]
# A callback for progress, called with the number of rows processed so far.
OnProgress = Callable[[int], None]

# Contiguous input. Batches are small enough that their hash table fits in the cache, and large
# enough that the fixed cost of a batch does not matter. Batches are longer for heavy consumers, so
# that threads seldom wait for each other, and shorter if memory is limited.
BATCH_ROWS = 1 << 17
_LONG_BATCH, _SHORT_BATCH = 1 << 18, 1 << 16
# An input with fewer rows than a batch is processed whole, by one thread: others would not help.
SMALL_INPUT = BATCH_ROWS
_MOST_EDGES = 32  # edges of tables (see `read_contiguous`) that are collected for a batch
_LOOKED_AT = 1 << 14  # leading rows that are probed for queries that are not contiguous

# Shuffled input. A table usually is a row group of a file, read without a copy.
_TABLE_BITS, _BUCKET_BITS = 17, 8
_BUCKETS = 1 << _BUCKET_BITS
_ROW = "_row"
_COMPARED = 1 << 18  # rows whose queries are compared at once
# The average rows of a batch. With the first number, few batches have more than 2^16 rows, which
# takes the least CPU time. With the second, threads wait less for each other, and batches take more
# memory: it is for several threads, or heavy consumers, without a memory limit.
_SHUFFLED_ROWS, _LONG_SHUFFLED_ROWS = 45_000, 180_000


class Source(Protocol):
    """Define an input: it reads rows in order, as tables with the columns that `hashed` adds."""

    @property
    def bounded(self) -> bool:
        """Return whether memory is limited."""
        ...

    def small(self) -> bool:
        """Return whether the input has few rows, as far as is known without reading it."""
        ...

    def whole(self) -> pl.DataFrame:
        """Read all rows into one table; refuse the input if a row is invalid."""
        ...

    def budget(self) -> MemoryBudget:
        """Return the budget for the memory of all tables that are processed at the same time."""
        ...

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Read all rows, in tables of at most `rows` rows."""
        ...

    def beginning(self, rows: int) -> pl.DataFrame:
        """Read the first `rows` rows; return no rows if the source cannot read only these."""
        ...

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of `table`, which `read` returned, is invalid."""
        ...

    def by_name(self) -> Source:
        """Return a source with the same rows, sorted by query id."""
        ...

    def explain(self, error: DuplicateError) -> None:
        """Raise an error with the number of duplicates in the whole input, and an example."""
        ...


class Consumer(Protocol):
    """Define a consumer of batches: `add` accumulates one, and is called from several threads."""

    def add(self, batch: Batch, /) -> None:
        """Accumulate a batch."""
        ...


C = TypeVar("C", bound=Consumer)


class RepeatedQueryError(Exception):
    """Raised if the rows of a query are not contiguous, or two queries share a hash."""


def ignore_progress(_: int) -> None:
    """Do nothing: the default callback for progress."""


def read_batches(
    source: Source,
    new_consumer: Callable[[], C],
    on_progress: OnProgress = ignore_progress,
    *,
    heavy: bool = False,
) -> C:
    """Pass every query of an input, with all of its rows, to a consumer; return the consumer.

    Args:
        source: The input.
        new_consumer: Creates an empty consumer; called for each attempt to read the input.
        on_progress: Called with the number of rows processed so far.
        heavy: Whether the consumer needs more time for a row than reading the row takes.
    """
    small = source.small()
    first = _read_small if small else read_contiguous
    attempts = (first, _read_by_name) if small else (first, read_shuffled, _read_by_name)
    for read in attempts:
        consumer = _attempt(read, source, new_consumer, on_progress, heavy=heavy)
        if consumer is not None:
            return consumer
    raise AssertionError  # sorted by query id, the rows of each query are contiguous


def read_if_contiguous(
    source: Source, new_consumer: Callable[[], C], on_progress: OnProgress = ignore_progress
) -> C | None:
    """Read an input in one pass; return None if the rows of a query are not contiguous."""
    read = _read_small if source.small() else read_contiguous
    return _attempt(read, source, new_consumer, on_progress)


def _attempt(
    read: Callable[..., None],
    source: Source,
    new_consumer: Callable[[], C],
    on_progress: OnProgress,
    *,
    heavy: bool = False,
) -> C | None:
    consumer = new_consumer()
    try:
        read(source, consumer.add, on_progress, heavy=heavy)
    except RepeatedQueryError:
        return None
    except DuplicateError as error:
        source.explain(error)
        raise
    return consumer


def _read_small(source: Source, take: Take, on_progress: OnProgress, *, heavy: bool) -> None:
    """Read all rows, and pass them to `take` in one batch, on the calling thread."""
    del heavy
    table = source.whole()
    batch = Batch.from_hashed(table)
    if repeats(batch.hashes):
        raise RepeatedQueryError
    if batch.height:
        take(batch)
    on_progress(batch.height)


def _read_by_name(source: Source, take: Take, on_progress: OnProgress, *, heavy: bool) -> None:
    """Read an input sorted by query id: the last resort, if queries share a hash."""
    read_contiguous(source.by_name(), take, on_progress, sure=True, heavy=heavy)


def read_contiguous(
    source: Source,
    take: Take,
    on_progress: OnProgress = ignore_progress,
    *,
    sure: bool = False,
    heavy: bool = False,
) -> None:
    """Pass an input to `take` in batches of whole queries, which must be contiguous.

    A query that is not contiguous raises a `RepeatedQueryError`.

    All cores process tables while the next tables are read. The first and the last query of a table
    (its edges) may continue in neighbouring tables: the rows of edges are collected, and passed on
    in separate batches.

    Args:
        source: The input.
        take: Called with each batch, from several threads.
        on_progress: Called with the number of rows processed so far.
        sure: Whether the rows of each query are known to be contiguous.
        heavy: Whether `take` needs more time for a row than reading the row takes.
    """
    # The threads of polars read at the same time. With one thread per core, the wall time is 5%
    # shorter and the CPU time 2% longer than with half as many. With a memory limit, fewer threads
    # leave more memory for each batch.
    threads = workers() if heavy or not source.bounded else max(workers() // 2, 1)
    batch_rows = _LONG_BATCH if heavy else BATCH_ROWS
    if source.bounded:
        batch_rows = min(BATCH_ROWS, _SHORT_BATCH)
    budget, queries = source.budget(), SeenQueries()

    def take_new(batch: Batch) -> None:
        if not sure:
            queries.add(batch.hashes)
        take(batch)

    def read_tables() -> Iterator[tuple[pl.DataFrame, int]]:
        looked_at = sure
        for table in source.read(batch_rows, threads):
            if not looked_at:
                _refuse_repeats(table)
                looked_at = True
            size = size_of(table) if source.bounded else 0
            budget.acquire(size)
            yield table, size
            del table  # free the memory before the next table is read

    def work(item: tuple[pl.DataFrame, int]) -> tuple[int, list[pl.DataFrame]]:
        """Process a table except its first and last query; return its height and their rows."""
        table, size = item
        with budget.releasing(size):
            source.check(table)
            starts, end = query_starts(table[QUERY]), table.height
            first, last = (int(starts[1]), int(starts[-1])) if len(starts) > 1 else (end, end)
            if len(starts) > 2:
                take_new(Batch.from_hashed(table[first:last], starts=starts[1:-1] - first))
            return end, [_copy_rows(table, 0, first), _copy_rows(table, last, end)]

    def read_edges(pool: ThreadPoolExecutor) -> Iterator[pl.DataFrame]:
        rows = 0
        for height, edges in map_ahead(pool, work, read_tables(), 2 * threads):
            rows += height
            on_progress(rows)
            yield from filter(len, edges)

    if not sure:  # probe first: reading is hard to stop once it has begun
        _refuse_repeats(source.beginning(_LOOKED_AT))
    with ThreadPoolExecutor(threads) as pool:
        for _ in map_ahead(pool, take_new, _join_edges(read_edges(pool)), 2 * threads):
            pass
    queries.refuse_repeats()


def _refuse_repeats(table: pl.DataFrame) -> None:
    hashes = table[QUERY_HASH].to_numpy()
    if repeats(hashes[segment_starts(hashes)]):
        raise RepeatedQueryError


def _copy_rows(table: pl.DataFrame, first: int, end: int) -> pl.DataFrame:
    """Copy the rows from `first` up to, not including, `end`, with the bytes of their strings.

    A slice or a gather would keep the text of the whole table in memory: the edges of 32 tables
    would then take as much memory as the limit allows for everything.
    """
    rows = np.arange(first, end)
    columns = [taken(column, rows) for column in table]
    # Only string concatenation copies the bytes of long texts.
    return pl.DataFrame([c + "" if c.dtype == pl.String else c for c in columns])


def _join_edges(edges: Iterator[pl.DataFrame]) -> Iterator[Batch]:
    """Combine tables with one query each into batches; a query may continue in the next table."""
    complete: list[pl.DataFrame] = []
    last: list[pl.DataFrame] = []
    for rows in edges:
        if last and last[-1][QUERY][-1] != rows[QUERY][0]:
            complete += last
            last = []
            if len(complete) >= _MOST_EDGES:
                yield Batch.from_hashed(pl.concat(complete, rechunk=True))
                complete = []
        last.append(rows)
    if last:
        yield Batch.from_hashed(pl.concat([*complete, *last], rechunk=True))


class SeenQueries:
    """Collect the hashes of queries, to find queries that are not contiguous."""

    def __init__(self) -> None:
        self._hashes: list[Keys] = []
        self._count = self._checked = 0
        self._lock = threading.Lock()

    def add(self, hashes: Keys) -> None:
        """Add the hashes of queries; check for repeats each time the number of hashes has doubled.

        Checks at doubling sizes cost little in total, and stop early in a shuffled input.
        """
        with self._lock:
            self._hashes.append(hashes)
            self._count += len(hashes)
            if self._count >= 2 * self._checked:
                self.refuse_repeats()

    def refuse_repeats(self) -> None:
        """Raise a `RepeatedQueryError` if a hash was added twice."""
        if self._checked < self._count:
            hashes = np.sort(np.concatenate(self._hashes))
            self._hashes, self._checked = [hashes], self._count
            if (hashes[1:] == hashes[:-1]).any():
                raise RepeatedQueryError


def read_shuffled(
    source: Source, take: Take, on_progress: OnProgress = ignore_progress, *, heavy: bool = False
) -> None:
    """Read rows in any order, group them by query, and pass batches of whole queries to `take`.

    Two queries with the same hash raise a `RepeatedQueryError`.

    Args:
        source: The input.
        take: Called with each batch, from several threads.
        on_progress: Called with the number of rows processed so far.
        heavy: Whether `take` needs more time for a row than reading the row takes.
    """
    dealt, ids = _deal(source)
    # For each row: the first row with the same query hash.
    firsts = np.arange(ids.height, dtype=np.uint32)

    def work(buckets: range) -> int:
        """Process the rows of some buckets as one batch; return the number of rows."""
        batch = _make_batch(dealt, buckets, ids, firsts)
        if batch.height:
            take(batch)
        return batch.height

    long = not source.bounded and (heavy or workers() > 1)
    batch_rows = _LONG_SHUFFLED_ROWS if long else _SHUFFLED_ROWS
    step = max(1, _BUCKETS * batch_rows // max(ids.height, 1))
    parts = [range(start, min(start + step, _BUCKETS)) for start in range(0, _BUCKETS, step)]
    done = 0
    with ThreadPoolExecutor(workers()) as pool:
        try:
            for height in pool.map(work, parts):
                done += height
                on_progress(done)
        except DuplicateError:
            # The duplicates may come from two queries with the same hash: check this first.
            _refuse_collisions(ids[QUERY], firsts, pool)
            raise
        _refuse_collisions(ids[QUERY], firsts, pool)


def _refuse_collisions(
    query: pl.Series, firsts: NDArray[np.uint32], pool: ThreadPoolExecutor
) -> None:
    """Raise a `RepeatedQueryError` if rows with the same query hash have different query ids.

    Rows are compared in reading order: 10 ns per row, or 70 ns if ids are longer than 12 bytes. In
    any other order, both strings of each comparison would be random accesses to memory.
    """

    def are_same(start: int) -> bool:
        first_queries = taken(query, firsts[start : start + _COMPARED])
        return bool((first_queries == query[start : start + _COMPARED]).all())

    if not all(pool.map(are_same, range(0, len(query), _COMPARED))):
        raise RepeatedQueryError


@record
class _Dealt:
    """Hold a table's rows, grouped by hash bucket, and in reading order within each bucket."""

    # the first row of each bucket, then the number of rows
    ends: list[int]
    # by name: the hashes, the numeric columns and the row numbers
    columns: Mapping[str, NDArray[np.generic]]

    @classmethod
    def from_table(cls, table: pl.DataFrame, first_row: int) -> _Dealt:
        """Partition the rows of a table into buckets by the leading bits of their query hash."""
        bucket = (table[QUERY_HASH].to_numpy() >> np.uint64(64 - _BUCKET_BITS)).astype(np.uint32)
        ends = np.cumsum(np.bincount(bucket, minlength=_BUCKETS))
        # Pack the bucket and the row number into one small integer, and sort these.
        bucket <<= np.uint32(_TABLE_BITS)
        bucket |= np.arange(len(bucket), dtype=np.uint32)
        bucket.sort()
        order = (bucket & np.uint32((1 << _TABLE_BITS) - 1)).astype(np.int64)
        names = (KEY, QUERY_HASH, *numbers_of(table))
        columns = {name: table[name].to_numpy()[order] for name in names}
        columns[_ROW] = (order + first_row).astype(np.uint32)
        return cls([0, *ends.tolist()], columns)

    def column(self, name: str, buckets: range) -> NDArray[np.generic]:
        """Return the values of a column for the rows in a range of buckets."""
        return self.columns[name][self.ends[buckets.start] : self.ends[buckets.stop]]


def _deal(source: Source) -> tuple[list[_Dealt], pl.DataFrame]:
    """Read an input and partition its tables into hash buckets; also return the ids of all rows."""
    ids: list[pl.DataFrame] = []

    def read_tables() -> Iterator[tuple[pl.DataFrame, int]]:
        rows = 0
        for table in source.read(1 << _TABLE_BITS):
            ids.append(table.select(QUERY, DOC))
            yield table, rows
            rows += table.height

    def deal(item: tuple[pl.DataFrame, int]) -> _Dealt:
        source.check(item[0])
        return _Dealt.from_table(*item)

    with ThreadPoolExecutor(workers()) as pool:
        dealt = list(map_ahead(pool, deal, read_tables(), 2 * workers()))
    return dealt, pl.concat(ids, rechunk=True)


def _make_batch(
    dealt: Sequence[_Dealt], buckets: range, ids: pl.DataFrame, firsts: NDArray[np.uint32]
) -> Batch:
    """Make a batch of the rows in a range of buckets, grouped by query.

    For each of these rows, `firsts` is set to the first row with the same query hash.
    """
    columns = {
        name: np.concatenate([table.column(name, buckets) for table in dealt])
        for name in dealt[0].columns
    }
    query = representatives(columns[QUERY_HASH].astype(np.uint64, copy=False))
    # Usually two bytes wide, for which numpy's stable sort is a radix sort.
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
        docs=Ids(ids[DOC], rows),
        numbers={name: values.astype(np.float64, copy=False) for name, values in columns.items()},
    )
