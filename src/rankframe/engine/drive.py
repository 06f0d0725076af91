"""Inputs that do not fit in memory: evaluated in pieces by query, with temporary files.

Inputs that are sorted by query are read a stretch at a time (`stream.py`). Others are split first:
one streaming pass over each writes its rows to Parquet files by a hash of the query, so that all
rows of a query end in one piece; the pieces are then evaluated one by one. (10M rows: 1.9 CPU
seconds and 0.2 GB for the pass.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from rankframe.arrays.keys import Keyed
from rankframe.base.columns import QUERY
from rankframe.base.errors import BadValueError, DuplicateError, OutputError
from rankframe.base.progress import Progress, Report
from rankframe.base.scratch import scratch_folder
from rankframe.engine.chunks import SLICE_ROWS, in_slices
from rankframe.engine.stream import NotInOrder, in_order
from rankframe.engine.work import Piece, Work, merged
from rankframe.inputs.formats import READ_ERRORS, unreadable
from rankframe.inputs.scan import Scanned
from rankframe.inputs.validate import check_rows, count_rows, load, one_of_each, refuse_non_numeric

_BUCKET = "_bucket"
_SEED = 20_011
_LEAST_ROWS = 10_000  # of a stretch: fewer cost more than they save
_NO_SPACE = ("No space left", "File too large", "quota exceeded")


def in_memory(left: Scanned, right: Scanned, prepare: Callable[[pl.LazyFrame], Work]) -> Piece:
    """Work on inputs that fit in memory; large ones that are sorted by query are not even held.

    `prepare` says what to do, given the left side.
    """
    if left.seekable and right.seekable:
        with suppress(NotInOrder, *READ_ERRORS):  # what cannot be read is said below
            work = prepare(left.frame)
            if max(map(count_rows, (left, right))) >= 2 * SLICE_ROWS and not work.plan.whole_input:
                pieces = in_order(left, right, work, rows=SLICE_ROWS)
                return merged((piece for piece, _ in pieces), ordered=True)
    first = load(left)
    return in_slices(first, load(right), prepare(first.lazy()), (left.role, right.role))


def in_pieces(
    left: Scanned,
    right: Scanned,
    work: Work,
    *,
    pieces: int,
    into: Path | None = None,
    report: Report | None = None,
) -> Piece:
    """Work on inputs that do not fit in memory, as so many pieces (or more).

    `into`: a Parquet file for the values per query, which are then never all in memory.
    """
    rows = tuple(map(count_rows, (left, right)))
    with scratch_folder() as folder:
        gather = partial(_gathered, work=work, into=into, report=report, total=sum(rows))
        if left.seekable and right.seekable:
            # Several stretches are in memory at the same time.
            at_once = pieces * ((os.cpu_count() or 1) + 2)
            stretch = min(max(max(rows) // at_once, _LEAST_ROWS), SLICE_ROWS)
            with suppress(NotInOrder):
                streamed = in_order(left, right, work, rows=stretch)
                return gather(streamed, folder / "streamed", ordered=True)
        split = _by_split(left, right, work, folder, pieces)
        return gather(split, folder / "values", ordered=False)


def _gathered(
    pieces: Iterator[tuple[Piece, int]],
    folder: Path,
    *,
    ordered: bool,
    work: Work,
    into: Path | None,
    report: Report | None,
    total: int,
) -> Piece:
    """Pieces as they come, as one: their values kept, or written to files on the way to `into`.

    `ordered`: they come in order of their queries.
    """
    folder.mkdir()
    tell = report or (lambda _: None)
    tell(Progress("reading", 0, total, 0))
    rows = queries = 0

    def kept() -> Iterator[Piece]:
        nonlocal rows, queries
        for number, (piece, count) in enumerate(pieces):
            rows += count
            queries += piece.values.height
            if into is not None:
                with _room_for(folder.parent):
                    piece.values.write_parquet(folder / f"{number:07}.parquet", compression="lz4")
            tell(Progress("evaluating", rows, total, queries))
            yield piece if into is None else replace(piece, values=work.plan.no_values())

    whole = merged(kept(), ordered=ordered)
    if into is not None:
        tell(Progress("writing values", rows, total, queries))
        _join(sorted(folder.iterdir()), into, ordered=ordered)
    return whole


def _by_split(
    left: Scanned, right: Scanned, work: Work, folder: Path, pieces: int
) -> Iterator[tuple[Piece, int]]:
    """Split both inputs into files by a hash of the query, and work on them one by one."""
    for side in (left, right):
        _split(side, folder / side.role, pieces)
    for ours, theirs in _parts(folder, (left, right), pieces):
        if ours.is_empty() and theirs.is_empty():
            continue
        try:
            piece = in_slices(ours, theirs, work, (left.role, right.role))
        except DuplicateError as error:
            side = left if error.role == left.role else right
            raise _all_duplicates(side, folder, pieces) from None
        yield piece, ours.height + theirs.height


def _join(parts: Sequence[Path], into: Path, *, ordered: bool) -> None:
    """Files that are each in order of their queries → one that is, without reading them whole."""
    frames = (
        [pl.scan_parquet(list(parts))] if ordered else [pl.scan_parquet(part) for part in parts]
    )
    while len(frames) > 1:
        odd = frames[len(frames) // 2 * 2 :]
        frames = [
            one.merge_sorted(other, QUERY)
            for one, other in zip(frames[::2], frames[1::2], strict=False)
        ] + odd
    try:
        frames[0].sink_parquet(into, engine="streaming")
    except READ_ERRORS as error:
        raise OutputError(f"cannot write {into}: {str(error).splitlines()[0]}.") from error


@contextmanager
def _room_for(folder: Path) -> Iterator[None]:
    """Say what to do where temporary files find no room."""
    try:
        yield
    except (*READ_ERRORS, OSError) as error:
        if any(sign in str(error) for sign in _NO_SPACE):
            raise OutputError(
                f"no room for temporary files in {folder.parent}. "
                "Make some, or point the environment variable TMPDIR to a larger disk."
            ) from error
        raise


def _split(scanned: Scanned, folder: Path, pieces: int) -> None:
    bucket = pl.col(QUERY).hash(_SEED) % pieces
    try:
        with _room_for(folder.parent):
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
                    check_rows(side.frame, side.role, side.name, engine="streaming")
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
    return pl.read_parquet(sorted(part.glob("*.parquet")), hive_partitioning=False)
