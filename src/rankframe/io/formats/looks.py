"""Recognise files of other formats, so that a message can name them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Look(NamedTuple):
    """The kind of a file, by its first bytes, and what to do about it."""

    kind: str
    advice: str = ""


_UNPACK = "Unpack it, and give the file inside"
_AS_PARQUET = "Write its table as Parquet or CSV"
# By how they begin. Excel's workbooks and many others are zip archives inside.
_MAGIC: tuple[tuple[bytes, Look], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Look("an old Excel or Word file", _AS_PARQUET)),
    (b"PK\x03\x04", Look("a zip archive", _UNPACK)),
    (b"PK\x05\x06", Look("a zip archive with nothing in it")),
    (b"\xfd7zXZ\x00", Look("xz compression", "Unpack it, or pack it as .gz, .zst or .bz2")),
    (b"\x04\x22\x4d\x18", Look("lz4 compression", "Unpack it, or pack it as .gz, .zst or .bz2")),
    (b"\xff\x06\x00\x00sNaPpY", Look("Snappy compression", "Unpack it, or pack it as .gz")),
    (b"7z\xbc\xaf\x27\x1c", Look("a 7-Zip archive", _UNPACK)),
    (b"Rar!\x1a\x07", Look("a RAR archive", _UNPACK)),
    (b"\x93NUMPY", Look("an array of numpy", "Load it with numpy.load, and give the array")),
    (b"\x89HDF\r\n\x1a\n", Look("an HDF5 file", _AS_PARQUET)),
    (b"ORC", Look("an ORC file", "Read it with pyarrow.orc.read_table, and give the table")),
    (b"Obj\x01", Look("an Avro file", "Read it with polars.read_avro, and give the frame")),
    (
        b"FEA1\x00",
        Look("an old Feather file (version 1)", "Write it anew: today's Feather is read"),
    ),
    (b"SQLite format 3\x00", Look("a SQLite database", _AS_PARQUET)),
    (b"RDX3\n", Look("an R workspace", _AS_PARQUET)),
    (b"%PDF-", Look("a PDF document")),
    (b"\x89PNG\r\n", Look("a picture")),
    (b"\xff\xd8\xff", Look("a picture")),
    (b"{\\rtf", Look("an RTF document", "Save it as plain text")),
)
_WORKBOOK = Look("an Excel workbook", "Save the sheet as CSV, or read it with polars.read_excel")
_LFS = Look(
    "a pointer of Git LFS in place of a file", "Fetch the file that it stands for: git lfs pull"
)
_PAGE = Look("an HTML page", "Is it an error or a login page that was saved in place of the file?")
_PICKLE = Look("a Python pickle", "Load it in Python, and give what it holds")
_TAR = 257  # where a tar archive says that it is one


def look_of(head: bytes) -> Look | None:
    """Return the kind of a file that begins like this, if it is known and cannot be read."""
    for begin, look in _MAGIC:
        if head.startswith(begin) and (begin != b"ORC" or b"\x00" in head):
            return _WORKBOOK if begin == b"PK\x03\x04" and _is_workbook(head) else look
    if head[_TAR : _TAR + 5] == b"ustar":
        return Look("a tar archive", _UNPACK)
    if head[8:12] == b"DUCK":
        return Look("a DuckDB database", _AS_PARQUET)
    # Protocols 2 to 5 say their number; below it, a frame, an object or a memo follows.
    if re.match(rb"\x80[\x02-\x05][\x95\x8c\]}c()KXCG\x89]", head):
        return _PICKLE
    if encoding := _wide_text(head):
        advice = f"Save it as UTF-8: iconv -f {encoding} -t UTF-8 old > new"
        return Look(f"{encoding} text", advice)
    return _text_look(head)


def _is_workbook(head: bytes) -> bool:
    return b"[Content_Types].xml" in head or b"xl/" in head


def _wide_text(head: bytes) -> str | None:
    """Return an encoding of two or four bytes a letter, by its mark or its many zeros."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    sample = head[:64]
    for encoding, zeros, letters in (("UTF-16LE", 1, 0), ("UTF-16BE", 0, 1)):
        plain = sample[letters::2]
        if (
            len(sample) >= 8
            and not any(sample[zeros::2])
            and all(9 <= byte < 127 for byte in plain)
        ):
            return encoding
    return None


def _text_look(head: bytes) -> Look | None:
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if begins.startswith(b"version https://git-lfs"):
        return _LFS
    if re.match(rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!doctype html|<html|<head|<body)", begins):
        return _PAGE
    if begins.startswith((b"<?xml", b"<!doctype", b"<error>")):
        advice = "Is it an error that a server sent in place of the file?"
        return Look("an XML document", advice)
    if begins.startswith(b"%%matrixmarket"):
        return Look("a Matrix Market file", "Give rows of query, document and value")
    return None
