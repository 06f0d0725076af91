"""Read files at an address: of the web, of Hugging Face, and of object stores.

Parquet files are read where they are, as far as needed. Files of other formats are fetched whole.
"""

from __future__ import annotations

import http
import http.client
import io
import os
import re
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl

from rankframe.core.columns import Role
from rankframe.core.errors import (
    EmptyInputError,
    RankframeError,
    UnreadableInputError,
)
from rankframe.core.messages import did_you_mean
from rankframe.core.options import reached_with, storage_options
from rankframe.io.formats.registry import PARQUET, by_beginning, by_ending
from rankframe.io.remote import Remote, explained, polars_arguments, scheme_of
from rankframe.io.sources.files import RawTable, open_parts, open_stream
from rankframe.io.sources.lakes import is_metadata, lake_at, open_iceberg

HUGGING_FACE, WEB = "hf", ("http", "https")
# Schemes to list in the error about an unknown scheme.
_KNOWN = ("s3", "gs", "az", "abfss", HUGGING_FACE, *WEB, "file", "postgresql", "duckdb", "sqlite")
_PATIENCE = 30  # seconds for a server of the web to answer


_PATTERN = re.compile(r"[*?\[]")
_HEAD = 4  # bytes by which a Parquet file is known


def open_web(
    address: str, role: Role | None, name: str, user_names: Collection[str], limit: int | None
) -> RawTable:
    """Open a file of the web, or files and folders of Hugging Face."""
    scheme = scheme_of(address)
    found = by_ending(urlsplit(address).path)
    listed = scheme == HUGGING_FACE and found in (PARQUET, None)  # also folders and patterns
    if listed or (found is PARQUET and serves_parts(address, name)):
        frame = pl.scan_parquet(address, glob=listed, **polars_arguments(scheme))
        return RawTable(frame, seekable=True)
    return open_stream(io.BytesIO(fetched(address, name)), role, name, user_names, limit)


def open_store(
    address: str, role: Role | None, name: str, user_names: Collection[str], limit: int | None
) -> RawTable:
    """Open a file, a folder, a pattern or a lake table of an object store."""
    try:
        return _open_remote(Remote.at(address), role, name, user_names, limit)
    except RankframeError:
        raise
    except (OSError, ValueError) as error:  # also what pyarrow finds wrong with an address
        raise UnreadableInputError(name, *explained(address, error)) from error


def _open_remote(
    place: Remote, role: Role | None, name: str, user_names: Collection[str], limit: int | None
) -> RawTable:
    if not place.path:
        raise UnreadableInputError(name, "it names no bucket")
    if place.is_dir():
        sizes = place.files()
        table = lake_at(str(place), sizes, name)
        if table is None:
            table = open_parts(str(place), sizes, name, **polars_arguments(place.scheme))
        return RawTable(table, seekable=True)
    files = [place] if place.exists() else _matching(place)
    if not files:
        raise _no_such_place(place, name)
    if is_metadata(files[0].path):
        return RawTable(open_iceberg(str(files[0]), name), seekable=True)
    sizes = {str(file): file.size() or 0 for file in files}
    if not any(sizes.values()):
        raise EmptyInputError(role or "input", name)
    found = by_ending(files[0].path)
    if found is None and by_beginning(files[0].head(_HEAD)) is PARQUET:
        found = PARQUET
    if found is PARQUET:
        return RawTable(scan_files(files), seekable=True)
    return _fetch_files(files, role, name, user_names, limit)


def _fetch_files(
    files: Sequence[Remote],
    role: Role | None,
    name: str,
    user_names: Collection[str],
    limit: int | None,
) -> RawTable:
    """Fetch files of a format that is read as a whole."""
    names = [name] if len(files) == 1 else list(map(str, files))
    opened = [
        open_stream(io.BytesIO(file.read()), role, called, user_names, limit)
        for file, called in zip(files, names, strict=True)
    ]
    if len(opened) == 1:
        return opened[0]
    if any(table.by_query is not None for table in opened):
        raise UnreadableInputError(
            name, "several files of which some are objects of JSON, by query", "Give one of them"
        )
    frame = pl.concat([table.frame for table in opened], how="vertical_relaxed")
    return opened[0]._replace(frame=frame)


def _matching(place: Remote) -> list[Remote]:
    """Return the files that match an address with a pattern in it."""
    above = []
    for part in place.path.split("/"):
        if _PATTERN.search(part):
            break
        above.append(part)
    else:
        return []
    root = replace(place, path="/".join(above))
    return root.glob(place.path[len(root.path) + 1 :]) if above else []


def _no_such_place(place: Remote, name: str) -> UnreadableInputError:
    bucket, _, below = place.path.partition("/")
    root = replace(place, path=bucket)
    if not root.exists():
        return UnreadableInputError(name, f"there is no bucket {bucket!r}")
    folder = root / str(Path(below).parent).strip(".") if below else root
    near = did_you_mean(place.name, (entry.name for entry in folder.iterdir()))
    return UnreadableInputError(name, "there is nothing at this address", near)


def scan_files(files: Sequence[Remote]) -> pl.LazyFrame:
    """Scan Parquet files; bytes that are not needed are not fetched."""
    with reached_with(files[0].options):  # as when they were found
        arguments = polars_arguments(files[0].scheme)
    return pl.scan_parquet([str(file) for file in files], glob=False, **arguments)


def fetched(address: str, name: str) -> bytes:
    """Fetch a file of the web."""
    with _answer(address, name) as answer:
        return answer.read()


def serves_parts(address: str, name: str) -> bool:
    """Return whether a server of the web can send a part of a file."""
    with _answer(address, name, Range="bytes=0-3") as answer:
        return answer.status == http.HTTPStatus.PARTIAL_CONTENT


@contextmanager
def _answer(address: str, name: str, **headers: str) -> Iterator[Any]:
    headers["User-Agent"] = "rankframe"
    if scheme_of(address) == HUGGING_FACE:
        address = _link(address)
        token = storage_options().get("token") or os.environ.get("HF_TOKEN")
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 (https or http)
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            yield answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UnreadableInputError(name, *explained(name, error)) from error


def _link(address: str) -> str:
    """Return the link to a file of Hugging Face: hf://datasets/owner/name@version/path.

    >>> _link("hf://datasets/ann/shop@v2/run.csv")
    'https://huggingface.co/datasets/ann/shop/resolve/v2/run.csv'
    """
    kind, owner, repository, *path = address.partition("://")[2].split("/")
    repository, _, version = repository.partition("@")
    prefix = f"{kind}/" if kind != "models" else ""
    below = "/".join([repository, "resolve", version or "main", *path])
    return f"https://huggingface.co/{prefix}{owner}/{below}"


def refuse_unknown(address: str, name: str) -> None:
    """Refuse an address with an unknown scheme."""
    scheme = scheme_of(address)
    near = get_close_matches(scheme, _KNOWN, 1, 0.5)  # schemes are short: half is much
    raise UnreadableInputError(
        name,
        f"no address begins with {scheme}://",
        f"{f'Did you mean {near[0]}://? ' if near else ''}There are {'://, '.join(_KNOWN[:7])}://",
    )
