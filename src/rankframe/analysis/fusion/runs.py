"""Open the runs of a fusion by name, and load them into memory, at once or in partitions.

Loaded runs are stacked in blocks of queries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.stack import Stack, stack_runs
from rankframe.core.allocators import trim
from rankframe.core.arrays import Ints
from rankframe.core.columns import QUERY, SCORE
from rankframe.core.errors import (
    DuplicateError,
    EmptyInputError,
    OptionError,
    UnreadableInputError,
    naming_the_run,
)
from rankframe.core.messages import masked, shown
from rankframe.engine.partitions import HashedInput
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches, count_rows, load_unique
from rankframe.io.formats.packing import bare_name
from rankframe.io.input_table import InputTable, comparable, part_of
from rankframe.io.inputs import Columns, Source, in_units
from rankframe.io.memory import bytes_at_once, count_partitions
from rankframe.io.opening import open_table
from rankframe.io.scratch import scratch_folder
from rankframe.kernel.batch import as_text, taken, text_order
from rankframe.kernel.matching import QueryIndex

# Peak memory per row of a run, in bytes, including all derived arrays and ids of up to 12 bytes.
# 110 bytes were measured; the rest is for the temporary files of partitions.
ROW_BYTES = 200
# The number of rows in a block of queries. In larger blocks threads wait for each other less often
# (60,000 rows took half as long again), but all rows should make several blocks.
_LEAST_BLOCK, _LARGEST_BLOCK, _BLOCKS = 60_000, 1 << 18, 8


def named_runs(runs: object) -> dict[str, Source]:
    """Return a mapping of runs by name; the runs of a list are named after their files."""
    if isinstance(runs, Mapping):
        named = dict(runs)
    elif isinstance(runs, list | tuple):
        named = dict(zip(_names(runs), runs, strict=True))
    else:
        raise OptionError(
            f"runs are a mapping of names to runs, or a list of them, not {shown(runs)}."
        )
    if odd := [name for name in named if not isinstance(name, str) or not name]:
        raise OptionError(f"the name of a run is text, not {shown(odd[0])}.")
    if len(named) < 2:
        there = f": {next(iter(named))!r}" if named else ""
        raise OptionError(f"fusion needs at least two runs, and there is {len(named)}{there}.")
    return named


def _names(runs: Sequence[Source]) -> list[str]:
    """Return the names of files without endings, or whole paths if names are not distinct."""
    paths = [masked(str(run)) if isinstance(run, str | os.PathLike) else None for run in runs]
    names = [
        f"run {number}" if path is None else bare_name(path.rstrip("/")).rsplit(".", 1)[0]
        for number, path in enumerate(paths, start=1)
    ]
    if len(set(names)) < len(names):
        names = [path or name for path, name in zip(paths, names, strict=True)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise OptionError(f"two runs are named {twice[0]!r}. Give each a name of its own.")
    return names


def open_runs(
    runs: Mapping[str, Source],
    policies: FusionPolicies,
    columns: Columns | None = None,
    limit: int | None = None,
) -> dict[str, InputTable]:
    """Open each run without reading its rows; return the inputs by name."""
    opened: dict[str, InputTable] = {}
    for name, source in runs.items():
        with naming_the_run(repr(name)):
            run = open_table(
                source, "run", columns, order=policies.order, ranks=policies.ranks, limit=limit
            )
            opened[name] = run if policies.unit is None else in_units(run, policies.unit)
    return opened


def unscored(runs: Mapping[str, InputTable]) -> tuple[str, ...]:
    """Return the names of runs without scores."""
    return tuple(name for name, run in runs.items() if SCORE not in run.mapping)


class LoadedRuns:
    """Read all rows of runs into memory, indexed by query, and stack them in blocks of queries."""

    def __init__(self, runs: Mapping[str, InputTable], policies: FusionPolicies) -> None:
        def read_run(name: str, run: InputTable, frame: pl.LazyFrame) -> QueryIndex:
            with naming_the_run(repr(name)):
                return index_ranking(Batches(run, policies.cut_kept_ranks(frame)).whole())

        self.inputs, self.policies, tables = runs, policies, tuple(runs.values())
        # Each run is indexed while the next run is read.
        with ThreadPoolExecutor(2) as pool:
            self.rankings = tuple(pool.map(read_run, runs, tables, comparable(*tables)))
        # The queries of all runs as text, in byte order, and the number of each in each ranking.
        self.queries, self.numbers = _all_queries(self.rankings)

    @cached_property
    def lengths(self) -> Ints:
        """Return the number of rows that each query has in all runs."""
        total = np.zeros(len(self.queries), np.int64)
        for ranking, numbers in zip(self.rankings, self.numbers, strict=True):
            if len(ranking.starts):
                total += np.where(numbers >= 0, ranking.lengths.take(numbers), 0)
        return total

    @property
    def rows(self) -> int:
        """Return the number of rows of all runs."""
        return int(self.lengths.sum())

    def partitions(self) -> Iterator[LoadedRuns]:
        """Yield these runs themselves, as the only partition."""
        yield self

    def blocks(self, numbers: Ints | None = None) -> list[Ints]:
        """Split the queries (or those with these `numbers`) into blocks, to be stacked in turn."""
        if numbers is None:
            numbers = np.arange(len(self.queries))
        upto = np.cumsum(self.lengths[numbers])
        rows = min(max(self.rows // _BLOCKS, _LEAST_BLOCK), _LARGEST_BLOCK)
        cuts = np.flatnonzero(np.diff(upto // rows)) + 1
        return [block for block in np.split(numbers, cuts) if len(block)]

    def stack(self, block: Ints) -> Stack:
        """Return a `Stack` of the documents that all runs have for the queries in `block`."""
        sides = [
            Side.from_index(ranking, numbers[block])
            for ranking, numbers in zip(self.rankings, self.numbers, strict=True)
        ]
        try:
            return stack_runs(tuple(self.inputs), taken(self.queries, block), sides, self.policies)
        except DuplicateError:
            # Count duplicates, and find their rows, in the whole input.
            for name, run in self.inputs.items():
                with naming_the_run(repr(name)):
                    load_unique(run)
            raise

    def find_duplicates(self, error: DuplicateError) -> DuplicateError:
        """Return the error unchanged: its counts are of the whole input already."""
        return error


class PartitionedRuns:
    """Write the rows of runs to temporary files, partitioned by query, to be read repeatedly."""

    def __init__(
        self,
        runs: Mapping[str, InputTable],
        policies: FusionPolicies,
        partitions: int,
        folder: Path,
    ) -> None:
        self.policies, self.folder = policies, folder
        # the rows of each run, and their number
        self.splits: dict[str, HashedInput] = {}
        self.counts: dict[str, int] = {}
        at_once = bytes_at_once(*runs.values())
        for number, (name, run) in enumerate(runs.items()):
            with naming_the_run(repr(name)):
                self.counts[name] = count_rows(run)
                if not self.counts[name]:
                    raise EmptyInputError(run.role, run.name)
                self.splits[name] = HashedInput.write(
                    run, folder / f"run-{number}", partitions, at_once
                )

    @property
    def rows(self) -> int:
        """Return the number of rows of all runs."""
        return sum(self.counts.values())

    def partitions(self) -> Iterator[LoadedRuns]:
        """Yield the partitions that have rows; refuse files that lost rows."""
        rows_read = dict.fromkeys(self.splits, 0)
        for number in range(next(iter(self.splits.values())).partitions):
            parts: dict[str, InputTable] = {}
            before = sum(rows_read.values())
            for name, split in self.splits.items():
                with naming_the_run(repr(name)):
                    frame = split.read_checked(number)
                rows_read[name] += frame.height
                parts[name] = part_of(frame, "run")
                del frame
            if sum(rows_read.values()) > before:
                yield LoadedRuns(parts, self.policies)
            del parts
            trim()
        for name, count in self.counts.items():
            if count != rows_read[name]:
                raise UnreadableInputError(
                    self.splits[name].table.name,
                    f"it has {count:,} rows, of which {rows_read[name]:,} were read",
                    "It changed meanwhile, or somebody removed temporary files. Try again",
                )

    def find_duplicates(self, error: DuplicateError) -> DuplicateError:
        """Return the error with the duplicates of the whole input, not of one partition."""
        for name, split in self.splits.items():
            if repr(name) == error.run:
                error = split.all_duplicates()
                error.run = repr(name)
        return error


@contextmanager
def load_runs(
    runs: Mapping[str, InputTable], policies: FusionPolicies, max_memory: str | int | None
) -> Iterator[LoadedRuns | PartitionedRuns]:
    """Yield runs in memory, or on disk in enough partitions to keep within the memory limit."""
    inputs = list(runs.values())
    partitions = count_partitions(inputs, [ROW_BYTES] * len(inputs), max_memory)
    if partitions == 1:
        yield LoadedRuns(runs, policies)
        return
    with scratch_folder() as folder:
        yield PartitionedRuns(runs, policies, partitions, folder)


def _all_queries(rankings: Sequence[QueryIndex]) -> tuple[pl.Series, tuple[Ints, ...]]:
    """Return the queries of all runs in byte order, and their numbers in each run (-1: none)."""
    names = [as_text(ranking.queries).alias(QUERY) for ranking in rankings]
    if all(own.equals(names[0]) for own in names):
        order = text_order(names[0])
        return taken(names[0], order), (order,) * len(names)
    queries = pl.concat(names).unique()
    queries = taken(queries, text_order(queries))
    numbers: list[Ints] = []
    for own in names:
        numbered = own.to_frame().with_row_index("_row")
        rows = queries.to_frame().join(numbered, on=QUERY, how="left", maintain_order="left")
        numbers.append(rows["_row"].cast(pl.Int64).fill_null(-1).to_numpy())
    return queries, tuple(numbers)
