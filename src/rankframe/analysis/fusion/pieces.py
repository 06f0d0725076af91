"""Runs that do not fit in memory, fused in pieces by query, with the same bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.prepared import RUN_SCHEMA, Fuser, joined
from rankframe.analysis.fusion.runs import HeldRuns
from rankframe.core.allocators import trim
from rankframe.core.columns import RANK
from rankframe.core.errors import DuplicateError, UnreadableInputError
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.contiguous import workers
from rankframe.engine.memory import (
    bytes_at_once,
    estimated_need,
    limit_of,
    pieces_for,
    refuse_too_large_a_query,
)
from rankframe.engine.out_of_core import joined_by_query
from rankframe.engine.split import Split
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.scratch import room_for, scratch_folder
from rankframe.io.validate import count_rows

# Bytes that a row of a run takes at the peak, with what it becomes, ids of up to 12 bytes included:
# 110 were measured, and pieces have temporary files beside them.
ROW_BYTES = 200


def count_pieces(runs: Mapping[str, InputTable], max_memory: str | int | None) -> int:
    """How many pieces it takes to stay within a limit, or within what the machine has."""
    limit, sides = limit_of(max_memory), list(runs.values())
    pieces = pieces_for(sum(estimated_need(side, ROW_BYTES, limit) for side in sides), max_memory)
    if pieces > 1 and max_memory is not None:
        refuse_too_large_a_query(sides, [ROW_BYTES] * len(sides), limit)
    return pieces


def fused(
    runs: Mapping[str, InputTable],
    fuser: Fuser,
    policies: FusionPolicies,
    report: Report | None = None,
) -> pl.DataFrame:
    """The fused run of all queries, where everything fits in memory."""
    tell = report or (lambda _: None)
    tell(Progress("reading", 0, 0, 0))
    held = HeldRuns.of(runs, policies)
    total, rows, queries = int(held.lengths.sum()), 0, 0
    blocks = held.blocks()
    parts: list[pl.DataFrame] = []
    with ThreadPoolExecutor(workers()) as pool:
        for block, part in zip(
            blocks, pool.map(lambda block: fuser.ranking(held.stack(block)), blocks), strict=True
        ):
            parts.append(part)
            rows += int(held.lengths[block].sum())
            queries += len(block)
            tell(Progress("fusing", rows, total, queries))
    return joined(iter(parts))


@dataclass(frozen=True)
class Portions:
    """Runs in pieces by query, in temporary files: to be gone through as often as one likes."""

    runs: Mapping[str, InputTable]
    policies: FusionPolicies
    splits: Mapping[str, Split]
    pieces: int
    # rows of each run
    counted: Mapping[str, int]

    @classmethod
    def of(
        cls, runs: Mapping[str, InputTable], policies: FusionPolicies, pieces: int, folder: Path
    ) -> Portions:
        """Deal the rows of all runs into so many pieces."""
        counted = {name: _counted(name, run) for name, run in runs.items()}
        at_once = bytes_at_once(*runs.values())
        splits = {
            name: _split(name, run, folder / f"run-{number}", pieces, at_once)
            for number, (name, run) in enumerate(runs.items())
        }
        return cls(runs, policies, splits, pieces, counted)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the runs, in their order."""
        return tuple(self.runs)

    @property
    def rows(self) -> int:
        """Of all runs."""
        return sum(self.counted.values())

    def parts(self) -> Iterator[tuple[dict[str, InputTable], int]]:
        """The rows of each piece that has any, and how many were read so far."""
        read = dict.fromkeys(self.runs, 0)
        for number in range(self.pieces):
            parts: dict[str, InputTable] = {}
            before = sum(read.values())
            for name, split in self.splits.items():
                with naming_the_run(repr(name)):
                    frame = split.checked(number)
                read[name] += frame.height
                parts[name] = part_of(frame, "run")
                del frame
            if (upto := sum(read.values())) > before:
                yield parts, upto
            del parts
            trim()
        _refuse_lost_rows(self.runs, self.counted, read)

    def in_memory(self) -> Iterator[HeldRuns]:
        """One piece after the other."""
        for parts, _ in self.parts():
            yield HeldRuns.of(parts, self.policies)


@contextmanager
def held_runs(
    runs: Mapping[str, InputTable], policies: FusionPolicies, max_memory: int | None
) -> Iterator[HeldRuns | Portions]:
    """Runs in memory, or in as many pieces as it takes to stay within a limit."""
    pieces = count_pieces(runs, max_memory)
    if pieces == 1:
        yield HeldRuns.of(runs, policies)
        return
    with scratch_folder() as folder:
        yield Portions.of(runs, policies, pieces, folder)


@contextmanager
def fused_in_pieces(
    runs: Mapping[str, InputTable],
    fuser: Fuser,
    policies: FusionPolicies,
    pieces: int,
    report: Report | None = None,
) -> Iterator[pl.LazyFrame]:
    """The same in so many pieces, through temporary files: to be read before these go."""
    tell = report or (lambda _: None)
    queries = 0
    tell(Progress("reading", 0, 0, 0))
    with scratch_folder() as folder:
        portions = Portions.of(runs, policies, pieces, folder)
        files: list[Path] = []
        for parts, rows in portions.parts():
            part = _piece(parts, portions.splits, fuser, policies)
            del parts
            queries += int((part[RANK] == 1).sum())
            files.append(folder / f"fused-{len(files):07}.parquet")
            with room_for(folder):
                part.write_parquet(files[-1], compression="lz4")
            del part
            tell(Progress("fusing", rows, portions.rows, queries))
        yield (joined_by_query(files, ordered=False) if files else pl.LazyFrame(schema=RUN_SCHEMA))


def _counted(name: str, run: InputTable) -> int:
    with naming_the_run(repr(name)):
        return count_rows(run)


def _split(name: str, run: InputTable, folder: Path, pieces: int, at_once: int) -> Split:
    with naming_the_run(repr(name)):
        return Split.of(run, folder, pieces, at_once)


def _piece(
    parts: Mapping[str, InputTable],
    splits: Mapping[str, Split],
    fuser: Fuser,
    policies: FusionPolicies,
) -> pl.DataFrame:
    try:
        return fused(parts, fuser, policies)
    except DuplicateError as error:
        # Said of the whole input.
        for name, split in splits.items():
            if repr(name) == error.run:
                with naming_the_run(error.run):
                    raise split.all_duplicates() from None
        raise


def _refuse_lost_rows(
    runs: Mapping[str, InputTable], counted: Mapping[str, int], read: Mapping[str, int]
) -> None:
    for name, run in runs.items():
        if counted[name] != read[name]:
            raise UnreadableInputError(
                run.name,
                f"it has {counted[name]:,} rows, of which {read[name]:,} were read",
                "It changed meanwhile, or somebody removed temporary files. Try again",
            )
