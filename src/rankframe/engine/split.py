"""Inputs in any order, split into files by a hash of the query, so that each piece fits in memory.

Rows are read in steps, sorted by the number of their piece, and written to a file whenever there
are enough of them; a piece is then a stretch of each file. (Where polars writes a file a piece, it
keeps rows of all of them in memory, several times over.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import BadValueError, DuplicateError
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.memory import bytes_at_once
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.input_table import InputTable
from rankframe.io.scratch import room_for
from rankframe.io.steps import in_steps
from rankframe.io.validate import check_rows
from rankframe.kernel.duplicates import deduplicate

_SEED = 20_011
# Rows that a file has at the most, and bytes of a page: of each file, a piece is decoded alone.
_MOST_ROWS, _PAGE = 1 << 20, 1 << 16


# Evaluates the queries of a partition, of which all rows of both sides are here.
EvaluatePartition: TypeAlias = Callable[[pl.DataFrame, pl.DataFrame], Accumulator]


def by_split(
    left: InputTable, right: InputTable, evaluate: EvaluatePartition, folder: Path, pieces: int
) -> Iterator[tuple[Accumulator, int]]:
    """Split both inputs into files by a hash of the query, and work on them one by one."""
    at_once = bytes_at_once(left, right)
    splits = [Split.of(side, folder / side.role, pieces, at_once) for side in (left, right)]
    for number in range(pieces):
        ours, theirs = (split.checked(number) for split in splits)
        if ours.is_empty() and theirs.is_empty():
            continue
        try:
            piece = evaluate(ours, theirs)
        except DuplicateError as error:
            (wrong,) = [split for split in splits if split.side.role == error.role]
            raise wrong.all_duplicates() from None
        yield piece, ours.height + theirs.height


@dataclass(frozen=True)
class _File:
    """Some rows of an input, in order of their pieces."""

    path: Path
    # where each piece begins, and the end
    ends: list[int]

    @classmethod
    def written(cls, path: Path, rows: pl.DataFrame, pieces: int) -> _File:
        """Put rows into a file; those of a piece stay in order."""
        piece = (rows[QUERY].hash(_SEED) % pieces).to_numpy().astype(np.uint16)
        order = np.argsort(piece, kind="stable")  # of two bytes: a radix sort
        ends = np.cumsum(np.bincount(piece, minlength=pieces))
        with room_for(path.parent.parent):
            rows[order].write_parquet(
                path, compression="lz4", statistics=False, data_page_size=_PAGE
            )
        return cls(path, [0, *ends.tolist()])

    def read(self, piece: int) -> pl.DataFrame | None:
        """The rows of a piece; None where there are none, or somebody removed the file: rows are
        counted at the end.
        """
        start, end = self.ends[piece : piece + 2]
        if start == end or not self.path.exists():
            return None
        some = pl.scan_parquet(self.path, glob=False).slice(start, end - start)
        return some.collect(engine="in-memory")


@dataclass(frozen=True)
class Split:
    """An input in files."""

    side: InputTable
    pieces: int
    files: list[_File]

    @classmethod
    def of(cls, side: InputTable, folder: Path, pieces: int, at_once: int) -> Split:
        """Read an input, and write its rows."""
        folder.mkdir()
        files: list[_File] = []
        # One is written while the next one is read.
        with ThreadPoolExecutor(1) as pool:
            writing: deque[Future[_File]] = deque()
            for number, rows in enumerate(_gathered(side, at_once)):
                while writing:
                    files.append(writing.popleft().result())
                path = folder / f"{number:07}.parquet"
                writing.append(pool.submit(_File.written, path, rows, pieces))
                del rows
            files += [one.result() for one in writing]
        return cls(side, pieces, files)

    def checked(self, number: int) -> pl.DataFrame:
        """The rows of a piece; the whole input is refused where one of them breaks a rule."""
        rows, side = self._read(number), self.side
        if not rows.is_empty():
            try:
                check_rows(rows.lazy(), side.role, side.name)
            except BadValueError:
                # Said of the whole input: how many in all, and which row of it.
                check_rows(
                    side.frame, side.role, side.name, engine="streaming", numbered=side.numbered
                )
                raise
        return rows

    def all_duplicates(self) -> DuplicateError:
        """What one piece complained of, said of the whole input."""
        side = self.side
        found: list[DuplicateError] = []
        for number in range(self.pieces):
            try:
                deduplicate(self._read(number), side.role, "error")
            except DuplicateError as error:
                found.append(error)
        example = found[0].example
        same = [pl.col(key).eq_missing(pl.lit(value)) for key, value in example.items()]
        rows = side.frame.with_row_index("_row", offset=1).filter(same).select("_row")
        rows = rows if side.numbered else rows.clear()
        return DuplicateError(
            side.role,
            sum(error.count for error in found),
            example,
            rows.collect(engine="streaming")["_row"].to_list(),
        )

    def _read(self, number: int) -> pl.DataFrame:
        try:
            parts = [part for file in self.files if (part := file.read(number)) is not None]
        except READ_ERRORS as error:
            raise unreadable("the temporary files", error) from error
        return pl.concat(parts, rechunk=True) if parts else self.side.frame.head(0).collect()


def _gathered(side: InputTable, at_once: int) -> Iterator[pl.DataFrame]:
    """All rows of an input, in tables of at least as many bytes as may be read at once: while one
    is written, the next one is read.
    """
    parts: list[pl.DataFrame] = []
    size = rows = 0
    try:
        for part in in_steps(side.frame, at_once, seekable=side.seekable):
            parts.append(part)
            size += part.estimated_size()
            rows += part.height
            if size >= at_once or rows >= _MOST_ROWS:
                yield pl.concat(parts)
                parts, size, rows = [], 0, 0
    except READ_ERRORS as error:
        side.refuse_non_numeric()
        raise unreadable(side.name, error) from error
    if parts:
        yield pl.concat(parts)
