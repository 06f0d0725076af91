"""Read an input once in batches of whole queries, in any order of rows.

A small input is read whole. For others, the quickest way is tried first: the rows of each query are
contiguous, as in most runs. Where a query comes a second time, the consumer is dropped, and the
input is read again as a shuffled one: hashes, numbers and row numbers are dealt to buckets by the
hash of the query, and ids stay where they were read. Where two queries share a hash of 64 bits, the
input is sorted by the names of its queries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Keys
from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import DuplicateError
from rankframe.core.threads import MemoryBudget, map_ahead, size_of, workers
from rankframe.kernel.batch import KEY, QUERY_HASH, Batch, Ids, numbers_of, query_starts, taken
from rankframe.kernel.segments import segment_lengths, segment_starts, sort_order
from rankframe.kernel.tables import repeats, representatives

# Takes a batch, from several threads.
Take = Callable[[Batch], None]
# Called with the number of rows that were taken.
OnProgress = Callable[[int], None]

# Contiguous input. The hash table of a batch fits in the cache, and what a batch costs by itself is
# little beside its rows. Batches are long where much is done with each row, so that threads seldom
# wait for each other, and short where memory is.
BATCH_ROWS = 1 << 17
_LONG_BATCH, _SHORT_BATCH = 1 << 18, 1 << 16
# An input with fewer rows is read whole and worked on by one thread: starting others takes longer.
SMALL_INPUT = 1 << 16
_MOST_EDGES = 32  # that are collected for a batch
_LOOKED_AT = 1 << 14  # rows that show whether the rows of a query are contiguous

# Shuffled input. A table is as a rule a row group, not copied.
_TABLE_BITS, _BUCKET_BITS = 17, 8
_BUCKETS = 1 << _BUCKET_BITS
_ROW = "_row"
_COMPARED = 1 << 18  # rows whose queries are compared at once
# About: so that hardly any batch has more than 2^16 rows; long ones as above.
_SHUFFLED_ROWS, _LONG_SHUFFLED_ROWS = 45_000, 180_000


class Source(Protocol):
    """Read the rows of an input in order, as tables with hashes (see `hashed`)."""

    @property
    def bounded(self) -> bool:
        """Return whether memory is limited."""
        ...

    def small(self) -> bool:
        """Return whether the input has few rows, as far as is known without reading it."""
        ...

    def whole(self) -> pl.DataFrame:
        """Read all rows, and refuse the input if one of them breaks a rule."""
        ...

    def budget(self) -> MemoryBudget:
        """Return the memory that the tables under work may take together."""
        ...

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Read all rows, in tables of at most `rows` rows."""
        ...

    def beginning(self, rows: int) -> pl.DataFrame:
        """Read the first rows; none where this would read more than these."""
        ...

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of a table that was read breaks a rule."""
        ...

    def by_name(self) -> Source:
        """Sort the input by the names of its queries."""
        ...

    def explain(self, error: DuplicateError) -> None:
        """Raise an error with the number of duplicate documents and the rows of an example."""
        ...


class Consumer(Protocol):
    """Add up batches, from several threads."""

    def add(self, batch: Batch, /) -> None:
        """Add a batch."""
        ...


C = TypeVar("C", bound=Consumer)


class RepeatedQueryError(Exception):
    """Report that a query, or the hash of a query, came twice: read the input another way."""


def ignore_progress(_: int) -> None:
    """Do nothing with the number of rows that were taken."""


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
    small = source.small()
    first = _read_small if small else read_contiguous
    attempts = (first, _read_by_name) if small else (first, read_shuffled, _read_by_name)
    for read in attempts:
        consumer = _attempt(read, source, new_consumer, on_progress, heavy=heavy)
        if consumer is not None:
            return consumer
    raise AssertionError  # in order of their names, the rows of a query are contiguous


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
    """Pass all rows to `take` in one batch, on this thread."""
    del heavy
    table = source.whole()
    batch = Batch.from_hashed(table)
    if repeats(batch.hashes):
        raise RepeatedQueryError
    if batch.height:
        take(batch)
    on_progress(batch.height)


def _read_by_name(source: Source, take: Take, on_progress: OnProgress, *, heavy: bool) -> None:
    """Sort the input by the names of its queries, as some of these have the same hash."""
    read_contiguous(source.by_name(), take, on_progress, sure=True, heavy=heavy)


def read_contiguous(
    source: Source,
    take: Take,
    on_progress: OnProgress = ignore_progress,
    *,
    sure: bool = False,
    heavy: bool = False,
) -> None:
    """Pass all rows to `take`, or raise a `RepeatedQueryError` if a query's rows are apart.

    Tables are worked on by all cores while the next ones are read. The first and the last query of
    a table may go on in its neighbours: their rows are collected, and make batches of their own.

    Args:
        source: The input.
        take: Called with each batch, from several threads.
        on_progress: Called with the number of rows that were taken.
        sure: The rows of each query are known to be contiguous.
        heavy: `take` needs more time for a row than reading it takes.
    """
    # The other half reads: more threads than cores cost a fifth of the time of all.
    threads = workers() if heavy else max(workers() // 2, 1)
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
            del table  # not held while the next one is read

    def work(item: tuple[pl.DataFrame, int]) -> tuple[int, list[pl.DataFrame]]:
        """Take the inner queries of a table; return its height, and the rows of the others."""
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

    if not sure:  # reading is not easily stopped once it began
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
    """Copy rows, text included.

    A slice, and rows that are gathered, would keep the text of the whole batch in memory: edges of
    32 batches would then take as much as the whole limit.
    """
    rows = np.arange(first, end)
    columns = [taken(column, rows) for column in table]
    # Only a concatenation copies the bytes of long texts.
    return pl.DataFrame([c + "" if c.dtype == pl.String else c for c in columns])


def _join_edges(edges: Iterator[pl.DataFrame]) -> Iterator[Batch]:
    """Make batches of tables with one query each, which may go on in the next table."""
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
    """Collect the hashes of queries, to see whether one comes a second time."""

    def __init__(self) -> None:
        self._hashes: list[Keys] = []
        self._count = self._checked = 0
        self._lock = threading.Lock()

    def add(self, hashes: Keys) -> None:
        """Add the hashes of queries; refuse a repeated one whenever their number has doubled.

        Comparing them that often costs little, and an input in which all queries repeat is not read
        to its end.
        """
        with self._lock:
            self._hashes.append(hashes)
            self._count += len(hashes)
            if self._count >= 2 * self._checked:
                self.refuse_repeats()

    def refuse_repeats(self) -> None:
        """Refuse a query that came twice."""
        if self._checked < self._count:
            hashes = np.sort(np.concatenate(self._hashes))
            self._hashes, self._checked = [hashes], self._count
            if (hashes[1:] == hashes[:-1]).any():
                raise RepeatedQueryError


def read_shuffled(
    source: Source, take: Take, on_progress: OnProgress = ignore_progress, *, heavy: bool = False
) -> None:
    """Pass all rows to `take`, or raise a `RepeatedQueryError` if queries have the same hash.

    Args:
        source: The input.
        take: Called with each batch, from several threads.
        on_progress: Called with the number of rows that were taken.
        heavy: `take` needs more time for a row than reading it takes.
    """
    dealt, ids = _deal(source)
    # For each row the first one of its query, as far as hashes tell.
    firsts = np.arange(ids.height, dtype=np.uint32)

    def work(buckets: range) -> int:
        """Return how many rows these buckets have."""
        batch = _make_batch(dealt, buckets, ids, firsts)
        if batch.height:
            take(batch)
        return batch.height

    batch_rows = _LONG_SHUFFLED_ROWS if heavy and not source.bounded else _SHUFFLED_ROWS
    step = max(1, _BUCKETS * batch_rows // max(ids.height, 1))
    parts = [range(start, min(start + step, _BUCKETS)) for start in range(0, _BUCKETS, step)]
    done = 0
    with ThreadPoolExecutor(workers()) as pool:
        try:
            for height in pool.map(work, parts):
                done += height
                on_progress(done)
        except DuplicateError:
            # Of one query, or of several that were taken for one.
            _refuse_collisions(ids[QUERY], firsts, pool)
            raise
        _refuse_collisions(ids[QUERY], firsts, pool)


def _refuse_collisions(
    query: pl.Series, firsts: NDArray[np.uint32], pool: ThreadPoolExecutor
) -> None:
    """Raise a `RepeatedQueryError` if the rows of a query hash have different query ids.

    In the order in which they were read: 10 ns a row, 70 where ids are longer than 12 bytes. In
    any other, both strings are gathered from all over the memory.
    """

    def are_same(start: int) -> bool:
        first_queries = taken(query, firsts[start : start + _COMPARED])
        return bool((first_queries == query[start : start + _COMPARED]).all())

    if not all(pool.map(are_same, range(0, len(query), _COMPARED))):
        raise RepeatedQueryError


@dataclass(frozen=True)
class _Dealt:
    """Hold the rows of a table by bucket; in each bucket, in the order of reading."""

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
        bucket <<= np.uint32(_TABLE_BITS)
        bucket |= np.arange(len(bucket), dtype=np.uint32)
        bucket.sort()
        order = (bucket & np.uint32((1 << _TABLE_BITS) - 1)).astype(np.int64)
        names = (KEY, QUERY_HASH, *numbers_of(table))
        columns = {name: table[name].to_numpy()[order] for name in names}
        columns[_ROW] = (order + first_row).astype(np.uint32)
        return cls([0, *ends.tolist()], columns)

    def column(self, name: str, buckets: range) -> NDArray[np.generic]:
        """Return a column of these buckets."""
        return self.columns[name][self.ends[buckets.start] : self.ends[buckets.stop]]


def _deal(source: Source) -> tuple[list[_Dealt], pl.DataFrame]:
    """Read and deal all rows; return also the ids of all."""
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
    """Make a batch of the rows in these buckets, sorted by query; write their part of `firsts`."""
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
        docs=Ids(ids[DOC], rows),
        numbers={name: values.astype(np.float64, copy=False) for name, values in columns.items()},
    )
