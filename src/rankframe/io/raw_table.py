"""Hold the request to open a source, and its result: a lazy table with the source's own columns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from queue import Empty, Queue
from typing import Any, NamedTuple

import polars as pl

from rankframe.core.columns import Role, Side
from rankframe.core.errors import EmptyInputError, UnreadableInputError
from rankframe.core.messages import Part
from rankframe.core.records import record

_PATIENCE = 0.01  # seconds


@record
class InputRequest:
    """Hold the settings with which a source is opened.

    Attributes:
        role: what the input is; None if that is not known.
        name: what errors call the input.
        user_names: the names that the user gave to columns of any input.
        limit: how many bytes may be in memory at once; larger text goes through temporary files.
        called: what errors call the kind of input, if not by its role.
    """

    role: Role | None
    name: str
    user_names: Collection[str] = ()
    limit: int | None = None
    called: Side | None = None

    def unreadable(self, problem: str, *advice: Part) -> UnreadableInputError:
        """Return the error for an input that cannot be read."""
        return UnreadableInputError(self.name, problem, *advice)

    def empty(self) -> EmptyInputError:
        """Return the error for an input without rows."""
        return EmptyInputError(self.called or self.role or "input", self.name)


class RawTable(NamedTuple):
    """Hold a table before its columns are matched and its rows are read."""

    frame: pl.LazyFrame
    # whether any slice of the rows can be read without reading the rows before it
    seekable: bool = True
    # whether the rows are in the order of the ranking, whatever the columns are
    ranked: bool = False
    # whether numbers are text, as in CSV
    untyped: bool = False
    # how the format was recognised, if it had to be inferred from the content
    note: str = ""
    # the temporary files that hold the rows; they are removed with the last reference
    files: object = None
    # how many rows there are, if they are in memory
    rows: int | None = None

    @classmethod
    def in_memory(cls, frame: pl.DataFrame, *, ranked: bool = False) -> RawTable:
        """Wrap a frame in memory."""
        return cls(frame.lazy(), ranked=ranked, rows=frame.height)


def lazy_table(
    schema: Mapping[str, Any],
    read: Callable[[list[str], int | None], Iterator[pl.DataFrame]],
    *,
    is_pure: bool = False,
) -> pl.LazyFrame:
    """Return a lazy frame that calls `read` for its rows each time it is collected.

    Args:
        schema: the columns of the table.
        read: called with the needed columns and the number of needed rows, or None for all rows;
            yields tables with these columns.
        is_pure: whether each pass yields the same rows.
    """
    from polars.io.plugins import register_io_source  # noqa: PLC0415 (only where it is needed)

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        left, names = rows, list(schema)
        # If no column is needed, one column is read for the number of rows.
        for table in read(names if columns is None else columns or names[:1], rows):
            part = table if left is None else table.head(left)
            yield part if predicate is None else part.filter(predicate)
            if left is not None:
                left -= part.height
                if not left:
                    return

    return register_io_source(source, schema=schema, is_pure=is_pure)


def read_tables(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a frame in order, in tables as polars reads them.

    This replaces `collect_batches` of polars, which ends without an error when polars panics, as on
    damaged Parquet files: the remaining rows would be missing.
    """
    tables: Queue[pl.DataFrame | BaseException | None] = Queue(1)
    stopped = threading.Event()

    def put(table: pl.DataFrame) -> bool:
        tables.put(table)
        return stopped.is_set()

    def read() -> None:
        end = None
        try:
            frame.sink_batches(put, engine="streaming")
        except BaseException as error:  # noqa: BLE001 (raised in the thread that waits for tables)
            end = error
        tables.put(end)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while (table := tables.get()) is not None:
            if isinstance(table, BaseException):
                raise table
            yield table
    finally:
        stopped.set()
        while reader.is_alive():  # the thread may wait for room in the queue
            with suppress(Empty):
                tables.get(timeout=_PATIENCE)
