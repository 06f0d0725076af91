"""Open files, folders, pipes and addresses, in any format (`formats/registry.py`).

At an address (of the web, of Hugging Face, of an object store), Parquet files are read where they
are, as far as needed. Files of other formats are fetched whole.
"""

from __future__ import annotations

import glob as globbing
import io
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import polars as pl

from rankframe.core.errors import RankframeError, UnreadableInputError
from rankframe.core.messages import did_you_mean, is_text
from rankframe.core.options import reached_with
from rankframe.io.formats import packing, registry
from rankframe.io.formats.registry import PARQUET, READ_ERRORS, TREC, Files, Format
from rankframe.io.python_objects import NO_SOURCE
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.remote import (
    HUGGING_FACE,
    STORES,
    Remote,
    explained,
    polars_arguments,
    scheme_of,
)
from rankframe.io.scratch import KeptFolder
from rankframe.io.sources import folders, spool

WEB = ("http", "https")
# Schemes to list in the error about an unknown scheme.
_KNOWN = ("s3", "gs", "az", "abfss", HUGGING_FACE, *WEB, "file", "postgresql", "duckdb", "sqlite")
_PATTERN = re.compile(r"[*?\[]")
_HEAD = 4  # bytes by which a Parquet file is known


def open_path(path: str, request: InputRequest) -> RawTable:
    """Open a file, a glob pattern, a pipe, or a folder that is a table or a collection."""
    path = os.path.expanduser(path)  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path:
        raise UnreadableInputError("''", "the path is empty")
    if not is_text(path):
        advice = "Rename it, or read it from a pipe"
        raise request.unreadable("its name is not UTF-8 text", advice)
    if Path(path).is_dir():
        opened = folders.open_folder(Path(path), request)
        if isinstance(opened, pl.LazyFrame):
            return RawTable(opened)
        path = opened
    files = files_at(path)
    if not files:
        raise request.unreadable("no such file", _similar_file(Path(path)))
    if path.endswith(folders.METADATA) and files == [path]:
        return RawTable(folders.open_iceberg(path, request.name))
    if Path(files[0]).is_fifo():
        with Path(files[0]).open("rb") as pipe:
            return open_stream(pipe, request)
    sizes = {file: Path(file).stat().st_size for file in files}
    if not any(sizes.values()):
        raise request.empty()
    if not all(sizes.values()):
        folders.refuse_empty_parts(sizes, request.name)
    form = registry.recognise(files[0], packing.beginning_of(files[0]), request.name)
    if form is None:
        raise request.unreadable(
            "rankframe recognises the format neither by its ending nor by its content",
            f"It reads {registry.readable()}",
        )
    return _open_files(form, files, files, request)


def _open_files(
    form: Format,
    files: list[str],
    names: list[str],
    request: InputRequest,
    folder: KeptFolder | None = None,
) -> RawTable:
    """Open files of a format; text that is too large for the memory limit is spooled to disk.

    `names`: what messages call the files. `folder`: the temporary folder with the files, if any.
    """
    if request.limit is not None and form is not PARQUET and spool.is_large(files, request.limit):
        table = spool.spooled(form, files, names, request, folder)
        if table is not None:
            return table
    return form.open(packing.without_packing(files, form.packings), request)._replace(files=folder)


def open_stream(file: IO[bytes], request: InputRequest) -> RawTable:
    """Read an open file or a pipe to its end."""
    name, limit = request.name, request.limit
    try:
        content = packing.read_until(file, None if limit is None else packing.held_bytes(limit))
    except ValueError as error:  # a closed file
        raise request.unreadable(str(error)) from error
    except (TypeError, AttributeError) as error:  # `read` does not return content
        raise request.unreadable(f"its method read fails ({error})", NO_SOURCE[1]) from error
    if limit is not None and spool.is_large([io.BytesIO(content)], limit):
        folder = KeptFolder()
        path = spool.saved(file, folder.path / "input", content)
        del content
        form = registry.by_beginning(packing.beginning_of(path).head) or TREC
        return _open_files(form, [path], [name], request, folder)
    buffer = packing.unpacked(content, name)
    if _is_blank(buffer):
        raise request.empty()
    head = packing.beginning_of(buffer).head
    registry.refuse_other(head, name)
    # Text of an unknown format is read as TREC text, whose error names the bad line.
    table = (registry.by_beginning(head) or TREC).open([buffer], request)
    return table._replace(frame=table.frame.collect().lazy(), seekable=True)


def _is_blank(buffer: io.BytesIO) -> bool:
    """Return whether a buffer holds only white space, without copying a large buffer."""
    content = buffer.getbuffer()
    return not content or (bytes(content[: packing.STEP]).isspace() and buffer.getvalue().isspace())


def trec_texts(source: object) -> Files | None:
    """Return the TREC files at a path, or a file in memory, as a list; None for other content.

    Returns None for any other content, and if it cannot be read.
    """
    try:
        if isinstance(source, io.BytesIO):
            buffer = packing.unpacked(source.getvalue(), "the open file")
            form = registry.by_beginning(packing.beginning_of(buffer).head)
            return [buffer] if form in (TREC, None) and not _is_blank(buffer) else None
        if not isinstance(source, str | os.PathLike) or "://" in str(source):
            return None
        files = files_at(os.path.expanduser(source))  # noqa: PTH111
        if not all(Path(file).is_file() for file in files):
            return None
        with suppress(UnreadableInputError):  # refused when it is read
            form = registry.recognise(files[0], packing.beginning_of(files[0]), files[0])
            return packing.without_packing(files, TREC.packings) if form is TREC else None
    except (*READ_ERRORS, IndexError):
        pass
    return None


def files_at(path: str) -> list[str]:
    """Return the file at `path`, or else the files that match it as a glob pattern."""
    return [path] if Path(path).exists() else sorted(globbing.glob(path, recursive=True))


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))


def open_address(address: str, request: InputRequest) -> RawTable:
    """Open a file of the web, of Hugging Face or of an object store; refuse other addresses."""
    scheme, name = scheme_of(address), request.name
    if scheme in (HUGGING_FACE, *WEB):
        return _open_web(address, scheme, request)
    if scheme not in STORES:
        from difflib import get_close_matches  # noqa: PLC0415 (only to complain)

        near = get_close_matches(scheme, _KNOWN, 1, 0.5)  # schemes are short
        there_are = f"There are {'://, '.join(_KNOWN[:7])}://"
        hint = f"Did you mean {near[0]}://? " if near else ""
        raise request.unreadable(f"no address begins with {scheme}://", hint + there_are)
    try:
        return _open_remote(Remote.at(address), request)
    except RankframeError:
        raise
    except (OSError, ValueError) as error:  # ValueError: pyarrow refuses the address
        raise UnreadableInputError(name, *explained(address, error)) from error


def _open_web(address: str, scheme: str, request: InputRequest) -> RawTable:
    """Open a file of the web, or files and folders of Hugging Face."""
    from rankframe.io.sources import web  # noqa: PLC0415 (its libraries are slow to import)

    try:
        form = registry.by_ending(urlsplit(address).path)
    except ValueError as error:  # such as an address with stray brackets
        raise request.unreadable(f"this is no address ({error})") from error
    listed = scheme == HUGGING_FACE and form in (PARQUET, None)  # also folders and patterns
    if listed or (form is PARQUET and web.serves_parts(address, request.name)):
        return RawTable(pl.scan_parquet(address, glob=listed, **polars_arguments(scheme)))
    return open_stream(io.BytesIO(web.fetch(address, request.name)), request)


def _open_remote(place: Remote, request: InputRequest) -> RawTable:
    """Open a file, a folder, a pattern or a lake table of an object store."""
    name = request.name
    if not place.path:
        raise request.unreadable("it names no bucket")
    if place.is_dir():
        sizes = place.files()
        table = folders.lake_at(str(place), sizes, name)
        if table is None:
            table = folders.open_parts(str(place), sizes, name, **polars_arguments(place.scheme))
        return RawTable(table)
    files = [place] if place.exists() else _matching(place)
    if not files:
        raise _no_such_place(place, name)
    if files[0].path.endswith(folders.METADATA):
        return RawTable(folders.open_iceberg(str(files[0]), name))
    if not any(file.size() for file in files):
        raise request.empty()
    form = registry.by_ending(files[0].path)
    if form is PARQUET or (form is None and registry.by_beginning(files[0].head(_HEAD)) is PARQUET):
        return RawTable(scan_files(files))
    # Files of other formats are fetched whole.
    names = [name] if len(files) == 1 else list(map(str, files))
    opened = [
        open_stream(io.BytesIO(file.read()), replace(request, name=called))
        for file, called in zip(files, names, strict=True)
    ]
    if len(opened) == 1:
        return opened[0]
    frame = pl.concat([table.frame for table in opened], how="vertical_relaxed")
    return opened[0]._replace(frame=frame)


def _matching(place: Remote) -> list[Remote]:
    """Return the files whose addresses match a pattern."""
    pattern = _PATTERN.search(place.path)
    folder = place.path[: pattern.start()].rpartition("/")[0] if pattern else ""
    return replace(place, path=folder).glob(place.path[len(folder) + 1 :]) if folder else []


def _no_such_place(place: Remote, name: str) -> UnreadableInputError:
    bucket, _, below = place.path.partition("/")
    root = replace(place, path=bucket)
    if not root.exists():
        return UnreadableInputError(name, f"there is no bucket {bucket!r}")
    folder = root / str(Path(below).parent).strip(".") if below else root
    near = did_you_mean(place.name, (entry.name for entry in folder.iterdir()))
    return UnreadableInputError(name, "there is nothing at this address", near)


def scan_files(files: Sequence[Remote]) -> pl.LazyFrame:
    """Scan Parquet files at addresses; only the needed bytes are fetched."""
    with reached_with(files[0].options):  # the options with which the files were listed
        arguments = polars_arguments(files[0].scheme)
    return pl.scan_parquet([str(file) for file in files], glob=False, **arguments)
