"""A path, an address or a database, as people write it → a LazyFrame as found."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from rankframe.core.columns import Role
from rankframe.core.errors import EmptyInputError, RankframeError, UnreadableInputError
from rankframe.core.messages import did_you_mean
from rankframe.io.formats.registry import PARQUET, by_beginning, by_ending
from rankframe.io.output_paths import DATABASE
from rankframe.io.remote import Remote, explained, scheme_of
from rankframe.io.sources.addresses import (
    HUGGING_FACE,
    WEB,
    fetched,
    reached,
    refuse_unknown,
    scan_files,
    serves_parts,
)
from rankframe.io.sources.databases import is_query, open_database, open_query
from rankframe.io.sources.lakes import is_metadata, lake_at, lake_in, open_iceberg
from rankframe.io.sources.opening import Opened, open_parts, open_path, open_stream

_PATTERN = re.compile(r"[*?\[]")
_HEAD = 4  # bytes by which a Parquet file is known


def is_named(source: object) -> bool:
    """Whether something says where data is: a path, an address, a connection with a query."""
    return isinstance(source, str | os.PathLike) or is_query(source)


def open_anywhere(
    source: Any,
    role: Role | None,
    name: str,
    asked: Collection[str] = (),
    limit: int | None = None,
) -> Opened:
    """A file, a pattern or a folder, here or at an address; a Delta or Iceberg table; a table or a
    query of a database, or of a connection to one: `(connection, "select …")`.

    `asked`: names that the user gave to columns of some input. `limit`: how much memory there is.
    """
    if is_query(source):
        return open_query(*source, name=name)
    path = os.fsdecode(source)
    if table := DATABASE.fullmatch(path):
        kind = "postgresql" if table[1].startswith("postgres") else table[1]
        return open_database(kind, table[2], table[3], name)
    scheme = scheme_of(path)
    if scheme == "file":
        path = unquote(urlsplit(path).path)
    elif scheme:
        refuse_unknown(path, name)
        opens = _open_web if scheme in (HUGGING_FACE, *WEB) else _open_store
        return opens(path, role, name, asked, limit)
    lake = lake_in(os.path.expanduser(path), name)  # noqa: PTH111 (as elsewhere)
    if lake is not None:
        return Opened(lake, seekable=True)
    return open_path(path, role, name, asked, limit)


def _open_web(
    address: str, role: Role | None, name: str, asked: Collection[str], limit: int | None
) -> Opened:
    """Parquet is read where it lies, as far as it is needed; all else is fetched."""
    scheme = scheme_of(address)
    found = by_ending(urlsplit(address).path)
    listed = scheme == HUGGING_FACE and found in (PARQUET, None)  # also folders and patterns
    if listed or (found is PARQUET and serves_parts(address, name)):
        frame = pl.scan_parquet(address, glob=listed, **reached(scheme))
        return Opened(frame, seekable=True)
    return open_stream(io.BytesIO(fetched(address, name)), role, name, asked, limit)


def _open_store(
    address: str, role: Role | None, name: str, asked: Collection[str], limit: int | None
) -> Opened:
    try:
        return _open_remote(Remote.at(address), role, name, asked, limit)
    except RankframeError:
        raise
    except (OSError, ValueError) as error:  # also what pyarrow finds wrong with an address
        raise UnreadableInputError(name, *explained(address, error)) from error


def _open_remote(
    place: Remote, role: Role | None, name: str, asked: Collection[str], limit: int | None
) -> Opened:
    if not place.path:
        raise UnreadableInputError(name, "it names no bucket")
    if place.is_dir():
        sizes = place.files()
        lake = lake_at(str(place), sizes, name)
        parts = lake if lake is not None else open_parts(
            str(place), sizes, name, **reached(place.scheme)
        )  # fmt: skip
        return Opened(parts, seekable=True)
    files = [place] if place.exists() else _fitting(place)
    if not files:
        raise _nothing(place, name)
    if is_metadata(files[0].path):
        return Opened(open_iceberg(str(files[0]), name), seekable=True)
    sizes = {str(file): file.size() or 0 for file in files}
    if not any(sizes.values()):
        raise EmptyInputError(role or "input", name)
    found = by_ending(files[0].path)
    if found is None and by_beginning(files[0].head(_HEAD)) is PARQUET:
        found = PARQUET
    if found is PARQUET:
        return Opened(scan_files(files), seekable=True)
    return _texts(files, role, name, asked, limit)


def _texts(
    files: Sequence[Remote], role: Role | None, name: str, asked: Collection[str], limit: int | None
) -> Opened:
    """Any other format, fetched and held."""
    names = [name] if len(files) == 1 else list(map(str, files))
    opened = [
        open_stream(io.BytesIO(file.read()), role, called, asked, limit)
        for file, called in zip(files, names, strict=True)
    ]
    if len(opened) == 1:
        return opened[0]
    if any(one.by_query is not None for one in opened):
        raise UnreadableInputError(
            name, "several files of which some are objects of JSON, by query", "Give one of them"
        )
    frame = pl.concat([one.frame for one in opened], how="vertical_relaxed")
    return opened[0]._replace(frame=frame)


def _fitting(place: Remote) -> list[Remote]:
    """The files that fit an address with a pattern in it."""
    above = []
    for part in place.path.split("/"):
        if _PATTERN.search(part):
            break
        above.append(part)
    else:
        return []
    root = replace(place, path="/".join(above))
    return root.glob(place.path[len(root.path) + 1 :]) if above else []


def _nothing(place: Remote, name: str) -> UnreadableInputError:
    bucket, _, below = place.path.partition("/")
    root = replace(place, path=bucket)
    if not root.exists():
        return UnreadableInputError(name, f"there is no bucket {bucket!r}")
    folder = root / str(Path(below).parent).strip(".") if below else root
    near = did_you_mean(place.name, (one.name for one in folder.iterdir()))
    return UnreadableInputError(name, "there is nothing at this address", near)
