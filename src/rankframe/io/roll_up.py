"""What is judged, where it is more than what is retrieved: documents of chunks, sites of pages.

A run is opened as it is, and its documents are then called by the units that they are part of. That
several are of one unit, and which of them counts, is seen to where the run is ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from rankframe.core.columns import DOC, LATE_SYNONYMS, SYNONYMS
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, listing, number_of, shown
from rankframe.io.column_names import first_called
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.input_table import InputTable
from rankframe.io.opening import describe, open_raw, refuse_pattern

_UNIT: Final = "unit"
# What the columns of a table of units may be called, the first that is there.
_UNITS: Final = ("unit", "unit_id", "parent", "parent_id", "parent_doc_id", "page_id", "source_id")
_CHUNKS: Final = ("chunk_id", "passage_id", "chunk", "passage", "segment_id")
_DOCUMENTS: Final = (DOC, *(name for name in SYNONYMS[DOC] if name not in LATE_SYNONYMS))


def in_units(run: InputTable, unit: Any) -> InputTable:
    """A run whose documents are called by their units; one that is so already, as it is."""
    if run.in_units:
        return run
    frame, seekable = run.frame, run.seekable
    if isinstance(unit, pl.Expr):
        raw = frame.with_columns(_checked(unit).cast(pl.String).alias(DOC))
    else:
        units = units_of(unit)
        _refuse_unknown(run, units)
        raw = (
            frame.join(units.lazy(), on=DOC, how="left", maintain_order="left")
            .with_columns(pl.col(_UNIT).alias(DOC))
            .drop(_UNIT)
        )
        seekable = False
    same = {name: name for name in frame.collect_schema()}
    return replace(
        run, raw=raw, mapping=same, text=None, lists=None, seekable=seekable, distance=False,
        in_units=True, before=run,
    )  # fmt: skip


def units_of(given: Any) -> pl.DataFrame:
    """`doc_id` and its `unit`, each document once, of a table, a file or a mapping."""
    if isinstance(given, pl.DataFrame) and given.columns == [DOC, _UNIT]:
        raw, key, unit = given.lazy(), DOC, _UNIT
    elif isinstance(given, Mapping) and not any(isinstance(one, list) for one in given.values()):
        texts = {DOC: list(map(str, given)), _UNIT: list(map(str, given.values()))}
        raw, key, unit = pl.LazyFrame(texts, {DOC: pl.String, _UNIT: pl.String}), DOC, _UNIT
    else:
        raw = open_raw(given, describe(given, _UNIT))
        key, unit = _columns(list(raw.collect_schema()))
    try:
        named = (
            pl.col(name).cast(pl.String).alias(ours) for name, ours in ((key, DOC), (unit, _UNIT))
        )
        table = raw.select(named).unique().collect()
    except READ_ERRORS as error:
        raise unreadable(describe(given, _UNIT), error) from error
    if lacking := table.null_count().sum_horizontal()[0]:
        raise OptionError(
            Option(_UNIT, bare=True),
            f" has {number_of(lacking, 'row')} without an id.",
        )
    if table.is_empty():
        raise OptionError(Option(_UNIT, bare=True), " has no rows.")
    twice = table.filter(pl.col(DOC).is_duplicated()).sort(DOC, _UNIT)
    if not twice.is_empty():
        first = twice.filter(pl.col(DOC) == twice[DOC][0])
        raise OptionError(
            Option(_UNIT, bare=True),
            f" has {number_of(twice[DOC].n_unique(), 'document')} in several units, e.g. "
            f"{first[DOC][0]!r} in {listing(first[_UNIT].to_list())}. Give each document one.",
        )
    return table


def _columns(found: Sequence[str]) -> tuple[str, str]:
    """Which columns have the documents as retrieved, and their units."""
    unit = first_called(_UNITS, found)
    key = first_called((*_CHUNKS, *_DOCUMENTS), [name for name in found if name != unit])
    if unit is None and key is not None and first_called(_CHUNKS, [key]) is not None:
        unit = first_called(_DOCUMENTS, [name for name in found if name != key])
    if key is None or unit is None:
        raise OptionError(
            Option(_UNIT, bare=True),
            f" needs the columns doc_id and unit, or chunk_id and doc_id; it has {listing(found)}.",
        )
    for name in (key, unit):
        refuse_pattern(_UNIT, name)
    return key, unit


def _checked(unit: pl.Expr) -> pl.Expr:
    """An expression over doc_id and nothing else, each row by itself."""
    roots = sorted(set(unit.meta.root_names()))
    if roots != [DOC]:
        raise OptionError(
            Option(_UNIT, bare=True),
            f" is an expression over {DOC}, not over {listing(roots)}.",
        )
    some = pl.DataFrame({DOC: ["a", "b"]}).lazy().select(unit.cast(pl.String))
    try:
        table = some.collect()
    except pl.exceptions.PolarsError as error:
        said = str(error).split("\n", maxsplit=1)[0]
        raise OptionError(
            Option(_UNIT, bare=True), f" cannot be computed of the text of ids: {said}."
        ) from error
    if table.height != 2:
        raise OptionError(
            Option(_UNIT, bare=True), f" must give a unit for each document: {shown(str(unit))}."
        )
    return unit


def _refuse_unknown(run: InputTable, units: pl.DataFrame) -> None:
    """Refuse documents of which nobody said what they are part of."""
    documents = run.frame.select(DOC).filter(pl.col(DOC).is_not_null(), pl.col(DOC) != "")
    unknown = documents.join(units.lazy(), on=DOC, how="anti").unique()
    try:
        found = unknown.select(pl.len().alias("count"), pl.col(DOC).max()).collect(
            engine="streaming"
        )
    except READ_ERRORS:  # whoever reads it says why
        return
    count, example = found.row(0)
    if count:
        raise OptionError(
            f"{number_of(count, 'document')} of the run {'has' if count == 1 else 'have'} no unit, "
            f"e.g. {example!r}. Add them to ", Option(_UNIT, bare=True), ".",
        )  # fmt: skip
