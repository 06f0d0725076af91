"""Spool text that is too large for the memory limit: read it in blocks, and write Parquet files.

A block consists of whole lines, and the reader of its format reads it. Rows and errors are the same
as if the text had been read as a whole. Any slice of the Parquet files can then be read alone.
Formats that are not line by line, and tables without a header, are not spooled: the caller reads
them as a whole.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, NoReturn, TypeAlias

import numpy as np
import polars as pl

from rankframe.core.columns import RANK, SCORE
from rankframe.core.errors import MalformedLineError, UnreadableInputError
from rankframe.core.threads import size_of
from rankframe.io.formats.json_text import open_json_lines, refuse_document, refuse_lines
from rankframe.io.formats.packing import beginning_of, held_bytes, opened, packing_of
from rankframe.io.formats.registry import TREC, Format
from rankframe.io.formats.trec_format import Kind, read_even, read_lines, refuse_mistakes
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.scratch import KeptFolder, room_for

# Shares of a memory limit: for a block of text, and for the rows of one Parquet file.
_BLOCK, _PART = 1 / 64, 1 / 16
# The smallest and the largest size of a block, in bytes.
_BLOCKS = 1 << 20, 1 << 24
# A longer line means that the text is not made of lines.
_LONGEST = 1 << 25
# Bytes that are decompressed to measure a file; for a larger file, the size in its trailer is used.
_LOOKED_AT = 1 << 28
# Decompressed text is 4 to 20 times as large; the largest factor that gzip can reach is 1032.
_TIMES, _MOST_TIMES = 20, 1032

_STEP = 1 << 20
_JSON, _WITH_QUOTES = ("JSON", "JSON Lines"), ("CSV", "TSV")
Types: TypeAlias = Mapping[str, pl.DataType]
Columns: TypeAlias = tuple[tuple[str, pl.DataType], ...]
# A function that reads a block of whole lines, given the types of the whole text or None.
ReadBlock: TypeAlias = Callable[[bytes, Types | None], pl.DataFrame]


def is_large(files: Sequence[str] | Sequence[IO[bytes]], limit: int) -> bool:
    """Tell whether these files have more text than may stay in memory under a limit."""
    room = held_bytes(limit)
    for file in files:
        with Path(file).open("rb") if isinstance(file, str) else file as raw:
            room -= _text_bytes(raw, room)
        if room < 0:
            return True
    return False


def saved(text: IO[bytes], path: Path, head: bytes = b"") -> str:
    """Write an open file to a path, after `head`, which was read already; return the path."""
    with room_for(path.parent), path.open("wb") as file:
        file.write(head)
        while part := text.read(_STEP):
            file.write(part.encode() if isinstance(part, str) else part)
    return str(path)


def spooled(
    form: Format,
    files: Sequence[str],
    names: Sequence[str],
    request: InputRequest,
    folder: KeptFolder | None = None,
) -> RawTable | None:
    """Write the texts of files to Parquet by blocks, and scan these; None if that is not possible.

    `names`: what messages call the files. `folder`: the temporary folder with the files, if any.
    """
    folder = folder or KeptFolder()
    spools: list[_Spool] = []
    try:
        if form.name in _JSON:
            for file, name in zip(files, names, strict=True):
                refuse_document(file, replace(request, name=name))
        for number, (file, name) in enumerate(zip(files, names, strict=True)):
            called = replace(request, name=name)
            spool = _spool_file(file, form, called, folder.path / f"{number:05}")
            if spool is None:
                return None
            spools.append(spool)
        types = [spool.types() for spool in spools]
        alike = all(columns == types[0] for columns in types)
        if not alike and form is not TREC:
            return None  # reading the files as a whole gives a table or the right error
        if alike:  # in a single scan, any slice of rows can be read alone
            frame = _scan([path for spool in spools for path in spool.paths], types[0])
        else:
            frames = [_scan(spool.paths, spool.types()) for spool in spools]
            frame = pl.concat(frames, how="diagonal_relaxed")
        return RawTable(frame, seekable=alike, untyped=form is not TREC, files=folder)
    except BaseException:
        folder.remove()
        raise


def _spool_file(file: str, form: Format, request: InputRequest, folder: Path) -> _Spool | None:
    """Write the text of one file to Parquet files; return None if it cannot be read by blocks."""
    limit, quotes = request.limit or 0, form.name in _WITH_QUOTES
    with room_for(folder.parent):
        folder.mkdir()
    first = next(_blocks(file, request.name, limit, quotes=quotes), b"")
    read = _reader_of(file, form, request, folder, first)
    types = None
    while read is not None:
        spool = _Spool(folder, int(limit * _PART))
        for block in _blocks(file, request.name, limit, quotes=quotes):
            spool.add(read(block, types))
        spool.flush()
        types = spool.types()
        if form is TREC and any(RANK not in dict(columns) for columns in spool.schemas):
            types.pop(RANK, None)  # if a rank is no number, the column is not used as ranks
        if not spool.differs_from(types):
            return spool if spool.paths else None
    return None


def _reader_of(
    file: str, form: Format, request: InputRequest, folder: Path, first: bytes
) -> ReadBlock | None:
    """Return the function that reads the blocks of a text; None if it must be read whole.

    `first` is the first block. If a line has a mistake, the function refuses the whole text.
    """

    def readable() -> str:
        packing = beginning_of(file, 0).packing
        if packing is None or packing.name in form.packings:
            return file
        with opened(file) as text:
            return saved(text, folder / "text")

    def open_block(block: bytes) -> RawTable:
        return form.open([io.BytesIO(block)], request)

    if form is TREC and request.role != "queries":
        role = request.role
        return _trec_reader(role, lambda: refuse_mistakes(readable(), role, request.name))
    if form.name in _WITH_QUOTES:
        return _table_reader(open_block, first)
    if form.name in _JSON:
        return _json_reader(open_block, first, lambda: refuse_lines(readable(), request.name))
    return None


class _Spool:
    """Collect the tables of one text in order, and write several of them to each file."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._most, self._size = folder, size, 0
        self._tables: list[pl.DataFrame] = []
        self.paths: list[Path] = []
        # the names and types of the columns of the tables, each combination once
        self.schemas: dict[Columns, None] = {}

    def add(self, table: pl.DataFrame) -> None:
        """Add a table; a table without columns is left out."""
        if table.width:
            self._tables.append(table)
            self._size += size_of(table)
            self.schemas[tuple(table.schema.items())] = None
        if self._size > self._most:
            self.flush()

    def flush(self) -> None:
        """Write the tables that are not written yet."""
        if self._tables:
            self.paths.append(self._folder / f"{len(self.paths):07}.parquet")
            with room_for(self._folder.parent):
                _write(pl.concat(self._tables, how="diagonal_relaxed"), self.paths[-1])
            self._tables, self._size = [], 0

    def types(self) -> pl.Schema:
        """Return the columns of all tables, each with a type that can hold all of its values."""
        empty = [pl.DataFrame(schema=dict(columns)) for columns in self.schemas]
        return pl.concat([*empty, pl.DataFrame()], how="diagonal_relaxed").schema

    def differs_from(self, types: Types) -> bool:
        """Return whether a column that is not all null has another type than in `types`."""
        columns = (column for columns in self.schemas for column in columns)
        return any(kind not in (pl.Null, types.get(name)) for name, kind in columns)


def _scan(paths: list[Path], types: Types) -> pl.LazyFrame:
    """Scan Parquet files; a column that a file lacks is null in its rows."""
    return pl.scan_parquet(paths, schema=types, missing_columns="insert", glob=False)


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path, compression="lz4", statistics=False)


def _blocks(file: str, name: str, limit: int, *, quotes: bool) -> Iterator[bytes]:
    """Yield the unpacked text of a file in blocks of whole lines."""
    smallest, largest = _BLOCKS
    size = min(max(int(limit * _BLOCK), smallest), largest)
    rest = b""
    with opened(file) as text:
        while chunk := text.read(size):
            rest += chunk
            end = _last_line(rest, quotes=quotes)
            if end:
                yield rest[:end]
                rest = rest[end:]
            elif len(rest) > _LONGEST:
                advice = "Is a quotation mark missing?" if quotes else ""
                problem = f"one of its lines has more than {len(rest):,} bytes"
                raise UnreadableInputError(name, problem, advice)
    if rest:
        yield rest


def _last_line(text: bytes, *, quotes: bool) -> int:
    """Return the offset after the last complete line; 0 if there is none.

    With `quotes`, line ends inside quotation marks are text.
    """
    end = text.rfind(b"\n") + 1
    if not quotes or not text.count(b'"', 0, end) % 2:
        return end
    codes = np.frombuffer(text, np.uint8, end)
    outside = np.cumsum(codes == ord('"'), dtype=np.uint32) % 2 == 0
    ends = np.flatnonzero((codes == ord("\n")) & outside)
    return int(ends[-1]) + 1 if len(ends) else 0


def _text_bytes(file: IO[bytes], room: int) -> int:
    """Return how many bytes a file has when decompressed; counting stops beyond `room`."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    packing = packing_of(file.read(4))
    if packing is None or size > room:
        return size
    if packing.name == "gzip" and size * _MOST_TIMES <= room:
        return size
    if room > _LOOKED_AT:
        if packing.name != "gzip":
            return size * _TIMES
        file.seek(-4, io.SEEK_END)  # gzip's trailer: the size modulo 2^32
        (stored,) = struct.unpack("<I", file.read(4))
        return stored if size <= stored <= size * _MOST_TIMES else size * _TIMES
    file.seek(0)
    unpacked_bytes = 0
    with packing.read(file) as text:
        while unpacked_bytes <= room and (part := text.read(_STEP)):
            unpacked_bytes += len(part)
    return unpacked_bytes


def _trec_reader(role: Kind | None, refuse: Callable[[], NoReturn]) -> ReadBlock:
    """Return a function that reads blocks of TREC text and calls `refuse` on a malformed line."""

    def read(block: bytes, types: Types | None) -> pl.DataFrame:
        nonlocal role
        exact = types is not None and types.get(SCORE) == pl.String  # floats cannot hold the scores
        table = None if exact else read_even(io.BytesIO(block), role)
        if table is None:
            table = read_lines(io.BytesIO(block), role, exact=exact)
        if table is None:
            refuse()
        if table.width:
            role = "run" if SCORE in table.columns else "qrels"
        return table if types is None else table.select(filter(types.__contains__, table.columns))

    return read


def _table_reader(open_block: Callable[[bytes], RawTable], first: bytes) -> ReadBlock | None:
    """Return a function that reads blocks of CSV or TSV; None if the text has no header."""
    end = first.find(b"\n") + 1
    if not end or first.count(b'"', 0, end) % 2:
        return None
    head = open_block(first[:end])
    if head.note or not head.frame.collect().is_empty():
        return None
    header = b""

    def read(block: bytes, types: Types | None) -> pl.DataFrame:  # noqa: ARG001
        nonlocal header
        table = open_block(header + block).frame.collect()
        header = first[:end]  # the first block already has the header
        return table

    return read


def _json_reader(
    open_block: Callable[[bytes], RawTable], first: bytes, refuse: Callable[[], NoReturn]
) -> ReadBlock | None:
    """Return a function that reads blocks of JSON Lines; None unless each line is a row.

    `refuse` raises the error for a malformed line.
    """

    def read(block: bytes, types: Types | None) -> pl.DataFrame:
        if not block.strip():
            return pl.DataFrame()
        if types is not None:
            return pl.scan_ndjson(io.BytesIO(block), schema=types).collect()
        try:
            return open_json_lines([io.BytesIO(block)], [""]).collect()
        except MalformedLineError:
            refuse()

    try:
        schema = open_block(first).frame.collect_schema()
    except MalformedLineError:
        refuse()
    rows = pl.scan_ndjson(io.BytesIO(first), infer_schema_length=None)
    return read if schema == rows.collect_schema() else None
