"""Roll documents up to the units that are judged: chunks to documents, pages to sites.

The documents of a run are renamed to their units. Several may then have one unit: which of them
counts is decided when the run is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from rankframe.core.columns import DOC, LATE_SYNONYMS, SYNONYMS
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, listing, number_of, shorten, shown
from rankframe.io.column_names import first_called
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable
from rankframe.io.opening import describe, open_raw, read_whole, refuse_pattern

_UNIT: Final = "unit"
# Names of the columns of a table of units; the first that is there counts.
_UNITS: Final = ("unit", "unit_id", "parent", "parent_id", "parent_doc_id", "page_id", "source_id")
_CHUNKS: Final = ("chunk_id", "passage_id", "chunk", "passage", "segment_id")
_DOCUMENTS: Final = (DOC, *(name for name in SYNONYMS[DOC] if name not in LATE_SYNONYMS))


def in_units(run: InputTable, unit: Any) -> InputTable:
    """Rename the documents of a run to their units, unless that was done before."""
    if run.in_units:
        return run
    frame, seekable = run.frame, run.seekable
    if isinstance(unit, pl.Expr):
        raw = frame.with_columns(_checked(unit).cast(pl.String).alias(DOC))
    else:
        units = units_of(unit, run.limit)
        _refuse_unknown(run, units)
        raw = (
            frame.join(units.lazy(), on=DOC, how="left", maintain_order="left")
            .with_columns(pl.col(_UNIT).alias(DOC))
            .drop(_UNIT)
        )
        seekable = False
    return replace(
        run,
        raw=raw,
        mapping={name: name for name in frame.collect_schema()},
        lists=None,
        seekable=seekable,
        distance=False,
        in_units=True,
        before=run,
    )


def units_of(unit: Any, limit: int | None = None) -> pl.DataFrame:
    """Read the unit of each document from a table, a file or a mapping: `doc_id` and `unit`."""
    if isinstance(unit, pl.DataFrame) and unit.columns == [DOC, _UNIT]:
        raw, names = unit.lazy(), (DOC, _UNIT)
    elif isinstance(unit, Mapping) and not any(isinstance(value, list) for value in unit.values()):
        texts = {DOC: list(map(str, unit)), _UNIT: list(map(str, unit.values()))}
        raw, names = pl.LazyFrame(texts, {DOC: pl.String, _UNIT: pl.String}), (DOC, _UNIT)
    else:
        opened = open_raw(unit, describe(unit, _UNIT), limit)
        raw = opened.frame
        names = _columns(list(raw.collect_schema()))
    columns = (
        pl.col(name).cast(pl.String).alias(column)
        for name, column in zip(names, (DOC, _UNIT), strict=True)
    )
    table = read_whole(raw.select(columns), describe(unit, _UNIT), limit).unique()
    problem = ""
    if nulls := table.null_count().sum_horizontal()[0]:
        problem = f" has {number_of(nulls, 'row')} without an id."
    elif table.is_empty():
        problem = " has no rows."
    twice = table.filter(pl.col(DOC).is_duplicated()).sort(DOC, _UNIT)
    if not problem and not twice.is_empty():
        first = twice.filter(pl.col(DOC) == twice[DOC][0])
        problem = (
            f" has {number_of(twice[DOC].n_unique(), 'document')} in several units, e.g. "
            f"{first[DOC][0]!r} in {listing(first[_UNIT].to_list())}. Give each document one."
        )
    if problem:
        raise OptionError(Option(_UNIT, bare=True), problem)
    return table


def _columns(names: Sequence[str]) -> tuple[str, str]:
    """Find the column of the documents as retrieved, and that of their units."""
    unit = first_called(_UNITS, names)
    key = first_called((*_CHUNKS, *_DOCUMENTS), [name for name in names if name != unit])
    if unit is None and key is not None and first_called(_CHUNKS, [key]) is not None:
        unit = first_called(_DOCUMENTS, [name for name in names if name != key])
    if key is None or unit is None:
        raise OptionError(
            Option(_UNIT, bare=True),
            f" needs the columns doc_id and unit, or chunk_id and doc_id; it has {listing(names)}.",
        )
    for name in (key, unit):
        refuse_pattern(_UNIT, name)
    return key, unit


def _checked(unit: pl.Expr) -> pl.Expr:
    """Return an expression over doc_id that has a unit for each row; refuse any other."""
    roots = sorted(set(unit.meta.root_names()))
    problem = ""
    if roots != [DOC]:
        problem = f" is an expression over {DOC}, not over {listing(roots)}."
    else:
        try:
            table = pl.DataFrame({DOC: ["a", "b"]}).select(unit.cast(pl.String))
            if table.height != 2:
                problem = f" must give a unit for each document: {shown(str(unit))}."
        except pl.exceptions.PolarsError as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            problem = f" cannot be computed of the text of ids: {reason}."
    if problem:
        raise OptionError(Option(_UNIT, bare=True), problem)
    return unit


def _refuse_unknown(run: InputTable, units: pl.DataFrame) -> None:
    """Refuse documents of a run that have no unit."""
    documents = run.frame.select(DOC).filter(pl.col(DOC).is_not_null(), pl.col(DOC) != "")
    unknown = documents.join(units.lazy(), on=DOC, how="anti").unique()
    counted = unknown.select(pl.len().alias("count"), pl.col(DOC).max())
    try:
        count, example = counted.collect(engine="streaming").row(0)
    except READ_ERRORS:  # raised again, with an explanation, when rows are read
        return
    if count:
        raise OptionError(
            f"{number_of(count, 'document')} of the run {'has' if count == 1 else 'have'} no unit, "
            f"e.g. {shorten(repr(example))}. Add them to ",
            Option(_UNIT, bare=True),
            ".",
        )
