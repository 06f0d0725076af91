"""Recognise and undo the compression of files: gzip, zstd and bzip2, by their first bytes.

polars decompresses gzip and zstd as it reads. Files that it cannot decompress (bzip2), and pipes,
are decompressed into memory, up to a bound that stops decompression bombs.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import polars as pl

from rankframe.core.errors import UnreadableInputError
from rankframe.core.records import record

# Columns of a table of lines.
LINE, NUMBER = "_line", "_number"
# Share of a memory limit that text in memory may take; bytes that it may take whatever the limit.
_HELD, _SMALL = 1 / 8, 1 << 23
# Bytes that are decompressed at a time; size and growth factor beyond which content is refused as a
# decompression bomb. (Runs and judgments grow by a factor of 4 to 20.)
STEP, _MOST_UNPACKED, _MOST_TIMES = 1 << 22, 1 << 30, 100


@record
class Packing:
    """Describe a compression: its name, ending and first bytes, its reader and its writer."""

    name: str
    ending: str
    begins: bytes
    read: Callable[[IO[bytes]], Any]
    write: Callable[[IO[bytes]], Any]


def _unpack_zstd(file: IO[bytes]) -> IO[bytes]:
    import pyarrow as pa  # noqa: PLC0415 (takes longer than polars to import)

    # Arrow's file object cannot be read line by line: wrap it in a Python one.
    return cast("IO[bytes]", io.BufferedReader(pa.CompressedInputStream(file, "zstd")))


def _pack_zstd(file: IO[bytes]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (takes longer than polars to import)

    return pa.CompressedOutputStream(file, "zstd")


def _pack_gzip(file: IO[bytes]) -> Any:
    # Without a name and a timestamp, so that the same frame gives the same bytes.
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


PACKINGS = (
    Packing("gzip", ".gz", b"\x1f\x8b", gzip.open, _pack_gzip),
    Packing("zstd", ".zst", b"\x28\xb5\x2f\xfd", _unpack_zstd, _pack_zstd),
    Packing("bzip2", ".bz2", b"BZh", bz2.open, partial(bz2.open, mode="wb")),
)
# Compressions that polars decompresses as it reads text.
NATIVE = ("gzip", "zstd")
ENDINGS = tuple(packing.ending for packing in PACKINGS)


def packing_of(head: bytes) -> Packing | None:
    """Return the compression of a file that begins with these bytes, or None."""
    return next((packing for packing in PACKINGS if head.startswith(packing.begins)), None)


def by_name(path: str | Path) -> Packing | None:
    """Return the compression that the ending of a path stands for, or None."""
    ending = Path(path).suffix.lower()
    return next((packing for packing in PACKINGS if packing.ending == ending), None)


def bare_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without the ending of its compression."""
    name = Path(path).name
    packing = by_name(name)
    return name[: -len(packing.ending)] if packing else name


def held_bytes(limit: int) -> int:
    """Return how many bytes of text may be held in memory under a limit of `limit` bytes."""
    return max(int(limit * _HELD), _SMALL)


def read_until(file: IO[bytes], limit: int | None) -> bytes:
    """Read an open file: to its end if `limit` is None, else until more than `limit` bytes."""
    if limit is None:
        return _as_bytes(file.read())
    parts: list[bytes] = []
    while limit >= 0 and (part := file.read(STEP)):  # `read` may return fewer bytes than requested
        parts.append(_as_bytes(part))
        limit -= len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(memoryview(content))


@contextmanager
def opened(file: str | IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a file opened for reading, decompressed as it is read; rewind a file that was open."""
    if not isinstance(file, str):
        yield file
        file.seek(0)
        return
    packing = _packing_at(file)
    with (
        Path(file).open("rb") as raw,
        nullcontext(raw) if packing is None else packing.read(raw) as text,
    ):
        yield text


class Beginning(NamedTuple):
    """Hold the first bytes of a file, decompressed, and the compression of the file."""

    head: bytes
    packing: Packing | None


def beginning_of(file: str | IO[bytes], size: int = 4096) -> Beginning:
    """Read the first `size` bytes of a file, decompressed; an open file is never compressed."""
    packing = _packing_at(file) if isinstance(file, str) else None
    with opened(file) as text:
        return Beginning(text.read(size), packing)


def _packing_at(path: str) -> Packing | None:
    with Path(path).open("rb") as raw:
        return packing_of(raw.read(_LONGEST))


def unpacked(content: bytes, name: str) -> io.BytesIO:
    """Decompress the content of a file; refuse a decompression bomb."""
    packing = packing_of(content)
    if packing is None:
        return io.BytesIO(content)
    buffer = io.BytesIO()
    with packing.read(io.BytesIO(content)) as packed:
        while part := packed.read(STEP):
            buffer.write(part)
            if buffer.tell() > max(_MOST_UNPACKED, _MOST_TIMES * len(content)):
                problem = (
                    f"its {len(content):,} bytes unpack to more than {buffer.tell():,} bytes, too "
                    "many to unpack in memory"
                )
                raise UnreadableInputError(
                    name, problem, "Unpack it into a file, and pass the file"
                )
    buffer.seek(0)
    return buffer


def scan_lines(file: str | IO[bytes]) -> pl.LazyFrame:
    """Return a lazy frame of the lines of a text file, with their numbers, from 0."""
    source = io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else file
    return pl.scan_lines(source, name=LINE, row_index_name=NUMBER, glob=False)


def without_packing(
    files: Sequence[str], readable: Collection[str] = NATIVE
) -> list[str] | list[IO[bytes]]:
    """Decompress files into memory, unless the reader can decompress all of them (`readable`).

    Return the paths; or, if any file has another compression, the decompressed contents of all.
    """
    packings = map(_packing_at, files)
    if all(packing is None or packing.name in readable for packing in packings):
        return list(files)
    return [unpacked(Path(file).read_bytes(), file) for file in files]


_LONGEST = max(len(packing.begins) for packing in PACKINGS)
