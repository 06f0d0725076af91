"""The rows of an input in order, no more of them in memory at once than was allowed.

Left to itself, polars decodes far ahead of the consumer of its batches: several row groups on
every core. Stretches of a table that can be read anywhere are decoded alone. (Of 2M rows with long
ids, in Parquet: 220 MB and 0.4 CPU seconds left to itself, 100 MB and 0.3 seconds in stretches,
each with 45 MB that polars takes without any.)
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

# Rows that are read before anything is known of their size, and that are never worth parting.
_FIRST, _FEWEST = 1 << 12, 1 << 10
# More than this are no faster to read.
_MOST = 1 << 17
# What a row is taken for at the least: ids may suddenly be longer than those before.
_ROW_BYTES = 256


def in_steps(frame: pl.LazyFrame, at_once: int, *, seekable: bool) -> Iterator[pl.DataFrame]:
    """Yield all rows, in tables of about `at_once` bytes.

    `seekable`: any stretch can be read without reading those before; where that is not so, polars
    decides how much is read ahead.
    """
    if not seekable:
        yield from frame.collect_batches(lazy=True)
        return
    rows, read, widest = _FIRST, 0, float(_ROW_BYTES)
    while True:
        table = frame.slice(read, rows).collect(engine="in-memory")
        if table.height:
            yield table
        read += table.height
        if table.height < rows:
            return
        widest = max(widest, table.estimated_size() / table.height)
        rows = min(max(int(at_once / widest), _FEWEST), _MOST)
