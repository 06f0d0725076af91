"""Open tables that are folders with a history: Delta and Iceberg.

Only the history tells which files are still part of the table, so that a folder is searched for one
before its files are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from rankframe.core.errors import MissingExtraError, UnreadableInputError
from rankframe.core.messages import shorten
from rankframe.io.remote import S3, polars_options, scheme_of

_DELTA = "_delta_log"
_ICEBERG = re.compile(r"metadata/[^/]+\.metadata\.json")
_METADATA = ".metadata.json"
# Options of S3 as polars has them → as pyiceberg does.
_PYICEBERG = {
    "aws_endpoint_url": "s3.endpoint",
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_region": "s3.region",
}


def lake_at(root: str, files: Iterable[str], name: str) -> pl.LazyFrame | None:
    """Open the table in a folder with these files (paths from the folder); None without one."""
    paths = list(files)
    if any(file.startswith(f"{_DELTA}/") for file in paths):
        return open_delta(root, name)
    found = [file for file in paths if _ICEBERG.fullmatch(file)]
    return open_iceberg(f"{root}/{_latest(found)}", name) if found else None


def lake_in(path: str, name: str) -> pl.LazyFrame | None:
    """Open the table in a local folder, or that of a file of Iceberg's metadata."""
    folder = Path(path)
    if path.endswith(_METADATA) and folder.is_file():
        return open_iceberg(path, name)
    if not folder.is_dir():
        return None
    here = [f"{_DELTA}/"] if (folder / _DELTA).is_dir() else []
    here += [
        f"metadata/{path_found.name}" for path_found in (folder / "metadata").glob(f"*{_METADATA}")
    ]
    return lake_at(path, here, name) if here else None


def is_metadata(address: str) -> bool:
    """Return whether a file is Iceberg's metadata, by its name."""
    return address.endswith(_METADATA)


def open_delta(root: str, name: str) -> pl.LazyFrame:
    """Open a Delta table as it is now: without removed files and removed rows."""
    try:
        from deltalake.exceptions import DeltaError  # noqa: PLC0415 (an optional part)
    except ImportError as error:
        raise MissingExtraError("reading a Delta table", "delta") from error
    try:
        frame = pl.scan_delta(root, storage_options=_for_delta(scheme_of(root)))
        frame.collect_schema()
    except (DeltaError, pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise _refused(name, "a Delta table", error) from error
    return frame


def open_iceberg(metadata: str, name: str) -> pl.LazyFrame:
    """Open an Iceberg table by a file of its metadata."""
    try:
        import pyiceberg.exceptions  # noqa: F401, PLC0415 (an optional part)
    except ImportError as error:
        raise MissingExtraError("reading an Iceberg table", "iceberg") from error
    # polars would warn that it lacks a faster planner, which matters for thousands of files.
    os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")
    place = metadata if scheme_of(metadata) else Path(metadata).absolute().as_uri()
    try:
        frame = pl.scan_iceberg(place, storage_options=_for_iceberg(scheme_of(metadata)))
        frame.collect_schema()
    except Exception as error:  # whatever pyiceberg's readers of files raise
        raise _refused(name, "an Iceberg table", error) from error
    return frame


def _latest(files: list[str]) -> str:
    """The newest metadata: 00012-….metadata.json, or v12.metadata.json.

    >>> _latest(["metadata/v9.metadata.json", "metadata/v10.metadata.json"])
    'metadata/v10.metadata.json'
    """

    def version(file: str) -> tuple[int, str]:
        found = re.match(r"v?(\d+)", PurePosixPath(file).name)
        return int(found[1]) if found else -1, file

    return max(files, key=version)


def _for_delta(scheme: str) -> dict[str, str] | None:
    if not scheme:
        return None
    options = {key: str(value) for key, value in polars_options(scheme).items()}
    if options.get("aws_endpoint_url", "").startswith("http://"):
        options["aws_allow_http"] = "true"
    return options


def _for_iceberg(scheme: str) -> dict[str, Any] | None:
    if not scheme:
        return None
    options = polars_options(scheme)
    if scheme not in S3:
        return options
    return {
        pyiceberg_name: options[name]
        for name, pyiceberg_name in _PYICEBERG.items()
        if name in options
    }


def _refused(name: str, kind: str, error: Exception) -> UnreadableInputError:
    reason = str(error).strip().split("\n", maxsplit=1)[0].rstrip(" .:")
    return UnreadableInputError(name, f"it cannot be opened as {kind} ({shorten(reason, 200)})")
