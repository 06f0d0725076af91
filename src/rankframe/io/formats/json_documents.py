"""JSON of any shape → a table: lines or an array of rows, responses of search engines, a table by
its columns, or an object of queries, which whoever knows what its values mean takes apart.

What a text is, its beginning says, whatever its name. Where a whole text is one value and its keys
are ids (`{"q1": {"d1": 1}}`), Python's parser reads it, object by object; all else polars reads.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import IO, Any, NoReturn, TypeAlias

import polars as pl

from rankframe.core.columns import Role, plain_name
from rankframe.core.errors import EmptyInputError, UnreadableInputError
from rankframe.core.messages import listing, shorten
from rankframe.io.formats.beir import KEYS, refuse_texts
from rankframe.io.formats.json_lines import loaded, open_json_lines
from rankframe.io.formats.packing import opened, unpacked
from rankframe.io.formats.response_shapes import Shape, error_in, is_by_query, shape_of
from rankframe.io.formats.responses import LINE, read_responses

# A table, or an object whose keys are queries.
Found: TypeAlias = pl.LazyFrame | Mapping[str, Any]

# Lines by which it is seen what all of them are.
_SAMPLE = 20
# An error comes with a status and headers at the most.
_ERROR = 3
# More names than this are no row.
_MOST = 500
_RESPONSES = re.compile(r'"responses"\s*:\s*\[')
_KINDS = {str: "text", int: "numbers", float: "numbers", bool: "truth values", list: "lists"}


def open_json(
    files: Sequence[str] | Sequence[IO[bytes]],
    role: Role | None,
    name: str,
    asked: Collection[str] = (),
) -> Found:
    """What JSON texts hold. `asked`: names that the user gave to columns."""
    found = _held(files, role, name, asked)
    return found.lazy() if isinstance(found, pl.DataFrame) else found


def responses_in(
    files: Sequence[str] | Sequence[IO[bytes]],
    name: str,
    asked: Collection[str] = (),
    queries: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The hits of the responses that JSON texts hold. `queries`: their names, in order."""
    found = _held(files, "run", name, asked, queries)
    if not isinstance(found, pl.DataFrame):
        raise UnreadableInputError(name, "it holds no responses of a search engine")
    return found


def _held(  # noqa: PLR0911 (a way for each shape)
    files: Sequence[str] | Sequence[IO[bytes]],
    role: Role | None,
    name: str,
    asked: Collection[str],
    queries: Sequence[str] | None = None,
) -> Found | pl.DataFrame:
    """The same: hits as a frame, which was read; other tables will be."""
    first = files[0]
    if isinstance(first, str) and "://" in first:
        return open_json_lines(files, name)
    lines, follows = _beginning(first)
    values = [_parsed(line) for line in lines]
    if not lines or not lines[0].startswith(("{", "[")):
        return open_json_lines(files, name)
    if _are_lines(lines, values, follows=follows):
        refuse_texts(values[0], role, name)
        batches = [_batch(value) for value in values]
        inside = ("responses",) if batches[0] is not None else None
        some = values if inside is None else [one for of in batches for one in of or ()]
        shape = shape_of(some, asked)
        if shape is not None:
            texts = pl.concat([_lines(file) for file in files])
            return read_responses(texts, shape, name, queries, inside=inside)
        if all(error_in(value) for value in values):
            _refuse_error(values[0], name)
        _refuse_wide(values[0], asked, name)
        return open_json_lines(files, name)
    # Where each file is one answer, each has a query.
    each = None if queries is None or len(queries) != len(files) else [[one] for one in queries]
    found = [
        _document(file, role, name, asked, queries if each is None else each[at])
        for at, file in enumerate(files)
    ]
    if len(found) == 1:
        return found[0]
    if all(isinstance(one, Mapping) for one in found):
        return _merged([one for one in found if isinstance(one, Mapping)], name)
    if all(isinstance(one, pl.DataFrame) for one in found):
        hits = [one for one in found if isinstance(one, pl.DataFrame)]
        return pl.concat(hits, how="diagonal_relaxed")
    if all(isinstance(one, pl.LazyFrame) for one in found):
        tables = [one for one in found if isinstance(one, pl.LazyFrame)]
        return pl.concat(tables, how="diagonal_relaxed")
    raise UnreadableInputError(name, "some of its files hold rows, and others something else")


def _beginning(file: str | IO[bytes]) -> tuple[list[str], bool]:
    """The first lines that are not blank, and whether more follow."""
    if isinstance(file, str):
        with opened(file) as text:
            return _some_lines(text)
    found = _some_lines(file)
    file.seek(0)
    return found


def _some_lines(text: IO[bytes]) -> tuple[list[str], bool]:
    full = (line for line in text if line.strip())
    some = [line.decode("utf-8", errors="replace").strip("\ufeff \t\r\n") for line in
            islice(full, _SAMPLE + 1)]  # fmt: skip
    return some[:_SAMPLE], len(some) > _SAMPLE


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _are_lines(lines: Sequence[str], values: Sequence[Any], *, follows: bool) -> bool:
    """Whether each line holds an object of its own, whole or not: a row, or a response."""
    if len(lines) > 1 or follows:
        # A line that is cut short may be the first; of one value on many lines, none is whole.
        objects = [isinstance(value, dict) for value in values]
        return objects[0] or (
            lines[0].startswith("{") and lines[1].startswith("{") and any(objects)
        )
    one = values[0]
    if not isinstance(one, dict) or is_by_query(one):
        return False
    return not _is_document(one) or shape_of([one]) is not None


def _batch(value: Any) -> list[Any] | None:
    """What a multi-search answers; None for anything else."""
    held = value.get("responses") if isinstance(value, Mapping) else None
    return held if isinstance(held, list) else None


def _is_document(value: Mapping[str, Any]) -> bool:
    """Whether an object is a whole input: it holds nothing but objects and lists."""
    return all(isinstance(held, dict | list) for held in value.values())


def _document(
    file: str | IO[bytes],
    role: Role | None,
    name: str,
    asked: Collection[str],
    queries: Sequence[str] | None,
) -> Found | pl.DataFrame:
    """What a text that is one value holds."""
    called = file if isinstance(file, str) else name
    if isinstance(file, str):
        with open(file, "rb") as raw:  # noqa: PTH123 (may be a name with brackets)
            content = unpacked(raw.read(), called).getvalue()
    else:
        content = file.read()
        file.seek(0)
    text = content.decode("utf-8", errors="strict").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        return _array(text, role, called, asked, queries)
    # The answer to many requests at once is as large as they are: never Python's objects.
    inside = _RESPONSES.search(text, 0, 4096)
    if inside and (shape := _shape_at(text, inside.end(), asked)):
        held = pl.LazyFrame({LINE: [text]})
        return read_responses(held, shape, called, queries, inside=("responses",))
    return _object(loaded(text, called), text, called, asked, queries)


def _array(
    text: str,
    role: Role | None,
    name: str,
    asked: Collection[str],
    queries: Sequence[str] | None,
) -> pl.LazyFrame | pl.DataFrame:
    begins = text[1:].lstrip()[:1]
    if begins == "]" and not text.rstrip()[:-1].strip("[ \t\r\n"):
        raise EmptyInputError(role or "input", name)
    if begins != "{":
        held = loaded(text, name)
        kind = _KINDS.get(type(held[0]), "values")
        raise UnreadableInputError(
            name,
            f"it is a JSON array of {len(held):,} {kind}, e.g. {shorten(json.dumps(held[0]))}",
            'A row is an object such as {"query_id": "q1", "doc_id": "d7", "score": 0.5}',
        )
    shape = _shape_at(text, 1, asked)
    if shape is not None:
        held = pl.LazyFrame({LINE: [text]})
        return read_responses(held, shape, name, queries, inside=())
    return _rows(text, role, name).lazy()


def _shape_at(text: str, at: int, asked: Collection[str]) -> Shape | None:
    """What the elements of an array are that begin here, if they are responses."""
    decoder, some = json.JSONDecoder(), []
    for _ in range(_SAMPLE):
        at = re.compile(r"[\s,]*").match(text, at).end()  # pyright: ignore[reportOptionalMemberAccess]
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        some.append(value)
    return shape_of(some, asked)


def _rows(text: str, role: Role | None, name: str) -> pl.DataFrame:
    """An array of rows."""
    try:
        table = pl.read_json(text.encode(), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        held = loaded(text, name)
        other = next((at for at, row in enumerate(held, 1) if not isinstance(row, dict)), None)
        if other is None:
            said = shorten(str(error).split("\n", maxsplit=1)[0], 120)
            raise UnreadableInputError(name, f"its rows are no table ({said})") from error
        raise UnreadableInputError(
            name,
            f"of its {len(held):,} elements, number {other:,} is no object: "
            f"{shorten(json.dumps(held[other - 1]))}",
        ) from error
    refuse_texts(dict.fromkeys(table.columns), role, name)
    # A name twice in a row would go unseen. There are as many names as rows that have the column,
    # unless one is there twice, or elsewhere too: only then is every row taken apart.
    whole = pl.Series([text])
    for column in table:
        key = re.escape(json.dumps(column.name, ensure_ascii=False))
        if whole.str.count_matches(rf"{key}\s*:")[0] != len(column) - column.null_count():
            loaded(text, name)
            break
    return table


def _object(
    value: Mapping[str, Any],
    text: str,
    name: str,
    asked: Collection[str],
    queries: Sequence[str] | None,
) -> Found | pl.DataFrame:
    """What an object holds that is the whole of a text."""
    if not value:
        raise EmptyInputError("input", name)
    held = list(value.values())
    if is_by_query(value) and (shape := shape_of(held, asked)):
        lines = pl.LazyFrame({LINE: [json.dumps(one) for one in held]})
        return read_responses(lines, shape, name, list(value))
    if (shape := shape_of([value], asked)) is not None:
        return read_responses(pl.LazyFrame({LINE: [text]}), shape, name, queries)
    if error_in(value) and len(value) <= _ERROR:
        _refuse_error(value, name)
    names = {plain_name(key) for key in value}
    if all(names & of for of in KEYS):
        return _by_columns(value, name)
    if _is_document(value) and len({type(one) for one in held}) == 1:
        return value
    raise UnreadableInputError(
        name,
        f"it is a JSON object with {listing(list(value), 6)}: neither rows, nor queries with their "
        "documents, nor a response of a search engine",
        'Give an array of rows, a row on each line, or {"q1": {"d7": 0.5}}',
    )


def _by_columns(value: Mapping[str, Any], name: str) -> pl.LazyFrame:
    """A table that lies there column by column, as lists or, as pandas writes it, by row names."""
    if not _is_document(value):
        try:
            return pl.read_json(json.dumps([value]).encode()).lazy()
        except pl.exceptions.PolarsError as error:
            raise UnreadableInputError(name, "its one row is no row of a table") from error
    columns = [list(one.values()) if isinstance(one, dict) else one for one in value.values()]
    indexes = {tuple(one) for one in value.values() if isinstance(one, dict)}
    lengths = {key: len(of) for key, of in zip(value, columns, strict=True)}
    if len(set(lengths.values())) > 1 or len(indexes) > 1:
        said = ", ".join(f"{key!r} has {count:,}" for key, count in [*lengths.items()][:6])
        raise UnreadableInputError(name, f"its columns do not have the same rows: {said}")
    rows = [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return _rows(json.dumps(rows, ensure_ascii=False), None, name).lazy()


def _merged(objects: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    merged: dict[str, Any] = {}
    for one in objects:
        if twice := [key for key in one if key in merged]:
            raise UnreadableInputError(
                name, f"{len(twice):,} queries are in more than one of its files, e.g. {twice[0]!r}"
            )
        merged |= one
    return merged


def _refuse_wide(value: Any, asked: Collection[str], name: str) -> None:
    """Refuse a row with more columns than any has, and none that is known."""
    if not isinstance(value, Mapping) or len(value) <= _MOST or value.keys() & set(asked):
        return
    if not any({plain_name(key) for key in value} & of for of in KEYS):
        raise UnreadableInputError(
            name,
            f"its first line is an object with {len(value):,} names ({listing(list(value), 3)}), "
            "none of which is that of a query or a document",
            'A row is an object such as {"query_id": "q1", "doc_id": "d7", "score": 0.5}',
        )


def _refuse_error(value: Any, name: str) -> NoReturn:
    raise UnreadableInputError(
        name,
        f"it holds the error of a search engine in place of hits ({error_in(value)})",
        "Ask again",
    )


def _lines(file: str | IO[bytes]) -> pl.LazyFrame:
    source = io.BytesIO(file.getvalue()) if isinstance(file, io.BytesIO) else file
    return pl.scan_lines(source, name=LINE, glob=False)
