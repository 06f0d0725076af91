"""Read tables of other libraries as a LazyFrame: from memory, a stream or a temporary file.

Tables in memory (pyarrow, pandas) are used as they are. A dataset is scanned by batches in every
pass, with the needed columns only. Any other stream is read once, since it may not be repeatable or
be slow to repeat (a query of DuckDB), while evaluations may need several passes. A small stream is
held in memory. A large stream is written to a temporary Parquet file, which is unlinked at once:
the disk space is freed with the last frame that uses the file, or with the process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.core.errors import EmptyInputError, RankframeError, UnreadableInputError
from rankframe.io.formats.registry import reading
from rankframe.io.raw_table import InputRequest, RawTable, lazy_table
from rankframe.io.scratch import room_for, scratch_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset as pads

# Bytes of a stream that are held in memory; a larger stream is written to a temporary file.
_HELD = 1 << 26
# Rows of a batch, and of a row group. (10M rows: twice as many take 100 to 200 MB more.)
_ROWS = 1 << 16
# Batches and files of a dataset that are read ahead. (By default 16 and 4:
# 300 MB more for 10M rows, in no less time.)
_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}
# Classes that are a single column, as (module, class).
_COLUMNS = (("pandas", "Series"), ("pyarrow", "ChunkedArray"), ("pyarrow", "Array"))


def open_arrow(source: Any, request: InputRequest) -> RawTable | None:
    """Open a table, stream or dataset of another library; return None for any other object."""
    name = request.name
    if isinstance(source, pl.Series) or any(_is(source, *kind) for kind in _COLUMNS):
        advice = "Pass a frame: a column each for queries and documents"
        raise request.unreadable("this is a single column", advice)
    if _is(source, "pandas", "DataFrame"):
        return RawTable.in_memory(_from_pandas(source, name))
    if _is(source, "pyarrow.dataset", "Dataset"):
        return RawTable(_scanned(source, name), seekable=False)
    if _is(source, "pyarrow.dataset", "Scanner"):
        return RawTable(_read_once(source.to_reader(), request))
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    if _is(source, "pyarrow", "Table") or _is(source, "pyarrow", "RecordBatch"):
        with _explained(name):
            return RawTable.in_memory(pl.DataFrame(source))
    return RawTable(_read_once(source, request))


def _is(source: object, module: str, kind: str) -> bool:
    """Return whether an object is of a class, without importing the module of the class."""
    class_ = getattr(sys.modules.get(module), kind, None)
    return isinstance(class_, type) and isinstance(source, class_)


def _from_pandas(source: Any, name: str) -> pl.DataFrame:
    """Return a frame of pandas with the named levels of its index: `query_id` is often one."""
    if twice := sorted({str(column) for column in source.columns[source.columns.duplicated()]}):
        problem = f"it has several columns with the same name, e.g. {twice[0]!r}"
        raise UnreadableInputError(name, problem, "Rename or drop them")
    with _explained(name):
        named = [
            level
            for level in source.index.names
            if level is not None and level not in source.columns
        ]
        return pl.DataFrame(source.reset_index(level=named) if named else source)


def _scanned(source: pads.Dataset, name: str) -> pl.LazyFrame:
    """Return a lazy frame that reads a pyarrow dataset in batches, anew in each pass."""

    def read(columns: list[str], _rows: int | None) -> Iterator[pl.DataFrame]:
        with _explained(name):
            for batch in source.to_batches(columns=columns, batch_size=_ROWS, **_AHEAD):
                yield _plain(pl.DataFrame(batch))

    with _explained(name):
        schema = _schema(source.schema)
    return lazy_table(schema, read, is_pure=True)


def _read_once(source: Any, request: InputRequest) -> pl.LazyFrame:
    """Read a stream to its end: into memory if it is small, else into a temporary file."""
    import pyarrow as pa  # noqa: PLC0415 (only where it is needed)

    with _explained(request.name):
        reader = pa.RecordBatchReader.from_stream(source)
        schema, size, begun = _schema(reader.schema), 0, []
        for batch in reader:
            begun.append(_plain(pl.DataFrame(batch)))
            size += batch.nbytes
            if size > _HELD:
                return _spooled(begun, reader, schema, request.name)
        table = pl.concat([*begun, pl.DataFrame(schema=schema)], rechunk=True)
    if table.is_empty() and _is(source, "pyarrow", "RecordBatchReader"):
        advice = (
            "A reader can be read only once. If this one has been read before, make a new one, or "
            "pass a table"
        )
        raise EmptyInputError(request.role or "input", request.name, advice)
    return table.lazy()


def _spooled(
    begun: list[pl.DataFrame], reader: pa.RecordBatchReader, schema: pl.Schema, name: str
) -> pl.LazyFrame:
    """Write a stream (the batches `begun`, then `reader`) to a temporary file, and scan it."""

    def read(_columns: list[str], _rows: int | None) -> Iterator[pl.DataFrame]:
        while begun:
            yield begun.pop(0)
        with _explained(name):
            for batch in reader:
                yield _plain(pl.DataFrame(batch))

    with scratch_folder() as folder:
        path = folder / "stream.parquet"
        with reading(name), room_for(folder):
            lazy_table(schema, read).sink_parquet(
                path, compression="lz4", statistics=False, row_group_size=_ROWS, engine="streaming"
            )
        with path.open("rb") as file:  # the frame keeps the file open after it is unlinked
            return pl.scan_parquet(file)


def _schema(schema: pa.Schema) -> pl.Schema:
    return _plain(pl.DataFrame(schema.empty_table())).schema


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn categories into text, since every batch numbers them in its own way."""
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn another library's error inside the block into an error of one sentence."""
    try:
        yield
    except RankframeError:
        raise
    except Exception as error:  # whatever the library raises
        reason = str(error).split("Detail: Python exception")[0].strip().split("\n")[0]
        raise UnreadableInputError(
            name,
            f"it cannot be turned into Arrow data ({reason.rstrip(' .') or type(error).__name__})",
        ) from error
