"""Files, folders, addresses and pipes → a LazyFrame as found, in whatever format (`formats.py`)."""

from __future__ import annotations

import glob as globbing
import gzip
import io
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import polars as pl

from rankframe.base.checks import is_text
from rankframe.base.columns import Role
from rankframe.base.errors import EmptyInputError, UnreadableInputError
from rankframe.base.messages import did_you_mean
from rankframe.sources.categories import categories_as_text
from rankframe.sources.formats import (
    PARQUET,
    READ_ERRORS,
    TREC,
    Files,
    by_beginning,
    by_ending,
    head_of,
    of_file,
    readable,
)
from rankframe.sources.trec_format import GZIP

# Rows by which text is taken for numbers.
_SAMPLE = 100
# What comes through a pipe is held in memory: so much of it at a time is unpacked, and beyond so
# much, nothing that grows like this. (Runs and judgments grow 4 to 20 times.)
_STEP, _MOST_UNPACKED, _MOST_TIMES = 1 << 22, 1 << 30, 100


class Opened(NamedTuple):
    """A table as found; its rows were not read."""

    frame: pl.LazyFrame
    # whether any stretch of its rows can be read without reading those before
    seekable: bool
    # the same with texts for categories, where it has any and all of it is read much faster so
    text: pl.LazyFrame | None = None


def open_path(path: str, role: Role | None, name: str) -> Opened:
    """A file, a glob pattern, or a folder of Parquet files."""
    path = os.path.expanduser(path)  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path:
        raise UnreadableInputError("''", "a path is needed, and this one is empty")
    if not is_text(path):
        raise UnreadableInputError(
            name, "its name is not UTF-8 text", "Rename it, or read it from a pipe"
        )
    if "://" in path:
        found = by_ending(path)
        if found is None:
            return Opened(pl.scan_parquet(path), seekable=True)
        return Opened(found.open([path], role, name), found.seekable)
    if Path(path).is_dir():
        return Opened(_open_folder(Path(path), name), seekable=True)
    files = _files_at(path)
    if not files:
        raise UnreadableInputError(name, "no such file", _similar_file(Path(path)))
    if Path(files[0]).is_fifo():
        with Path(files[0]).open("rb") as pipe:
            return open_stream(pipe, role, name)
    if all(Path(file).stat().st_size == 0 for file in files):
        raise EmptyInputError(role or "input", name)
    _refuse_empty_parts(list(map(Path, files)), name)
    found = of_file(files[0])
    if found is None:
        raise UnreadableInputError(
            name,
            "its ending is not one that rankframe knows, and neither does it look like one",
            f"It reads {readable()}",
        )
    # Names are given to polars literally: a real file may have brackets in its name.
    frame = found.open(files, role, name)
    text = categories_as_text(files, frame) if found is PARQUET else None
    return Opened(frame, found.seekable, text)


def open_stream(file: IO[bytes], role: Role | None, name: str) -> Opened:
    """An open file or a pipe, read to its end."""
    try:
        content = file.read()
    except ValueError as error:  # a closed file
        raise UnreadableInputError(name, str(error)) from error
    if isinstance(content, str):
        content = content.encode()
    held = _unpacked(content, name)
    if _is_blank(held):
        raise EmptyInputError(role or "input", name)
    # What looks like nothing is refused as TREC text, which names the line.
    found = by_beginning(head_of(held)) or TREC
    return Opened(found.open([held], role, name).collect().lazy(), seekable=True)


def _unpacked(content: bytes, name: str) -> io.BytesIO:
    """What was read, without its compression; refused where that seems to have no end."""
    if not content.startswith(GZIP):
        return io.BytesIO(content)
    held = io.BytesIO()
    with gzip.open(io.BytesIO(content)) as packed:
        while part := packed.read(_STEP):
            held.write(part)
            if held.tell() > max(_MOST_UNPACKED, _MOST_TIMES * len(content)):
                raise UnreadableInputError(
                    name,
                    f"its {len(content):,} bytes unpack to more than {held.tell():,}, and a pipe "
                    "is held in memory",
                    "Unpack it into a file, and give that",
                )
    held.seek(0)
    return held


def _is_blank(held: io.BytesIO) -> bool:
    """Whether there is nothing to read, seen without a copy of it."""
    content = held.getbuffer()
    return not content or (bytes(content[:_STEP]).isspace() and held.getvalue().isspace())


def numeric_columns(frame: pl.LazyFrame, names: Sequence[str]) -> list[str]:
    """Columns of numbers, also where they are written as text, by the look of some rows."""
    schema = frame.collect_schema()
    texts = [name for name in names if schema[name] == pl.String]
    look_like: list[str] = []
    with suppress(*READ_ERRORS):
        numbers = pl.col(texts).str.strip_chars().cast(pl.Float64, strict=False)
        some = frame.select(texts).head(_SAMPLE).select(numbers).collect()
        look_like = [one.name for one in some if one.len() and not one.null_count()]
    return [name for name in names if schema[name].is_numeric() or name in look_like]


def trec_texts(source: object) -> Files | None:
    """The files of a path, or what a file in memory holds, if it is TREC text; None if it is not,
    or cannot be read.
    """
    try:
        if isinstance(source, io.BytesIO):
            held = _unpacked(source.getvalue(), "the open file")
            is_text = not _is_blank(held) and by_beginning(head_of(held)) in (TREC, None)
            return [held] if is_text else None
        if not isinstance(source, str | os.PathLike) or "://" in str(source):
            return None
        files = _files_at(os.path.expanduser(source))  # noqa: PTH111
        is_text = all(Path(file).is_file() for file in files) and of_file(files[0]) is TREC
        return files if is_text else None
    except (*READ_ERRORS, IndexError):
        return None


def _files_at(path: str) -> list[str]:
    return [path] if Path(path).exists() else sorted(globbing.glob(path, recursive=True))


def _open_folder(folder: Path, name: str) -> pl.LazyFrame:
    """Parquet files in a folder and its Hive-style subfolders (`day=2026-01-01`).

    As Spark has it, names that begin with _ or . are no data; all else must be read.
    """
    found = _visible_files(folder)
    files = [file for file in found if PARQUET.has(file.suffix.lower())]
    if not files:
        raise UnreadableInputError(name, "there is no .parquet file in this folder")
    if others := [file for file in found if not PARQUET.has(file.suffix.lower())]:
        raise UnreadableInputError(
            name,
            f"{len(others):,} of its {len(found):,} files are not Parquet, e.g. "
            f"{str(others[0].relative_to(folder))!r}",
            "Take them out of the folder, or give the files themselves: a pattern such as "
            f"{str(folder / '*.parquet')!r}",
        )
    _refuse_empty_parts(files, name)
    keys = {_hive_columns(file.parent.relative_to(folder)) for file in files}
    if len(keys) > 1:
        raise UnreadableInputError(
            name, f"its folders do not all have the same columns in their names: {sorted(keys)}"
        )
    paths, inside = list(map(str, files)), keys.pop()
    if not inside:
        return pl.scan_parquet(paths, glob=False, hive_partitioning=False)
    # Polars looks at the whole path, of which only what is below the folder is part of the data.
    above = _hive_columns(folder)
    columns = [*above, *inside]
    # Of each: where a file has such a column, polars would take the folder's name for it.
    own = {column for path in paths for column in pl.read_parquet_schema(path)}
    if twice := [column for column in columns if column in own or columns.count(column) > 1]:
        raise UnreadableInputError(
            name,
            f"{twice[0]!r} is a column of its files and in the name of a folder"
            if twice[0] in own
            else f"{twice[0]!r} is in the names of two folders, one within the other",
            "Rename one of them",
        )
    # Ids in folder names stay as they are written: 007 is not 7.
    types = dict.fromkeys(columns, pl.String)
    frame = pl.scan_parquet(paths, glob=False, hive_partitioning=True, hive_schema=types)
    return frame.drop(above)


def _visible_files(folder: Path) -> list[Path]:
    """The files in a folder and those below, in order; links are followed, but not in circles."""
    found: list[Path] = []
    seen: set[str] = set()
    for where, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(where)
        folders[:] = [] if real in seen else sorted(filter(_is_data, folders))
        found += [] if real in seen else (Path(where, one) for one in names if _is_data(one))
        seen.add(real)
    return sorted(found)


def _is_data(name: str) -> bool:
    return not (name.startswith(".") or (name.startswith("_") and "=" not in name))


def _hive_columns(path: Path) -> tuple[str, ...]:
    return tuple(part.split("=")[0] for part in path.parts if "=" in part)


def _refuse_empty_parts(files: Sequence[Path], name: str) -> None:
    """Refuse files of no bytes beside others: something was cut short."""
    empty = [file for file in files if file.stat().st_size == 0]
    if empty:
        raise UnreadableInputError(
            name,
            f"{len(empty):,} of its {len(files):,} files are empty, e.g. {str(empty[0])!r}",
            "Write them again, or remove them",
        )


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))
