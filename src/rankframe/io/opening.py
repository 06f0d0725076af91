"""Anything → a LazyFrame with rankframe's column names: files, frames, Arrow streams, dicts."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl

from rankframe.core.checks import is_pattern
from rankframe.core.columns import (
    DISTANCE,
    DOC,
    GROUP,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    TEXTS,
    Role,
    Side,
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
from rankframe.io.column_names import (
    Asked,
    Columns,
    find_columns,
    guess_role,
)
from rankframe.io.formats.numbers import with_rest
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.formats.trec_format import FIELDS, ITERATION, NO_ITERATION
from rankframe.io.input_table import InputTable
from rankframe.io.list_columns import lists_of, taken_apart
from rankframe.io.nested import completed, names_in
from rankframe.io.plain import NO_SOURCE, open_plain
from rankframe.io.sources.anywhere import is_named, open_anywhere
from rankframe.io.sources.arrow_tables import open_arrow
from rankframe.io.sources.opening import Opened, numeric_columns, open_stream

# A polars frame, a path, an open binary file, dicts, rows, or anything Arrow-like; also what was
# opened already, a `InputTable`.
Source: TypeAlias = Any


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
    """Open a source and find its columns; rows are read later.

    Without a role, a source with a grade and neither score nor rank is qrels, any other a run.
    `order`: what a run is ordered by; None: the caller sees to it that there is something. With
    `ranks` that are kept, its scores are not looked at. `relevance`: the grade of judgments that
    have none. Of columns asked for of no side in particular, see `refuse_absent_columns`.
    `called` is what errors call it, where that is not its role. What was opened already stays so.
    `limit`: how many bytes the work on it may take; text that is large beside it goes through
    temporary files.
    """
    if isinstance(source, InputTable):
        return source
    refuse_if_stranded()
    name = describe(source, called or role or "input")
    side = called.removeprefix("ranking ") if called else None
    # Of one side alone, where it is known which: those of others are not looked for here.
    about = side or role
    names = names_in(columns if about is None else Asked.of(columns, about).names)
    try:
        opened = _open(source, role, name, names, limit)
        raw, text = (completed(one, role, names) for one in (opened.frame, opened.text))
        assert raw is not None  # the frame of what was opened
        schema = raw.collect_schema()
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    if role is None:
        role = guess_role(schema, columns, side)
    asked = Asked.of(columns, side or role)
    flat = taken_apart(schema, role, asked.names, called or role)
    ours = find_columns(
        flat.schema,
        role,
        asked,
        called or role,
        without=() if relevance is None else (RELEVANCE,),
    )
    mapping = ours.mapping
    seekable, ranked = opened.seekable, opened.ranked
    in_steps = limit if opened.seekable else None
    lists = lists_of(raw if text is None else text, flat, mapping, called or role, in_steps)
    if lists is not None:
        raw, seekable, text, ranked = lists.unrolled(), False, None, True
        if role == "qrels" and RELEVANCE not in mapping and relevance is None:
            raw, mapping[RELEVANCE] = raw.with_columns(pl.lit(1.0).alias(RELEVANCE)), RELEVANCE
        schema = raw.collect_schema()
    for name_of_ours, one in mapping.items():
        _check_type(called or role, name_of_ours, one, schema[one])
    if role == "qrels" and GROUP not in mapping and _is_diversity(raw, schema):
        filled = pl.col(ITERATION).fill_null(NO_ITERATION)
        raw, text, mapping[GROUP] = raw.with_columns(filled), None, ITERATION
    distance = mapping.pop(DISTANCE, None)
    if distance is not None:
        mapping[SCORE] = distance
    mapping = with_rest(mapping, schema)
    scanned = InputTable(
        called or role, name, raw, mapping, seekable, distance is not None, text=text,
        ranked=ranked, lists=lists, numbered=lists is None, asked=ours.asked, note=opened.note,
        files=opened.files, limit=limit,
    )  # fmt: skip
    if role == "run":
        return order_run(scanned, order, ranks)
    return scanned if role == "queries" or relevance is None else _graded(scanned, relevance)


def _is_diversity(raw: pl.LazyFrame, schema: Mapping[str, Any]) -> bool:
    """Whether judgments read from TREC text have subtopics where others have an iteration: several
    are there, and some document has more than one. (Otherwise it would be there twice.)
    """
    if set(schema) != set(FIELDS["qrels"]):
        return False
    different = pl.col(ITERATION).fill_null(NO_ITERATION).n_unique() > 1
    pair = pl.col(QUERY).hash(1) ^ pl.col(DOC).hash(2)
    try:
        if not raw.select(different).collect(engine="streaming").item():
            return False
        return raw.select(pair.n_unique() < pl.len()).collect(engine="streaming").item()
    except READ_ERRORS:  # whoever reads it says why
        return False


def _graded(qrels: InputTable, grade: float) -> InputTable:
    """The same with this grade in every row; refused where it has grades."""
    if RELEVANCE in qrels.mapping:
        raise OptionError(
            Option("relevance", grade),
            " is the grade of judgments that have none, and ",
            f"{qrels.role} has the column {qrels.mapping[RELEVANCE]!r}. Leave one of them out. (",
            Option("rel"),
            " says from which grade on documents are relevant.)",
        )
    column = RELEVANCE
    while column in qrels.raw.collect_schema():
        column = f"_{column}"
    value = pl.lit(float(grade)).alias(column)
    return replace(
        qrels,
        raw=qrels.raw.with_columns(value),
        text=None if qrels.text is None else qrels.text.with_columns(value),
        mapping={**qrels.mapping, RELEVANCE: column},
        grade=float(grade),
    )


def order_run(run: InputTable, order: Order | None, ranks: Ranks = "renumbered") -> InputTable:
    """Find the column that orders a run; refuse a run without one if a column must order it."""
    found = list(run.raw.collect_schema())
    if order == "rows" and ranks == "kept":
        said = (Option("order", "rows"), " and ", Option("ranks", "kept"))
        raise OptionError(*said, " contradict each other.")
    if order == "rows":
        mapping = {ours: of for ours, of in run.mapping.items() if ours in (QUERY, DOC)}
        run = replace(run, mapping=mapping, distance=False)
    if ranks == "kept":
        if RANK not in run.mapping:
            raise MissingColumnError(run.role, RANK, found)
        mapping = {ours: of for ours, of in run.mapping.items() if ours in (QUERY, DOC, RANK)}
        run = replace(run, mapping=mapping, distance=False)
    by = next((ours for ours in (SCORE, RANK) if ours in run.mapping), None)
    unused = [name for name in found if name not in run.mapping.values()]
    if by is None and order == "columns" and not run.ranked:
        raise UnorderedRunError(run.role, found, numeric_columns(run.raw, unused))
    said = f"as the {'lists' if run.ranked else 'rows'} stand"
    if by is not None:
        largest = by == SCORE and not run.distance
        said = f"by {run.mapping[by]!r}, the {'largest' if largest else 'smallest'} first"
    said += f" ({run.note})" if run.note else ""
    return replace(run, ordered=said, unused=tuple(unused))


def open_raw(source: Source, name: str) -> pl.LazyFrame:
    """A source as it is, whatever its columns mean; rows are read later."""
    refuse_if_stranded()
    try:
        frame = _open(source, None, name).frame
        frame.collect_schema()
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    return frame


def describe(source: Source, role: str) -> str:
    """How messages call a source: its path, or what kind of thing it is."""
    if isinstance(source, str | os.PathLike):
        return masked(str(source))
    if hasattr(source, "read"):
        return f"the {role} on {getattr(source, 'name', 'the open file')}"
    return f"the {role} {type(source).__name__}"


def _open(
    source: Source,
    role: Role | None,
    name: str,
    asked: Collection[str] = (),
    limit: int | None = None,
) -> Opened:
    if isinstance(source, pl.LazyFrame):
        return Opened(source, seekable=False)
    if isinstance(source, pl.DataFrame):
        return Opened(source.lazy(), seekable=True)
    if is_named(source):
        return _table(open_anywhere(source, role, name, asked, limit), role, name)
    if hasattr(source, "read"):
        return _table(open_stream(source, role, name, asked, limit), role, name)
    if isinstance(source, Mapping | list | tuple):
        return open_plain(source, role, name)
    opened = open_arrow(source, role or "input", name)
    if opened is not None:
        return opened
    raise UnreadableInputError(name, *NO_SOURCE)


def _table(found: Opened, role: Role | None, name: str) -> Opened:
    """What a file gave; of an object of queries, what it means."""
    return found if found.by_query is None else _open(found.by_query, role, name)


def _check_type(role: str, ours: str, found: str, dtype: pl.DataType) -> None:
    refuse_pattern(role, found)
    if ours in TEXTS:
        if dtype.is_nested() or dtype == pl.Object:
            raise ColumnTypeError(role, found, str(dtype), "ids (text or numbers)")
    elif not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
        raise ColumnTypeError(role, found, str(dtype), "numbers")


def refuse_pattern(role: str, column: str) -> None:
    """Refuse a column whose name would stand for others, too."""
    if is_pattern(column):
        raise UnreadableInputError(
            f"the {role}",
            f"its column {column!r} is called like a pattern of names",
            "Give it another name",
        )
