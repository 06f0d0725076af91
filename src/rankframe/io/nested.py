"""Columns that a table has in another place: inside others (a name with dots, `meta.id`, stands for
a field of a struct), or, in collections of BEIR, under the name of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from rankframe.core.columns import SCORE, Role
from rankframe.io.formats.beir import with_grades


def names_in(columns: object) -> tuple[str, ...]:
    """Every name of the user's own columns that a `columns=` mapping holds, of whichever side."""
    return tuple(dict.fromkeys(_names(columns)))


def completed(
    frame: pl.LazyFrame | None, role: Role | None, asked: Collection[str]
) -> pl.LazyFrame | None:
    """A table with all its columns; None stays None."""
    if frame is None:
        return None
    frame = with_paths(frame, asked)
    if role == "qrels":
        return with_grades(frame)
    return with_grades(frame, alone=True) if role is None and SCORE not in asked else frame


def with_paths(frame: pl.LazyFrame, asked: Collection[str]) -> pl.LazyFrame:
    """A table with the fields that were asked for as columns, under the names with dots."""
    if not any("." in name for name in asked):
        return frame
    schema = frame.collect_schema()
    found = {
        name: column
        for name in asked
        if name not in schema and (column := _inside(schema, name.split("."))) is not None
    }
    return frame.with_columns(**found) if found else frame


def _names(columns: object) -> Iterator[str]:
    if isinstance(columns, Mapping):
        for value in columns.values():
            yield from _names(value)
    elif isinstance(columns, str):
        yield columns


def _inside(schema: Mapping[str, Any], path: list[str]) -> pl.Expr | None:
    name, *inner = path
    if name not in schema or not inner:
        return None
    column, kind = pl.col(name), schema[name]
    for part in inner:
        fields = {one.name: one.dtype for one in kind.fields} if kind == pl.Struct else {}
        if part not in fields:
            return None
        column, kind = column.struct.field(part), fields[part]
    return column
