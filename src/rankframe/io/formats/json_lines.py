"""JSON Lines: an object a line. What is wrong with one is said with its number. And what is one
value in all, as Python's objects: read, and, of queries with their documents, written.
"""

from __future__ import annotations

import glob as globbing
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import MalformedLineError, UnreadableInputError
from rankframe.core.messages import shorten

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


def write_object(frame: pl.DataFrame, target: str | Path | IO[bytes]) -> None:
    """Write judgments or a run as `{query: {document: grade or score}}`; without scores, the rank
    counts, turned round, so that more is better.
    """
    value = next((one for one in (RELEVANCE, SCORE) if one in frame.columns), None)
    number = -pl.col(RANK).cast(pl.Int64) if value is None else pl.col(value)
    pair = pl.concat_str(_quoted(DOC), pl.lit(": "), number.cast(pl.String))
    docs = frame.group_by(QUERY, maintain_order=True).agg(pair.str.join(", ").alias(DOC))
    line = pl.concat_str(_quoted(QUERY), pl.lit(": {"), pl.col(DOC), pl.lit("}"))
    content = b"{\n" + docs.select(line.str.join(",\n")).item().encode() + b"\n}\n"
    if isinstance(target, str | Path):
        Path(target).write_bytes(content)
    else:
        target.write(content)


def loaded(text: str, name: str) -> Any:
    """A text as Python's objects, in none of which a name is there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise UnreadableInputError(
                name, f"{shorten(twice)!r} is there more than once in one of its objects"
            )
        return made

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        _refuse_broken(error, text, name)
    except RecursionError as error:
        raise UnreadableInputError(name, "its JSON is nested too deeply") from error


def _refuse_broken(error: json.JSONDecodeError, text: str, name: str) -> NoReturn:
    if error.msg == "Extra data" and text[error.pos :].lstrip().startswith(("{", "[")):
        raise UnreadableInputError(
            name,
            "it holds JSON values one after the other, each on several lines",
            "Write each on one line (jq -c . does), or all as one array",
        ) from error
    cut = error.pos >= len(text.rstrip()) or not text.rstrip().endswith(("}", "]"))
    problem = "it is JSON that is cut short" if cut else "it is no JSON"
    where = f"line {error.lineno:,}, column {error.colno:,}"
    raise UnreadableInputError(name, f"{problem} ({error.msg.lower()}, {where})") from error


def _quoted(column: str) -> pl.Expr:
    """Text as JSON writes it: that of an object, without what is around."""
    encoded = pl.struct(pl.col(column).alias("_")).struct.json_encode()
    return encoded.str.strip_prefix('{"_":').str.strip_suffix("}")


def _lines(file: str | IO[bytes]) -> pl.LazyFrame:
    source = io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else file
    return pl.scan_lines(source, name=_LINE, row_index_name=_NUMBER, glob=False)


def _refuse_malformed(file: str | IO[bytes], name: str, error: str) -> None:
    """Say which line polars stumbled over: the first that is no object."""
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
