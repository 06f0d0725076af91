"""JSON Lines: an object a line. What is wrong with one is said with its number."""

from __future__ import annotations

import glob as globbing
import io
import json
from collections.abc import Sequence
from typing import IO, Any, NoReturn

import polars as pl

from rankframe.base.errors import MalformedLineError
from rankframe.base.messages import shorten

NO_JSON = "this is not JSON"
_LINE, _NUMBER = "_line", "_number"
# What stands in a line and is no name of its columns: values that are text, and what is nested.
_TEXT = r':\s*"(?:[^"\\]|\\.)*"'
_NESTED = r"[\[{](?:[^\[\]{}\"]|\"(?:[^\"\\]|\\.)*\")*[\]}]"
_DEEPEST = 64


def open_json_lines(files: Sequence[str | IO[bytes]], name: str) -> pl.LazyFrame:
    """The lines as a table."""
    # scan_ndjson always expands patterns. Ids may change from number to text anywhere in a file.
    literal: Any = [globbing.escape(file) if isinstance(file, str) else file for file in files]
    frame = pl.scan_ndjson(literal, infer_schema_length=None)
    try:
        columns = frame.collect_schema().names()
    except pl.exceptions.PolarsError as error:
        for file in files:
            _refuse_malformed(file, file if isinstance(file, str) else name, str(error))
        raise
    for file in files:
        _refuse_repeated(file, file if isinstance(file, str) else name, columns)
    return frame


def _lines(file: str | IO[bytes]) -> pl.LazyFrame:
    source = io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else file
    return pl.scan_lines(source, name=_LINE, row_index_name=_NUMBER, glob=False)


def _refuse_malformed(file: str | IO[bytes], name: str, error: str) -> None:
    """Say which line polars stumbled over: the first that is no object."""
    if isinstance(file, str) and "://" in file:
        return
    lines = _lines(file).filter(pl.col(_LINE).str.strip_chars().str.len_bytes() > 0).collect()
    # allowed: until the first that is wrong, to say so
    for number, line in zip(lines[_NUMBER], lines[_LINE], strict=True):
        try:
            held = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            problem = getattr(wrong, "msg", "") or shorten(error.split("\n", maxsplit=1)[0])
            _refuse(name, number, line, f"{NO_JSON} ({problem})")
        if not isinstance(held, dict):
            _refuse(name, number, line, 'a line holds an object such as {"query_id": "q1", …}')


def _refuse_repeated(file: str | IO[bytes], name: str, columns: Sequence[str]) -> None:
    """Refuse lines in which a name is there twice: whose value would count?

    What is looked for is text, which is quick; only lines that may be such are taken apart.
    """
    if isinstance(file, str) and "://" in file:
        return
    keys = [json.dumps(column, ensure_ascii=False) for column in columns]
    often = [pl.col(_LINE).str.count_matches(key, literal=True) > 1 for key in keys]
    suspects = _lines(file).filter(pl.any_horizontal(often)).collect(engine="streaming")
    bare = suspects[_LINE].str.strip_chars().str.strip_prefix("{").str.strip_suffix("}")
    for _ in range(_DEEPEST):  # from the innermost on
        if not bare.str.contains(r"[\[{]").any():
            break
        bare = bare.str.replace_all(_NESTED, "0")
    bare = bare.str.replace_all(_TEXT, ":0")
    for key, column in zip(keys, columns, strict=True):
        pattern = rf"{_escaped(key)}\s*:"
        twice = suspects.filter(bare.str.count_matches(pattern) > 1)
        if twice.height:
            problem = f"{column!r} is there more than once"
            _refuse(name, twice[_NUMBER][0], twice[_LINE][0], problem, twice.height)


def _escaped(text: str) -> str:
    return "".join(c if c.isalnum() or c in '_"' else f"\\x{{{ord(c):x}}}" for c in text)


def _refuse(name: str, number: int, line: str, problem: str, count: int = 1) -> NoReturn:
    raise MalformedLineError(name, number + 1, line, problem, count)
