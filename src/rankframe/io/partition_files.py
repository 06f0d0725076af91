"""Write the rows of an input into files, by partition of its queries, and read them back.

Rows are read in tables. Each table is sorted by partition and written to a file of its own, so that
a partition is a contiguous slice of each file. (If polars writes one file per partition, it keeps
rows of all partitions in memory, several times over.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import BadValueError, DuplicateError
from rankframe.core.records import record
from rankframe.core.threads import size_of
from rankframe.io.batches import check_rows
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable, in_steps
from rankframe.io.scratch import room_for
from rankframe.kernel.duplicates import deduplicate

# Rows of a file: larger files have no advantage.
MOST_ROWS = 1 << 20
_SEED = 20_011
# Bytes of a Parquet page: small, since partitions are decoded one at a time.
_PAGE = 1 << 16


@record
class _File:
    """Hold rows of an input, in order of their partitions."""

    path: Path
    # the first row of each partition, and the number of rows
    bounds: list[int]

    @classmethod
    def write(cls, path: Path, rows: pl.DataFrame, partitions: int) -> _File:
        """Write rows into a file; the rows of each partition stay in order."""
        numbers = (rows[QUERY].hash(_SEED) % partitions).to_numpy().astype(np.uint16)
        order = np.argsort(numbers, kind="stable")  # 16-bit numbers: numpy uses a radix sort
        ends = np.cumsum(np.bincount(numbers, minlength=partitions))
        with room_for(path.parent.parent):
            rows[order].write_parquet(
                path, compression="lz4", statistics=False, data_page_size=_PAGE
            )
        return cls(path, [0, *ends.tolist()])

    def read(self, number: int) -> pl.DataFrame | None:
        """Return the rows of a partition, or None if it has no rows or the file was removed.

        The caller counts all rows at the end, and so notices a removed file.
        """
        start, end = self.bounds[number : number + 2]
        if start == end or not self.path.exists():
            return None
        rows = pl.scan_parquet(self.path, glob=False).slice(start, end - start)
        return rows.collect(engine="in-memory")


@record
class HashedInput:
    """Hold an input whose rows were written into partitions."""

    table: InputTable
    partitions: int
    files: list[_File]

    @classmethod
    def write(cls, table: InputTable, folder: Path, partitions: int, limit: int) -> HashedInput:
        """Read an input, and write its rows into files in `folder`."""
        folder.mkdir()
        files: list[_File] = []
        # A table is written while the next table is read.
        with ThreadPoolExecutor(1) as pool:
            writing: deque[Future[_File]] = deque()
            for number, rows in enumerate(_read_in_steps(table, limit)):
                while writing:
                    files.append(writing.popleft().result())
                path = folder / f"{number:07}.parquet"
                writing.append(pool.submit(_File.write, path, rows, partitions))
                del rows
            files += [future.result() for future in writing]
        return cls(table, partitions, files)

    def read(self, number: int) -> pl.DataFrame:
        """Return the rows of a partition, in the order of the input."""
        with reading("the temporary files"):
            parts = [rows for file in self.files if (rows := file.read(number)) is not None]
        return pl.concat(parts, rechunk=True) if parts else self.table.frame.head(0).collect()

    def read_checked(self, number: int) -> pl.DataFrame:
        """Return the rows of a partition; refuse the input if one of these rows breaks a rule."""
        rows, table = self.read(number), self.table
        if not rows.is_empty():
            try:
                check_rows(rows.lazy(), table.role, table.name)
            except BadValueError:
                # Check the whole input, for an error with the count of all bad rows.
                check_rows(
                    table.frame, table.role, table.name, engine="streaming",
                    numbered=table.numbered,
                )  # fmt: skip
                raise
        return rows

    def all_duplicates(self) -> DuplicateError:
        """Return a `DuplicateError` that counts the duplicates of all partitions."""
        errors: list[DuplicateError] = []
        for number in range(self.partitions):
            try:
                deduplicate(self.read(number), self.table.role, "error")
            except DuplicateError as error:
                errors.append(error)
        example = errors[0].example
        same = [pl.col(key).eq_missing(pl.lit(value)) for key, value in example.items()]
        rows = self.table.frame.with_row_index("_row", offset=1).filter(same).select("_row")
        rows = rows if self.table.numbered else rows.clear()
        return DuplicateError(
            self.table.role,
            sum(error.count for error in errors),
            example,
            rows.collect(engine="streaming")["_row"].to_list(),
        )


def _read_in_steps(table: InputTable, limit: int) -> Iterator[pl.DataFrame]:
    """Yield all rows of an input in order, in tables of about `limit` bytes.

    Tables are large enough to be worth a file; while a table is written, the next one is read.
    """
    parts: list[pl.DataFrame] = []
    size = rows = 0
    with table.explained():
        for part in in_steps(table.frame, limit, seekable=table.seekable):
            parts.append(part)
            size += size_of(part)
            rows += part.height
            if size >= limit or rows >= MOST_ROWS:
                yield pl.concat(parts)
                parts, size, rows = [], 0, 0
    if parts:
        yield pl.concat(parts)
