"""Open judgments, runs and rankings of any format as lazy tables with rankframe's column names.

Columns are found and their types checked here. Rows are read later, and checked as they are read
(`batches.py`, `validate.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from rankframe.core.columns import (
    DOC,
    LATE_SYNONYMS,
    QUERY,
    RELEVANCE,
    SCORE,
    SUBTOPIC,
    SUBTOPIC_WEIGHT,
    SYNONYMS,
    Side,
)
from rankframe.core.errors import BadValueError, MissingColumnError, OptionError
from rankframe.core.messages import Option, listing, number_of, shorten, shown
from rankframe.core.options import Order, Policies
from rankframe.io.batches import check_input
from rankframe.io.column_names import Columns, first_called
from rankframe.io.formats.registry import READ_ERRORS, reading
from rankframe.io.input_table import InputTable
from rankframe.io.memory import (
    bytes_at_once,
    estimated_need,
    for_rows,
    partitions_for,
    shared_limit,
)
from rankframe.io.opening import (
    Source,
    describe,
    open_raw,
    open_table,
    order_run,
    read_whole,
    refuse_pattern,
)
from rankframe.io.partition_files import HashedInput
from rankframe.io.python_objects import ranking_by_query, read_texts
from rankframe.io.queries import Attributes
from rankframe.io.scratch import KeptFolder, room_for

# Bytes that a row takes in the anti-join with train, and the share of the memory for rows that
# train may take beside the evaluation; a larger train is written into partitions.
_SEEN_BYTES, _SEEN_SHARE = 120, 0.25
_ROW_GROUP = 1 << 17
COUNT: Final = "count"
_COUNTS: Final = ("count", "counts")
_UNIT: Final = "unit"
# Names of the columns of a table of units; the first name that matches a column is used.
_UNITS: Final = ("unit", "unit_id", "parent", "parent_id", "parent_doc_id", "page_id", "source_id")
_CHUNKS: Final = ("chunk_id", "passage_id", "chunk", "passage", "segment_id")
_DOCUMENTS: Final = (DOC, *(name for name in SYNONYMS[DOC] if name not in LATE_SYNONYMS))


def open_judgments(
    source: Source,
    columns: Columns | None = None,
    *,
    relevance: float | None = None,
    limit: int | None = None,
) -> InputTable:
    """Open judgments as an `InputTable`, whose rows are read later.

    Args:
        source: a frame, a path, an address, a dict, or anything else that `open_table` reads.
        columns: the names of its columns.
        relevance: the grade of judgments that have none.
        limit: how many bytes may be in memory at once.
    """
    return open_table(source, "qrels", columns, relevance=relevance, limit=limit)


def open_run(
    source: Source, policies: Policies, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open a run and apply the policies: order it, roll it up, and drop documents in train."""
    run = open_table(
        source, "run", columns, order=policies.order, ranks=policies.ranks, limit=limit
    )
    if policies.unit is not None:
        run = in_units(run, policies.unit)
    if not policies.exclude_seen or run.excluded is not None:
        return run
    if policies.train is None:
        option = Option("exclude_seen", value=True)
        raise OptionError(option, " needs ", Option("train", bare=True), ".")
    return without_seen(run, open_train(policies.train, columns, limit=limit))


def open_ranking(
    source: Source,
    side: Literal["a", "b"],
    columns: Columns | None = None,
    *,
    order: Order | None = None,
    limit: int | None = None,
) -> InputTable:
    """Open one of two rankings: a run, or judgments, whose grades are then its scores.

    `columns` names the columns of both, or of each: `{"a": {...}, "b": {...}}`.
    """
    called: Side = "ranking a" if side == "a" else "ranking b"
    source = ranking_by_query(source, describe(source, called))
    table = open_table(source, None, columns, order=order, called=called, limit=limit)
    if RELEVANCE not in table.mapping:
        return table
    # A ranking has no subtopics: a document with several subtopics would be in it twice.
    mapping = {
        SCORE if column == RELEVANCE else column: name
        for column, name in table.mapping.items()
        if column not in (SUBTOPIC, SUBTOPIC_WEIGHT)
    }
    return order_run(replace(table, mapping=mapping), order)


def refuse_absent_columns(
    columns: Columns | None, *inputs: InputTable, queries: InputTable | Attributes | None = None
) -> None:
    """Refuse a column that `columns` names for no input in particular, if no input has it.

    Call this when all inputs are open. `queries`: the frame of queries, or the attributes read
    from it.
    """
    tables = inputs if queries is None else (*inputs, queries)
    for column, name in (columns or {}).items():
        present = [t.shared_columns[column] for t in tables if column in t.shared_columns]
        if not present or any(present):
            continue
        lacking = {
            t.role: list(t.raw.collect_schema()) for t in inputs if column in t.shared_columns
        }
        if len(lacking) == 1:
            ((called, present),) = lacking.items()
            raise MissingColumnError(called, column, present, named=str(name))
        raise MissingColumnError.everywhere(column, str(name), lacking)


def open_train(
    source: Source, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open training interactions as an `InputTable`, and check their counts in all rows."""
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
    """Open training interactions without reading any row: query_id, doc_id, and their count.

    Without a column of counts, each row counts once.
    """
    if isinstance(source, InputTable):
        return source
    try:
        train = open_table(source, "qrels", columns, called="train", limit=limit)
    except MissingColumnError:  # grades are not needed; any other missing column fails again
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
    limit, files, numbered = train.limit, run.files, run.numbered
    in_memory = limit is None or (
        estimated_need(train, _SEEN_BYTES, limit) <= _SEEN_SHARE * for_rows(limit)
    )
    if in_memory:
        frame = _drop_pairs(run.frame, train.frame)
    else:  # rows are then in the order of the partitions, and row numbers mean nothing
        files, numbered = KeptFolder(), False
        frame = _drop_seen_on_disk(run, train, files.path)
    rest = replace(
        run.changed(frame),
        mapping={name: name for name in run.frame.collect_schema()},
        distance=False,
        seekable=not in_memory,
        files=files,
        numbered=numbered,
    )
    return replace(rest, excluded=lambda: run.count() - rest.count())


def _drop_pairs(rows: pl.LazyFrame, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Drop rows whose query and document are among the pairs."""
    keys = [QUERY, DOC]
    return rows.join(pairs.select(keys), on=keys, how="anti", maintain_order="left")


def _drop_seen_on_disk(run: InputTable, train: InputTable, folder: Path) -> pl.LazyFrame:
    """Drop the rows of a run whose pairs are in train, by partition on disk; scan the rest."""
    limit = shared_limit((run, train))
    need = sum(estimated_need(side, _SEEN_BYTES, limit) for side in (run, train))
    partitions, ahead = partitions_for(need, limit), bytes_at_once(run, train)
    documents, seen = (
        HashedInput.write(side, folder / side.role, partitions, ahead) for side in (run, train)
    )
    paths = [folder / f"{number:05}.parquet" for number in range(partitions)]
    for number, path in enumerate(paths):
        rest = _drop_pairs(documents.read(number).lazy(), seen.read(number).lazy())
        with room_for(folder):
            rest.collect().write_parquet(path, compression="lz4", row_group_size=_ROW_GROUP)
    for side in (run, train):
        shutil.rmtree(folder / side.role, ignore_errors=True)
    return pl.scan_parquet(paths, glob=False)


def refuse_counts(rows: int, example: float | None) -> None:
    """Refuse bad counts in train; `rows` is the number of such rows, `example` one of them."""
    if rows:
        problem = f"a {COUNT} that is not a whole number of at least 1"
        advice = "Say how often each pair occurred, or leave the column out"
        raise BadValueError("train", problem, rows, repr(example), advice)


def in_units(run: InputTable, unit: Any) -> InputTable:
    """Roll up a run: rename its documents to their units. A run in units is returned as it is."""
    if run.in_units:
        return run
    frame, seekable = run.frame, run.seekable
    if isinstance(unit, pl.Expr):
        raw = frame.with_columns(_checked(unit).cast(pl.String).alias(DOC))
    else:
        units = units_of(unit, run.limit)
        _refuse_unknown(run, units)
        joined = frame.join(units.lazy(), on=DOC, how="left", maintain_order="left")
        raw, seekable = joined.with_columns(pl.col(_UNIT).alias(DOC)).drop(_UNIT), False
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
        name = describe(unit, _UNIT)
        texts = (read_texts(unit, name, DOC), read_texts(unit.values(), name, _UNIT))
        raw, names = pl.LazyFrame(texts), (DOC, _UNIT)
    else:
        opened = open_raw(unit, describe(unit, _UNIT), limit)
        raw = opened.frame
        names = _columns(list(raw.collect_schema()))
    columns = (
        pl.col(name).cast(pl.String).alias(column)
        for name, column in zip(names, (DOC, _UNIT), strict=True)
    )
    with reading(describe(unit, _UNIT)):
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
    """Find the columns of a table of units by their names: retrieved documents, and their units."""
    unit = first_called(_UNITS, names)
    key = first_called((*_CHUNKS, *_DOCUMENTS), [name for name in names if name != unit])
    if unit is None and key is not None and first_called(_CHUNKS, [key]) is not None:
        unit = first_called(_DOCUMENTS, [name for name in names if name != key])
    if key is None or unit is None:
        needs = " needs the columns doc_id and unit, or chunk_id and doc_id"
        raise OptionError(Option(_UNIT, bare=True), f"{needs}; it has {listing(names)}.")
    for name in (key, unit):
        refuse_pattern(_UNIT, name)
    return key, unit


def _checked(unit: pl.Expr) -> pl.Expr:
    """Return a unit expression after checks: it must use doc_id only, with a value for each row."""
    roots, problem = sorted(set(unit.meta.root_names())), ""
    try:
        if roots != [DOC]:
            problem = f" is an expression over {DOC}, not over {listing(roots)}."
        elif pl.DataFrame({DOC: ["a", "b"]}).select(unit.cast(pl.String)).height != 2:
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
        lack = (
            f"{number_of(count, 'document')} of the run {'has' if count == 1 else 'have'} no unit"
        )
        example = f", e.g. {shorten(repr(example))}. Add them to "
        raise OptionError(lack, example, Option(_UNIT, bare=True), ".")
