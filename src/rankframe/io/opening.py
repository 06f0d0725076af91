"""Open a frame, file, address or Python object as a lazy table with rankframe's column names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

import polars as pl

from rankframe.core.columns import (
    DISTANCE,
    DOC,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SCORE_REST,
    SUBTOPIC,
    TEXTS,
    Role,
    Side,
    is_pattern,
)
from rankframe.core.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionError,
    UnorderedRunError,
    UnreadableInputError,
)
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import Option, masked
from rankframe.core.options import Order, Ranks
from rankframe.core.threads import size_of
from rankframe.core.vocabulary import Vocabulary
from rankframe.io.column_names import (
    Columns,
    InputNames,
    Requested,
    find_columns,
    guess_role,
    names_in,
    vocabulary_of,
    with_fields,
)
from rankframe.io.formats.numbers import MAYBE_LARGE
from rankframe.io.formats.registry import READ_ERRORS, reading, unreadable
from rankframe.io.formats.trec_format import FIELDS, ITERATION, NO_ITERATION
from rankframe.io.input_table import InputTable, in_steps, lists_of
from rankframe.io.output_paths import DATABASE
from rankframe.io.python_objects import NO_SOURCE, open_python
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.remote import scheme_of
from rankframe.io.sources.arrow_tables import open_arrow
from rankframe.io.sources.databases import is_query, open_database, open_query
from rankframe.io.sources.files import open_address, open_path, open_stream

# A polars frame, a path, an open binary file, dicts, rows, or anything Arrow-like; also an
# `InputTable`.
Source: TypeAlias = Any

# Shares of a memory limit: for a table that is read as a whole, and for the rows of one read.
_WHOLE, _AT_ONCE = 1 / 4, 1 / 32
_SAMPLE = 100  # rows that are checked to decide whether a text column holds numbers
_SMALL = 1 << 23  # bytes that may be held in memory whatever the limit


def open_table(
    source: Source,
    role: Role | None,
    columns: Columns | None = None,
    *,
    order: Order | None = None,
    ranks: Ranks = "renumbered",
    relevance: float | None = None,
    called: Side | None = None,
    limit: int | None = None,
) -> InputTable:
    """Open a source and find its columns. Rows are read later.

    Args:
        source: anything with rows; an `InputTable` is returned as it is.
        role: what the source is; None to infer from its columns whether it is judgments or a run.
        columns: the names of its columns.
        order: what must order a run; None if the caller orders the run.
        ranks: with "kept", the scores of a run are not used.
        relevance: the grade of judgments that have none.
        called: what errors call the source, if not by its role.
        limit: how many bytes may be in memory at once; larger text goes through temporary files.
    """
    if isinstance(source, InputTable):
        return source
    refuse_if_stranded()
    name = describe(source, called or role or "input")
    side = called.removeprefix("ranking ") if called else role
    requested = Requested.from_mapping(columns, side) if side is not None else None
    # If the side is known, names for other sides do not count.
    user_names = names_in(columns) if requested is None else tuple(requested.names.values())
    try:
        opened = open_source(source, InputRequest(role, name, user_names, limit, called))
        raw = with_fields(opened.frame, user_names) if user_names else opened.frame
        names = InputNames(raw.collect_schema())
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    if role is None:
        role = guess_role(names, columns, side)
    requested = requested or Requested.from_mapping(columns, role)
    called_role = called or role
    if names.lists:
        names = names.flattened(role, requested.names.get(DOC), called_role)
    has_grade = relevance is not None
    mapping, present = find_columns(names, role, requested, called_role, graded=has_grade)
    vocabulary = vocabulary_of(mapping[QUERY], mapping[DOC]) if DOC in mapping else Vocabulary()
    schema, seekable, ranked = names.schema, opened.seekable, opened.ranked
    lists = None
    if mapping.get(DOC) in names.lists:
        lists = lists_of(raw, names, mapping, called_role, limit if seekable else None)
        raw, seekable, ranked = lists.unrolled(), False, True
        if role == "qrels" and RELEVANCE not in mapping and not has_grade:
            raw, mapping[RELEVANCE] = raw.with_columns(pl.lit(1.0).alias(RELEVANCE)), RELEVANCE
        schema = raw.collect_schema()
    _check_types(called_role, mapping, schema)
    is_trec = schema.keys() == set(FIELDS["qrels"])
    if role == "qrels" and is_trec and SUBTOPIC not in mapping and _has_subtopics(raw):
        raw = raw.with_columns(pl.col(ITERATION).fill_null(NO_ITERATION))
        mapping[SUBTOPIC] = ITERATION
    distance = mapping.pop(DISTANCE, None)
    if distance is not None:
        mapping[SCORE] = distance
    table = InputTable(
        called_role,
        name,
        raw,
        mapping,
        seekable=seekable,
        distance=distance is not None,
        ranked=ranked,
        lists=lists,
        numbered=lists is None,
        shared_columns=present,
        note=opened.note,
        files=opened.files,
        rows=opened.rows if lists is None else None,
        limit=limit,
        vocabulary=vocabulary,
    )
    if role == "run":
        return order_run(table, order, ranks)
    return table if role == "queries" or relevance is None else _with_grade(table, relevance)


def open_raw(source: Source, name: str, limit: int | None = None) -> RawTable:
    """Open a source and leave its columns as they are.

    Rows are read later: keep the result until then, since it may own temporary files.
    """
    refuse_if_stranded()
    with reading(name):
        opened = open_source(source, InputRequest(None, name, limit=limit))
        opened.frame.collect_schema()
    return opened


def open_source(source: Any, request: InputRequest) -> RawTable:
    """Open anything with rows. Rows are read later, if the source allows it.

    A source is a frame; a path, pattern or folder; an address; a table or a query of a database; a
    connection with a query; an open file; Python's dicts and lists; anything that exports Arrow
    data.
    """
    if isinstance(source, pl.DataFrame):
        return RawTable.in_memory(source)
    if isinstance(source, pl.LazyFrame):
        return RawTable(source, seekable=False)
    if isinstance(source, str | os.PathLike):
        place = os.fsdecode(source)
        scheme = scheme_of(place) if ":/" in place else ""
        if database := DATABASE.fullmatch(place):
            table = open_database(database[1], database[2], database[3], request.name)
        elif scheme in ("", "file"):
            table = open_path(unquote(urlsplit(place).path) if scheme else place, request)
        else:
            table = open_address(place, request)
    elif is_query(source):
        return open_query(*source, name=request.name)
    elif isinstance(source, Mapping | list | tuple):
        return open_python(source, request)
    elif hasattr(source, "read") and not isinstance(source, type):
        table = open_stream(source, request)
    else:
        table = open_arrow(source, request)
        if table is None:
            raise request.unreadable(*NO_SOURCE)
    return table


def read_whole(rows: pl.LazyFrame, name: str, limit: int | None = None) -> pl.DataFrame:
    """Read all rows of an input that must be in memory; refuse it if it takes too much of the
    limit.
    """
    if limit is None:
        return rows.collect()
    tables, size, bound = [rows.clear().collect()], 0, max(int(limit * _WHOLE), _SMALL)
    for table in in_steps(rows, int(limit * _AT_ONCE), seekable=False):
        tables.append(table)
        size += size_of(table)
        if size > bound:
            part = f"more than {bound:,} bytes, a quarter of what is allowed"
            problem = f"it is held in memory as a whole, and takes {part}"
            advice = "Leave out columns and rows that are not needed, or raise "
            raise UnreadableInputError(name, problem, advice, Option("max_memory", bare=True))
    return pl.concat(tables)


def order_run(run: InputTable, order: Order | None, ranks: Ranks = "renumbered") -> InputTable:
    """Set the column that orders a run, by `order`; refuse a run that lacks this column."""
    schema = run.raw.collect_schema()
    if ranks == "kept" and order in ("rows", "score"):
        options = (Option("order", order), " and ", Option("ranks", "kept"))
        raise OptionError(*options, " contradict each other.")
    if order in (SCORE, RANK) and order not in run.mapping:
        raise MissingColumnError(run.role, order, list(schema))
    if ranks == "kept" and RANK not in run.mapping:
        raise MissingColumnError(run.role, RANK, list(schema))
    mapping, distance = dict(run.mapping), run.distance
    if order in ("rows", RANK) or ranks == "kept":
        used = (QUERY, DOC) if order == "rows" else (QUERY, DOC, RANK)
        mapping, distance = {column: mapping[column] for column in used}, False
    elif order == SCORE:
        mapping.pop(RANK, None)
    unused = [name for name in schema if name not in mapping.values()]
    by = SCORE if SCORE in mapping else RANK
    if by in mapping:
        first = "largest" if by == SCORE and not distance else "smallest"
        text = f"by {mapping[by]!r}, the {first} first"
        kind = schema[mapping[by]]
        whole = isinstance(kind, pl.Decimal) and kind.scale == 0
        if by == SCORE and (whole or kind in MAYBE_LARGE):
            mapping[SCORE_REST] = mapping[SCORE]
    elif order == "columns" and not run.ranked:
        raise UnorderedRunError(run.role, list(schema), _numeric_columns(run.raw, unused))
    else:
        text = f"as the {'lists' if run.ranked else 'rows'} stand"
    text += f" ({run.note})" if run.note else ""
    return replace(run, mapping=mapping, distance=distance, ordered=text, unused=tuple(unused))


def describe(source: Source, role: str) -> str:
    """Return the name of a source for messages: its path, or the kind of object it is."""
    if isinstance(source, str | os.PathLike):
        return masked(str(source))
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return f"the {role} on {name if isinstance(name, str) else 'the open file'}"
    return f"the {role} {type(source).__name__}"


def refuse_pattern(role: str, column: str) -> None:
    """Refuse a column whose name polars would interpret as a regular expression (`^…$`)."""
    if is_pattern(column):
        problem = f"polars would read the name of its column {column!r} as a pattern"
        raise UnreadableInputError(f"the {role}", problem, "Rename the column")


def _numeric_columns(frame: pl.LazyFrame, names: Sequence[str]) -> list[str]:
    """Return the columns of numbers, and of text that holds numbers in the first rows."""
    schema = frame.collect_schema()
    texts = [name for name in names if schema[name] == pl.String]
    look_like: list[str] = []
    with suppress(*READ_ERRORS):
        numbers = pl.col(texts).str.strip_chars().cast(pl.Float64, strict=False)
        sample = frame.select(texts).head(_SAMPLE).select(numbers).collect()
        look_like = [column.name for column in sample if column.len() and not column.null_count()]
    return [name for name in names if schema[name].is_numeric() or name in look_like]


def _has_subtopics(raw: pl.LazyFrame) -> bool:
    """Return whether the second field (the iteration) of TREC judgments holds subtopics.

    Return True if there are several iterations and a document is judged in more than one of them:
    the document would otherwise be a duplicate.
    """
    different = pl.col(ITERATION).fill_null(NO_ITERATION).n_unique() > 1
    pair = pl.col(QUERY).hash(1) ^ pl.col(DOC).hash(2)
    try:
        return all(
            raw.select(sign).collect(engine="streaming").item()
            for sign in (different, pair.n_unique() < pl.len())
        )
    except READ_ERRORS:  # raised again, with an explanation, when rows are read
        return False


def _with_grade(judgments: InputTable, grade: float) -> InputTable:
    """Give every judgment this grade; refuse judgments that have grades."""
    if RELEVANCE in judgments.mapping:
        raise OptionError(
            Option("relevance", grade),
            " gives a grade to judgments without grades, but ",
            f"{judgments.role} has the column {judgments.mapping[RELEVANCE]!r}. "
            "Leave one of them out. (",
            Option("rel"),
            " sets the lowest relevant grade.)",
        )
    column = RELEVANCE
    while column in judgments.raw.collect_schema():
        column = f"_{column}"
    return replace(
        judgments,
        raw=judgments.raw.with_columns(pl.lit(float(grade)).alias(column)),
        mapping={**judgments.mapping, RELEVANCE: column},
        grade=float(grade),
    )


def _check_types(role: str, mapping: Mapping[str, str], schema: Mapping[str, pl.DataType]) -> None:
    for name in filter(is_pattern, mapping.values()):
        refuse_pattern(role, name)
    for column, name in mapping.items():
        dtype = schema[name]
        if column in TEXTS:
            if dtype.is_nested() or dtype == pl.Object:
                raise ColumnTypeError(role, name, str(dtype), "ids (text or numbers)")
        elif not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
            raise ColumnTypeError(role, name, str(dtype), "numbers")
