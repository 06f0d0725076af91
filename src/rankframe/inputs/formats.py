"""Files and pipes → a LazyFrame as found: Parquet, CSV, JSON Lines, TREC text, plain or gzipped."""

from __future__ import annotations

import glob as globbing
import gzip
import io
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import polars as pl

from rankframe.base.columns import Role
from rankframe.base.errors import EmptyInputError, UnreadableInputError
from rankframe.base.messages import did_you_mean
from rankframe.inputs.trec_format import looks_like_trec, read_trec

PARQUET = (".parquet", ".pq", ".parq")
TREC = (".trec", ".txt", ".qrels", ".run")
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")
_HEAD = 4096
# What reading a file may raise, whatever is wrong with it.
READ_ERRORS = (pl.exceptions.PolarsError, OSError, EOFError, zlib.error, UnicodeDecodeError)


def open_path(path: str, role: Role | None, name: str) -> pl.LazyFrame:
    """A file, a glob pattern, or a folder of Parquet files."""
    path = os.path.expanduser(path)  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path:
        raise UnreadableInputError("''", "a path is needed, and this one is empty")
    if "://" in path:
        return _scan(path, path, role, name)
    if Path(path).is_dir():
        return _open_folder(Path(path), name)
    files = [path] if Path(path).exists() else sorted(globbing.glob(path, recursive=True))
    if not files:
        raise UnreadableInputError(name, "no such file", _similar_file(Path(path)))
    if Path(files[0]).is_fifo():
        with Path(files[0]).open("rb") as pipe:
            return open_stream(pipe, role, name)
    if all(Path(file).stat().st_size == 0 for file in files):
        raise EmptyInputError(role or "input", name)
    # Names are given to polars literally: a real file may have brackets in its name.
    return _scan(files, files[0], role, name)


def open_stream(file: IO[bytes], role: Role | None, name: str) -> pl.LazyFrame:
    """An open file or a pipe."""
    try:
        content = file.read()
    except ValueError as error:  # a closed file
        raise UnreadableInputError(name, str(error)) from error
    if isinstance(content, str):
        content = content.encode()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if not content.strip():
        raise EmptyInputError(role or "input", name)
    if content.startswith(b"PAR1"):
        return pl.read_parquet(io.BytesIO(content)).lazy()
    kind = _sniff(content[:_HEAD])
    if kind == "json":
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None).lazy()
    if kind == "trec" or kind is None:
        return _trec([io.BytesIO(content)], role, name)
    return pl.read_csv(io.BytesIO(content), separator=kind, infer_schema=False).lazy()


_PLAIN = (
    (FileNotFoundError, "no such file"),
    (PermissionError, "no permission"),
    (IsADirectoryError, "it is a folder"),
    ((EOFError, zlib.error, gzip.BadGzipFile), "its gzip compression is damaged or cut short"),
)


def unreadable(name: str, error: Exception) -> UnreadableInputError:
    """What a failed read means for the reader of the message."""
    text = str(error)
    for kind, problem in _PLAIN:
        if isinstance(error, kind):
            return UnreadableInputError(name, problem)
    if "File out of specification" in text or "PAR1" in text:
        bad = _bad_part(name)
        return UnreadableInputError(
            bad or name, "it is not a Parquet file, or a truncated one", f"({_first_line(text)})"
        )
    if re.search(r"utf-?8", text, re.IGNORECASE):
        return UnreadableInputError(name, "it is not UTF-8 text")
    return UnreadableInputError(name, _first_line(text))


def _scan(source: str | list[str], first: str, role: Role | None, name: str) -> pl.LazyFrame:
    suffix = _suffix(first)
    if suffix in PARQUET:
        return pl.scan_parquet(source, glob=False)
    if suffix in _SEPARATORS:
        separator = _SEPARATORS[suffix]
        if suffix == ".csv" and "://" not in first and _sniff(_head(first)) == ";":
            separator = ";"
        return pl.scan_csv(source, separator=separator, infer_schema=False, glob=False)
    if suffix in _JSON_LINES:
        return _json_lines(source)
    if suffix in TREC:
        return _trec(source, role, name)
    if "://" in first:
        return pl.scan_parquet(source)
    return _scan_unnamed(source, first, role, name)


def _scan_unnamed(
    source: str | list[str], first: str, role: Role | None, name: str
) -> pl.LazyFrame:
    """Files whose ending says nothing: look at how the first one begins."""
    head = _head(first)
    if head.startswith(b"PAR1"):
        return pl.scan_parquet(source, glob=False)
    kind = _sniff(head)
    if kind == "json":
        return _json_lines(source)
    if kind == "trec":
        return _trec(source, role, name)
    if kind is None:
        raise UnreadableInputError(
            name,
            "its ending is not one that rankframe knows, and neither does it look like one",
            "It reads .parquet, .csv, .tsv, .jsonl, and TREC text (.trec, .txt, .qrels, .run)",
        )
    return pl.scan_csv(source, separator=kind, infer_schema=False, glob=False)


def _open_folder(folder: Path, name: str) -> pl.LazyFrame:
    """Parquet files in a folder and its Hive-style subfolders (`day=2026-01-01`)."""
    first = next((p for p in folder.rglob("*.parquet") if p.is_file()), None)
    if first is None:
        raise UnreadableInputError(name, "there is no .parquet file in this folder")
    # Ids in folder names stay as they are written: 007 is not 7.
    parts = [p.split("=")[0] for p in first.relative_to(folder).parts[:-1] if "=" in p]
    pattern = Path(globbing.escape(str(folder))) / "**/*.parquet"
    return pl.scan_parquet(
        pattern, hive_partitioning=True, hive_schema=dict.fromkeys(parts, pl.String)
    )


def _json_lines(source: str | list[str]) -> pl.LazyFrame:
    files = [source] if isinstance(source, str) else source
    # scan_ndjson always expands patterns. Ids may change from number to text anywhere in a file.
    return pl.scan_ndjson([globbing.escape(f) for f in files], infer_schema_length=None)


def _trec(source: str | Sequence[str | IO[bytes]], role: Role | None, name: str) -> pl.LazyFrame:
    if role == "queries":
        raise UnreadableInputError(name, "TREC text holds no table of queries")
    files = [source] if isinstance(source, str) else source
    # One by one, so that a bad line is named by its own file and number.
    frames = [read_trec(f, role, f if isinstance(f, str) else name) for f in files]
    return pl.concat(frames, how="diagonal").lazy()


def _sniff(head: bytes) -> str | None:
    """`json`, `trec`, the separator of a table with a header, or None."""
    lines = head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    first = next((s for s in map(str.strip, lines) if s and not s.startswith("#")), "")
    if first.startswith("{"):
        return "json"
    if looks_like_trec(first):
        return "trec"
    return next((c for c in ("\t", ",", ";") if c in first), None)


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(b"\x1f\x8b"):
        return head
    with gzip.open(path) as file:
        return file.read(_HEAD)


def _suffix(path: str) -> str:
    name = Path(path).name.lower()
    for compression in (".gz", ".zst"):
        name = name.removesuffix(compression)
    return Path(name).suffix


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))


def _bad_part(name: str) -> str | None:
    """Of several Parquet files, the first that cannot be opened."""
    pattern = str(Path(name) / "**/*.parquet") if Path(name).is_dir() else name
    files = sorted(globbing.glob(pattern, recursive=True))
    for file in files if len(files) > 1 else ():
        try:
            pl.read_parquet_schema(file)
        except (pl.exceptions.PolarsError, OSError):
            return file
    return None


def _first_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip().split("\n\n")[0]).rstrip(".")
