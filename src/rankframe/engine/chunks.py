"""Tables in memory, worked on in chunks by query: arrays that fit in the processor's cache, and all
cores at work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import polars as pl

from rankframe.arrays.keys import Keyed
from rankframe.base.columns import QUERY
from rankframe.base.errors import DuplicateError
from rankframe.engine.work import Piece, merged
from rankframe.inputs.validate import one_of_each

# Arrays of 4 bytes a row reach 4 MiB, from where numpy asks for huge pages: far fewer page faults.
CHUNK_ROWS = 1 << 20
_MOST_CHUNKS = 256  # their numbers fit in a byte
_DEAL_SEED = 31_337  # another one than files are split by
# the rows of some queries, in several parts
Chunk = list[pl.DataFrame]


def in_chunks(
    left: pl.DataFrame,
    right: pl.DataFrame,
    work: Callable[[pl.DataFrame, pl.DataFrame], Piece],
    roles: tuple[str, str],
) -> Piece:
    """Work on tables in memory: in chunks by query, side by side, unless they are small.

    `roles` are what errors call the two.
    """
    count = _chunk_count(max(left.height, right.height))
    if count < 2:
        return work(left, right)
    ordered = left[QUERY].is_sorted() and right[QUERY].is_sorted()

    def one(both: tuple[Chunk, Chunk]) -> Piece:
        ours, theirs = (pl.concat(side, rechunk=True) for side in both)
        return work(ours, theirs)

    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            chunks = _cut(left, right, count) if ordered else _dealt(left, right, count, pool)
            whole = merged(pool.map(one, chunks), ordered=ordered)
    except DuplicateError as error:
        # Said of the whole input: how many in all, and which rows of it.
        one_of_each(Keyed((left, right)[roles.index(error.role)]), error.role, "error")
        raise
    assert whole is not None  # neither side is empty
    return whole


def _chunk_count(rows: int) -> int:
    """How many chunks: enough for every core, the same number for each."""
    workers = os.cpu_count() or 1
    count = min(rows // CHUNK_ROWS, _MOST_CHUNKS)
    return count - count % workers if count > workers else count


def _cut(left: pl.DataFrame, right: pl.DataFrame, count: int) -> Iterator[tuple[Chunk, Chunk]]:
    """Chunks of tables that are sorted by query: neighbouring rows."""
    larger = left if left.height > right.height else right
    firsts = larger[QUERY].gather(np.arange(1, count) * (larger.height // count))
    firsts = firsts.unique(maintain_order=True)
    cuts = ([0, *side[QUERY].search_sorted(firsts), side.height] for side in (left, right))
    for (ours, ours_end), (theirs, theirs_end) in zip(*map(pairwise, cuts), strict=True):
        yield [left[ours:ours_end]], [right[theirs:theirs_end]]


def _dealt(
    left: pl.DataFrame, right: pl.DataFrame, count: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[Chunk, Chunk]]:
    """Chunks of tables in any order: queries are dealt out by their hash, rows stay in order."""

    def deal(rows: pl.DataFrame) -> list[pl.DataFrame]:
        rows = rows.rechunk()
        bucket = rows.select((pl.col(QUERY).hash(_DEAL_SEED) % count).cast(pl.UInt8)).to_series()
        order = np.argsort(bucket.to_numpy(), kind="stable")  # of bytes: a radix sort
        ends = np.cumsum(np.bincount(bucket.to_numpy(), minlength=count))
        rows = rows[order]
        return [rows[start:end] for start, end in pairwise([0, *ends])]

    sides = [
        zip(
            *pool.map(deal, side.iter_slices(CHUNK_ROWS)),  # allowed: a million rows at a time
            strict=True,
        )
        for side in (left, right)
    ]
    for ours, theirs in zip(*sides, strict=True):
        if any(map(len, ours)) or any(map(len, theirs)):
            yield list(ours), list(theirs)
