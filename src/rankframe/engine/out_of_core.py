"""Work on two inputs that do not fit in memory, whatever it is: in pieces by query.

Inputs that are sorted by query are read a stretch at a time (`stream.py`). Others are split into
files first (`split.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from rankframe.core.allocators import trim
from rankframe.core.columns import QUERY
from rankframe.core.errors import OutputError
from rankframe.core.messages import number_of
from rankframe.core.progress import Progress, Report
from rankframe.engine.split import by_split
from rankframe.engine.stream import InOrder
from rankframe.engine.work import Piece, Work, merged, refuse_lost_rows
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable
from rankframe.io.output_paths import cannot_write
from rankframe.io.scratch import room_for, scratch_folder
from rankframe.io.sources.writers import About, write_parquet
from rankframe.io.validate import count_rows
from rankframe.kernel.codes import text_order

# Rows of a stretch: fewer cost more than they save; more are not even needed.
_LEAST_ROWS, _MOST_ROWS = 10_000, 1 << 20
# Rows after which memory is given back: this takes some milliseconds.
_GIVEN_BACK = 1 << 17


@dataclass(frozen=True)
class Into:
    """A Parquet file for values per query, and what it says of itself when all are known."""

    path: Path
    about: Callable[[Piece], About]


def in_pieces(
    left: InputTable,
    right: InputTable,
    work: Work,
    *,
    pieces: int,
    into: Into | None = None,
    report: Report | None = None,
) -> Piece:
    """Work on inputs that do not fit in memory, as so many pieces (or more).

    `into`: a file for the values per query, which are then never all in memory.
    """
    rows, names = (count_rows(left), count_rows(right)), (left.name, right.name)
    with scratch_folder() as folder:
        values = _Values(folder, into, report or (lambda _: None), sum(rows))
        if left.seekable and right.seekable:
            # Several stretches are in memory at the same time.
            at_once = pieces * ((os.cpu_count() or 1) + 2)
            stretch = min(max(max(rows) // at_once, _LEAST_ROWS), _MOST_ROWS)
            stream = InOrder(left, right, work, rows=stretch)
            whole = merged(values.kept(stream, work), ordered=True)
            if whole is not None and stream.complete:
                refuse_lost_rows(whole.counts, names, rows)
                values.write(whole, ordered=True)
                return whole
        split = by_split(left, right, work, folder, pieces)
        whole = merged(values.kept(split, work))
        refuse_lost_rows(whole and whole.counts, names, rows)
        assert whole is not None  # neither side is empty
        values.write(whole, ordered=False)
        return whole


def with_values(
    pieces: Iterable[Piece], work: Work, *, into: Into | None, report: Report | None
) -> Piece:
    """Pieces as one, each in any order of its queries; `into` as for `in_pieces`."""
    with scratch_folder() as folder:
        values = _Values(folder, into, report or (lambda _: None), 0)
        whole = merged(values.kept(((piece, sum(piece.counts.rows)) for piece in pieces), work))
        assert whole is not None  # there is always one
        values.write(whole, ordered=False)
        return whole


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

    def kept(self, pieces: Iterable[tuple[Piece, int]], work: Work) -> Iterator[Piece]:
        """The pieces, without their values where these are kept in files."""
        self.files.clear()
        self.rows = self.queries = 0
        self.tell(Progress("reading", 0, self.total_rows, 0))
        given_back = 0
        for piece, count in pieces:
            self.rows += count
            if self.rows - given_back > _GIVEN_BACK:
                trim()
                given_back = self.rows
            self.queries += piece.values.height
            self.tell(Progress("evaluating", self.rows, self.total_rows, self.queries))
            if self.into is None:
                yield piece
                continue
            self.files.append(self.folder / f"values-{len(self.files):07}.parquet")
            with room_for(self.folder):
                values = piece.values[text_order(piece.values[QUERY])]
                values.write_parquet(self.files[-1], compression="lz4")
            yield replace(piece, computed=work.plan.no_values())

    def write(self, whole: Piece, *, ordered: bool) -> None:
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
