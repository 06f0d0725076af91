"""Anything → a LazyFrame with rankframe's column names: files, frames, Arrow streams, dicts."""

from __future__ import annotations

import glob as globbing
import gzip
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SYNONYMS
from rankframe.errors import (
    AmbiguousColumnError,
    ColumnMappingError,
    ColumnTypeError,
    EmptyInputError,
    MissingColumnError,
    UnreadableInputError,
    did_you_mean,
)
from rankframe.trec import looks_like_trec, read_trec

# A polars frame, a path, an open binary file, a dict of dicts, or anything Arrow-like.
Source: TypeAlias = Any
# {"query_id": "user_id"}, or one such mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

Role: TypeAlias = Literal["qrels", "run", "queries"]

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE),
    "run": (QUERY, DOC, SCORE, RANK),
}
_OPTIONAL = (SCORE, RANK)
_PARQUET = (".parquet", ".pq", ".parq")
_TREC = (".trec", ".txt", ".qrels", ".run", ".trec_eval")
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines")


@dataclass(frozen=True)
class Scanned:
    """An input that was opened and whose columns were found, but whose rows were not read."""

    role: Role
    name: str
    # as found: for error messages that quote the input
    raw: pl.LazyFrame
    # rankframe's column → the column of the input
    mapping: dict[str, str]

    def with_number(self, ours: str, source: str) -> Scanned:
        """The same with one more numeric column."""
        return replace(self, mapping={**self.mapping, ours: source})

    @property
    def frame(self) -> pl.LazyFrame:
        """Only our columns, under our names: ids as strings, numbers as Float64."""
        schema = self.raw.collect_schema()
        return self.raw.select(
            _as_id(source).alias(ours) if ours in (QUERY, DOC) else _as_number(
                source, schema[source]
            ).alias(ours)
            for ours, source in self.mapping.items()
        )  # fmt: skip


def scan(source: Source, role: Role | None, columns: Columns | None = None) -> Scanned:
    """Open a source and find its columns; rows are read later.

    Without a role, a source with a grade and neither score nor rank is qrels, any other a run.
    """
    name = describe(source, role or "input")
    try:
        raw = _open(source, role, name)
        schema = raw.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(name, error) from error
    if role is None:
        role = _guess_role(list(schema), columns)
    mapping = _find_columns(list(schema), role, columns)
    for ours, found in mapping.items():
        _check_type(role, ours, found, schema[found])
    return Scanned(role, name, raw, mapping)


def describe(source: Source, role: str) -> str:
    """How messages call a source: its path, or what kind of thing it is."""
    if isinstance(source, str | os.PathLike):
        return str(source)
    if hasattr(source, "read"):
        return f"the {role} on {getattr(source, 'name', 'the open file')}"
    return f"the {role} {type(source).__name__}"


def unreadable(name: str, error: Exception) -> UnreadableInputError:
    """What a failed read means for the reader of the message."""
    text = str(error)
    if isinstance(error, FileNotFoundError) or "expanded paths were empty" in text:
        return UnreadableInputError(name, "no such file")
    if isinstance(error, PermissionError):
        return UnreadableInputError(name, "no permission")
    if isinstance(error, IsADirectoryError):
        return UnreadableInputError(name, "it is a folder")
    if "parquet" in text.lower() or "PAR1" in text:
        return UnreadableInputError(
            name, "it is not a Parquet file, or a truncated one", f"({_first_line(text)})"
        )
    if "utf-8" in text.lower():
        return UnreadableInputError(name, "it is not UTF-8 text")
    return UnreadableInputError(name, _first_line(text))


def _open(source: Source, role: Role | None, name: str) -> pl.LazyFrame:
    if isinstance(source, pl.LazyFrame):
        return source
    if isinstance(source, pl.DataFrame):
        return source.lazy()
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source).expanduser(), role, name)
    if hasattr(source, "read"):
        return _open_text(source, role, name)
    if isinstance(source, Mapping):
        return _from_dicts(source, role, name).lazy()
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pl.DataFrame(source).lazy()
        except Exception as error:  # whatever the exporting library raises
            raise UnreadableInputError(
                name, f"it cannot be turned into Arrow data ({_first_line(str(error))})"
            ) from error
    raise UnreadableInputError(
        name,
        "this is neither a frame, an Arrow table, a path nor a dict of dicts",
        "For plain Python lists see rankframe.from_lists",
    )


def _open_path(path: Path, role: Role | None, name: str) -> pl.LazyFrame:
    text = str(path)
    # A real file may have brackets in its name.
    glob = not path.exists() and any(c in text for c in "*?[")
    if not glob and not path.exists():
        raise UnreadableInputError(name, "no such file", _similar_file(path))
    if path.is_dir():
        if next(path.rglob("*.parquet"), None) is None:
            raise UnreadableInputError(name, "there is no .parquet file in this folder")
        return pl.scan_parquet(path / "**/*.parquet", hive_partitioning=True)
    suffix = _suffix(path)
    if not glob and path.stat().st_size == 0:
        raise EmptyInputError(role or "input", name)
    if suffix in _PARQUET:
        return pl.scan_parquet(path, glob=glob)
    if suffix in _SEPARATORS:
        return pl.scan_csv(path, separator=_SEPARATORS[suffix], infer_schema=False, glob=glob)
    if suffix in _JSON_LINES:
        # Ids may change from number to text anywhere in the file.
        return pl.scan_ndjson(text, infer_schema_length=None)
    if suffix in _TREC:
        return _open_trec(text, role, name, glob=glob)
    return _open_unnamed(text, role, name, glob=glob)


def _open_unnamed(path: str, role: Role | None, name: str, *, glob: bool) -> pl.LazyFrame:
    """A file whose ending says nothing: look at how it begins."""
    first = (sorted(globbing.glob(path)) or [path])[0] if glob else path
    with Path(first).open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"PAR1"):
        return pl.scan_parquet(path, glob=glob)
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(first) as file:
            head = file.read(4096)
    kind = _sniff(head)
    if kind == "json":
        return pl.scan_ndjson(path, infer_schema_length=None)
    if kind == "trec":
        return _open_trec(path, role, name, glob=glob)
    if kind is None:
        raise UnreadableInputError(
            name,
            "its ending is not one that rankframe knows, and neither does it look like one",
            "It reads .parquet, .csv, .tsv, .jsonl, and TREC text (.trec, .txt, .qrels, .run)",
        )
    return pl.scan_csv(path, separator=kind, infer_schema=False, glob=glob)


def _open_text(file: IO[bytes], role: Role | None, name: str) -> pl.LazyFrame:
    """An open file or a pipe with TREC, CSV, TSV or JSON Lines in it."""
    content = file.read()
    if isinstance(content, str):
        content = content.encode()
    if not content.strip():
        raise EmptyInputError(role or "input", name)
    if content.startswith(b"PAR1"):
        return pl.read_parquet(io.BytesIO(content)).lazy()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    kind = _sniff(content[:4096])
    if kind == "json":
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None).lazy()
    if kind == "trec" or kind is None:
        return _open_trec(io.BytesIO(content), role, name, glob=False)
    return pl.read_csv(io.BytesIO(content), separator=kind, infer_schema=False).lazy()


def _open_trec(
    source: str | IO[bytes], role: Role | None, name: str, *, glob: bool
) -> pl.LazyFrame:
    if role == "queries":
        raise UnreadableInputError(name, "TREC text holds no table of queries")
    return read_trec(source, role, name, glob=glob).lazy()


def _sniff(head: bytes) -> str | None:
    """`json`, `trec`, the separator of a table with a header, or None."""
    lines = head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    first = next((s for s in map(str.strip, lines) if s and not s.startswith("#")), "")
    if first.startswith("{"):
        return "json"
    if looks_like_trec(first):
        return "trec"
    return next((c for c in ("\t", ",", ";") if c in first), None)


def _from_dicts(source: Mapping[Any, Any], role: Role | None, name: str) -> pl.DataFrame:
    """{query: {doc: value}}, flattened at the speed of C."""
    if source and not all(isinstance(docs, Mapping) for docs in source.values()):
        raise UnreadableInputError(
            name,
            "a dict must map each query to a dict of document → value",
            "For ranked lists see rankframe.from_lists",
        )
    lengths = np.fromiter(map(len, source.values()), np.int64, len(source))
    queries = pl.Series(QUERY, list(map(str, source)), dtype=pl.String)
    values = list(chain.from_iterable(docs.values() for docs in source.values()))
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        bad = next(v for v in values if not isinstance(v, int | float | np.number))
        raise UnreadableInputError(
            name, f"a value that is not a number: {bad!r}", "Each document maps to one number"
        ) from error
    return pl.DataFrame(
        {
            QUERY: queries.gather(np.repeat(np.arange(len(source)), lengths)),
            DOC: pl.Series(list(map(str, chain.from_iterable(source.values()))), dtype=pl.String),
            RELEVANCE if role == "qrels" else SCORE: numbers,
        }
    )


def _guess_role(found: Sequence[str], columns: Columns | None) -> Role:
    def has(ours: str, asked: Mapping[str, str]) -> bool:
        return ours in asked or any(c.lower() in (ours, *SYNONYMS[ours]) for c in found)

    graded = has(RELEVANCE, _asked_for("qrels", columns))
    placed = any(has(ours, _asked_for("run", columns)) for ours in (SCORE, RANK))
    return "qrels" if graded and not placed else "run"


def _find_columns(found: Sequence[str], role: Role, columns: Columns | None) -> dict[str, str]:
    asked = _asked_for(role, columns)
    mapping: dict[str, str] = {}
    for ours in _WANTED[role]:
        if ours in asked:
            if asked[ours] not in found:
                raise MissingColumnError(role, ours, found, asked=asked[ours])
            mapping[ours] = asked[ours]
            continue
        taken = set(asked.values())
        candidates = [c for c in found if c.lower() == ours and c not in taken] or [
            c for c in found if c.lower() in SYNONYMS[ours] and c not in taken
        ]
        if len(candidates) > 1:
            raise AmbiguousColumnError(role, ours, candidates)
        if candidates:
            mapping[ours] = candidates[0]
        elif ours not in _OPTIONAL:
            raise MissingColumnError(role, ours, found)
    return mapping


def _asked_for(role: Role, columns: Columns | None) -> dict[str, str]:
    """The part of a `columns=` mapping that speaks of this side."""
    flat: dict[str, str] = {}
    for key, value in (columns or {}).items():
        if key in ("qrels", "run"):
            if key == role:
                flat.update(_asked_for(role, value))
        elif key not in SYNONYMS:
            raise ColumnMappingError(key, list(SYNONYMS))
        elif key in _WANTED[role]:
            flat[key] = str(value)
    return flat


def _check_type(role: Role, ours: str, found: str, dtype: pl.DataType) -> None:
    if ours in (QUERY, DOC):
        if dtype.is_nested() or dtype == pl.Object:
            raise ColumnTypeError(role, found, str(dtype), "ids (text or numbers)")
    elif not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
        raise ColumnTypeError(role, found, str(dtype), "numbers")


def _as_id(source: str) -> pl.Expr:
    return pl.col(source).cast(pl.String)


def _as_number(source: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(source)
    if dtype == pl.String:
        column = column.str.strip_chars()
    return column.cast(pl.Float64)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for compression in (".gz", ".zst"):
        name = name.removesuffix(compression)
    return Path(name).suffix


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either"
    return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))


def _first_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip().split("\n\n")[0]).rstrip(".")
