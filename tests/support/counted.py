"""Provide lazy frames that count how often they are read, or change between reads."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from polars.io.plugins import register_io_source

from rankframe.io.opening import open_table


class Counted:
    """Count how often a lazy frame is read; the frame holds what `open_table` reads."""

    def __init__(self, source: object, role: str) -> None:
        self.rows = open_table(source, role).frame.collect()  # pyright: ignore[reportArgumentType]
        self.reads = 0
        self.frame = register_io_source(self._read, schema=self.rows.schema, is_pure=True)

    def _read(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        self.reads += 1
        rows = self.rows if n_rows is None else self.rows.head(n_rows)
        rows = rows if with_columns is None else rows.select(with_columns)
        yield rows if predicate is None else rows.filter(predicate)


class Changing:
    """Make a lazy frame that has other rows, or raises an exception, each time it is read. The last
    of `turns` is repeated.
    """

    def __init__(self, *turns: pl.DataFrame | Exception, schema: pl.Schema) -> None:
        self.turns = list(turns)
        self.frame = register_io_source(self._read, schema=schema, is_pure=True)

    def _read(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        rows = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(rows, Exception):
            raise rows
        rows = rows if n_rows is None else rows.head(n_rows)
        rows = rows if with_columns is None else rows.select(with_columns)
        yield rows if predicate is None else rows.filter(predicate)
