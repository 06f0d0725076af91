"""Compute the columns of a frame on demand, eagerly or as a LazyFrame: only columns in use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from rankframe.core.arrays import Flags
from rankframe.core.columns import ColumnRequest, FrameColumns


class ColumnFrame:
    """Hold the rows of a frame as flat arrays, from which columns are computed on demand."""

    columns: FrameColumns

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """Return a frame of the given columns; compute no other columns."""
        return pl.DataFrame([*map(self.column, columns)])

    def column(self, name: str) -> pl.Series:
        """Return a column by its name, which may have parameters."""
        request = self.columns.request(name)
        values = self._compute(request)
        return pl.Series(name, values, dtype=self.columns.columns[request.column].type)

    @abstractmethod
    def _compute(self, request: ColumnRequest) -> NDArray[Any] | pl.Series:
        """Return the values of a column; the caller casts them to the column's type."""


def where(flags: Flags, values: NDArray[Any]) -> pl.Series:
    """Return `values` as a series that is null where `flags` is false."""
    column = pl.Series("values", values)
    return column.zip_with(pl.Series("flags", flags), pl.Series([None], dtype=column.dtype))


def lazy_frame(
    schema: Mapping[str, pl.DataType], make: Callable[[set[str]], pl.DataFrame]
) -> pl.LazyFrame:
    """Return a LazyFrame whose rows come from the callback `make` when it is collected.

    On collection, `make` is called with the names of the columns in use, and returns a frame with
    at least these columns.
    """

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001 (part of polars' protocol)
    ) -> Iterator[pl.DataFrame]:
        columns = list(schema) if with_columns is None else with_columns
        frame = make({*columns, *(predicate.meta.root_names() if predicate is not None else ())})
        if n_rows is not None:  # in polars' protocol, the limit applies before the predicate
            frame = frame.head(n_rows)
        if predicate is not None:
            frame = frame.filter(predicate)
        yield frame.select(columns)

    return register_io_source(source, schema=dict(schema))
