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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl

from rankframe.core.errors import RankframeError, UnreadableInputError
from rankframe.core.messages import did_you_mean
from rankframe.core.options import reached_with, storage_options
from rankframe.io.formats.registry import PARQUET, by_beginning, by_ending
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.remote import STORES, Remote, explained, polars_arguments, scheme_of
from rankframe.io.sources.files import open_stream
from rankframe.io.sources.folders import METADATA, lake_at, open_iceberg, open_parts

HUGGING_FACE, WEB = "hf", ("http", "https")
# Schemes to list in the error about an unknown scheme.
_KNOWN = ("s3", "gs", "az", "abfss", HUGGING_FACE, *WEB, "file", "postgresql", "duckdb", "sqlite")
_PATIENCE = 30  # seconds for a server of the web to answer


_PATTERN = re.compile(r"[*?\[]")
_HEAD = 4  # bytes by which a Parquet file is known


def open_address(address: str, request: InputRequest) -> RawTable:
    """Open a file of the web, of Hugging Face or of an object store; refuse other addresses."""
    scheme, name = scheme_of(address), request.name
    if scheme in (HUGGING_FACE, *WEB):
        return _open_web(address, scheme, request)
    if scheme not in STORES:
        near = get_close_matches(scheme, _KNOWN, 1, 0.5)  # schemes are short: half is much
        there_are = f"There are {'://, '.join(_KNOWN[:7])}://"
        hint = f"Did you mean {near[0]}://? " if near else ""
        raise request.unreadable(f"no address begins with {scheme}://", hint + there_are)
    try:
        return _open_remote(Remote.at(address), request)
    except RankframeError:
        raise
    except (OSError, ValueError) as error:  # also what pyarrow finds wrong with an address
        raise UnreadableInputError(name, *explained(address, error)) from error


def _open_web(address: str, scheme: str, request: InputRequest) -> RawTable:
    """Open a file of the web, or files and folders of Hugging Face."""
    found = by_ending(urlsplit(address).path)
    listed = scheme == HUGGING_FACE and found in (PARQUET, None)  # also folders and patterns
    if listed or (found is PARQUET and serves_parts(address, request.name)):
        return RawTable(pl.scan_parquet(address, glob=listed, **polars_arguments(scheme)))
    return open_stream(io.BytesIO(fetched(address, request.name)), request)


def _open_remote(place: Remote, request: InputRequest) -> RawTable:
    """Open a file, a folder, a pattern or a lake table of an object store."""
    name = request.name
    if not place.path:
        raise request.unreadable("it names no bucket")
    if place.is_dir():
        sizes = place.files()
        table = lake_at(str(place), sizes, name)
        if table is None:
            table = open_parts(str(place), sizes, name, **polars_arguments(place.scheme))
        return RawTable(table)
    files = [place] if place.exists() else _matching(place)
    if not files:
        raise _no_such_place(place, name)
    if files[0].path.endswith(METADATA):
        return RawTable(open_iceberg(str(files[0]), name))
    if not any(file.size() for file in files):
        raise request.empty()
    found = by_ending(files[0].path)
    if found is PARQUET or (found is None and by_beginning(files[0].head(_HEAD)) is PARQUET):
        return RawTable(scan_files(files))
    # Files of other formats are fetched whole.
    names = [name] if len(files) == 1 else list(map(str, files))
    opened = [
        open_stream(io.BytesIO(file.read()), replace(request, name=called))
        for file, called in zip(files, names, strict=True)
    ]
    if len(opened) == 1:
        return opened[0]
    if any(table.by_query is not None for table in opened):
        problem = "several files of which some are objects of JSON, by query"
        raise request.unreadable(problem, "Give one of them")
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
