"""Inputs in any order, split into files by a hash of the query, so that each fits in memory.

One streaming pass over each side writes its rows to Parquet files; all rows of a query end in one.
(10M rows: 1.9 CPU seconds and 0.2 GB for the pass.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from rankframe.arrays.keys import Keyed
from rankframe.base.columns import QUERY
from rankframe.base.errors import BadValueError, DuplicateError
from rankframe.base.scratch import room_for
from rankframe.engine.work import Piece, Work
from rankframe.inputs.scan import Scanned
from rankframe.inputs.validate import check_rows, one_of_each, refuse_non_numeric
from rankframe.sources.formats import READ_ERRORS, unreadable

_BUCKET = "_bucket"
_SEED = 20_011


def by_split(
    left: Scanned, right: Scanned, work: Work, folder: Path, pieces: int
) -> Iterator[tuple[Piece, int]]:
    """Split both inputs into files by a hash of the query, and work on them one by one."""
    for side in (left, right):
        _split(side, folder / side.role, pieces)
    for ours, theirs in _parts(folder, (left, right), pieces):
        if ours.is_empty() and theirs.is_empty():
            continue
        try:
            piece = work.piece(ours, theirs)
        except DuplicateError as error:
            side = left if error.role == left.role else right
            raise _all_duplicates(side, folder, pieces) from None
        yield piece, ours.height + theirs.height


def _split(scanned: Scanned, folder: Path, pieces: int) -> None:
    bucket = pl.col(QUERY).hash(_SEED) % pieces
    try:
        with room_for(folder.parent):
            scanned.frame.sink_parquet(
                pl.PartitionBy(
                    folder,
                    key={_BUCKET: bucket},
                    include_key=False,
                    approximate_bytes_per_file=None,
                ),
                compression="lz4",
                statistics=False,
                mkdir=True,
                engine="streaming",
            )
    except READ_ERRORS as error:
        refuse_non_numeric(scanned)
        raise unreadable(scanned.name, error) from error


def _parts(
    folder: Path, sides: tuple[Scanned, Scanned], pieces: int
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Both sides of each piece, refused as a whole where a row of one breaks a rule."""
    for number in range(pieces):
        frames = []
        for side in sides:
            frame = _part(folder / side.role, number, side)
            if not frame.is_empty():
                try:
                    check_rows(frame.lazy(), side.role, side.name)
                except BadValueError:
                    # Said of the whole input: how many in all, and which row of it.
                    check_rows(
                        side.frame, side.role, side.name, engine="streaming",
                        numbered=side.numbered,
                    )  # fmt: skip
                    raise
            frames.append(frame)
        yield frames[0], frames[1]


def _all_duplicates(side: Scanned, folder: Path, pieces: int) -> DuplicateError:
    """What one piece complained of, said of the whole input."""
    found: list[DuplicateError] = []
    for number in range(pieces):
        try:
            one_of_each(Keyed(_part(folder / side.role, number, side)), side.role, "error")
        except DuplicateError as error:
            found.append(error)
    example = found[0].example
    same = [pl.col(key) == value for key, value in example.items()]
    rows = side.frame.with_row_index("_row", offset=1).filter(same).select("_row")
    rows = rows if side.numbered else rows.clear()
    return DuplicateError(
        side.role,
        sum(error.count for error in found),
        example,
        rows.collect(engine="streaming")["_row"].to_list(),
    )


def _part(folder: Path, number: int, side: Scanned) -> pl.DataFrame:
    part = folder / f"{_BUCKET}={number}"
    if not part.is_dir():
        return side.frame.head(0).collect()
    try:
        return pl.read_parquet(sorted(part.glob("*.parquet")), hive_partitioning=False, glob=False)
    except READ_ERRORS as error:
        raise unreadable(f"temporary files in {folder.parent}", error) from error
