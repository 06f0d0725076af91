"""Read Parquet files with categories as text.

polars numbers categories over all row groups, which takes several times as long as reading them; in
the files they are texts, each once a row group, and numbers that point to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

_ROWS = 1 << 17  # as many as polars reads at a time


def categories_as_text(files: Sequence[object], frame: pl.LazyFrame) -> pl.LazyFrame | None:
    """Scan local files with text in place of categories; return None without categories.

    `frame`: the same rows with categories.
    """
    schema = frame.collect_schema()
    local = [file for file in files if isinstance(file, str) and "://" not in file]
    if pl.Categorical not in schema.dtypes() or len(local) < len(files):
        return None
    from polars.io.plugins import register_io_source  # noqa: PLC0415 (only where it is needed)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        for file in local:
            for table in _tables(file, columns or schema.names()):
                part = table if rows is None else table.head(rows)
                yield part if predicate is None else part.filter(predicate)
                if rows is not None:
                    rows -= part.height
                    if not rows:
                        return

    texts = {n: pl.String() if kind == pl.Categorical else kind for n, kind in schema.items()}
    return register_io_source(read, schema=texts)


def _tables(file: str, columns: list[str]) -> Iterator[pl.DataFrame]:
    # Takes longer than polars to import.
    from pyarrow import ArrowException  # noqa: PLC0415
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415

    try:
        with ParquetFile(file) as opened:
            for batch in opened.iter_batches(_ROWS, columns=columns):
                yield pl.DataFrame([_text(name, batch.column(name)) for name in columns])
    except ArrowException as error:  # as polars says that it cannot read a file
        raise pl.exceptions.ComputeError(str(error)) from error


def _text(name: str, column: Any) -> pl.Series:
    """Return a column of pyarrow's table, with text in place of categories."""
    if not hasattr(column, "dictionary"):
        return pl.Series(name, column)
    texts, numbers = pl.Series(name, column.dictionary), pl.Series(column.indices)
    return texts[numbers] if not numbers.null_count() else texts.gather(numbers)
