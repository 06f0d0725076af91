"""Open files, folders and pipes, in any format (`formats/registry.py`)."""

from __future__ import annotations

import glob as globbing
import io
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from rankframe.core.checks import is_text
from rankframe.core.columns import Role
from rankframe.core.errors import EmptyInputError, UnreadableInputError
from rankframe.core.messages import did_you_mean
from rankframe.io.formats.beir import judgments_in
from rankframe.io.formats.delimited import Noted
from rankframe.io.formats.packing import STEP, head_of, unpacked, without_packing
from rankframe.io.formats.registry import (
    PARQUET,
    READ_ERRORS,
    TREC,
    Files,
    Format,
    Found,
    by_beginning,
    categories_as_text,
    of_file,
    readable,
    refuse_other,
)
from rankframe.io.scratch import KeptFolder
from rankframe.io.sources.spool import held_bytes, is_large, read_until, saved, spooled


class RawTable(NamedTuple):
    """A table as found; its rows were not read."""

    frame: pl.LazyFrame
    # whether any stretch of its rows can be read without reading those before
    seekable: bool
    # whether its rows stand in the order of the ranking, whatever its columns
    ranked: bool = False
    # how it was read, where that had to be told from its look
    note: str = ""
    # in place of a table, an object of JSON whose keys are queries
    by_query: Mapping[str, Any] | None = None
    # the temporary files that it lies in, which go when nobody holds them any more
    files: object = None

    @classmethod
    def of(cls, found: Found, *, seekable: bool, at_once: bool = False) -> RawTable:
        """Wrap what a format returned; `at_once`: read it now."""
        if isinstance(found, Mapping):
            return cls(pl.LazyFrame(), seekable=True, by_query=found)
        frame, note = found if isinstance(found, Noted) else (found, "")
        return cls(frame.collect().lazy() if at_once else frame, seekable, note=note)


def open_path(
    path: str,
    role: Role | None,
    name: str,
    user_names: Collection[str] = (),
    limit: int | None = None,
) -> RawTable:
    """Open a file, a glob pattern, or a folder of Parquet files.

    Args:
        path: the file, pattern or folder.
        role: what the input is.
        name: what errors call it.
        user_names: the names that the user gave to columns of any input.
        limit: how many bytes may be in memory at once; larger text goes through temporary files.
    """
    path = os.path.expanduser(path)  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path:
        raise UnreadableInputError("''", "a path is needed, and this one is empty")
    if not is_text(path):
        raise UnreadableInputError(
            name, "its name is not UTF-8 text", "Rename it, or read it from a pipe"
        )
    if judgments := judgments_in(Path(path), role, name):
        path = judgments
    if Path(path).is_dir():
        return RawTable(_open_folder(Path(path), name), seekable=True)
    files = files_at(path)
    if not files:
        raise UnreadableInputError(name, "no such file", _similar_file(Path(path)))
    if Path(files[0]).is_fifo():
        with Path(files[0]).open("rb") as pipe:
            return open_stream(pipe, role, name, user_names, limit)
    sizes = {file: Path(file).stat().st_size for file in files}
    if not any(sizes.values()):
        raise EmptyInputError(role or "input", name)
    _refuse_empty_parts(sizes, name)
    refuse_other(files[0], name)
    found = of_file(files[0])
    if found is None:
        raise UnreadableInputError(
            name,
            "its ending is not one that rankframe knows, and neither does it look like one",
            f"It reads {readable()}",
        )
    if limit is not None and found is not PARQUET and is_large(files, limit):
        large = _spooled(found, files, role, files, user_names, limit)
        if large is not None:
            return large
    # Names are given to polars literally: a real file may have brackets in its name.
    readable_files = without_packing(files, found.packings)
    opened = RawTable.of(
        found.open(readable_files, role, name, user_names), seekable=found.seekable
    )
    text = categories_as_text(files, opened.frame) if found is PARQUET else None
    return opened if text is None else opened._replace(frame=text)


def open_stream(
    file: IO[bytes],
    role: Role | None,
    name: str,
    user_names: Collection[str] = (),
    limit: int | None = None,
) -> RawTable:
    """Read an open file or a pipe to its end. `user_names`, `limit`: as for `open_path`."""
    try:
        content = read_until(file, None if limit is None else held_bytes(limit))
    except ValueError as error:  # a closed file
        raise UnreadableInputError(name, str(error)) from error
    if limit is not None and is_large([io.BytesIO(content)], limit):
        folder = KeptFolder()
        path = saved(content, file, folder)
        del content
        return _open_saved(path, folder, role, name, user_names, limit)
    buffer = unpacked(content, name)
    if _is_blank(buffer):
        raise EmptyInputError(role or "input", name)
    refuse_other(buffer, name)
    # What looks like nothing is refused as TREC text, which names the line.
    found = by_beginning(head_of(buffer)) or TREC
    return RawTable.of(found.open([buffer], role, name, user_names), seekable=True, at_once=True)


def _open_saved(
    path: str,
    folder: KeptFolder,
    role: Role | None,
    name: str,
    user_names: Collection[str],
    limit: int,
) -> RawTable:
    """Open the content of a pipe that was too large for memory, from a temporary file."""
    found = by_beginning(head_of(path)) or TREC
    large = _spooled(found, [path], role, [name], user_names, limit, folder)
    if large is not None:
        return large
    readable_files = without_packing([path], found.packings)
    opened = RawTable.of(
        found.open(readable_files, role, name, user_names), seekable=found.seekable
    )
    return opened._replace(files=folder)


def _spooled(
    found: Format,
    files: list[str],
    role: Role | None,
    names: list[str],
    user_names: Collection[str],
    limit: int,
    folder: KeptFolder | None = None,
) -> RawTable | None:
    """Open large text through temporary files; return None if its format has no lines."""

    def read(text: IO[bytes]) -> object:
        return found.open([text], role, names[0], user_names)

    large = spooled(files, found.name, role, names, limit, read, folder)
    return large and RawTable(large.frame, seekable=True, files=large.folder)


def _is_blank(buffer: io.BytesIO) -> bool:
    """Return whether there is nothing to read, without a copy of it."""
    content = buffer.getbuffer()
    return not content or (bytes(content[:STEP]).isspace() and buffer.getvalue().isspace())


def trec_texts(source: object) -> Files | None:
    """Return the files of a path, or a file in memory, if they are TREC text.

    Returns None for any other content, and if it cannot be read.
    """
    try:
        if isinstance(source, io.BytesIO):
            buffer = unpacked(source.getvalue(), "the open file")
            is_text = not _is_blank(buffer) and by_beginning(head_of(buffer)) in (
                TREC,
                None,
            )
            return [buffer] if is_text else None
        if not isinstance(source, str | os.PathLike) or "://" in str(source):
            return None
        files = files_at(os.path.expanduser(source))  # noqa: PTH111
        is_text = all(Path(file).is_file() for file in files) and of_file(files[0]) is TREC
        return without_packing(files, TREC.packings) if is_text else None
    except (*READ_ERRORS, IndexError):
        return None


def files_at(path: str) -> list[str]:
    """Return the file of this very name, or the matches of a pattern."""
    return [path] if Path(path).exists() else sorted(globbing.glob(path, recursive=True))


def _open_folder(folder: Path, name: str) -> pl.LazyFrame:
    found = {file.relative_to(folder): file.stat().st_size for file in _visible_files(folder)}
    return open_parts(str(folder), {str(file): size for file, size in found.items()}, name)


def open_parts(root: str, sizes: Mapping[str, int], name: str, **reached: Any) -> pl.LazyFrame:
    """Parquet files in a folder and its Hive-style subfolders (`day=2026-01-01`).

    As Spark has it, names that begin with _ or . are no data; all else must be read. `sizes`: of
    the files by their paths from the folder; `reached`: what polars must know to get there.
    """
    found = [file for file in map(Path, sizes) if all(map(_is_data, file.parts))]
    files = [file for file in found if PARQUET.has(file.suffix.lower())]
    if not files:
        raise UnreadableInputError(name, "there is no .parquet file in this folder")
    if other_files := [file for file in found if not PARQUET.has(file.suffix.lower())]:
        raise UnreadableInputError(
            name,
            f"{len(other_files):,} of its {len(found):,} files are not Parquet, e.g. "
            f"{str(other_files[0])!r}",
            "Take them out of the folder, or give the files themselves: a pattern such as "
            f"'{root}/*.parquet'",
        )
    _refuse_empty_parts({f"{root}/{file}": sizes[str(file)] for file in files}, name)
    keys = {_hive_columns(file.parent) for file in files}
    if len(keys) > 1:
        raise UnreadableInputError(
            name, f"its folders do not all have the same columns in their names: {sorted(keys)}"
        )
    paths, inside = [f"{root}/{file}" for file in files], keys.pop()
    if not inside:
        return pl.scan_parquet(paths, glob=False, hive_partitioning=False, **reached)
    # Polars looks at the whole path, of which only what is below the folder is part of the data.
    above = _hive_columns(Path(root))
    columns = [*above, *inside]
    # Of each: where a file has such a column, polars would take the folder's name for it.
    each = (
        pl.scan_parquet([path], glob=False, hive_partitioning=False, **reached) for path in paths
    )
    own = {column for path in each for column in path.collect_schema()}
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
    frame = pl.scan_parquet(paths, glob=False, hive_partitioning=True, hive_schema=types, **reached)
    return frame.drop(above)


def _visible_files(folder: Path) -> list[Path]:
    """Return the files in and below a folder, in order; links are followed, but not in circles."""
    found: list[Path] = []
    visited: set[str] = set()
    for where, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(where)
        folders[:] = [] if real in visited else sorted(filter(_is_data, folders))
        found += (
            []
            if real in visited
            else (Path(where, file_name) for file_name in names if _is_data(file_name))
        )
        visited.add(real)
    return sorted(found)


def _is_data(name: str) -> bool:
    return not (name.startswith(".") or (name.startswith("_") and "=" not in name))


def _hive_columns(path: Path) -> tuple[str, ...]:
    return tuple(part.split("=")[0] for part in path.parts if "=" in part)


def _refuse_empty_parts(sizes: Mapping[str, int], name: str) -> None:
    """Refuse empty files among others: something was cut short."""
    empty = [file for file, size in sizes.items() if size == 0]
    if empty:
        raise UnreadableInputError(
            name,
            f"{len(empty):,} of its {len(sizes):,} files are empty, e.g. {empty[0]!r}",
            "Write them again, or remove them",
        )


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))
