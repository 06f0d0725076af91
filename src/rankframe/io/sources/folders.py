"""Open folders that are one table: Parquet files, Delta and Iceberg; find judgments in collections.

If a table has a history (Delta, Iceberg), only the history tells which files are still part of the
table. A folder is therefore searched for a history before its files are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import polars as pl

from rankframe.core.errors import MissingExtraError, UnreadableInputError
from rankframe.core.messages import shorten
from rankframe.io.formats.packing import bare_name
from rankframe.io.formats.registry import BY_ENDING, PARQUET
from rankframe.io.raw_table import InputRequest
from rankframe.io.remote import S3, polars_options, scheme_of

_DELTA = "_delta_log"
_ICEBERG = re.compile(r"metadata/[^/]+\.metadata\.json")
METADATA = ".metadata.json"  # at the end of a file of Iceberg
# Names of S3 options in polars → in pyiceberg.
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

    For a test collection, return the path of its file of judgments instead.
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
    """Scan the Parquet files in a folder and its Hive-style subfolders (`day=2026-01-01`).

    As in Spark, files whose names begin with _ or . are ignored; all other files must be readable.
    `sizes`: relative path → size of each file. `reached`: arguments for polars' scan function.
    """
    data_files = [file for file in map(Path, sizes) if all(map(_is_data, file.parts))]
    files = [file for file in data_files if BY_ENDING.get(file.suffix.lower()) is PARQUET]
    other_files = [
        str(file) for file in data_files if BY_ENDING.get(file.suffix.lower()) is not PARQUET
    ]
    keys = {tuple(_hive_columns(file.parent)) for file in files}
    problem, advice = "", ""
    if not files:
        problem = "there is no .parquet file in this folder"
    elif other_files:
        count = f"{len(other_files):,} of its {len(data_files):,} files"
        problem = f"{count} are not Parquet, e.g. {other_files[0]!r}"
        instead = f"or give the files themselves: a pattern such as '{root}/*.parquet'"
        advice = f"Take them out of the folder, {instead}"
    elif len(keys) > 1:
        problem = f"its folders do not all have the same columns in their names: {sorted(keys)}"
    else:
        refuse_empty_parts({f"{root}/{file}": sizes[str(file)] for file in files}, name)
    if problem:
        raise UnreadableInputError(name, problem, advice)
    paths, inside = [f"{root}/{file}" for file in files], keys.pop()
    if not inside:
        return pl.scan_parquet(paths, glob=False, hive_partitioning=False, **reached)
    # polars parses `key=value` in the whole path, but only the part inside the folder is data.
    above = _hive_columns(Path(root))
    columns = [*above, *inside]
    # Every file is checked: polars would overwrite a column that has the name of such a key.
    each = (
        pl.scan_parquet([path], glob=False, hive_partitioning=False, **reached) for path in paths
    )
    own = {column for path in each for column in path.collect_schema()}
    if twice := [column for column in columns if column in own or columns.count(column) > 1]:
        where = "in the names of two folders, one within the other"
        where = "a column of its files and in the name of a folder" if twice[0] in own else where
        raise UnreadableInputError(name, f"{twice[0]!r} is {where}", "Rename one of them")
    # Ids in folder names stay as they are written: 007 is not 7.
    types = dict.fromkeys(columns, pl.String)
    frame = pl.scan_parquet(paths, glob=False, hive_partitioning=True, hive_schema=types, **reached)
    return frame.drop(above)


def _visible_files(folder: Path) -> list[Path]:
    """Return the files in and below a folder, in order; links are followed, but not in circles."""
    visible: list[Path] = []
    visited: set[str] = set()
    for where, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(where)) in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(filter(_is_data, folders))
        visible += (Path(where, file_name) for file_name in filter(_is_data, names))
    return sorted(visible)


def _is_data(name: str) -> bool:
    return not (name.startswith(".") or (name.startswith("_") and "=" not in name))


def _hive_columns(path: Path) -> list[str]:
    return [part.split("=")[0] for part in path.parts if "=" in part]


def refuse_empty_parts(sizes: Mapping[str, int], name: str) -> None:
    """Refuse a folder in which some of several files are empty: writing them was interrupted."""
    empty = [file for file, size in sizes.items() if size == 0]
    if empty:
        problem = f"{len(empty):,} of its {len(sizes):,} files are empty, e.g. {empty[0]!r}"
        raise UnreadableInputError(name, problem, "Write them again, or remove them")


def lake_at(root: str, files: Iterable[str], name: str) -> pl.LazyFrame | None:
    """Open a folder as a Delta or Iceberg table; return None if it is neither.

    `files` are the files of the folder, as paths from the folder.
    """
    paths = list(files)
    if any(file.startswith(f"{_DELTA}/") for file in paths):
        return open_delta(root, name)
    metadata = [file for file in paths if _ICEBERG.fullmatch(file)]
    return open_iceberg(f"{root}/{_latest(metadata)}", name) if metadata else None


def open_delta(root: str, name: str) -> pl.LazyFrame:
    """Open a Delta table as it is now: without removed files and removed rows."""
    scheme = scheme_of(root)
    options = {key: str(value) for key, value in polars_options(scheme).items()} if scheme else {}
    if options.get("aws_endpoint_url", "").startswith("http://"):
        options["aws_allow_http"] = "true"
    with _opened_as("a Delta table", name):
        from deltalake import DeltaTable  # noqa: PLC0415 (an optional part)

        table = DeltaTable(root, storage_options=options if scheme else None)
        frame = pl.scan_delta(table)
        frame.collect_schema()
        files = pl.DataFrame(table.get_add_actions())
    if not scheme:
        _refuse_lost_files(Path(root), dict(zip(files["path"], files["size_bytes"], strict=True)))
    return frame


def _refuse_lost_files(folder: Path, sizes: Mapping[str, int]) -> None:
    """Refuse a Delta table with a missing or truncated file, on which polars would panic."""
    for path, size in sizes.items():
        places = (folder / path, folder / unquote(path))
        place = next((place for place in places if place.is_file()), None)
        if place is None or place.stat().st_size < size:
            problem = f"its file {path!r} is {'gone' if place is None else 'cut short'}"
            advice = "Restore the file, or an earlier version of the table"
            raise UnreadableInputError(str(folder), problem, advice)


def open_iceberg(metadata: str, name: str) -> pl.LazyFrame:
    """Open an Iceberg table by a file of its metadata."""
    # Silence polars' warning about a missing faster planner, which matters for thousands of files.
    os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")
    scheme = scheme_of(metadata)
    place = metadata if scheme else Path(metadata).absolute().as_uri()
    options = polars_options(scheme) if scheme else None
    if options is not None and scheme in S3:
        options = {other: options[own] for own, other in _PYICEBERG.items() if own in options}
    with _opened_as("an Iceberg table", name):
        import pyiceberg.exceptions  # noqa: F401, PLC0415 (an optional part)

        frame = pl.scan_iceberg(place, storage_options=options)
        frame.collect_schema()
    return frame


@contextmanager
def _opened_as(kind: str, name: str) -> Iterator[None]:
    """Turn an error inside the block into an error that the folder is no table of this kind."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(f"reading {kind}", kind.split()[1].lower()) from error
    except Exception as error:  # whatever the libraries that read files raise
        reason = shorten(str(error).strip().split("\n", maxsplit=1)[0].rstrip(" .:"), 200)
        raise UnreadableInputError(name, f"it cannot be opened as {kind} ({reason})") from error


def _latest(files: list[str]) -> str:
    """Return the newest metadata file of an Iceberg table: the one with the highest number.

    >>> _latest(["metadata/v9.metadata.json", "metadata/v10.metadata.json"])
    'metadata/v10.metadata.json'
    """

    def version(file: str) -> tuple[int, str]:
        match = re.match(r"v?(\d+)", PurePosixPath(file).name)
        return int(match[1]) if match else -1, file

    return max(files, key=version)
