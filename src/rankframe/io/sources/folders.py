"""Open folders that are one table: Parquet files, Delta and Iceberg; find judgments in collections.

Of a table with a history, only the history tells which files are still part of it, so that a
folder is searched for one before its files are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from rankframe.core.errors import MissingExtraError, UnreadableInputError
from rankframe.core.messages import shorten
from rankframe.io.formats.packing import bare_name
from rankframe.io.formats.registry import PARQUET
from rankframe.io.raw_table import InputRequest
from rankframe.io.remote import S3, polars_options, scheme_of

_DELTA = "_delta_log"
_ICEBERG = re.compile(r"metadata/[^/]+\.metadata\.json")
METADATA = ".metadata.json"  # at the end of a file of Iceberg
# Options of S3 as polars has them → as pyiceberg does.
_PYICEBERG = {
    "aws_endpoint_url": "s3.endpoint",
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_region": "s3.region",
}
# Files of judgments, and how files with the texts of a collection begin.
_TABLES = (".tsv", ".jsonl", ".csv", ".parquet", ".json", ".txt")
_TEXTS = ("corpus", "queries")


def open_folder(folder: Path, request: InputRequest) -> pl.LazyFrame | str:
    """Open a local folder: a table of Delta or Iceberg, or Parquet files.

    Of a collection, return the path of its file of judgments.
    """
    here = [f"{_DELTA}/"] if (folder / _DELTA).is_dir() else []
    here += [f"metadata/{path.name}" for path in (folder / "metadata").glob(f"*{METADATA}")]
    lake = lake_at(str(folder), here, request.name)
    if lake is not None:
        return lake
    if judgments := _judgments_in(folder, request):
        return judgments
    sizes = {str(file.relative_to(folder)): file.stat().st_size for file in _visible_files(folder)}
    return open_parts(str(folder), sizes, request.name)


def _judgments_in(folder: Path, request: InputRequest) -> str | None:
    """Return the file with the judgments of a collection; None for any other folder.

    Collections have the layout of BEIR and MTEB: `corpus.jsonl`, `queries.jsonl`, and judgments in
    `qrels/`, a file for each split.
    """
    qrels = folder if folder.name == "qrels" else folder / "qrels"
    if not qrels.is_dir():
        return None
    files = sorted(path for path in qrels.iterdir() if path.is_file() and _is_table(path))
    parted = [path.name for path in files if path.suffix != ".parquet"]
    is_collection = qrels != folder and any(
        bare_name(path).startswith(_TEXTS) for path in folder.iterdir()
    )
    if not files or not (parted or is_collection):
        return None
    if request.role in ("run", "queries"):
        raise request.unreadable(
            "this is the folder of a collection, with judgments and texts",
            f"Judgments come first, e.g. {str(files[0])!r}; then the run, which is not in there",
        )
    if len(files) > 1:
        raise request.unreadable(
            f"it has the judgments of {len(files):,} splits",
            f"Give one of {', '.join(repr(str(path)) for path in files)}",
        )
    return str(files[0])


def _is_table(path: Path) -> bool:
    return Path(bare_name(path).lower()).suffix in _TABLES and not path.name.startswith((".", "_"))


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
    refuse_empty_parts({f"{root}/{file}": sizes[str(file)] for file in files}, name)
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


def refuse_empty_parts(sizes: Mapping[str, int], name: str) -> None:
    """Refuse empty files among others: something was cut short."""
    empty = [file for file, size in sizes.items() if size == 0]
    if empty:
        raise UnreadableInputError(
            name,
            f"{len(empty):,} of its {len(sizes):,} files are empty, e.g. {empty[0]!r}",
            "Write them again, or remove them",
        )


def lake_at(root: str, files: Iterable[str], name: str) -> pl.LazyFrame | None:
    """Open the table in a folder with these files (paths from the folder); None without one."""
    paths = list(files)
    if any(file.startswith(f"{_DELTA}/") for file in paths):
        return open_delta(root, name)
    found = [file for file in paths if _ICEBERG.fullmatch(file)]
    return open_iceberg(f"{root}/{_latest(found)}", name) if found else None


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
