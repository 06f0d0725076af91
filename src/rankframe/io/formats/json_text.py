"""Read JSON of any shape as a table.

A text may hold rows (on lines or in an array), responses of search engines, a table by columns, or
an object by query, which the caller reads like a Python dict. The content decides which, whatever
the name of the file. If a text is one value whose keys are ids (`{"q1": {"d1": 1}}`), Python's
parser reads it; polars reads all other texts.
"""

from __future__ import annotations

import glob as globbing
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import MalformedLineError, UnreadableInputError
from rankframe.core.messages import Option, listing, shorten
from rankframe.core.records import record
from rankframe.io.formats.packing import (
    LINE,
    NUMBER,
    held_bytes,
    opened,
    read_until,
    scan_lines,
    unpacked,
)
from rankframe.io.formats.responses import (
    Shape,
    error_in,
    is_by_query,
    parse_json,
    read_responses,
    shape_of,
)
from rankframe.io.python_objects import id_columns, open_python
from rankframe.io.raw_table import InputRequest, RawTable, read_tables

# What a text holds: hits of responses (a frame), a table (lazy), or an object by query (a mapping).
Found: TypeAlias = pl.DataFrame | pl.LazyFrame | Mapping[str, Any]
Files: TypeAlias = Sequence[str] | Sequence[IO[bytes]]

_SAMPLE = 20  # lines, or elements of an array, that are inspected to find the shape of all
_LONGEST = 1 << 25  # bytes of all inspected lines together
_ERROR = 3  # most fields of an engine's error response: the error, a status and headers
_MOST = 500  # most names in a row
_RESPONSES = re.compile(r'"responses"\s*:\s*\[')
_KINDS = {str: "text", int: "numbers", float: "numbers", bool: "truth values", list: "lists"}
_ROW = 'A row is an object such as {"query_id": "q1", "doc_id": "d7", "score": 0.5}'
# Parts of a line that cannot be names of columns: values that are text, and nested values.
_TEXT = r':\s*"(?:[^"\\]|\\.)*"'
_NESTED = r"[\[{](?:[^\[\]{}\"]|\"(?:[^\"\\]|\\.)*\")*[\]}]"
_DEEPEST = 64


def open_json(files: Files, request: InputRequest) -> RawTable:
    """Open files of JSON or JSON Lines: rows, responses, columns, or an object by query."""
    content = _Reader(request).read(files)
    if isinstance(content, Mapping):
        return open_python(content, request)
    return RawTable(content.lazy(), seekable=False)


def responses_in(
    files: Files, request: InputRequest, queries: Sequence[str] | None = None
) -> pl.DataFrame:
    """Read a run from the responses of a search engine in JSON texts.

    `queries` are the names of the queries that the responses answer, in order.
    """
    hits = _Reader(request, queries).read(files)
    if not isinstance(hits, pl.DataFrame):
        raise request.unreadable("it holds no responses of a search engine")
    return hits


def open_json_lines(files: Files, names: Sequence[str]) -> pl.LazyFrame:
    """Return a lazy frame of files with an object on each line; refuse malformed lines.

    `names`: what errors call each file.
    """
    # scan_ndjson always expands patterns. Ids may change from number to text anywhere in a file.
    literal: Any = [globbing.escape(file) if isinstance(file, str) else file for file in files]
    frame = pl.scan_ndjson(literal, infer_schema_length=None)
    try:
        columns = frame.collect_schema().names()
    except pl.exceptions.PolarsError as error:
        for file, name in zip(files, names, strict=True):
            _refuse_malformed(file, name, str(error))
        raise
    for file, name in zip(files, names, strict=True):
        _refuse_repeated(file, name, columns)
    return frame


def refuse_lines(file: str, name: str) -> NoReturn:
    """Raise the error for a file with a line that is no object, or that has a name twice."""
    open_json_lines([file], [name])
    raise UnreadableInputError(name, "its lines changed while they were read")


def write_object(frame: pl.DataFrame, target: str | Path | IO[bytes]) -> None:
    """Write judgments or a run as `{query: {document: grade or score}}`.

    Without scores, the negated rank is written, so that more is better.
    """
    value = next((column for column in (RELEVANCE, SCORE) if column in frame.columns), None)
    number = -pl.col(RANK).cast(pl.Int64) if value is None else pl.col(value)
    pair = pl.concat_str(_quoted(DOC), pl.lit(": "), number.cast(pl.String))
    docs = frame.group_by(QUERY, maintain_order=True).agg(pair.str.join(", ").alias(DOC))
    line = pl.concat_str(_quoted(QUERY), pl.lit(": {"), pl.col(DOC), pl.lit("}"))
    content = b"{\n" + docs.select(line.str.join(",\n")).item().encode() + b"\n}\n"
    if isinstance(target, str | Path):
        Path(target).write_bytes(content)
    else:
        target.write(content)


@record
class _Reader:
    """Read the JSON texts of one input.

    `queries` are the names of the queries that responses answer, in order.
    """

    request: InputRequest
    queries: Sequence[str] | None = None

    def read(self, files: Files) -> Found:
        """Read `files`: return hits of responses as a frame, a dict by query, or a lazy table."""
        lines, more = _first_lines(files[0])
        if not lines or not lines[0].startswith(("{", "[")):
            return open_json_lines(files, self._names(files))
        values = [_parsed(line) for line in lines]
        if _are_lines(lines, values, more=more):
            return self._lines(files, values)
        # If each file is one response, each file answers one query.
        each: list[Sequence[str] | None] = [self.queries] * len(files)
        if self.queries is not None and len(self.queries) == len(files):
            each = [[query] for query in self.queries]
        contents: list[Any] = [
            _Reader(replace(self.request, name=name), queries)._document(file)
            for file, name, queries in zip(files, self._names(files), each, strict=True)
        ]
        kinds = set(map(type, contents))
        if len(kinds) > 1:
            raise self.request.unreadable("some of its files hold rows, and others something else")
        if kinds == {dict}:
            return _merge(contents, self.request)
        return pl.concat(contents, how="diagonal_relaxed")

    def _names(self, files: Files) -> list[str]:
        """Return the name of each file for errors: its path, if it has one."""
        return [file if isinstance(file, str) else self.request.name for file in files]

    def _lines(self, files: Files, values: Sequence[Any]) -> pl.LazyFrame | pl.DataFrame:
        """Read JSON Lines: each line holds a row, a response or a batch of responses.

        `values`: the values of the first lines.
        """
        first, request = values[0], self.request
        self._refuse_texts(first)
        inside, responses = None, values
        if isinstance(first, Mapping) and isinstance(first.get("responses"), list):
            inside = ("responses",)
            batches = (value.get("responses") for value in values if isinstance(value, Mapping))
            responses = [
                response for batch in batches if isinstance(batch, list) for response in batch
            ]
        shape = shape_of(responses, request.user_names)
        if shape is not None:
            texts = pl.concat([scan_lines(file) for file in files])
            return read_responses(texts, shape, request.name, self.queries, inside=inside)
        if all(error_in(value) for value in values):
            raise self._engine_error(first)
        if isinstance(first, Mapping) and len(first) > _MOST and not (
            first.keys() & set(request.user_names) or any(id_columns(first))
        ):  # fmt: skip
            raise request.unreadable(
                f"its first line is an object with {len(first):,} names "
                f"({listing(list(first), 3)}), none of which is that of a query or a document",
                _ROW,
            )
        return open_json_lines(files, self._names(files))

    def _document(self, file: str | IO[bytes]) -> Found:
        """Read a text that is one JSON value: an array or an object."""
        limit = self.request.limit
        if limit is None and isinstance(file, str):
            content = unpacked(Path(file).read_bytes(), file).getvalue()
        else:
            with opened(file) as text:
                content = read_until(text, None if limit is None else _longest(limit))
        if limit is not None and len(content) > _longest(limit):
            raise _too_large(self.request)
        text = content.decode("utf-8", errors="strict").lstrip("\ufeff \t\r\n")
        if text.startswith("["):
            return self._array(text)
        # Responses to a multi-search are large, and as Python objects they would be even larger.
        inside = _RESPONSES.search(text, 0, 4096)
        if inside and (shape := self._shape_at(text, inside.end())):
            return self._responses([text], shape, inside=("responses",))
        return self._object(parse_json(text, self.request.name), text)

    def _array(self, text: str) -> pl.LazyFrame | pl.DataFrame:
        if not text[1:].lstrip().startswith("{"):
            values = parse_json(text, self.request.name)
            if not values:
                raise self.request.empty()
            kind = _KINDS.get(type(values[0]), "values")
            example = shorten(json.dumps(values[0]))
            problem = f"it is a JSON array of {len(values):,} {kind}, e.g. {example}"
            raise self.request.unreadable(problem, _ROW)
        shape = self._shape_at(text, 1)
        return self._rows(text) if shape is None else self._responses([text], shape, inside=())

    def _object(self, value: Mapping[str, Any], text: str) -> Found:
        request = self.request
        if not value:
            raise replace(request, role=None).empty()
        inner = list(value.values())
        if is_by_query(value) and (shape := shape_of(inner, request.user_names)):
            by_query = _Reader(request, list(value))
            return by_query._responses([json.dumps(member) for member in inner], shape)
        if (shape := shape_of([value], request.user_names)) is not None:
            return self._responses([text], shape)
        if error_in(value) and len(value) <= _ERROR:
            raise self._engine_error(value)
        if all(id_columns(value)):
            return self._by_columns(value)
        if _is_nested(value) and len({type(member) for member in inner}) == 1:
            return value
        raise request.unreadable(
            f"it is a JSON object with {listing(list(value), 6)}: neither rows, nor queries with "
            "their documents, nor a response of a search engine",
            'Give an array of rows, a row on each line, or {"q1": {"d7": 0.5}}',
        )

    def _responses(
        self, texts: list[str], shape: Shape, inside: tuple[str, ...] | None = None
    ) -> pl.DataFrame:
        lines = pl.LazyFrame({LINE: texts})
        return read_responses(lines, shape, self.request.name, self.queries, inside=inside)

    def _shape_at(self, text: str, start: int) -> Shape | None:
        """Return the shape of the responses in a JSON array; None if it holds no responses.

        `start`: where the first element begins in `text`.
        """
        decoder, values, blanks = json.JSONDecoder(), [], re.compile(r"[\s,]*")
        for _ in range(_SAMPLE):
            start = blanks.match(text, start).end()  # pyright: ignore[reportOptionalMemberAccess]
            try:
                value, start = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
            values.append(value)
        return shape_of(values, self.request.user_names)

    def _rows(self, text: str) -> pl.LazyFrame:
        """Read a JSON array of objects, each a row, as a lazy table."""
        name = self.request.name
        try:
            table = pl.read_json(text.encode(), infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            rows = parse_json(text, name)
            other = next((i for i, row in enumerate(rows) if not isinstance(row, dict)), None)
            if other is None:
                reason = shorten(str(error).split("\n", maxsplit=1)[0], 120)
                raise self.request.unreadable(f"its rows are no table ({reason})") from error
            raise self.request.unreadable(
                f"element {other + 1:,} of {len(rows):,} is not an object: "
                f"{shorten(json.dumps(rows[other]))}"
            ) from error
        self._refuse_texts(dict.fromkeys(table.columns))
        # polars does not notice a name that is twice in a row. If each name occurs in the text as
        # often as its column has values, no row repeats a name. Otherwise, rows are parsed.
        whole = pl.Series([text])
        for column in table:
            key = re.escape(json.dumps(column.name, ensure_ascii=False))
            names = whole.str.count_matches(rf"{key}\s*:")[0]
            if names != len(column) - column.null_count():
                parse_json(text, name)
                break
        return table.lazy()

    def _by_columns(self, value: Mapping[str, Any]) -> pl.LazyFrame:
        """Read a table by columns: each a list or, as pandas writes it, an object by row name."""
        if not _is_nested(value):
            return open_python([value], self.request).frame
        indexes = {tuple(cells) for cells in value.values() if isinstance(cells, dict)}
        columns = {
            name: list(cells.values()) if isinstance(cells, dict) else cells
            for name, cells in value.items()
        }
        lengths = {name: len(cells) for name, cells in columns.items()}
        if len(set(lengths.values())) > 1 or len(indexes) > 1:
            counts = ", ".join(f"{key!r} has {count:,}" for key, count in [*lengths.items()][:6])
            raise self.request.unreadable(f"its columns do not have the same rows: {counts}")
        return open_python(columns, self.request).frame

    def _refuse_texts(self, value: Any) -> None:
        """Refuse a file of documents or queries, such as the corpus of a collection.

        `value` is the first row of the file.
        """
        if self.request.role == "queries" or not isinstance(value, Mapping):
            return
        if value.keys() >= {"_id", "text"} and not any(id_columns(value)):
            raise self.request.unreadable(
                f"it holds texts with their ids ({listing(list(value), 6)}), such as the corpus or "
                "the queries of a collection: neither judgments nor a run",
                "The judgments of BEIR's collections are in qrels/test.tsv",
            )

    def _engine_error(self, value: Any) -> UnreadableInputError:
        problem = f"it holds an error of a search engine instead of hits ({error_in(value)})"
        return self.request.unreadable(problem, "Repeat the search")


def refuse_document(file: str, request: InputRequest) -> None:
    """Refuse a large file that is one JSON value: parsed, it takes several times its size."""
    lines, more = _first_lines(file)
    is_json = lines and lines[0].startswith(("{", "["))
    if is_json and not _are_lines(lines, list(map(_parsed, lines)), more=more):
        raise _too_large(request)


def _longest(limit: int) -> int:
    """Return the largest size of a JSON value, in bytes, under a memory limit.

    The objects of Python that hold the value take up to 50 times as many bytes.
    """
    return held_bytes(limit) // 8


def _too_large(request: InputRequest) -> UnreadableInputError:
    held = f"{_longest(request.limit or 0):,} bytes"
    return request.unreadable(
        f"it is one JSON value of more than {held}, unpacked, which must be read as a whole. That "
        "takes too much memory",
        "Write it as JSON Lines (a row on each line) or Parquet, or raise ",
        Option("max_memory", bare=True),
    )


def _first_lines(file: str | IO[bytes]) -> tuple[list[str], bool]:
    """Return the first lines that are not blank, and whether more follow.

    A line of many megabytes is cut short, and is then the last line that is returned.
    """

    def take(text: IO[bytes]) -> Iterator[str]:
        left = _LONGEST
        full = (line for line in iter(lambda: text.readline(left), b"") if line.strip())
        for line in islice(full, _SAMPLE + 1):
            left -= len(line)
            yield line.decode("utf-8", errors="replace").strip("\ufeff \t\r\n")

    with opened(file) as text:
        lines = list(take(text))
    return lines[:_SAMPLE], len(lines) > _SAMPLE


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _are_lines(lines: Sequence[str], values: Sequence[Any], *, more: bool) -> bool:
    """Return whether each line holds a JSON object of its own: a row or a response.

    `values`: the parsed lines. `more`: whether more lines follow.
    """
    if len(lines) > 1 or more:
        # The first line may have been cut short. If one value spans many lines, no line is a value.
        objects = [isinstance(value, dict) for value in values]
        begin = all(line.startswith("{") for line in lines[:2])
        return objects[0] or (begin and any(objects))
    value = values[0]
    if not isinstance(value, dict) or is_by_query(value):
        return False
    return not _is_nested(value) or shape_of([value]) is not None


def _is_nested(value: Mapping[str, Any]) -> bool:
    """Tell whether all values of an object are objects or lists, as in a dict by query."""
    return all(isinstance(inner, dict | list) for inner in value.values())


def _merge(objects: Sequence[Mapping[str, Any]], request: InputRequest) -> Mapping[str, Any]:
    merged: dict[str, Any] = {}
    for part in objects:
        if twice := [key for key in part if key in merged]:
            count = f"{len(twice):,} queries are in more than one of its files"
            raise request.unreadable(f"{count}, e.g. {twice[0]!r}")
        merged |= part
    return merged


def _quoted(column: str) -> pl.Expr:
    """Return an expression for a column as JSON: encoded as a struct's field, without braces."""
    encoded = pl.struct(pl.col(column).alias("_")).struct.json_encode()
    return encoded.str.strip_prefix('{"_":').str.strip_suffix("}")


def _refuse_malformed(file: str | IO[bytes], name: str, error: str) -> None:
    """Raise the error for the first line that is no JSON object, if there is one."""
    full = pl.col(LINE).str.strip_chars().str.len_bytes() > 0
    lines = scan_lines(file).filter(full)
    # allowed: stops at the first wrong line, for the error
    for number, line in chain.from_iterable(map(pl.DataFrame.iter_rows, read_tables(lines))):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            problem = getattr(wrong, "msg", "") or shorten(error.split("\n", maxsplit=1)[0])
            problem = f"this is not JSON ({problem})"
            raise MalformedLineError(name, number + 1, line, problem, 1) from wrong
        if not isinstance(value, dict):
            problem = 'each line must be an object such as {"query_id": "q1", …}'
            raise MalformedLineError(name, number + 1, line, problem, 1)


def _refuse_repeated(file: str | IO[bytes], name: str, columns: Sequence[str]) -> None:
    """Refuse a file of JSON Lines if an object has a name twice, since its value is ambiguous.

    A quick text search finds lines that may have a name twice; only these lines are parsed.
    """
    keys = [json.dumps(column, ensure_ascii=False) for column in columns]
    often = [pl.col(LINE).str.count_matches(key, literal=True) > 1 for key in keys]
    lines = scan_lines(file).filter(pl.any_horizontal(often))
    suspects = lines.collect(engine="streaming")
    bare = suspects[LINE].str.strip_chars().str.strip_prefix("{").str.strip_suffix("}")
    for _ in range(_DEEPEST):  # from the innermost level outwards
        if not bare.str.contains(r"[\[{]").any():
            break
        bare = bare.str.replace_all(_NESTED, "0")
    bare = bare.str.replace_all(_TEXT, ":0")
    for key, column in zip(keys, columns, strict=True):
        escaped = "".join(c if c.isalnum() or c in '_"' else f"\\x{{{ord(c):x}}}" for c in key)
        twice = suspects.filter(bare.str.count_matches(rf"{escaped}\s*:") > 1)
        if twice.height:
            number, line = twice[NUMBER][0], twice[LINE][0]
            problem = f"{column!r} occurs more than once"
            raise MalformedLineError(name, number + 1, line, problem, twice.height)
