"""Evaluate two inputs that do not fit in memory, partition by partition.

Inputs that are sorted by query are read side by side (`sorted_partitions.py`). Others are dealt
into files first (`hashed_partitions.py`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankframe.core.allocators import trim
from rankframe.core.columns import QUERY
from rankframe.core.errors import (
    BadValueError,
    DuplicateError,
    OutputError,
    UnreadableInputError,
)
from rankframe.core.memory_budget import MemoryBudget
from rankframe.core.messages import number_of
from rankframe.core.progress import Progress, Report
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.hashed_partitions import HashedPartitions
from rankframe.engine.memory import bytes_for_partitions, need_of
from rankframe.engine.sorted_partitions import SortedPartitions
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable
from rankframe.io.output_paths import cannot_write
from rankframe.io.outputs import About, write_parquet
from rankframe.io.scratch import room_for, scratch_folder
from rankframe.io.validate import count_rows

# Rows of a partition: fewer cost more than they save; more are not even needed.
_LEAST_ROWS, _MOST_ROWS = 10_000, 1 << 20
# Rows after which memory is given back: this takes some milliseconds.
_TRIM_ROWS = 1 << 17

# Evaluates the queries of a partition, of which all rows of both sides are here.
EvaluatePartition: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame], Accumulator]


@dataclass(frozen=True)
class ValuesFile:
    """A Parquet file for values per query, and what it says of itself when all are known."""

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
    """Evaluate inputs that do not fit in memory.

    Args:
        left: what lies beside the run, or the first of two rankings.
        right: the run, or the second ranking.
        evaluate: is called with the rows of each partition.
        empty: returns the accumulator of no queries.
        partitions: into how many the inputs are divided, at least.
        row_bytes: how many bytes a row of each side takes.
        values_file: where values per query go, which are then never all in memory.
        on_progress: is called as rows are done.
    """
    rows, names = (count_rows(left), count_rows(right)), (left.name, right.name)
    with scratch_folder() as folder:
        merger = _Merger(folder, values_file, on_progress or (lambda _: None), sum(rows))
        if left.seekable and right.seekable:
            # Several partitions are in memory at the same time.
            at_once = partitions * ((os.cpu_count() or 1) + 2)
            size = min(max(max(rows) // at_once, _LEAST_ROWS), _MOST_ROWS)
            in_order = SortedPartitions(left, right, size)
            budget = MemoryBudget(bytes_for_partitions(left, right))
            # Errors about rows are raised later, with counts over the whole input.
            with suppress(BadValueError, DuplicateError):
                parts = _evaluate_ahead(in_order, evaluate, row_bytes, budget)
                whole = merger.merge(parts, empty(), ordered=True)
                if in_order.complete:
                    _refuse_lost_rows(whole, names, rows)
                    merger.write(whole, ordered=True)
                    return whole
        hashed = HashedPartitions(left, right, folder, partitions)
        try:
            parts = ((evaluate(*sides), sides[0].height + sides[1].height) for sides in hashed)
            whole = merger.merge(parts, empty())
        except DuplicateError as error:
            raise hashed.explain(error) from None
        _refuse_lost_rows(whole, names, rows)
        merger.write(whole, ordered=False)
        return whole


def merge_parts(
    whole: Accumulator,
    parts: Iterable[Accumulator],
    *,
    values_file: ValuesFile | None,
    on_progress: Report | None,
) -> Accumulator:
    """Merge partial results into one of no queries, as they come; each in any order of its own."""
    with scratch_folder() as folder:
        merger = _Merger(folder, values_file, on_progress or (lambda _: None), 0)
        merger.merge(((part, 0) for part in parts), whole)
        merger.write(whole, ordered=False)
        return whole


def _evaluate_ahead(
    partitions: Iterable[tuple[pl.DataFrame, pl.DataFrame]],
    evaluate: EvaluatePartition,
    row_bytes: tuple[int, int],
    budget: MemoryBudget,
) -> Iterator[tuple[Accumulator, int]]:
    """Evaluate partitions on all cores while the next ones are read; yield each with its rows.

    Reading waits while the partitions under way need more than the budget.
    """

    def work(left: pl.DataFrame, right: pl.DataFrame, need: int) -> Accumulator:
        with budget.releasing(need):
            return evaluate(left, right)

    workers = os.cpu_count() or 1
    waiting: deque[tuple[Future[Accumulator], int]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for left, right in partitions:
            rows = left.height + right.height
            need = sum(map(need_of, (left, right), row_bytes))
            budget.acquire(need)
            waiting.append((pool.submit(work, left, right, need), rows))
            del left, right
            if len(waiting) > workers:
                future, rows = waiting.popleft()
                yield future.result(), rows
        for future, rows in waiting:
            yield future.result(), rows


def _refuse_lost_rows(whole: Accumulator, names: Sequence[str], rows: Sequence[int]) -> None:
    """Refuse inputs of which other rows were read than were counted."""
    for name, counted, read in zip(names, rows, whole.counts.rows, strict=True):
        if counted != read:
            raise UnreadableInputError(
                name,
                f"it has {counted:,} rows, of which {read:,} were read",
                "It changed meanwhile, or somebody removed temporary files. Try again",
            )


@dataclass
class _Merger:
    """Merge partial results as they come; put their values into files if they are to be written."""

    folder: Path
    values_file: ValuesFile | None
    on_progress: Report
    total_rows: int
    rows: int = 0
    queries: int = 0
    files: list[Path] = field(default_factory=list)

    def merge(
        self, parts: Iterable[tuple[Accumulator, int]], whole: Accumulator, *, ordered: bool = False
    ) -> Accumulator:
        """Merge partial results, each with its number of rows, into an empty one.

        `ordered`: the queries of each result come after all queries of the result before.
        """
        self.files.clear()
        self.rows, self.queries = sum(whole.counts.rows), 0
        self.on_progress(Progress("reading", 0, self.total_rows, 0))
        trimmed = 0
        for part, count in parts:
            self.rows += count
            if self.rows - trimmed > _TRIM_ROWS:
                trim()
                trimmed = self.rows
            self.queries += sum(values.height for values in part.parts)
            if self.values_file is not None:
                self.files.append(self.folder / f"values-{len(self.files):07}.parquet")
                with room_for(self.folder):
                    part.join().values.write_parquet(self.files[-1], compression="lz4")
                part.parts.clear()
            self.on_progress(Progress("evaluating", self.rows, self.total_rows, self.queries))
            whole.merge(part)
        whole.join(ordered=ordered)
        return whole

    def write(self, whole: Accumulator, *, ordered: bool) -> None:
        """Put the files together, in order of their queries; `ordered`: they come so."""
        if self.values_file is None:
            return
        self.on_progress(Progress("writing values", self.rows, self.total_rows, self.queries))
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
    """Merge files that are each in order of their queries into one frame that is, lazily.

    `ordered`: the queries of each file come after all queries of the file before.
    """
    if ordered:
        return pl.scan_parquet(list(files), glob=False)
    frames = [pl.scan_parquet(file, glob=False) for file in files]
    while len(frames) > 1:
        odd = frames[len(frames) // 2 * 2 :]
        pairs = zip(frames[::2], frames[1::2], strict=False)
        frames = [first.merge_sorted(second, QUERY) for first, second in pairs] + odd
    return frames[0]
