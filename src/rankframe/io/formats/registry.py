"""Register the file formats: their endings, how to recognise, open and write files of each.

Reading, writing, `rankframe convert` and the formats that messages list follow from `FORMATS`.
"""

from __future__ import annotations

import glob as globbing
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import polars as pl

from rankframe.core.errors import UnreadableInputError
from rankframe.core.messages import shorten, without_user
from rankframe.core.records import record
from rankframe.io.formats import delimited, trec_format
from rankframe.io.formats.delimited import first_line, separator_of
from rankframe.io.formats.json_text import open_json, write_object
from rankframe.io.formats.packing import ENDINGS, NATIVE, Beginning, beginning_of
from rankframe.io.raw_table import InputRequest, RawTable, lazy_table
from rankframe.io.remote import explained, is_address

# Paths, or open files with the contents.
Files: TypeAlias = list[str] | list[IO[bytes]]

_BATCH = 1 << 17  # rows: as many as polars reads at a time
# Files may be held in memory if the memory limit is `_PLENTY` times their size. Without a memory
# limit, `_USUAL_LIMIT` is assumed.
_PLENTY, _USUAL_LIMIT = 16, 8 << 30
# The first line of a text file in a format has one of these characters.
_MARKS = {"CSV": ",;", "JSON Lines": "{[", "JSON": "{["}
_STREAM = b"\xff\xff\xff\xff"  # of an Arrow stream; an Arrow file begins with "ARROW1"
# polars raises this (a Rust panic) on some damaged files.
_PANIC: type[BaseException] = pl.exceptions.PanicException
# Exceptions that reading a damaged or missing file may raise.
READ_ERRORS = (pl.exceptions.PolarsError, _PANIC, OSError, EOFError, zlib.error, UnicodeDecodeError)


@record
class Format:
    """Describe a file format: its names, and how to recognise, open and write files."""

    name: str
    # the usual endings of file names, the main one first
    endings: tuple[str, ...]
    open: Callable[[Files, InputRequest], RawTable]
    # whether a file with these first bytes, decompressed, has this format
    begins: Callable[[bytes], object]
    # writes a frame into a path or an open file
    write: Callable[[pl.DataFrame, Any], object]
    # other endings that are understood
    also: tuple[str, ...] = ()
    # whether the format holds any table, or only judgments and ranked runs
    any_table: bool = True
    # the compressions that the reader decompresses itself; other files are decompressed into memory
    packings: tuple[str, ...] = NATIVE


def by_ending(path: str | Path) -> Format | None:
    """Return the format for the ending of a path (before an ending such as .gz), or None."""
    name = Path(path)
    ending = name.suffix.lower()
    if ending in ENDINGS:
        ending = Path(name.stem).suffix.lower()
    return BY_ENDING.get(ending)


def by_beginning(head: bytes) -> Format | None:
    """Return the first format whose files begin like these bytes, or None."""
    return next((form for form in FORMATS if form.begins(head)), None)


def recognise(path: str, beginning: Beginning, name: str) -> Format | None:
    """Return the format of a file, by its name, or else by its beginning.

    Parquet and Arrow files are recognised by their beginning, whatever their name. TREC text is
    accepted under the name of any other format. A file whose beginning shows a format that cannot
    be read is refused.
    """
    head = beginning.head
    named, look = by_ending(path), by_beginning(head)
    if look not in BINARY:
        refuse_other(head, name)
    if named in BINARY and named is not None:
        if beginning.packing is not None:
            packed = f"it should be {named.name}, and is also compressed with "
            raise UnreadableInputError(name, packed + beginning.packing.name, "Unpack it")
        if look is not None and look not in BINARY and len(head.splitlines()) > 1:
            problem = f"it is not a {named.name} file: it looks like {look.name}"
            raise UnreadableInputError(name, problem, f"Rename it to {look.endings[0]}")
        return look if look in BINARY else named
    if named is None or look in BINARY:
        return look
    line = first_line(head)
    if named is TREC:
        return look if look and _is_table(look, head) else TREC
    # The names in a header may hold blanks and digits, so that a header may look like TREC text.
    if named.name == "TSV" and "\t" in line:
        return TREC if trec_format.looks_like_tabbed_trec(line) else named
    header = any(mark in line for mark in _MARKS.get(named.name, ""))
    return TREC if trec_format.looks_like_trec(line) and not header else named


def refuse_other(head: bytes, name: str) -> None:
    """Refuse a file that begins like a format that cannot be read, such as a zip archive."""
    for sign, kind, advice in _LOOKS:
        if re.match(sign, head, re.DOTALL):
            raise UnreadableInputError(name, f"this looks like {kind}", advice)


def readable() -> str:
    """Return a text for messages that lists the formats that can be read."""
    *first, last = FORMATS
    called = ", ".join(format_.endings[0] for format_ in first)
    return f"{called}, and {last.name} ({', '.join(last.endings)})"


def writable(*, any_table: bool) -> str:
    """Return a text for messages that lists the endings of the formats that can be written.

    `any_table`: only formats that hold any table, not just judgments and runs.
    """
    able = (format_ for format_ in FORMATS if format_.any_table or not any_table)
    return ", ".join(ending for format_ in able for ending in format_.endings)


def _is_table(look: Format, head: bytes) -> bool:
    """Return whether a file with an ending of TREC text is clearly CSV, TSV or JSON (`look`)."""
    line, separator = first_line(head), separator_of(head)
    if look is TREC or separator is None:
        return look is not TREC
    fields = delimited.fields_of(head, separator)
    return delimited.is_named(fields) or (
        separator == "\t" and len(fields) in (2, 3) and " " not in line
    )


def _open_parquet(files: Files, request: InputRequest) -> RawTable:
    """Scan Parquet files; in local files, categories are read as text.

    polars merges the categories of all row groups, which takes several times as long as reading
    them: a file has a dictionary of texts per row group. Files that are small beside the memory
    limit are scanned in memory, without the part that declares categories; other files are read
    by pyarrow.
    """
    frame = pl.scan_parquet(files, glob=False)
    schema = frame.collect_schema()
    if pl.Categorical not in schema.dtypes() or not all(isinstance(file, str) for file in files):
        return RawTable(frame)
    texts = {n: pl.String() if kind == pl.Categorical else kind for n, kind in schema.items()}
    paths = [Path(cast("str", file)) for file in files]
    if sum(path.stat().st_size for path in paths) * _PLENTY <= (request.limit or _USUAL_LIMIT):
        frame = pl.scan_parquet([_undeclare_types(path.read_bytes()) for path in paths], glob=False)
        if frame.collect_schema() == texts:
            return RawTable(frame)

    def read(columns: list[str], _rows: int | None) -> Iterator[pl.DataFrame]:
        for file in files:
            yield from _read_parquet(file, columns)

    return RawTable(lazy_table(texts, read))


def _undeclare_types(parquet: bytes) -> bytes:
    """Rename the entry of a Parquet file that declares the types of Arrow, such as categories.

    Without it, columns have the types of Parquet, which knows texts but no categories.
    """
    start = parquet.rfind(b"ARROW:schema", -int.from_bytes(parquet[-8:-4], "little") - 8)
    return parquet if start < 0 else parquet[:start] + b"-" + parquet[start + 1 :]


def _read_parquet(file: Any, columns: list[str]) -> Iterator[pl.DataFrame]:
    # Takes longer than polars to import.
    from pyarrow import ArrowException  # noqa: PLC0415
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415

    try:
        with ParquetFile(file) as opened:
            for batch in opened.iter_batches(_BATCH, columns=columns):
                yield pl.DataFrame([_text(name, batch.column(name)) for name in columns])
    except ArrowException as error:  # raised as an error of polars, which callers handle
        raise pl.exceptions.ComputeError(str(error)) from error


def _text(name: str, column: Any) -> pl.Series:
    """Return a column of pyarrow's table, with text in place of categories."""
    if not hasattr(column, "dictionary"):
        return pl.Series(name, column)
    texts, numbers = pl.Series(name, column.dictionary), pl.Series(column.indices)
    return texts[numbers] if not numbers.null_count() else texts.gather(numbers)


def _open_arrow(files: Files, _request: InputRequest) -> RawTable:
    """Open Arrow and Feather files, or Arrow streams."""
    if not any(beginning_of(file).head.startswith(_STREAM) for file in files):
        return RawTable(pl.scan_ipc(files, glob=False))
    tables = [pl.read_ipc_stream(file) for file in files]
    return RawTable(pl.concat(tables, how="diagonal_relaxed").lazy())


def _open_trec(files: Files, request: InputRequest) -> RawTable:
    if request.role == "queries":
        raise request.unreadable("TREC text holds no table of queries")
    # File by file, so that the error for a bad line has the file's name and line number.
    frames = [
        trec_format.read_trec(f, request.role, f if isinstance(f, str) else request.name)
        for f in files
    ]
    return RawTable(pl.concat(frames, how="diagonal_relaxed").lazy(), seekable=False)


def _begins_as_json(head: bytes) -> str | None:
    """Return the kind of JSON in a text: "lines" (a value per line) or "document"; None if none."""
    line = first_line(head)
    if not line.startswith(("{", "[")):
        return None
    return "lines" if line.startswith("{") and line.rstrip(",") != "{" else "document"


PARQUET = Format(
    "Parquet",
    (".parquet",),
    also=(".pq", ".parq"),
    open=_open_parquet,
    begins=re.compile(b"PAR1").match,
    write=pl.DataFrame.write_parquet,
)
ARROW = Format(
    "Arrow",
    (".arrow", ".feather"),
    also=(".ipc", ".arrows"),
    open=_open_arrow,
    begins=re.compile(b"ARROW1|" + _STREAM).match,
    write=pl.DataFrame.write_ipc,
)
TREC = Format(
    "TREC text",
    (".trec", ".txt", ".qrels", ".run"),
    open=_open_trec,
    begins=lambda head: trec_format.looks_like_trec(first_line(head)),
    write=trec_format.write_trec,
    any_table=False,
    packings=("gzip",),
)
# Binary tables; any compression is inside the file.
BINARY = (PARQUET, ARROW)
# All formats, as messages list them; a file has the first format that recognises its beginning.
FORMATS = (
    PARQUET,
    ARROW,
    Format(
        "CSV",
        (".csv",),
        open=partial(delimited.open_delimited, separators=",;"),
        begins=lambda head: separator_of(head) in (",", ";"),
        write=pl.DataFrame.write_csv,
    ),
    Format(
        "TSV",
        (".tsv",),
        also=(".tab",),
        open=partial(delimited.open_delimited, separators="\t"),
        begins=lambda head: separator_of(head) == "\t",
        write=partial(pl.DataFrame.write_csv, separator="\t"),
    ),
    Format(
        "JSON Lines",
        (".jsonl", ".ndjson"),
        also=(".jsonlines",),
        open=open_json,
        begins=lambda head: _begins_as_json(head) == "lines",
        write=pl.DataFrame.write_ndjson,
    ),
    Format(
        "JSON",
        (".json",),
        open=open_json,
        begins=lambda head: _begins_as_json(head) == "document",
        write=write_object,
        any_table=False,
    ),
    TREC,
)
BY_ENDING = {ending: form for form in FORMATS for ending in (*form.endings, *form.also)}

# In an error text of polars, advice on a call that the user did not make begins with this.
_HINT = re.compile(
    r"\b(?:hint:|consider |you might want to|try (?:setting|increasing))", re.IGNORECASE
)
_PLAIN = (
    (FileNotFoundError, "no such file"),
    (PermissionError, "no permission"),
    (IsADirectoryError, "it is a folder"),
    ((EOFError, zlib.error, gzip.BadGzipFile), "its compression is damaged or cut short"),
)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn an error of reading inside the block into an error that names the input."""
    try:
        yield
    except READ_ERRORS as error:
        raise unreadable(name, error) from error


def unreadable(name: str, error: BaseException) -> UnreadableInputError:
    """Return the error that explains a failed read to the user."""
    text = str(error)
    if is_address(name) and (isinstance(error, OSError) or "object-store error" in text):
        return UnreadableInputError(name, *explained(name, error))
    for kind, problem in _PLAIN:
        if isinstance(error, kind):
            return UnreadableInputError(name, problem)
    if isinstance(error, _PANIC):
        reason = shorten(re.sub(r"\s+", " ", text))
        return UnreadableInputError(name, f"polars failed on it ({reason})", "It may be damaged")
    reason = re.sub(r"\s+", " ", _HINT.split(text.strip().split("\n\n")[0])[0]).rstrip(" .;,")
    if "File out of specification" in text or "PAR1" in text:
        bad = _bad_part(name) or name
        return UnreadableInputError(
            bad, "it is not a Parquet file, or a truncated one", f"({reason})"
        )
    if re.search(r"utf-?8", text, re.IGNORECASE):
        return UnreadableInputError(name, "it is not UTF-8 text")
    return UnreadableInputError(name, without_user(reason) if is_address(name) else reason)


def _bad_part(name: str) -> str | None:
    """Return the first file that cannot be opened, of several Parquet files; None if all can."""
    pattern = str(Path(name) / "**/*.parquet") if Path(name).is_dir() else name
    files = sorted(globbing.glob(pattern, recursive=True))
    for file in files if len(files) > 1 else ():
        try:
            pl.read_parquet_schema(file)
        except (pl.exceptions.PolarsError, OSError):
            return file
    return None


_UNPACK, _REPACK = "Unpack it, and give the file inside", "Unpack it, or pack it as .gz"
_AS_PARQUET = "Write its table as Parquet or CSV"
# Texts in UTF-16 or UTF-32: recognised by a byte order mark, or by many zero bytes.
_WIDE_TEXT = {
    "UTF-32": rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff",
    "UTF-16": rb"\xff\xfe|\xfe\xff",
    "UTF-16LE": rb"(?:[\t-~]\x00){32}|(?:[\t-~]\x00){4,31}[\t-~]?\Z",
    "UTF-16BE": rb"(?:\x00[\t-~]){32}|(?:\x00[\t-~]){4,31}\x00?\Z",
}
_BLANKS = rb"(?:\xef\xbb\xbf)?\s*(?i:"  # before a keyword, which may be in any case
# How files of other kinds begin: the first pattern that matches is used. Excel workbooks and many
# other files are zip archives. Pickles of protocols 2 to 5 begin with the number of the protocol,
# and a frame, an object or a memo follows.
_LOOKS = (
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file", _AS_PARQUET),
    (
        rb"PK\x03\x04.*(?:\[Content_Types\]\.xml|xl/)",
        "an Excel workbook",
        "Save the sheet as CSV, or read it with polars.read_excel",
    ),
    (rb"PK\x03\x04", "a zip archive", _UNPACK),
    (rb"PK\x05\x06", "a zip archive with nothing in it", ""),
    (rb"\xfd7zXZ\x00", "xz compression", f"{_REPACK}, .zst or .bz2"),
    (rb"\x04\x22\x4d\x18", "lz4 compression", f"{_REPACK}, .zst or .bz2"),
    (rb"\xff\x06\x00\x00sNaPpY", "Snappy compression", _REPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb".{257}ustar", "a tar archive", _UNPACK),
    (rb"\x93NUMPY", "an array of numpy", "Load it with numpy.load, and give the array"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", _AS_PARQUET),
    (rb"ORC.*\x00", "an ORC file", "Read it with pyarrow.orc.read_table, and give the table"),
    (rb"Obj\x01", "an Avro file", "Read it with polars.read_avro, and give the frame"),
    (rb"FEA1\x00", "an old Feather file (version 1)", "Write it again as Feather version 2"),
    (rb"SQLite format 3\x00", "a SQLite database", _AS_PARQUET),
    (rb".{8}DUCK", "a DuckDB database", _AS_PARQUET),
    (rb"RDX3\n", "an R workspace", _AS_PARQUET),
    (rb"%PDF-", "a PDF document", ""),
    (rb"\x89PNG\r\n|\xff\xd8\xff", "a picture", ""),
    (rb"\{\\rtf", "an RTF document", "Save it as plain text"),
    (
        rb"\x80[\x02-\x05][\x95\x8c\]}c()KXCG\x89]",
        "a Python pickle",
        "Load it in Python, and give what it holds",
    ),
    *(
        (sign, f"{code} text", f"Save it as UTF-8: iconv -f {code} -t UTF-8 old > new")
        for code, sign in _WIDE_TEXT.items()
    ),
    (
        _BLANKS + rb"version https://git-lfs)",
        "a pointer of Git LFS in place of a file",
        "Fetch the file that it stands for: git lfs pull",
    ),
    (
        _BLANKS + rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!doctype html|<html|<head|<body))",
        "an HTML page",
        "Is it an error or a login page that was saved in place of the file?",
    ),
    (
        _BLANKS + rb"<\?xml|<!doctype|<error>)",
        "an XML document",
        "Is it an error that a server sent in place of the file?",
    ),
    (
        _BLANKS + rb"%%matrixmarket)",
        "a Matrix Market file",
        "Give rows of query, document and value",
    ),
)
