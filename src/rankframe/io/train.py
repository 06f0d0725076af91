"""Interactions from before: which queries (users) have which documents (items), and how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import BadValueError, MissingColumnError
from rankframe.io.column_names import Columns, first_called
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Source, open_table
from rankframe.io.validate import check_rows

COUNT: Final = "count"
_COUNTS: Final = ("count", "counts")


def open_train(
    source: Source, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open interactions, and refuse what is wrong with any; see `find_train`."""
    train = find_train(source, columns, limit=limit)
    _check(train)
    return train


def find_train(
    source: Source, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Interactions: query_id, doc_id, and how often, where that is said; else once a row.

    No row is looked at.
    """
    if isinstance(source, InputTable):
        return source
    try:
        found = open_table(source, "qrels", columns, called="train", limit=limit)
    except MissingColumnError:  # of grades, which it needs none; or of what is missed again
        found = open_table(source, "qrels", columns, called="train", limit=limit, relevance=1.0)
    raw = found.raw
    schema = raw.collect_schema()
    often = first_called(_COUNTS, [one for one in schema if one not in found.mapping.values()])
    if often is None or not schema[often].is_numeric():
        often = "_count"
        raw = raw.with_columns(pl.lit(1.0).alias(often))
    mapping = {QUERY: found.mapping[QUERY], DOC: found.mapping[DOC], COUNT: often}
    return replace(found.changed(raw), mapping=mapping, grade=None)


def without_seen(run: InputTable, train: InputTable) -> InputTable:
    """A run without the documents that its queries have in train; the others in their order."""
    seen = train.frame.select(QUERY, DOC)
    frame = run.frame.join(seen, on=[QUERY, DOC], how="anti", maintain_order="left")
    same = {name: name for name in run.frame.collect_schema()}
    left = replace(run.changed(frame), mapping=same, distance=False, seekable=False)
    return replace(left, excluded=lambda: run.count() - left.count())


def _check(train: InputTable) -> None:
    check_rows(train.frame, "train", train.name, engine="streaming", numbered=train.numbered)
    count = pl.col(COUNT)
    bad = count.is_null() | ~(count >= 1) | (count != count.floor())
    some = train.frame.filter(bad).select(pl.len(), pl.col(COUNT).first())
    refuse_counts(*some.collect(engine="streaming").row(0))


def refuse_counts(rows: int, example: float | None) -> None:
    """Refuse so many rows of train, one of which has such a count."""
    if rows:
        raise BadValueError(
            "train", f"a {COUNT} that is no whole number of at least 1", rows, repr(example),
            "Say how often each pair is there, or leave the column out",
        )  # fmt: skip
