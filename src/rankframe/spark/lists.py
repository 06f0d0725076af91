"""Spark DataFrames with one row per query and arrays of documents: unrolled by Spark itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankframe.core.columns import GROUP, GROUP_WEIGHT, QUERY, RANK, RELEVANCE
from rankframe.core.errors import BadValueError, DuplicateError
from rankframe.io.input_table import InputTable, Lists
from rankframe.spark.session import first_row, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unrolled(frame: DataFrame, scanned: InputTable, lists: Lists) -> tuple[DataFrame, InputTable]:
    """Unroll lists into a row for each document, and return the input with its new columns.

    Where lists are in order of rank, positions become ranks, since Spark's rows have no order.
    """
    found = list(dict.fromkeys(map(lists.flat.found_as, lists.columns)))
    parts = [f"l{number}" for number in range(len(found))]
    named = (f"{quoted(name)} as {part}" for name, part in zip(found, parts, strict=True))
    # What all documents of a list have in common.
    shared = [scanned.mapping.get(column) for column in (GROUP, GROUP_WEIGHT)]
    shared_columns = {
        f"s{number}": column
        for number, column in enumerate(shared)
        if column not in (None, *lists.columns)
    }
    selected = (
        f"{quoted(column)} as {part}"
        for part, column in shared_columns.items()
        if column is not None
    )
    packed = frame.selectExpr(f"{quoted(lists.query)} as q", *selected, *named)
    _refuse_unequal(packed, found, parts, lists)
    if lists.ordered:
        _refuse_repeated(packed, lists)
    exploded = f"posexplode(arrays_zip({', '.join(parts)})) as (at, one)"
    rows = packed.selectExpr("q", *shared_columns, exploded)
    kept = ("q", lists.query), *shared_columns.items()
    columns = [f"{part} as {quoted(column)}" for part, column in kept if column is not None]
    for name in lists.columns:
        part = f"one.{parts[found.index(lists.flat.found_as(name))]}"
        inside = f".{quoted(name)}" if name in lists.flat.fields else ""
        columns.append(f"{part}{inside} as {quoted(name)}")
    mapping = dict(scanned.mapping)
    if lists.ordered:
        columns.append(f"at + 1 as {RANK}")
        mapping[RANK] = RANK
    elif mapping.get(RELEVANCE) not in (None, *lists.columns):  # all are relevant
        grade = 1.0 if scanned.grade is None else scanned.grade
        columns.append(f"double('{grade!r}') as {quoted(mapping[RELEVANCE])}")
    return rows.selectExpr(*columns), replace(scanned, mapping=mapping)


def quoted(name: str) -> str:
    """A name as SQL reads it."""
    return "`" + name.replace("`", "``") + "`"


def _refuse_unequal(packed: DataFrame, found: list[str], parts: list[str], lists: Lists) -> None:
    sizes = [f"if({part} is null, 0, size({part}))" for part in parts]
    if len(sizes) == 1:
        return
    bad = " or ".join(f"{sizes[0]} <> {size}" for size in sizes[1:])
    example = f"min(if({bad}, struct(cast(q as string), {', '.join(sizes)}), null))"
    count, first = first_row(packed.selectExpr(f"count_if({bad})", example))
    if count:
        query, *numbers = first
        lengths = ", ".join(f"{n:,} in {name!r}" for n, name in zip(numbers, found, strict=True))
        raise BadValueError(
            lists.role,
            "lists of different lengths",
            count,
            f"query_id {query!r}: {lengths}",
            "Give each document a number of its own",
        )


def _refuse_repeated(packed: DataFrame, lists: Lists) -> None:
    """Lists have an order of their own: which of two would come first?"""
    with spark_errors():
        counted = packed.where("q is not null").groupBy("q").count().where("count > 1")
    count, first = first_row(counted.selectExpr("count(1)", "min(cast(q as string))"))
    if count:
        raise DuplicateError(lists.role, count, {QUERY: first}, [], resolvable=False)
