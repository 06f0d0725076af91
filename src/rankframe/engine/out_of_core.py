"""Work on two inputs that do not fit in memory, whatever it is: in pieces by query.

Inputs that are sorted by query are read a stretch at a time (`stream.py`). Others are split into
files first (`split.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from rankframe.core.allocators import trim
from rankframe.core.columns import QUERY
from rankframe.core.errors import OutputError, UnreadableInputError
from rankframe.core.messages import number_of
from rankframe.core.progress import Progress, Report
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.split import EvaluatePartition, by_split
from rankframe.engine.stream import InOrder
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable
from rankframe.io.output_paths import cannot_write
from rankframe.io.scratch import room_for, scratch_folder
from rankframe.io.sources.writers import About, write_parquet
from rankframe.io.validate import count_rows

# Rows of a stretch: fewer cost more than they save; more are not even needed.
_LEAST_ROWS, _MOST_ROWS = 10_000, 1 << 20
# Rows after which memory is given back: this takes some milliseconds.
_GIVEN_BACK = 1 << 17


@dataclass(frozen=True)
class Into:
    """A Parquet file for values per query, and what it says of itself when all are known."""

    path: Path
    about: Callable[[Accumulator], About]


def in_pieces(
    left: InputTable,
    right: InputTable,
    evaluate: EvaluatePartition,
    empty: Callable[[], Accumulator],
    *,
    pieces: int,
    row_bytes: tuple[int, int],
    into: Into | None = None,
    report: Report | None = None,
) -> Accumulator:
    """Evaluate inputs that do not fit in memory, in so many partitions (or more).

    Args:
        left: what lies beside the run, or the first of two rankings.
        right: the run, or the second ranking.
        evaluate: is called with the rows of each partition.
        empty: returns the accumulator of no queries.
        pieces: how many partitions it takes at least.
        row_bytes: how many bytes a row of each side takes.
        into: a file for the values per query, which are then never all in memory.
        report: is called as rows are done.
    """
    rows, names = (count_rows(left), count_rows(right)), (left.name, right.name)
    with scratch_folder() as folder:
        values = _Values(folder, into, report or (lambda _: None), sum(rows))
        if left.seekable and right.seekable:
            # Several stretches are in memory at the same time.
            at_once = pieces * ((os.cpu_count() or 1) + 2)
            stretch = min(max(max(rows) // at_once, _LEAST_ROWS), _MOST_ROWS)
            stream = InOrder(left, right, evaluate, rows=stretch, row_bytes=row_bytes)
            whole = values.merge(stream, empty(), ordered=True)
            if stream.complete:
                _refuse_lost_rows(whole, names, rows)
                values.write(whole, ordered=True)
                return whole
        split = by_split(left, right, evaluate, folder, pieces)
        whole = values.merge(split, empty())
        _refuse_lost_rows(whole, names, rows)
        values.write(whole, ordered=False)
        return whole


def with_values(
    parts: Iterable[Accumulator],
    empty: Accumulator,
    *,
    into: Into | None,
    report: Report | None,
) -> Accumulator:
    """Merge partial results, each in any order of its queries; `into` as for `in_pieces`."""
    with scratch_folder() as folder:
        values = _Values(folder, into, report or (lambda _: None), 0)
        whole = values.merge(((part, sum(part.counts.rows)) for part in parts), empty)
        values.write(whole, ordered=False)
        return whole


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
class _Values:
    """The values of pieces as these come: held by them, or in files on the way to `into`."""

    folder: Path
    into: Into | None
    tell: Report
    total_rows: int
    rows: int = 0
    queries: int = 0
    files: list[Path] = field(default_factory=list)

    def merge(
        self, parts: Iterable[tuple[Accumulator, int]], whole: Accumulator, *, ordered: bool = False
    ) -> Accumulator:
        """Merge partial results, each with its number of rows, into an empty one.

        `ordered`: the queries of each come after those of the one before.
        """
        self.files.clear()
        self.rows = self.queries = 0
        self.tell(Progress("reading", 0, self.total_rows, 0))
        trimmed = 0
        for part, count in parts:
            self.rows += count
            if self.rows - trimmed > _GIVEN_BACK:
                trim()
                trimmed = self.rows
            if self.into is None:
                self.queries += sum(values.height for values in part.parts)
            else:
                values = part.join().values
                self.queries += values.height
                self.files.append(self.folder / f"values-{len(self.files):07}.parquet")
                with room_for(self.folder):
                    values.write_parquet(self.files[-1], compression="lz4")
                part.parts.clear()
            self.tell(Progress("evaluating", self.rows, self.total_rows, self.queries))
            whole.merge(part)
        whole.join(ordered=ordered)
        return whole

    def write(self, whole: Accumulator, *, ordered: bool) -> None:
        """Put the files together, in order of their queries; `ordered`: they come so.

        `whole`: all pieces as one.
        """
        if self.into is not None:
            self.tell(Progress("writing values", self.rows, self.total_rows, self.queries))
            into = self.into.path
            try:
                whole_file = joined_by_query(self.files, ordered=ordered)
                write_parquet(whole_file, into, self.into.about(whole))
            except READ_ERRORS as error:
                raise cannot_write(into, error) from error
            written = pl.scan_parquet(into, glob=False).select(pl.len()).collect().item()
            if written != self.queries:
                raise OutputError(
                    f"cannot write {into}: it has values of {number_of(written, 'query')}, not of "
                    f"{self.queries:,}. Somebody removed temporary files; try again."
                )


def joined_by_query(parts: Sequence[Path], *, ordered: bool) -> pl.LazyFrame:
    """Files that are each in order of their queries → one that is, without reading them whole."""
    frames = (
        [pl.scan_parquet(list(parts), glob=False)]
        if ordered
        else [pl.scan_parquet(part, glob=False) for part in parts]
    )
    while len(frames) > 1:
        odd = frames[len(frames) // 2 * 2 :]
        frames = [
            one.merge_sorted(other, QUERY)
            for one, other in zip(frames[::2], frames[1::2], strict=False)
        ] + odd
    return frames[0]
