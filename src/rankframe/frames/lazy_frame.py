"""A frame of ours as a LazyFrame: computed when it is collected, and no more of it than is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl
from polars.io.plugins import register_io_source


def lazy_frame(
    schema: Mapping[str, pl.DataType], make: Callable[[set[str]], pl.DataFrame]
) -> pl.LazyFrame:
    """A LazyFrame of this schema; `make` computes (at least) the columns it is asked for."""

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001 (part of polars' protocol)
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if with_columns is None else with_columns
        frame = make({*wanted, *(predicate.meta.root_names() if predicate is not None else ())})
        if n_rows is not None:  # polars means these rows to be cut before the predicate
            frame = frame.head(n_rows)
        if predicate is not None:
            frame = frame.filter(predicate)
        yield frame.select(wanted)

    return register_io_source(source, schema=dict(schema))
