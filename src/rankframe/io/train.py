"""Open past interactions: which documents (items) each query (user) had, and how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import BadValueError, MissingColumnError
from rankframe.io.column_names import Columns, first_called
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Source, open_table
from rankframe.io.validate import check_input

COUNT: Final = "count"
_COUNTS: Final = ("count", "counts")


def open_train(
    source: Source, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open interactions and check all rows."""
    train = find_train(source, columns, limit=limit)
    check_input(train)
    count = pl.col(COUNT)
    bad = count.is_null() | ~(count >= 1) | (count != count.floor())
    rows = train.frame.filter(bad).select(pl.len(), pl.col(COUNT).first())
    with train.explained():
        refuse_counts(*rows.collect(engine="streaming").row(0))
    return train


def find_train(
    source: Source, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open interactions without reading a row: query_id, doc_id, and their count.

    Without a column of counts, each row counts once.
    """
    if isinstance(source, InputTable):
        return source
    try:
        train = open_table(source, "qrels", columns, called="train", limit=limit)
    except MissingColumnError:  # of grades, which are not needed; or another, which fails again
        train = open_table(source, "qrels", columns, called="train", limit=limit, relevance=1.0)
    raw, schema = train.raw, train.raw.collect_schema()
    free = [name for name in schema if name not in train.mapping.values()]
    # In text files, numbers are text.
    count = first_called(
        _COUNTS, [n for n in free if schema[n].is_numeric() or schema[n] == pl.String]
    )
    if count is None:
        count = "_count"
        raw = raw.with_columns(pl.lit(1.0).alias(count))
    mapping = {QUERY: train.mapping[QUERY], DOC: train.mapping[DOC], COUNT: count}
    return replace(train.changed(raw), mapping=mapping, grade=None)


def without_seen(run: InputTable, train: InputTable) -> InputTable:
    """Drop the documents of a run that their queries have in train; keep the order of the rest."""
    pairs = train.frame.select(QUERY, DOC)
    frame = run.frame.join(pairs, on=[QUERY, DOC], how="anti", maintain_order="left")
    mapping = {name: name for name in run.frame.collect_schema()}
    rest = replace(run.changed(frame), mapping=mapping, distance=False, seekable=False)
    return replace(rest, excluded=lambda: run.count() - rest.count())


def refuse_counts(rows: int, example: float | None) -> None:
    """Refuse rows of train with bad counts, of which there are so many."""
    if rows:
        raise BadValueError(
            "train",
            f"a {COUNT} that is no whole number of at least 1",
            rows,
            repr(example),
            "Say how often each pair is there, or leave the column out",
        )
