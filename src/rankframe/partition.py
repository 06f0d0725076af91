"""The same evaluation in pieces by query: slices of a table in memory, or files that fit in it.

Inputs that are sorted by query are cut into slices, evaluated side by side: small arrays stay in
the processor's cache, and all cores work. Inputs that are too large for the memory are split first:
one streaming pass over each input writes its rows to temporary Parquet files by a hash of the
query, so that all rows of a query end in one piece; the pieces are then evaluated one by one.
(10M rows: 1.9 CPU seconds and 0.2 GB for the pass.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from rankframe.columns import QUERY
from rankframe.errors import BadValueError, DuplicateError, OutputError
from rankframe.files import READ_ERRORS, unreadable
from rankframe.keys import Keyed
from rankframe.piece import Piece, evaluate_piece, merged
from rankframe.plan import Plan
from rankframe.policies import Policies
from rankframe.progress import Progress, Report
from rankframe.read import Scanned
from rankframe.scratch import scratch_folder
from rankframe.validate import check_rows, count_rows, one_of_each, refuse_non_numeric

_BUCKET = "_bucket"
_SEED = 20_011
# Arrays of 4 bytes a row reach 4 MiB, from where numpy asks for huge pages: far fewer page faults.
_SLICE_ROWS = 1 << 20
_MOST_SLICES = 256  # their numbers fit in a byte
# the rows of some queries, in several parts
Slice = list[pl.DataFrame]
_NO_SPACE = ("No space left", "File too large", "quota exceeded")


def evaluate_in_memory(
    qrels: pl.DataFrame, run: pl.DataFrame, plan: Plan, policies: Policies, *, max_grade: float
) -> Piece:
    """Evaluate tables in memory: in slices by query, side by side, unless they are small."""
    count = _slice_count(run.height)
    if count < 2 or plan.whole_input:
        return evaluate_piece(qrels, run, plan, policies, max_grade=max_grade)
    ordered = run[QUERY].is_sorted() and qrels[QUERY].is_sorted()

    def one(both: tuple[Slice, Slice]) -> Piece:
        ours, theirs = (pl.concat(side, rechunk=True) for side in both)
        return evaluate_piece(ours, theirs, plan, policies, max_grade=max_grade, alone=False)

    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            slices = _cut(qrels, run, count) if ordered else _dealt(qrels, run, count, pool)
            return merged(list(pool.map(one, slices)), ordered=ordered)
    except DuplicateError as error:
        # Said of the whole input: how many in all, and which rows of it.
        one_of_each(Keyed(qrels if error.role == "qrels" else run), error.role, "error")
        raise


def _slice_count(rows: int) -> int:
    """How many slices: enough for every core, the same number for each."""
    workers = os.cpu_count() or 1
    count = min(rows // _SLICE_ROWS, _MOST_SLICES)
    return count - count % workers if count > workers else count


def _cut(qrels: pl.DataFrame, run: pl.DataFrame, count: int) -> Iterator[tuple[Slice, Slice]]:
    """Slices of tables that are sorted by query: neighbouring rows."""
    firsts = run[QUERY].gather(np.arange(1, count) * (run.height // count))
    firsts = firsts.unique(maintain_order=True)
    cuts = ([0, *side[QUERY].search_sorted(firsts), side.height] for side in (qrels, run))
    for (ours, ours_end), (theirs, theirs_end) in zip(*map(pairwise, cuts), strict=True):
        yield [qrels[ours:ours_end]], [run[theirs:theirs_end]]


def _dealt(
    qrels: pl.DataFrame, run: pl.DataFrame, count: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[Slice, Slice]]:
    """Slices of tables in any order: queries are dealt out by their hash, rows stay in order."""

    def deal(rows: pl.DataFrame) -> list[pl.DataFrame]:
        rows = rows.rechunk()
        bucket = rows.select((pl.col(QUERY).hash(_SEED) % count).cast(pl.UInt8)).to_series()
        order = np.argsort(bucket.to_numpy(), kind="stable")  # of bytes: a radix sort
        ends = np.cumsum(np.bincount(bucket.to_numpy(), minlength=count))
        rows = rows[order]
        return [rows[start:end] for start, end in pairwise([0, *ends])]

    sides = [
        zip(*pool.map(deal, side.iter_slices(_SLICE_ROWS)), strict=True) for side in (qrels, run)
    ]
    for ours, theirs in zip(*sides, strict=True):
        if any(map(len, ours)) or any(map(len, theirs)):
            yield list(ours), list(theirs)


def evaluate_in_pieces(
    qrels: Scanned,
    run: Scanned,
    plan: Plan,
    policies: Policies,
    *,
    pieces: int,
    max_grade: float,
    report: Report | None = None,
) -> Piece:
    """Evaluate inputs that do not fit in memory, as so many pieces."""
    tell = report or (lambda _: None)
    total = sum(map(count_rows, (qrels, run)))
    done: list[Piece] = []
    with scratch_folder() as folder:
        tell(Progress("splitting by query", 0, total, 0))
        for side in (qrels, run):
            _split(side, folder / side.role, pieces)
        rows = queries = 0
        for judgments, documents in _parts(folder, (qrels, run), pieces):
            try:
                piece = evaluate_piece(judgments, documents, plan, policies, max_grade=max_grade)
            except DuplicateError as error:
                side = qrels if error.role == "qrels" else run
                raise _all_duplicates(side, folder, pieces) from None
            done.append(piece)
            rows += judgments.height + documents.height
            queries += piece.values.height
            tell(Progress("evaluating", rows, total, queries))
    return merged(done)


def _split(scanned: Scanned, folder: Path, pieces: int) -> None:
    bucket = pl.col(QUERY).hash(_SEED) % pieces
    try:
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
        if any(sign in str(error) for sign in _NO_SPACE):
            raise OutputError(
                f"no room for temporary files in {folder.parent.parent}. "
                "Make some, or point the environment variable TMPDIR to a larger disk."
            ) from error
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
