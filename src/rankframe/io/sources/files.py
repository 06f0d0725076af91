"""Open files, folders and pipes, in any format (`formats/registry.py`)."""

from __future__ import annotations

import glob as globbing
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

import polars as pl

from rankframe.core.errors import UnreadableInputError
from rankframe.core.messages import did_you_mean, is_text
from rankframe.io.formats.packing import STEP, beginning_of, head_of, unpacked, without_packing
from rankframe.io.formats.registry import (
    PARQUET,
    READ_ERRORS,
    TREC,
    Files,
    by_beginning,
    readable,
    recognise,
    refuse_other,
)
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.scratch import KeptFolder
from rankframe.io.sources.folders import METADATA, open_folder, open_iceberg, refuse_empty_parts
from rankframe.io.sources.spool import held_bytes, is_large, read_until, saved, spooled


def open_path(path: str, request: InputRequest) -> RawTable:
    """Open a file, a glob pattern, a pipe, or a folder that is a table or a collection."""
    path = os.path.expanduser(path)  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path:
        raise UnreadableInputError("''", "a path is needed, and this one is empty")
    if not is_text(path):
        advice = "Rename it, or read it from a pipe"
        raise request.unreadable("its name is not UTF-8 text", advice)
    if Path(path).is_dir():
        found = open_folder(Path(path), request)
        if isinstance(found, pl.LazyFrame):
            return RawTable(found)
        path = found
    files = files_at(path)
    if not files:
        raise request.unreadable("no such file", _similar_file(Path(path)))
    if path.endswith(METADATA) and files == [path]:
        return RawTable(open_iceberg(path, request.name))
    if Path(files[0]).is_fifo():
        with Path(files[0]).open("rb") as pipe:
            return open_stream(pipe, request)
    sizes = {file: Path(file).stat().st_size for file in files}
    if not any(sizes.values()):
        raise request.empty()
    if not all(sizes.values()):
        refuse_empty_parts(sizes, request.name)
    beginning = beginning_of(files[0])
    form = recognise(files[0], beginning, request.name)
    if form is None:
        raise request.unreadable(
            "its ending is not one that rankframe knows, and neither does it look like one",
            f"It reads {readable()}",
        )
    if request.limit is not None and form is not PARQUET and is_large(files, request.limit):
        large = spooled(form, files, files, request)
        if large is not None:
            return large
    # Names are given to polars literally: a real file may have brackets in its name.
    plain = len(files) == 1 and beginning.packing is None
    return form.open(files if plain else without_packing(files, form.packings), request)


def open_stream(file: IO[bytes], request: InputRequest) -> RawTable:
    """Read an open file or a pipe to its end."""
    name, limit = request.name, request.limit
    try:
        content = read_until(file, None if limit is None else held_bytes(limit))
    except ValueError as error:  # a closed file
        raise request.unreadable(str(error)) from error
    if limit is not None and is_large([io.BytesIO(content)], limit):
        folder = KeptFolder()
        path = saved(content, file, folder)
        del content
        form = by_beginning(head_of(path)) or TREC
        large = spooled(form, [path], [name], request, folder)
        if large is not None:
            return large
        return form.open(without_packing([path], form.packings), request)._replace(files=folder)
    buffer = unpacked(content, name)
    if _is_blank(buffer):
        raise request.empty()
    head = head_of(buffer)
    refuse_other(head, name)
    # What looks like nothing is refused as TREC text, which names the line.
    table = (by_beginning(head) or TREC).open([buffer], request)
    return table._replace(frame=table.frame.collect().lazy(), seekable=True)


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
            known = (TREC, None)
            return (
                None
                if _is_blank(buffer) or by_beginning(head_of(buffer)) not in known
                else [buffer]
            )
        if not isinstance(source, str | os.PathLike) or "://" in str(source):
            return None
        files = files_at(os.path.expanduser(source))  # noqa: PTH111
        if not all(Path(file).is_file() for file in files):
            return None
        with suppress(UnreadableInputError):  # refused when it is read
            form = recognise(files[0], beginning_of(files[0]), files[0])
            return without_packing(files, TREC.packings) if form is TREC else None
    except (*READ_ERRORS, IndexError):
        pass
    return None


def files_at(path: str) -> list[str]:
    """Return the file of this very name, or the matches of a pattern."""
    return [path] if Path(path).exists() else sorted(globbing.glob(path, recursive=True))


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))
