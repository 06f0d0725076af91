"""Text that is large beside the memory there is: read once, block by block, into Parquet files.

Each block is whole lines, and is read as any text of its format; what is found, and what is wrong,
is the same as if the text had been read whole. Whatever follows sees files of which any stretch can
be read. Formats that do not go by lines, and tables whose header is not one, are left to whoever
reads them whole.
"""

from __future__ import annotations

import io
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import polars as pl

from rankframe.core.columns import Role
from rankframe.core.errors import UnreadableInputError
from rankframe.io.formats.line_readers import JsonReader, LineReader, TableReader, TrecReader
from rankframe.io.formats.packing import opened, packing_of
from rankframe.io.scratch import KeptFolder, room_for

# Of a limit, how much text is held in memory, read at once, and written to a file.
_HELD, _BLOCK, _PART = 1 / 8, 1 / 64, 1 / 16
# Text that is held whatever the limit; blocks are no smaller and no larger than this.
_SMALL = 1 << 23
_BLOCKS = 1 << 20, 1 << 24
# A line that is longer than this is none.
_LONGEST = 1 << 25
# How much is unpacked to see how much there is; beyond, what a file says of itself is believed.
_LOOKED_AT = 1 << 28
# Text grows 4 to 20 times as it is unpacked, and at the most so many times.
_TIMES, _MOST_TIMES = 20, 1032

_STEP = 1 << 20
_TREC = "TREC text"

# Reads a text of some format that is held in memory.
Read = Callable[[IO[bytes]], object]


class Spooled(NamedTuple):
    """A table in temporary files, and what keeps these."""

    frame: pl.LazyFrame
    folder: KeptFolder


def held_bytes(limit: int) -> int:
    """How much text is held in memory, where so much may be taken."""
    return max(int(limit * _HELD), _SMALL)


def is_large(files: Sequence[str] | Sequence[IO[bytes]], limit: int) -> bool:
    """Whether these files hold more text than is held in memory."""
    room = held_bytes(limit)
    for file in files:
        with Path(file).open("rb") if isinstance(file, str) else file as raw:
            room -= _text_bytes(raw, room)
        if room < 0:
            return True
    return False


def read_until(file: IO[bytes], most: int | None) -> bytes:
    """What an open file holds: all of it, or more than so much."""
    if most is None:
        content = file.read()
        return content.encode() if isinstance(content, str) else content
    parts: list[bytes] = []
    while most >= 0 and (part := file.read(_STEP)):  # which may be less than was asked for
        parts.append(part.encode() if isinstance(part, str) else part)
        most -= len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def saved(head: bytes, rest: IO[bytes], folder: KeptFolder) -> str:
    """What comes through a pipe, in a file."""
    path = folder.path / "input"
    with room_for(folder.path), path.open("wb") as file:
        file.write(head)
        while part := rest.read(_STEP):
            file.write(part.encode() if isinstance(part, str) else part)
    return str(path)


def spooled(
    files: Sequence[str],
    kind: str,
    role: Role | None,
    names: Sequence[str],
    limit: int,
    read: Read,
    folder: KeptFolder | None = None,
) -> Spooled | None:
    """The texts of files as a table; None where they cannot be read so.

    `kind`: the name of their format; `names`: how messages call the files; `read`: reads a text
    of this format. `folder`: where they lie, if that is a temporary one.
    """
    folder = folder or KeptFolder()
    parts: list[Path] = []
    try:
        for number, (file, name) in enumerate(zip(files, names, strict=True)):
            found = _in_parts(file, kind, role, name, limit, read, folder.path / f"{number:05}")
            if not found or (parts and kind != _TREC and not _same_columns(parts[-1], found[-1])):
                return None  # whoever reads them whole says what he thinks of it
            parts += found
        with room_for(folder.path):
            frame = pl.scan_parquet(_alike(parts), glob=False)
    except BaseException:
        folder.remove()
        raise
    return Spooled(frame, folder)


def _in_parts(
    file: str, kind: str, role: Role | None, name: str, limit: int, read: Read, folder: Path
) -> list[Path] | None:
    """The text of one file in Parquet files."""
    reader = _reader(kind, role, name, read)
    if reader is None:
        return None
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        with room_for(folder.parent):
            folder.mkdir()
        parts = _Parts(folder, int(limit * _PART))
        blocks = _blocks(file, name, limit, quotes=reader.quotes)
        first = next(blocks, b"")
        if not reader.begin(first):
            return None
        above = 0
        for block in chain([first], blocks):
            parts.add(reader.table(block, above))
            above += block.count(b"\n")
        parts.flush()
        if not reader.end():
            break
    with room_for(folder.parent):
        for path in parts.paths if reader.dropped else ():
            _rewritten(path, lambda table: table.drop(reader.dropped, strict=False))
    return parts.paths


def _reader(kind: str, role: Role | None, name: str, read: Read) -> LineReader | None:
    if kind == _TREC and role != "queries":
        return TrecReader(role, name)
    if kind in ("CSV", "TSV"):
        return TableReader(read)
    return JsonReader(name, read) if kind == "JSON Lines" else None


class _Parts:
    """Tables as they come, several of them to a file."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._most, self._size = folder, size, 0
        self._tables: list[pl.DataFrame] = []
        self.paths: list[Path] = []

    def add(self, table: pl.DataFrame) -> None:
        if table.width:
            self._tables.append(table)
            self._size += table.estimated_size()
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
    """Files with the same columns of the same types, as if the tables had been put together."""
    schemas = [pl.read_parquet_schema(path) for path in parts]
    empty = [pl.DataFrame(schema=dict(one)) for one in dict.fromkeys(map(_hashable, schemas))]
    whole = pl.concat(empty, how="diagonal_relaxed")
    for path, schema in zip(parts, schemas, strict=True):
        if schema != whole.schema:
            _rewritten(path, lambda table: pl.concat([whole, table], how="diagonal_relaxed"))
    return list(parts)


def _same_columns(one: Path, other: Path) -> bool:
    return pl.read_parquet_schema(one) == pl.read_parquet_schema(other)


def _hashable(schema: pl.Schema | dict[str, pl.DataType]) -> tuple[tuple[str, pl.DataType], ...]:
    return tuple(schema.items())


def _blocks(file: str, name: str, limit: int, *, quotes: bool) -> Iterator[bytes]:
    """What a file holds, unpacked: whole lines, some at a time."""
    least, most = _BLOCKS
    size = min(max(int(limit * _BLOCK), least), most)
    rest = b""
    with opened(file) as text:
        while chunk := text.read(size):
            rest += chunk
            end = _last_line(rest, quotes=quotes)
            if end:
                yield rest[:end]
                rest = rest[end:]
            elif len(rest) > _LONGEST:
                raise UnreadableInputError(
                    name,
                    f"one of its lines has more than {len(rest):,} bytes",
                    "Is a quotation mark missing?" if quotes else "",
                )
    if rest:
        yield rest


def _last_line(text: bytes, *, quotes: bool) -> int:
    """Where the last line ends; of `quotes`, no line ends between them."""
    end = text.rfind(b"\n") + 1
    if not quotes or not text.count(b'"', 0, end) % 2:
        return end
    codes = np.frombuffer(text, np.uint8, end)
    outside = np.cumsum(codes == ord('"'), dtype=np.uint32) % 2 == 0
    ends = np.flatnonzero((codes == ord("\n")) & outside)
    return int(ends[-1]) + 1 if len(ends) else 0


def _text_bytes(file: IO[bytes], room: int) -> int:
    """How much text a file holds, as far as that matters where there is so much room."""
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
        (said,) = struct.unpack("<I", file.read(4))
        return said if size <= said <= size * _MOST_TIMES else size * _TIMES
    file.seek(0)
    found = 0
    with packing.read(file) as text:
        while found <= room and (part := text.read(_STEP)):
            found += len(part)
    return found
