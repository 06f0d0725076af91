"""The file formats, a row each: by which endings they go, how they begin, how they are opened and
written. Reading, writing, `rankframe convert` and what messages list follow from the table.
"""

from __future__ import annotations

import glob as globbing
import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import polars as pl

from rankframe.base.columns import Role
from rankframe.base.errors import UnreadableInputError
from rankframe.base.messages import shorten
from rankframe.sources.json_lines import open_json_lines
from rankframe.sources.trec_format import (
    GZIP,
    is_comment,
    looks_like_tabbed_trec,
    looks_like_trec,
    read_trec,
    write_trec,
)

# Paths (or one address), or open files that hold the same.
Files: TypeAlias = list[str] | list[IO[bytes]]

_HEAD = 4096
# What polars calls a column whose name is there before it.
_RENAMED = re.compile(r"_duplicated_\d+$")
# What a file of such a format has in its first line.
_MARKS = {"CSV": ",;", "JSON Lines": "{"}
# What polars raises where a damaged file leads it to a state that it takes for impossible.
_PANIC: type[BaseException] = pl.exceptions.PanicException
# What reading a file may raise, whatever is wrong with it.
READ_ERRORS = (
    pl.exceptions.PolarsError,
    _PANIC,
    OSError,
    EOFError,
    zlib.error,
    UnicodeDecodeError,
)


@dataclass(frozen=True)
class Format:
    """A file format."""

    name: str
    # the endings by which it is called, the first foremost
    endings: tuple[str, ...]
    # files of this format, their role and how messages call them
    open: Callable[[Files, Role | None, str], pl.LazyFrame]
    # whether a file that begins so, unpacked, is one
    begins: Callable[[bytes], bool]
    # into a path or an open file
    write: Callable[[pl.DataFrame, Any], object]
    # other endings that are understood
    also: tuple[str, ...] = ()
    # or nothing but judgments and ranked runs
    any_table: bool = True
    # any stretch of its rows can be read without reading those before
    seekable: bool = False

    def has(self, ending: str) -> bool:
        """Whether it goes by this ending."""
        return ending in (*self.endings, *self.also)


def by_ending(path: str | Path, packed: tuple[str, ...] = (".gz", ".zst")) -> Format | None:
    """The format that a name says, whether packed in one of these ways or not."""
    name = Path(path).name.lower()
    for compression in packed:
        name = name.removesuffix(compression)
    return next((one for one in FORMATS if one.has(Path(name).suffix)), None)


def by_beginning(head: bytes) -> Format | None:
    """The format that a file looks like."""
    return next((one for one in FORMATS if one.begins(head)), None)


def of_file(path: str) -> Format | None:
    """The format of a file: the one that its name says, or else the one that it looks like. TREC
    text may have any name but that of a Parquet file.
    """
    named = by_ending(path)
    if named is None:
        return by_beginning(head_of(path))
    if named in (PARQUET, TREC):
        return named
    line = _first_line(head_of(path))
    # The names in a header may hold blanks, and numbers.
    if named.name == "TSV" and "\t" in line:
        return TREC if looks_like_tabbed_trec(line) else named
    header = any(mark in line for mark in _MARKS.get(named.name, ""))
    return TREC if looks_like_trec(line) and not header else named


def head_of(file: str | IO[bytes]) -> bytes:
    """How a file begins, unpacked."""
    if not isinstance(file, str):
        head = file.read(_HEAD)
        file.seek(0)
        return head
    with Path(file).open("rb") as opened:
        head = opened.read(_HEAD)
    if not head.startswith(GZIP):
        return head
    with gzip.open(file) as unpacked:
        return unpacked.read(_HEAD)


def readable() -> str:
    """What is read, for messages."""
    *others, last = FORMATS
    called = ", ".join(one.endings[0] for one in others)
    return f"{called}, and {last.name} ({', '.join(last.endings)})"


def writable(*, any_table: bool) -> str:
    """What is written, for messages: any table, or judgments and runs."""
    able = (one for one in FORMATS if one.any_table or not any_table)
    return ", ".join(ending for one in able for ending in one.endings)


def _open_parquet(files: Files, _role: Role | None, _name: str) -> pl.LazyFrame:
    return pl.scan_parquet(files, glob=False)


def _open_table(files: Files, _role: Role | None, name: str, *, separators: str) -> pl.LazyFrame:
    """A table with a header; of these separators the one that it has, else the first."""
    remote = isinstance(files[0], str) and "://" in files[0]
    found = None if remote else _separator(head_of(files[0]))
    used = found if found and found in separators else separators[0]
    frame = pl.scan_csv(files, separator=used, infer_schema=False, glob=False)
    _refuse_repeated(frame, files[0], used, name)
    return frame


def _refuse_repeated(table: pl.LazyFrame, file: str | IO[bytes], separator: str, name: str) -> None:
    """Refuse a header in which a name is there twice, of which polars renames the second."""
    if not any(_RENAMED.search(column) for column in table.collect_schema()):
        return
    header = pl.scan_csv(
        file, separator=separator, infer_schema=False, glob=False, has_header=False, n_rows=1
    )
    names = header.collect().row(0)
    if not isinstance(file, str):
        file.seek(0)
    if twice := [one for one in names if one is not None and names.count(one) > 1]:
        raise UnreadableInputError(
            name, f"its header has {twice[0]!r} more than once", "Rename or remove one of them"
        )


def _open_json_lines(files: Files, _role: Role | None, name: str) -> pl.LazyFrame:
    return open_json_lines(files, name)


def _open_trec(files: Files, role: Role | None, name: str) -> pl.LazyFrame:
    if role == "queries":
        raise UnreadableInputError(name, "TREC text holds no table of queries")
    # One by one, so that a bad line is named by its own file and number.
    frames = [read_trec(f, role, f if isinstance(f, str) else name) for f in files]
    return pl.concat(frames, how="diagonal_relaxed").lazy()


def _first_line(head: bytes) -> str:
    """The first line that says something."""
    lines = head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    return next((s for s in map(str.strip, lines) if s and not is_comment(s)), "")


def _separator(head: bytes) -> str | None:
    """What parts the names in the header of a table; None where there is no such header."""
    line = _first_line(head)
    if line.startswith("{") or looks_like_trec(line):
        return None
    return next((c for c in ("\t", ",", ";") if c in line), None)


PARQUET = Format(
    "Parquet",
    (".parquet",),
    also=(".pq", ".parq"),
    open=_open_parquet,
    begins=lambda head: head.startswith(b"PAR1"),
    write=pl.DataFrame.write_parquet,
    seekable=True,
)
TREC = Format(
    "TREC text",
    (".trec", ".txt", ".qrels", ".run"),
    open=_open_trec,
    begins=lambda head: looks_like_trec(_first_line(head)),
    write=write_trec,
    any_table=False,
)
# In the order in which they are listed; a file is of the first whose beginning it has.
FORMATS = (
    PARQUET,
    Format(
        "CSV",
        (".csv",),
        open=partial(_open_table, separators=",;"),
        begins=lambda head: _separator(head) in (",", ";"),
        write=pl.DataFrame.write_csv,
    ),
    Format(
        "TSV",
        (".tsv",),
        also=(".tab",),
        open=partial(_open_table, separators="\t"),
        begins=lambda head: _separator(head) == "\t",
        write=partial(pl.DataFrame.write_csv, separator="\t"),
    ),
    Format(
        "JSON Lines",
        (".jsonl", ".ndjson"),
        also=(".jsonlines",),
        open=_open_json_lines,
        begins=lambda head: _first_line(head).startswith("{"),
        write=pl.DataFrame.write_ndjson,
    ),
    TREC,
)

# From where on polars says what to change in a call that is not the user's.
_HINT = re.compile(
    r"\b(?:hint:|consider |you might want to|try (?:setting|increasing))", re.IGNORECASE
)
_PLAIN = (
    (FileNotFoundError, "no such file"),
    (PermissionError, "no permission"),
    (IsADirectoryError, "it is a folder"),
    ((EOFError, zlib.error, gzip.BadGzipFile), "its gzip compression is damaged or cut short"),
)


def unreadable(name: str, error: BaseException) -> UnreadableInputError:
    """What a failed read means for the reader of the message."""
    text = str(error)
    for kind, problem in _PLAIN:
        if isinstance(error, kind):
            return UnreadableInputError(name, problem)
    if isinstance(error, _PANIC):
        said = shorten(re.sub(r"\s+", " ", text))
        return UnreadableInputError(name, f"polars gave up on it ({said})", "It may be damaged")
    said = re.sub(r"\s+", " ", _HINT.split(text.strip().split("\n\n")[0])[0]).rstrip(" .;,")
    if "File out of specification" in text or "PAR1" in text:
        bad = _bad_part(name) or name
        return UnreadableInputError(
            bad, "it is not a Parquet file, or a truncated one", f"({said})"
        )
    if re.search(r"utf-?8", text, re.IGNORECASE):
        return UnreadableInputError(name, "it is not UTF-8 text")
    return UnreadableInputError(name, said)


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
