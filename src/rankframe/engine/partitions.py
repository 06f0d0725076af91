"""Evaluate two inputs that do not fit in memory, one partition of their queries at a time.

Inputs that are sorted by query are read side by side, as in a merge join: without temporary files,
and with little memory. Other inputs are first partitioned into files by a hash of the query
(`io/partition_files.py`), as in a hash join.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from rankframe.core.allocators import trim
from rankframe.core.columns import QUERY
from rankframe.core.errors import (
    BadValueError,
    DuplicateError,
    OutputError,
    UnreadableInputError,
)
from rankframe.core.messages import number_of
from rankframe.core.options import Progress, Report
from rankframe.core.records import record
from rankframe.core.threads import MemoryBudget, map_ahead, size_of
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.plan import metric_values
from rankframe.io.batches import check_rows, count_rows
from rankframe.io.formats.registry import READ_ERRORS, reading
from rankframe.io.input_table import InputTable
from rankframe.io.memory import bytes_at_once, bytes_for_partitions, need_of
from rankframe.io.output_paths import cannot_write
from rankframe.io.outputs import About, write_parquet
from rankframe.io.partition_files import MOST_ROWS, HashedInput
from rankframe.io.raw_table import lazy_table
from rankframe.io.scratch import room_for, scratch_folder

# The minimum number of rows in a partition: smaller partitions take longer and save little.
_LEAST_ROWS = 10_000
# Rows per file in memory while sorted files are merged.
MERGED_ROWS = 1 << 13
# Rows after which memory is given back: this takes some milliseconds.
_TRIM_ROWS = 1 << 17

# Evaluates the queries of a partition, of which all rows of both sides are here.
EvaluatePartition: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame], Accumulator]


@record
class ValuesFile:
    """Describe a Parquet file for values per query: its path, and a callback for its metadata."""

    path: Path
    about: Callable[[Accumulator], About]


def evaluate_partitions(
    left: InputTable,
    right: InputTable,
    evaluate: EvaluatePartition,
    empty: Callable[[], Accumulator],
    *,
    partitions: int,
    row_bytes: tuple[int, int],
    values_file: ValuesFile | None = None,
    on_progress: Report | None = None,
) -> Accumulator:
    """Evaluate two inputs that do not fit in memory, partition by partition.

    Args:
        left: the side inputs of the run, or the first of two rankings.
        right: the run, or the second ranking.
        evaluate: a callback that evaluates the rows of one partition.
        empty: a callback that returns an empty accumulator.
        partitions: the least number of partitions.
        row_bytes: the memory per row of each side, in bytes.
        values_file: a file for values per query, which are then never all in memory.
        on_progress: a callback for progress.
    """
    rows, names = (count_rows(left), count_rows(right)), (left.name, right.name)
    with scratch_folder() as folder:
        merger = _Merger(folder, values_file, on_progress, sum(rows))
        if left.seekable and right.seekable:
            # Several partitions are in memory at the same time.
            at_once = partitions * ((os.cpu_count() or 1) + 2)
            size = min(max(max(rows) // at_once, _LEAST_ROWS), MOST_ROWS)
            in_order = SortedPartitions(left, right, size)
            budget = MemoryBudget(bytes_for_partitions(left, right))
            # Errors about rows are raised later, with counts over the whole input.
            with suppress(BadValueError, DuplicateError):
                parts = _evaluate_ahead(in_order, evaluate, row_bytes, budget)
                whole = merger.merge(parts, empty())
                if in_order.complete:
                    _refuse_lost_rows(whole, names, rows)
                    merger.write(whole, ordered=True)
                    return whole
        hashed = HashedPartitions(left, right, folder, partitions)
        try:
            whole = merger.merge((evaluate(*sides) for sides in hashed), empty())
        except DuplicateError as error:
            raise hashed.explain(error) from None
        _refuse_lost_rows(whole, names, rows)
        merger.write(whole, ordered=False)
        return whole


def merge_parts(
    parts: Iterable[Accumulator],
    empty: Accumulator,
    values_file: ValuesFile | None,
    on_progress: Report | None,
) -> Accumulator:
    """Merge accumulators of different queries into the accumulator `empty`, as they come."""
    with scratch_folder() as folder:
        merger = _Merger(folder, values_file, on_progress, 0)
        whole = merger.merge(parts, empty)
        merger.write(whole, ordered=False)
        return whole


def _evaluate_ahead(
    partitions: Iterable[tuple[pl.DataFrame, pl.DataFrame]],
    evaluate: EvaluatePartition,
    row_bytes: tuple[int, int],
    budget: MemoryBudget,
) -> Iterator[Accumulator]:
    """Evaluate partitions on all cores while the next ones are read.

    Reading waits while the partitions under way need more than the budget.
    """

    def acquired() -> Iterator[tuple[pl.DataFrame, pl.DataFrame, int]]:
        for left, right in partitions:
            need = sum(map(need_of, (left, right), row_bytes))
            budget.acquire(need)
            yield left, right, need
            del left, right  # free the memory before the next partition is read

    def work(item: tuple[pl.DataFrame, pl.DataFrame, int]) -> Accumulator:
        left, right, need = item
        with budget.releasing(need):
            return evaluate(left, right)

    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        yield from map_ahead(pool, work, acquired(), cores)


def _refuse_lost_rows(whole: Accumulator, names: Sequence[str], rows: Sequence[int]) -> None:
    """Refuse inputs whose rows changed between counting and reading."""
    for name, counted, read in zip(names, rows, whole.counts.rows, strict=True):
        if counted != read:
            raise UnreadableInputError(
                name,
                f"it has {counted:,} rows, of which {read:,} were read",
                "It changed meanwhile, or somebody removed temporary files. Try again",
            )


@dataclass
class _Merger:
    """Merge accumulators as they come; if there is an output, write their values to files."""

    folder: Path
    values_file: ValuesFile | None
    on_progress: Report | None
    total_rows: int
    rows: int = 0
    queries: int = 0
    files: list[Path] = field(default_factory=list)

    def merge(self, parts: Iterable[Accumulator], whole: Accumulator) -> Accumulator:
        """Merge accumulators of different queries into `whole`, an empty one."""
        self.files.clear()
        self.rows = self.queries = trimmed = 0
        self._report("reading")
        for part in parts:
            self.rows += sum(part.counts.rows)
            if self.rows - trimmed > _TRIM_ROWS:
                trim()
                trimmed = self.rows
            self.queries += sum(values.height for values in part.parts)
            if self.values_file is not None:
                self.files.append(self.folder / f"values-{len(self.files):07}.parquet")
                values = metric_values(part.join())
                with room_for(self.folder):
                    values.write_parquet(
                        self.files[-1], compression="lz4", row_group_size=MERGED_ROWS
                    )
                part.parts.clear()
            self._report("evaluating")
            whole.merge(part)
        whole.join()
        return whole

    def _report(self, stage: str) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress(stage, self.rows, self.total_rows, self.queries))

    def write(self, whole: Accumulator, *, ordered: bool) -> None:
        """Merge the files of values into one, by query; `ordered`: files are in order already."""
        if self.values_file is None:
            return
        self._report("writing values")
        path = self.values_file.path
        try:
            values = merge_sorted_files(self.files, ordered=ordered)
            write_parquet(values, path, self.values_file.about(whole))
        except READ_ERRORS as error:
            raise cannot_write(path, error) from error
        written = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        if written != self.queries:
            raise OutputError(
                f"cannot write {path}: it has values of {number_of(written, 'query')}, not of "
                f"{self.queries:,}. Somebody removed temporary files; try again."
            )


def merge_sorted_files(files: Sequence[Path], *, ordered: bool) -> pl.LazyFrame:
    """Merge files that are sorted by query into one sorted lazy frame.

    Only a few rows of each file are in memory at once. (polars' `merge_sorted` holds most rows.)

    Args:
        files: Parquet files, each with other queries, written in groups of `MERGED_ROWS`.
        ordered: whether the queries of each file come after all queries of the file before.
    """
    whole = pl.scan_parquet(list(files), glob=False)
    if ordered or len(files) == 1:
        return whole
    return lazy_table(whole.collect_schema(), partial(_read_merged, files))


def _read_merged(
    files: Sequence[Path], columns: list[str], rows: int | None
) -> Iterator[pl.DataFrame]:
    """Merge files that are sorted by query: yield their rows in the order of queries."""
    del rows  # a limit needs no action: the generator is not consumed further
    sides = [_SortedFile(file, [QUERY, *(name for name in columns if name != QUERY)])
             for file in files]  # fmt: skip
    bound: str | None = ""
    while bound is not None:
        for side in sides:
            if side.last == bound:
                side.read_more()
        bound = min((side.last for side in sides if side.last is not None), default=None)
        parts = [side.take_before(bound) for side in sides]
        yield pl.concat(parts).sort(QUERY, maintain_order=True).select(columns)


class _SortedFile:
    """Read a file that is sorted by query, a few rows at a time."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._rows = pl.scan_parquet(path, glob=False).select(columns)
        self._read = 0
        self._pending = self._rows.head(0).collect()
        # the last query that was read, which may have more rows; None: all rows were read
        self.last: str | None = ""

    def read_more(self) -> None:
        """Read more rows of the file into the buffer of pending rows."""
        with reading("the temporary files"):
            rows = self._rows.slice(self._read, MERGED_ROWS).collect(engine="in-memory")
        self._read += rows.height
        self._pending = pl.concat([self._pending, rows])
        self.last = rows[QUERY][-1] if rows.height == MERGED_ROWS else None

    def take_before(self, bound: str | None) -> pl.DataFrame:
        """Remove and return the pending rows of queries before `bound`; None: all rows."""
        height = self._pending.height
        cut = height if bound is None else int(self._pending[QUERY].search_sorted(bound))
        taken, self._pending = self._pending[:cut], self._pending[cut:]
        return taken


_PROBES = 9  # queries that are looked at before anything is read
_FEWEST_ROWS = 1 << 10


class SortedPartitions:
    """Read two inputs sorted by query side by side, in partitions with the same queries.

    Reading ends early where an input turns out not to be sorted: `complete` says after the last
    partition whether all rows came.
    """

    def __init__(self, left: InputTable, right: InputTable, rows: int) -> None:
        limit = bytes_at_once(left, right)
        self._left, self._right = (_SortedInput(side, rows, limit) for side in (left, right))
        self.complete = False

    def __iter__(self) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        left, right = self._left, self._right
        if not (left.looks_sorted() and right.looks_sorted()):
            return
        longer = left if left.total > right.total else right
        bound: str | None = ""
        while bound is not None:
            bound = longer.next_bound()
            partition = left.rows_before(bound), right.rows_before(bound)
            if not (left.in_order and right.in_order):
                return
            if partition[0].height or partition[1].height:
                yield partition
            del partition
        self.complete = True


class _SortedInput:
    """Read an input sorted by query from beginning to end, in steps of limited rows and bytes."""

    def __init__(self, side: InputTable, rows: int, limit: int) -> None:
        self.total = count_rows(side)
        self._side, self._rows, self._limit, self._read = side, rows, limit, 0
        self.in_order = True
        self._pending = side.frame.head(0).collect()

    def looks_sorted(self) -> bool:
        """Tell whether an input seems to be sorted, by queries at even distances."""
        if not self.total:
            return True
        places = np.unique(np.linspace(0, self.total - 1, _PROBES).astype(int)).tolist()
        queries = self._side.frame.select(QUERY)
        picked = pl.concat([queries.slice(place, 1) for place in places])
        with reading(self._side.name):
            return picked.collect()[QUERY].is_sorted()

    def next_bound(self) -> str | None:
        """Read more rows; return the first query that may continue in unread rows, or None."""
        self._read_more()
        while not self._ended and self._pending[QUERY][0] == self._pending[QUERY][-1]:
            self._read_more()
        return None if self._ended else self._pending[QUERY][-1]

    def rows_before(self, bound: str | None) -> pl.DataFrame:
        """Remove and return all rows of queries before `bound`; None: all rows."""
        while not self._ended and (
            bound is None or not self._pending.height or self._pending[QUERY][-1] < bound
        ):
            self._read_more()
        cut = self._pending.height
        if bound is not None:
            cut = self._pending[QUERY].search_sorted(bound)
        rows, self._pending = self._pending[:cut], self._pending[cut:]
        return rows.rechunk()

    @property
    def _ended(self) -> bool:
        return self._read >= self.total

    def _read_more(self) -> None:
        if self._ended:
            return
        with reading(self._side.name):
            rows = self._side.frame.slice(self._read, self._rows).collect(engine="in-memory")
        expected = min(self._rows, self.total - self._read)
        if rows.height != expected:
            raise UnreadableInputError(
                self._side.name,
                f"of {expected:,} rows that were counted, {rows.height:,} were read",
                "It changed meanwhile. Try again",
            )
        self._read += rows.height
        check_rows(rows.lazy(), self._side.role, self._side.name)
        query, pending = rows[QUERY], self._pending[QUERY]
        follows = not len(pending) or not rows.height or pending[-1] <= query[0]
        self.in_order = self.in_order and follows and query.is_sorted()
        # Do not rechunk: the rows of a long query would be copied at each step.
        self._pending = pl.concat([self._pending, rows])
        # Where ids are longer than those before, fewer rows are read next.
        fit = self._limit * rows.height // max(size_of(rows), 1)
        self._rows = max(min(self._rows, fit), _FEWEST_ROWS)


class HashedPartitions:
    """Write both inputs into partitions by the hash of the query; read one partition at a time."""

    def __init__(self, left: InputTable, right: InputTable, folder: Path, partitions: int) -> None:
        limit = bytes_at_once(left, right)
        self._partitions = partitions
        self._sides = [
            HashedInput.write(side, folder / side.role, partitions, limit) for side in (left, right)
        ]

    def __iter__(self) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        left, right = self._sides
        for number in range(self._partitions):
            partition = left.read_checked(number), right.read_checked(number)
            if partition[0].height or partition[1].height:
                yield partition

    def explain(self, error: DuplicateError) -> DuplicateError:
        """Return the error of one partition as one about the duplicates in a whole input."""
        for side in self._sides:
            if side.table.role == error.role:
                return side.all_duplicates()
        return error
