"""Read an input whose rows come in any order: dealt to buckets by the hash of the query.

What is dealt are hashes, numbers and row numbers; the ids stay where they were read, and are looked
up where they are needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import DuplicateError
from rankframe.kernel.batch import KEY, QUERY_HASH, Batch, numbers_of, taken
from rankframe.kernel.segments import segment_lengths, segment_starts, sort_order
from rankframe.kernel.source import OnProgress, Source, Take, ignore_progress, workers
from rankframe.kernel.tables import representatives

_BATCH_BITS, _BUCKET_BITS = 17, 8  # of a batch: as a rule a row group, not copied
_BUCKETS = 1 << _BUCKET_BITS
_ROW = "_row"
_COMPARED = 1 << 18  # rows whose queries are compared at once
_BATCH_ROWS = 45_000  # about: so that hardly any has more than 2^16
_LONG_BATCH = 180_000  # where much is done with each row, so that threads seldom wait


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

    batch_rows = _LONG_BATCH if heavy and not source.bounded else _BATCH_ROWS
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
