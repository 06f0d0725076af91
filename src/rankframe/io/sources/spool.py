"""Spool text that is large for the memory limit: read it once, by blocks, into Parquet files.

Each block is whole lines, and is read as any text of its format; rows and errors are as if the
text had been read whole. Later steps see files of which any slice can be read. Formats that do
not go by lines, and tables without a header, are not spooled: the caller reads them whole.
"""

from __future__ import annotations

import io
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, NoReturn

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

# Shares of a memory limit: text that is read at once, and a file of rows.
_BLOCK, _PART = 1 / 64, 1 / 16
# Blocks are no smaller and no larger than this.
_BLOCKS = 1 << 20, 1 << 24
# A line that is longer than this is none.
_LONGEST = 1 << 25
# Bytes that are unpacked to measure a file; of a larger file, the size in its trailer counts.
_LOOKED_AT = 1 << 28
# Text grows 4 to 20 times as it is unpacked; 1032 times is the most that gzip can pack.
_TIMES, _MOST_TIMES = 20, 1032

_STEP = 1 << 20


def is_large(files: Sequence[str] | Sequence[IO[bytes]], limit: int) -> bool:
    """Tell whether these files have more text than may stay in memory under a limit."""
    room = held_bytes(limit)
    for file in files:
        with Path(file).open("rb") if isinstance(file, str) else file as raw:
            room -= _text_bytes(raw, room)
        if room < 0:
            return True
    return False


def saved(head: bytes, rest: IO[bytes], folder: KeptFolder) -> str:
    """Write the content of a pipe to a file: `head`, which was read already, and the rest."""
    path = folder.path / "input"
    with room_for(folder.path), path.open("wb") as file:
        file.write(head)
        while part := rest.read(_STEP):
            file.write(part.encode() if isinstance(part, str) else part)
    return str(path)


def spooled(
    form: Format,
    files: Sequence[str],
    names: Sequence[str],
    request: InputRequest,
    folder: KeptFolder | None = None,
) -> RawTable | None:
    """Read the texts of files as one table; return None if they cannot be read by blocks.

    `names`: what messages call the files. `folder`: where they lie, if that is a temporary one.
    """
    folder = folder or KeptFolder()
    parts: list[Path] = []
    try:
        if form.name in ("JSON", "JSON Lines"):
            for file, name in zip(files, names, strict=True):
                refuse_document(file, replace(request, name=name))
        for number, (file, name) in enumerate(zip(files, names, strict=True)):
            called = replace(request, name=name)
            parts_of_file = _in_parts(file, form, called, folder.path / f"{number:05}")
            if not parts_of_file or (
                parts and form is not TREC and not _same_columns(parts[-1], parts_of_file[-1])
            ):
                return None  # read whole, the files give a table or the error that fits
            parts += parts_of_file
        with room_for(folder.path):
            frame = pl.scan_parquet(_alike(parts), glob=False)
        return RawTable(frame, untyped=form is not TREC, files=folder)
    except BaseException:
        folder.remove()
        raise


def _readable(file: str, form: Format, folder: Path) -> str:
    """Return a file as its format reads it: unpacked into a folder, if it is packed otherwise."""
    packing = beginning_of(file, 0).packing
    if packing is None or packing.name in form.packings:
        return file
    folder.mkdir(exist_ok=True)
    with opened(file) as text, (folder / "text").open("wb") as raw:
        shutil.copyfileobj(text, raw)
    return str(folder / "text")


def _in_parts(file: str, form: Format, request: InputRequest, folder: Path) -> list[Path] | None:
    """Write the text of one file to Parquet files; return None if it cannot be read by blocks."""
    reader: TrecReader | TableReader | JsonReader

    def readable() -> str:
        with room_for(folder.parent):
            return _readable(file, form, folder)

    def read(text: IO[bytes]) -> RawTable:
        return form.open([text], request)

    if form is TREC and request.role != "queries":
        role = request.role
        reader = TrecReader(role, lambda: refuse_mistakes(readable(), role, request.name))
    elif form.name in ("CSV", "TSV"):
        reader = TableReader(read)
    elif form.name in ("JSON", "JSON Lines"):
        reader = JsonReader(read, lambda: refuse_lines(readable(), request.name))
    else:
        return None
    limit = request.limit or 0
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        with room_for(folder.parent):
            folder.mkdir()
        parts = _Parts(folder, int(limit * _PART))
        blocks = _blocks(file, request.name, limit, quotes=reader.quotes)
        first = next(blocks, b"")
        if not reader.begin(first):
            return None
        above = 0
        for block in chain([first], blocks):
            parts.add(reader.table(block, above))
            above += block.count(b"\n")
        parts.flush()
        if isinstance(reader, TableReader) or not reader.end():
            break
    with room_for(folder.parent):
        for path in parts.paths if reader.dropped else ():
            _rewritten(path, lambda table: table.drop(reader.dropped, strict=False))
    return parts.paths


class _Parts:
    """Collect tables in order, and write several of them to each file."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._most, self._size = folder, size, 0
        self._tables: list[pl.DataFrame] = []
        self.paths: list[Path] = []

    def add(self, table: pl.DataFrame) -> None:
        if table.width:
            self._tables.append(table)
            self._size += size_of(table)
        if self._size > self._most:
            self.flush()

    def flush(self) -> None:
        if self._tables:
            self.paths.append(self._folder / f"{len(self.paths):07}.parquet")
            with room_for(self._folder.parent):
                _write(pl.concat(self._tables, how="diagonal_relaxed"), self.paths[-1])
            self._tables, self._size = [], 0


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path, compression="lz4", statistics=False)


def _rewritten(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    _write(change(pl.read_parquet(path, glob=False, memory_map=False)), path)


def _alike(parts: Sequence[Path]) -> list[Path]:
    """Rewrite files so that all have the columns and types of their concatenation."""
    schemas = [pl.read_parquet_schema(path) for path in parts]
    empty = {tuple(schema.items()): pl.DataFrame(schema=schema) for schema in schemas}
    whole = pl.concat(empty.values(), how="diagonal_relaxed")
    for path, schema in zip(parts, schemas, strict=True):
        if schema != whole.schema:
            _rewritten(path, lambda table: pl.concat([whole, table], how="diagonal_relaxed"))
    return list(parts)


def _same_columns(first: Path, second: Path) -> bool:
    return pl.read_parquet_schema(first) == pl.read_parquet_schema(second)


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
    """Return the end of the last line; with `quotes`, line ends inside quotation marks are text."""
    end = text.rfind(b"\n") + 1
    if not quotes or not text.count(b'"', 0, end) % 2:
        return end
    codes = np.frombuffer(text, np.uint8, end)
    outside = np.cumsum(codes == ord('"'), dtype=np.uint32) % 2 == 0
    ends = np.flatnonzero((codes == ord("\n")) & outside)
    return int(ends[-1]) + 1 if len(ends) else 0


def _text_bytes(file: IO[bytes], room: int) -> int:
    """Return how many bytes of text a file has; counting stops beyond `room`."""
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
        file.seek(-4, io.SEEK_END)  # the size that stands at the end, modulo 2^32
        (stored,) = struct.unpack("<I", file.read(4))
        return stored if size <= stored <= size * _MOST_TIMES else size * _TIMES
    file.seek(0)
    unpacked_bytes = 0
    with packing.read(file) as text:
        while unpacked_bytes <= room and (part := text.read(_STEP)):
            unpacked_bytes += len(part)
    return unpacked_bytes


class TrecReader:
    """Read TREC text in blocks of whole lines; `refuse`: refuses the whole text for a mistake."""

    # whether lines may end between quotation marks, without ending the row
    quotes = False

    def __init__(self, role: Kind | None, refuse: Callable[[], NoReturn]) -> None:
        self._role: Kind | None = role
        self._refuse = refuse
        # columns that are left out, as the whole has shown
        self.dropped: tuple[str, ...] = ()
        # of the scores: text where floats may not hold one of them
        self._types: set[pl.DataType] = set()

    def begin(self, block: bytes) -> bool:  # noqa: ARG002
        """Look at the first block; return False if such a text must be read in another way."""
        return True

    def table(self, block: bytes, above: int) -> pl.DataFrame:  # noqa: ARG002
        """Read a block that follows `above` lines; return no columns if the block is empty."""
        exact = pl.String in self._types
        table = None if exact else read_even(io.BytesIO(block), self._role)
        if table is None:
            table = read_lines(io.BytesIO(block), self._role, exact=exact)
        if table is None:
            self._refuse()
        if SCORE in table.columns:
            self._role = "run"
            self._types.add(table[SCORE].dtype)
            if RANK not in table.columns:
                self.dropped = (RANK,)  # one that is no number says that none of them are ranks
        elif table.width:
            self._role = "qrels"
        return table

    def end(self) -> bool:
        """Return whether to read once more: some scores are text, and others numbers."""
        again = len(self._types) > 1
        self._types &= {pl.String()}
        return again


class TableReader:
    """Read a table with a header, CSV or TSV, in blocks of whole rows; `read`: reads a table."""

    quotes = True
    dropped = ()

    def __init__(self, read: Callable[[IO[bytes]], RawTable]) -> None:
        self._read = read
        self._header = b""
        self._first = True

    def begin(self, block: bytes) -> bool:
        """Take the first line as the header; return False if it is a row, or ends inside quotes."""
        end = block.find(b"\n") + 1
        if not end or block.count(b'"', 0, end) % 2:
            return False
        self._header = block[:end]
        return (table := self._frame(self._header)) is not None and table.is_empty()

    def table(self, block: bytes, above: int) -> pl.DataFrame:
        """Read a block of CSV text; a later block gets the header of the first block."""
        table = self._frame(block if not above else self._header + block)
        assert table is not None  # its header is that of the first
        return table

    def _frame(self, text: bytes) -> pl.DataFrame | None:
        table = self._read(io.BytesIO(text))
        return None if table.note else table.frame.collect()


class JsonReader:
    """Read JSON Lines block by block.

    Args:
        read: reads a block of text.
        refuse: raises the error for a malformed line.
    """

    quotes = False
    dropped = ()

    def __init__(
        self, read: Callable[[IO[bytes]], RawTable], refuse: Callable[[], NoReturn]
    ) -> None:
        self._read, self._refuse = read, refuse
        self._schemas: dict[tuple[tuple[str, pl.DataType], ...], None] = {}
        # of the whole text, if blocks alone have other types
        self._schema: pl.Schema | None = None

    def begin(self, block: bytes) -> bool:
        """Return whether each line is a row that polars reads as it is, without restructuring."""
        try:
            schema = self._read(io.BytesIO(block)).frame.collect_schema()
        except MalformedLineError:
            self._refuse()
        return (
            schema == pl.scan_ndjson(io.BytesIO(block), infer_schema_length=None).collect_schema()
        )

    def table(self, block: bytes, above: int) -> pl.DataFrame:  # noqa: ARG002
        """Read a block."""
        if not block.strip():
            return pl.DataFrame()
        if self._schema is not None:
            return pl.scan_ndjson(io.BytesIO(block), schema=self._schema).collect()
        try:
            table = open_json_lines([io.BytesIO(block)], "").collect()
        except MalformedLineError:
            self._refuse()
        self._schemas[tuple(table.schema.items())] = None
        return table

    def end(self) -> bool:
        """Return whether to read once more: a column has numbers in some blocks and text in others.

        In the second pass, polars itself reads the numbers as text.
        """
        if self._schema is not None:
            return False
        empty = [pl.DataFrame(schema=dict(schema)) for schema in self._schemas]
        whole = pl.concat(empty, how="diagonal_relaxed").schema
        same = all(
            kind in (pl.Null, whole[name]) for schema in self._schemas for name, kind in schema
        )
        self._schema = None if same else whole
        return not same
