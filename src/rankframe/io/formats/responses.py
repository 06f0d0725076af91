"""Responses of search engines → a row for each hit: Elasticsearch, OpenSearch and Solr.

A response is a JSON object, alone or inside another that says which query it answers. polars
decodes of each what is needed and nothing else, so that the documents' own fields cost no memory;
no loop of Python sees a response but the first few, which show where things are.

Hits are ranked as they stand. Their scores come along where they say the same: none is missing, and
each is below the one above it. Engines break ties as they please, and a sorted query has no scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NoReturn

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, SCORE
from rankframe.core.errors import EmptyInputError, MalformedLineError, UnreadableInputError
from rankframe.core.messages import Option, listing, shorten
from rankframe.io.formats.json_lines import loaded
from rankframe.io.formats.response_shapes import Path, Shape, struct_of

LINE = "_line"
_AT, _HIT, _RANK, _SEVERAL = "_at", "_hit", "_rank", "_several"
_NO_HITS = "without a list of hits: errors"


def read_responses(
    texts: pl.LazyFrame,
    shape: Shape,
    name: str,
    queries: Sequence[str] | None = None,
    *,
    inside: Path | None = None,
) -> pl.DataFrame:
    """The hits of responses, one a line of text (`_line`), or many: `inside` an array, at the top
    of it or of an object.

    `queries`: what their queries are called, in their order; else a column of theirs says so.
    """
    kind = shape.type if inside is None else pl.List(shape.type)
    full = texts.filter(pl.col(LINE).str.strip_chars().str.len_bytes() > 0)
    try:
        line = pl.col(LINE).str.json_decode(struct_of({inside: kind}) if inside else kind)
        decoded = full.select(_field(line, inside or ()).alias(LINE))
        if inside is not None:
            decoded = decoded.explode(LINE, empty_as_null=False, keep_nulls=True)
        rows = _exploded(decoded, shape).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        lines = full.collect()[LINE]
        _refuse_undecoded(lines, struct_of({inside: kind}) if inside else kind, name, error)
    return _checked(rows, shape, name, queries)


def _exploded(decoded: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """A row for each hit, and one for a response without: `_at` is the place of its response."""
    engine, line, hit = shape.engine, pl.col(LINE), pl.col(_HIT)
    hits = _field(line, (*shape.outer, *engine.hits))
    faults = [
        _field(line, (*shape.outer, *path)).str.contains(pattern).fill_null(value=False).alias(said)
        for path, pattern, said in engine.faults
    ]
    columns = [_text(line, path, shape).alias(name) for name, path in shape.fields.items()]
    of_hits = [_text(hit, path, shape).alias(name) for name, path in shape.hit_fields.items()]
    several = [
        _field(hit, p).list.len() > 1 for p in shape.hit_fields.values() if p in shape.listed
    ]
    return (
        decoded.with_row_index(_AT)
        .select(
            _AT,
            *faults,
            hits.is_null().alias(_NO_HITS),
            *columns,
            hits.alias(_HIT),
            pl.int_ranges(1, hits.list.len() + 1, dtype=pl.UInt32).alias(_RANK),
        )
        .explode(_HIT, _RANK, empty_as_null=True, keep_nulls=True)
        .select(
            pl.exclude(_HIT, _RANK),
            _field(hit, engine.doc).alias(DOC),
            pl.col(_RANK).alias(RANK),
            _field(hit, engine.score).alias(SCORE),
            *of_hits,
            pl.any_horizontal(pl.lit(value=False), *several).fill_null(value=False).alias(_SEVERAL),
        )
    )


def _text(column: pl.Expr, path: Path, shape: Shape) -> pl.Expr:
    held = _field(column, path)
    return held.list.first() if path in shape.listed else held


def _checked(
    rows: pl.DataFrame, shape: Shape, name: str, queries: Sequence[str] | None
) -> pl.DataFrame:
    """The rows of hits, if every response is whole and its query known."""
    first = rows.filter(pl.col(RANK).is_null() | (pl.col(RANK) == 1))
    faults = [_NO_HITS, *(said for _, _, said in shape.engine.faults)]
    counted = [(int(first[fault].sum()), fault) for fault in faults]
    if any(count for count, _ in counted):
        bad = first.filter(pl.any_horizontal(faults))
        said = ", ".join(f"{count:,} {fault}" for count, fault in counted if count)
        named = next((bad[one][0] for one in shape.fields if bad[one][0] is not None), None)
        raise UnreadableInputError(
            name,
            f"{bad.height:,} of its {first.height:,} responses cannot be used ({said}), e.g. the "
            f"{_ordinal(bad[_AT][0] + 1)}" + (f", of {shorten(named)!r}" if named else ""),
            "Ask again: as they are, they would count as if nothing was found",
        )
    if rows[_SEVERAL].any():
        bad = rows.filter(_SEVERAL)
        raise UnreadableInputError(
            name,
            f"{bad.height:,} hits have more than one value in {listing(list(shape.hit_fields))}, "
            f"e.g. the {_ordinal(bad[RANK][0])} of the {_ordinal(bad[_AT][0] + 1)} response",
            "Name a field with one value",
        )
    if queries is not None:
        rows = rows.with_columns(_named(queries, first.height, name).gather(rows[_AT]))
    else:
        rows = _with_queries(rows, first, shape, name)
    rows = rows.filter(pl.col(RANK).is_not_null())
    if rows.is_empty():
        raise EmptyInputError("run", name)
    lacking = rows.filter(pl.col(DOC).is_null()).height
    if lacking == rows.height and shape.hit_fields:
        rows = rows.drop(DOC)
    falling = ((pl.col(RANK) == 1) | (pl.col(SCORE) < pl.col(SCORE).shift())).all()
    agrees = rows.select(pl.col(SCORE).is_not_null().all() & falling).item()
    return rows.drop(_AT, _SEVERAL, *faults, *([] if agrees else [SCORE]))


def _with_queries(rows: pl.DataFrame, first: pl.DataFrame, shape: Shape, name: str) -> pl.DataFrame:
    """The same, if something may say which query each response answers, and says it once."""
    if not shape.fields:
        count, whose = first.height, shape.engine.name
        what = f"a response of {whose}" if count == 1 else f"{count:,} responses of {whose}"
        raise UnreadableInputError(
            name,
            f"it holds {what}, and nothing says which query is answered",
            "Name the field that does: ",
            Option("columns", {QUERY: "field.of.it"}),
            ", or give their names in order: ",
            'rf.from_responses(source, queries=["q1", …]), rankframe convert --queries FILE',
        )
    for one in shape.fields:
        ids = first[one].drop_nulls()
        if len(ids) == first.height > ids.n_unique() and len(shape.fields) == 1:
            twice = ids.filter(ids.is_duplicated())
            raise UnreadableInputError(
                name,
                f"more than one response answers the same query ({twice.n_unique():,} of them), "
                f"e.g. {shorten(str(twice[0]))!r}",
                "Give each query one response, with all its hits",
            )
    return rows


def _named(queries: Sequence[str], count: int, name: str) -> pl.Series:
    names = pl.Series(QUERY, list(map(str, queries)), dtype=pl.String)
    if len(names) != count:
        raise UnreadableInputError(
            name, f"it holds {count:,} responses, and queries has {len(names):,} names"
        )
    if names.n_unique() < count:
        twice = names.filter(names.is_duplicated())
        raise UnreadableInputError(
            name, f"queries has {twice.n_unique():,} names more than once, e.g. {twice[0]!r}"
        )
    return names


def _refuse_undecoded(lines: pl.Series, kind: pl.DataType, name: str, error: Exception) -> NoReturn:
    """Say which line it was, looked for by halves, and what is wrong with it."""
    if not len(lines):
        raise UnreadableInputError(name, _said(error)) from error
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            lines[low:middle].str.json_decode(kind)
            low = middle
        except pl.exceptions.PolarsError as found:
            high, error = middle, found
    if len(lines) == 1:
        loaded(lines[0], name)
        raise UnreadableInputError(name, _said(error)) from error
    try:
        json.loads(lines[low])
        problem = _said(error)
    except ValueError as wrong:
        problem = f"this is not JSON ({getattr(wrong, 'msg', wrong)})"
    raise MalformedLineError(name, low + 1, lines[low], problem, 1) from error


def _said(error: Exception) -> str:
    said = str(error).split("\n", maxsplit=1)[0].removeprefix("error deserializing JSON: ")
    return f"this is not what a response looks like ({shorten(said.rstrip('.'), 120)})"


def _field(column: pl.Expr, path: Path) -> pl.Expr:
    for part in path:
        column = column.struct.field(part)
    return column


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"
