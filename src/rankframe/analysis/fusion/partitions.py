"""Fuse runs partition by partition: all in memory, or out of core with the same bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankframe.analysis.fusion.fuser import RUN_SCHEMA, Fuser
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import LoadedRuns
from rankframe.core.allocators import trim
from rankframe.core.errors import DuplicateError, UnreadableInputError
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.memory import (
    bytes_at_once,
    estimated_need,
    limit_of,
    partitions_for,
    refuse_too_large_a_query,
)
from rankframe.engine.partitions import HashedInput, merge_sorted_files
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.scratch import room_for, scratch_folder
from rankframe.io.validate import count_rows
from rankframe.kernel.reading import workers

# Bytes that a row of a run takes at the peak, with what it becomes, ids of up to 12 bytes included:
# 110 were measured, and partitions have temporary files beside them.
ROW_BYTES = 200


def count_partitions(runs: Mapping[str, InputTable], max_memory: str | int | None) -> int:
    """Return the number of partitions that stay within a limit, or within what the machine has."""
    limit, inputs = limit_of(max_memory), list(runs.values())
    need = sum(estimated_need(run, ROW_BYTES, limit) for run in inputs)
    partitions = partitions_for(need, limit)
    if partitions > 1 and max_memory is not None:
        refuse_too_large_a_query(inputs, [ROW_BYTES] * len(inputs), limit)
    return partitions


@dataclass(frozen=True)
class PartitionedRuns:
    """Hold runs in temporary files, partitioned by query; `partitions` reads them any number of
    times.
    """

    runs: Mapping[str, InputTable]
    policies: FusionPolicies
    splits: Mapping[str, HashedInput]
    folder: Path
    # the number of rows of each run
    counts: Mapping[str, int]

    @classmethod
    def write(
        cls, runs: Mapping[str, InputTable], policies: FusionPolicies, partitions: int, folder: Path
    ) -> PartitionedRuns:
        """Write the rows of all runs to files."""
        at_once = bytes_at_once(*runs.values())
        counts, splits = {}, {}
        for number, (name, run) in enumerate(runs.items()):
            with naming_the_run(repr(name)):
                counts[name] = count_rows(run)
                splits[name] = HashedInput.write(run, folder / f"run-{number}", partitions, at_once)
        return cls(runs, policies, splits, folder, counts)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the runs, in their order."""
        return tuple(self.runs)

    @property
    def rows(self) -> int:
        """Return the number of rows of all runs."""
        return sum(self.counts.values())

    def partitions(self) -> Iterator[LoadedRuns]:
        """Yield the partitions that have rows; refuse files that lost rows."""
        rows_read = dict.fromkeys(self.runs, 0)
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
                yield LoadedRuns.read(parts, self.policies)
            del parts
            trim()
        for name, run in self.runs.items():
            if self.counts[name] != rows_read[name]:
                raise UnreadableInputError(
                    run.name,
                    f"it has {self.counts[name]:,} rows, of which {rows_read[name]:,} were read",
                    "It changed meanwhile, or somebody removed temporary files. Try again",
                )

    def find_duplicates(self, error: DuplicateError) -> DuplicateError:
        """Return an error that counts the duplicates of the whole input, not of a partition."""
        for name, split in self.splits.items():
            if repr(name) == error.run:
                error = split.all_duplicates()
                error.run = repr(name)
                break
        return error


@contextmanager
def load_runs(
    runs: Mapping[str, InputTable], policies: FusionPolicies, max_memory: str | int | None
) -> Iterator[LoadedRuns | PartitionedRuns]:
    """Load runs into memory, or into as many partitions as it takes to stay within a limit."""
    partitions = count_partitions(runs, max_memory)
    if partitions == 1:
        yield LoadedRuns.read(runs, policies)
        return
    with scratch_folder() as folder:
        yield PartitionedRuns.write(runs, policies, partitions, folder)


def fuse_partitions(
    runs: LoadedRuns | PartitionedRuns, fuser: Fuser, on_progress: Report | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the fused run of each partition."""
    rows = queries = 0

    def fuse_blocks(loaded: LoadedRuns) -> pl.DataFrame:
        nonlocal rows, queries
        blocks, fused = loaded.blocks(), [pl.DataFrame(schema=RUN_SCHEMA)]
        with ThreadPoolExecutor(workers()) as pool:
            fusing = pool.map(lambda block: fuser.fuse(loaded.stack(block)), blocks)
            for block, part in zip(blocks, fusing, strict=True):
                fused.append(part)
                rows += int(loaded.lengths[block].sum())
                queries += len(block)
                if on_progress is not None:
                    on_progress(Progress("fusing", rows, runs.rows, queries))
        return pl.concat(fused)

    for loaded in runs.partitions():
        try:
            fused = fuse_blocks(loaded)
        except DuplicateError as error:
            raise runs.find_duplicates(error) from None
        del loaded  # before the next one is read
        yield fused
        del fused
    if on_progress is not None and rows < runs.rows:  # rows beyond the depth
        on_progress(Progress("fusing", runs.rows, runs.rows, queries))


@contextmanager
def fuse_runs(
    runs: Mapping[str, InputTable],
    fuser: Fuser,
    policies: FusionPolicies,
    max_memory: str | int | None,
    on_progress: Report | None = None,
) -> Iterator[pl.DataFrame | pl.LazyFrame]:
    """Fuse runs: a frame, or a lazy one over temporary files where runs do not fit in memory."""
    if on_progress is not None:
        on_progress(Progress("reading", 0, 0, 0))
    with load_runs(runs, policies, max_memory) as loaded:
        partitions = fuse_partitions(loaded, fuser, on_progress)
        if isinstance(loaded, LoadedRuns):
            yield next(partitions)
            return
        files: list[Path] = []
        for fused in partitions:
            files.append(loaded.folder / f"fused-{len(files):07}.parquet")
            with room_for(loaded.folder):
                fused.write_parquet(files[-1], compression="lz4")
            del fused
        yield merge_sorted_files(files, ordered=False) if files else pl.LazyFrame(schema=RUN_SCHEMA)
