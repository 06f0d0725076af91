"""Hold an opened input: a lazy table, and the mapping of its columns to rankframe's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.columns import (
    DOC,
    QUERY,
    SCORE,
    SCORE_REST,
    SUBTOPIC,
    SUBTOPIC_WEIGHT,
    TEXTS,
    Role,
    Side,
)
from rankframe.core.errors import BadValueError, ColumnTypeError, DuplicateError
from rankframe.core.records import record
from rankframe.core.threads import size_of
from rankframe.core.vocabulary import Vocabulary
from rankframe.io.column_names import InputNames
from rankframe.io.formats.numbers import beyond_float
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.raw_table import lazy_table, read_tables

# Whole numbers that fit into an Int64.
_WHOLE = {
    *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()),
    *(pl.UInt8(), pl.UInt16(), pl.UInt32()),
}
# Rows of the first table, read before the bytes per row are known; least and most rows of later
# tables.
_FIRST, _FEWEST, _MOST = 1 << 12, 1 << 10, 1 << 17
# The smallest size that a row is assumed to have: later ids may be longer.
_ROW_BYTES = 256
# Rows of the tables that lists are unrolled into: about as many as polars reads at a time.
_ROWS = 1 << 17
_SAMPLE = 10_000  # lists whose lengths serve to estimate the number of all rows
_AT_ONCE = 32  # the memory limit divided by this is the size of one read
_ROW = "_row"


def in_steps(frame: pl.LazyFrame, at_once: int, *, seekable: bool) -> Iterator[pl.DataFrame]:
    """Yield all rows in order, in tables of about `at_once` bytes.

    By default, polars decodes far ahead of the consumer of its batches: several row groups on
    every core. A slice of a seekable table is decoded alone. (2M rows with long ids, in Parquet:
    220 MB and 0.4 CPU seconds by default, 100 MB and 0.3 seconds in slices; both include 45 MB that
    polars takes without any rows.)

    `seekable`: whether any slice can be read without reading the rows before it. If not, polars
    decides how much is read ahead.
    """
    if not seekable:
        yield from read_tables(frame)
        return
    rows, read, widest = _FIRST, 0, float(_ROW_BYTES)
    while True:
        table = frame.slice(read, rows).collect(engine="in-memory")
        if table.height:
            yield table
        read += table.height
        if table.height < rows:
            return
        widest = max(widest, size_of(table) / table.height)
        rows = min(max(int(at_once / widest), _FEWEST), _MOST)


def lists_of(
    frame: pl.LazyFrame,
    flat: InputNames,
    mapping: Mapping[str, str],
    role: str,
    limit: int | None = None,
) -> Lists:
    """Return a `Lists`, which unrolls the list columns of a table into one row per document.

    `limit`: how many bytes unrolling may take; None if slices of the table cannot be read alone.
    """
    doc = mapping[DOC]
    numbers = {name: source for name, source in mapping.items() if name not in (QUERY, DOC)}
    # A group column may hold one value for all documents in the list.
    for name in (SUBTOPIC, SUBTOPIC_WEIGHT):
        if numbers.get(name, doc) not in flat.lists:
            del numbers[name]
    for column in numbers.values():
        if column not in flat.lists:
            expected = f"a list of numbers, one for each document in the list {doc!r}"
            raise ColumnTypeError(role, column, str(flat.schema[column]), expected)
    columns = tuple(dict.fromkeys((doc, *numbers.values())))
    ordered = not numbers and role != "qrels"
    return Lists(frame, flat, mapping[QUERY], columns, role, ordered, limit)


@record
class Lists:
    """Hold a table with one row per query and documents in lists, and unroll the lists."""

    frame: pl.LazyFrame
    flat: InputNames
    query: str
    # the columns that are unrolled together, the documents first
    columns: tuple[str, ...]
    role: str
    # whether documents are ranked in the order of their list
    ordered: bool
    # how many bytes unrolling may take; None: no limit, or polars decides how much is read
    limit: int | None

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Return the names and types of the columns after lists are unrolled."""
        schema = self.frame.collect_schema()
        return {
            name: kind.inner  # pyright: ignore[reportAttributeAccessIssue] (a list has one)
            if name in self.columns or name in self.flat.fields
            else schema[name]
            for name, kind in self.flat.schema.items()
        }

    def unrolled(self) -> pl.LazyFrame:
        """Return a lazy frame with a row for each document, in the order of its list."""
        return lazy_table(self.schema, self._read)

    def count(self, *, estimated: bool = False) -> int:
        """Count the documents; `estimated`: from the first lists, which is much faster."""
        if not estimated:
            return self._lengths().select(pl.col("0").sum()).collect(engine="streaming").item()
        lists = self.frame.select(pl.len()).collect(engine="streaming").item()
        first = self._lengths(self.frame.head(_SAMPLE)).select(pl.col("0").mean()).collect().item()
        return round(lists * (first or 0))

    def _source(self, names: Sequence[str]) -> list[pl.Expr]:
        """Return expressions for the columns in which `names` are found, with arrays as lists."""
        schema = self.frame.collect_schema()
        return [
            pl.col(name).arr.to_list() if isinstance(schema[name], pl.Array) else pl.col(name)
            for name in dict.fromkeys(map(self.flat.found_as, names))
        ]

    def _lengths(self, frame: pl.LazyFrame | None = None) -> pl.LazyFrame:
        """Return the lengths of the lists of each row, in columns 0, 1, …; null has length 0."""
        lists = (self.frame if frame is None else frame).select(self._source(self.columns))
        names = lists.collect_schema().names()
        return lists.select(
            pl.col(name).list.len().fill_null(0).alias(str(number))
            for number, name in enumerate(names)
        )

    def _read(self, selected: list[str], rows: int | None) -> Iterator[pl.DataFrame]:
        if rows == 0:
            return
        lists = [name for name in self.columns if name in selected or name == self.columns[0]]
        watched = [self.query] if self.ordered and rows is None else []
        frame = self.frame.select(self._source([*lists, *selected, *watched]))
        queries: list[pl.Series] = []
        # Most lists are not empty: `limit` lists mostly have at least `limit` rows, or else more
        # are read.
        for part in [frame] if rows is None else [frame.head(rows), frame.slice(rows)]:
            for table in self._slices(part):
                if watched:
                    queries.append(table[self.query].hash())
                for unrolled in self._tables(table, lists):
                    yield unrolled.select(selected)
        if queries and (all_queries := pl.concat(queries)).n_unique() < len(all_queries):
            self._refuse_repeated()
        yield pl.DataFrame(schema=self.schema).select(selected)

    def _slices(self, frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Yield the rows of `frame` in order, in tables that keep to the memory limit, if any."""
        if self.limit is None:
            return read_tables(frame)
        return in_steps(frame, self.limit // _AT_ONCE, seekable=True)

    def _tables(self, table: pl.DataFrame, lists: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Unroll the list columns `lists` of `table`; yield tables of about `_ROWS` rows."""
        sources = list(dict.fromkeys(map(self.flat.found_as, lists)))
        lengths = [table[name].list.len().fill_null(0).to_numpy() for name in sources]
        if any(not np.array_equal(lengths[0], length) for length in lengths[1:]):
            self._refuse_unequal()
        ends = np.cumsum(lengths[0], dtype=np.int64)
        most_rows = _ROWS
        if self.limit is not None:  # the slice is small, but unrolled it may be large
            most_rows = min(_ROWS, self.limit // _AT_ONCE // _ROW_BYTES + 1)
        full = np.arange(most_rows, ends[-1] if len(ends) else 0, most_rows)
        cuts = np.searchsorted(ends, full) + 1
        for start, end in pairwise(np.unique([0, *cuts, table.height]).tolist()):
            unrolled = table[start:end].explode(sources, empty_as_null=False, keep_nulls=False)
            if self.flat.struct in sources:
                fields = unrolled[self.flat.struct].struct.unnest()
                kept = unrolled.drop(self.flat.struct, *fields.columns, strict=False)
                unrolled = kept.hstack(fields)
            yield unrolled

    def _refuse_unequal(self) -> None:
        lengths = self._lengths()
        names = lengths.collect_schema().names()
        queries = self.frame.select(pl.col(self.query).cast(pl.String).alias(QUERY))
        unequal = pl.any_horizontal(pl.col(names[0]) != pl.col(other) for other in names[1:])
        rows = pl.concat([queries, lengths], how="horizontal").with_row_index(_ROW, offset=1)
        bad = rows.filter(unequal).collect(engine="streaming")
        if bad.is_empty():
            return
        row: dict[str, Any] = bad.row(0, named=True)
        first, *plain = dict.fromkeys(map(self.flat.found_as, self.columns))
        other, count = next(
            (name, row[number])
            for number, name in zip(names[1:], plain, strict=True)
            if row[number] != row["0"]
        )
        where = f"row {row[_ROW]:,} (query_id {row[QUERY]!r})"
        example = f"{where}: {row['0']:,} in {first!r}, {count:,} in {other!r}"
        problem, advice = "lists of different lengths", "Give each document one number"
        raise BadValueError(self.role, problem, bad.height, example, advice)

    def _refuse_repeated(self) -> None:
        """Refuse a query with two lists: either could come first."""
        key = pl.col(self.query).cast(pl.String).alias(QUERY)
        rows = self.frame.select(key).with_row_index(_ROW, offset=1).drop_nulls()
        twice = rows.filter(pl.col(QUERY).is_duplicated()).collect(engine="streaming")
        if twice.is_empty():
            return
        first = twice[QUERY][0]
        places = twice.filter(pl.col(QUERY) == first)[_ROW].to_list()
        count = twice[QUERY].n_unique()
        raise DuplicateError(self.role, count, {QUERY: first}, places, resolvable=False)


@record
class InputTable:
    """Hold an opened input, whose columns are matched and whose rows are not read yet.

    Attributes:
        role: what errors call the input.
        name: where it is, or what kind of object it is.
        raw: its rows and columns as found.
        mapping: rankframe's column → the column of `raw`.
        seekable: whether a slice of the rows can be read without reading those before it.
        distance: whether the score is a distance, which is negated as it is read.
        ordered: what orders a run, in words for the ledger.
        unused: the columns of a run that are not used.
        shared_columns: rankframe's columns that `columns=` names for no input in particular →
            whether this input has them.
        grade: the grade of every row, if there is no column of grades.
        part: whether these rows are a part of an input, which may be empty.
        cache: results that later work on the same rows reuses, if the rows are in memory.
        files: the temporary files with the rows, which live as long as this object.
        rows: how many rows there are, if they are in memory.
        limit: how many bytes may be in memory at once; None without a limit.
        note: how the format was recognised, if that is worth a line in the ledger.
        ranked: whether rows stand in the order of the ranking, if no column orders them.
        lists: the lists that are unrolled into rows.
        numbered: whether row numbers mean anything to the owner of the input.
        in_units: whether documents were rolled up.
        before: the input before documents were rolled up; None if they were not.
        excluded: counts the rows that were dropped because the query has the document in train.
        vocabulary: what texts call queries and documents, by the names of their columns.
    """

    role: Role | Side
    name: str
    raw: pl.LazyFrame
    mapping: dict[str, str]
    seekable: bool = False
    distance: bool = False
    ordered: str = ""
    unused: tuple[str, ...] = ()
    shared_columns: Mapping[str, bool] = field(default_factory=dict)
    grade: float | None = None
    part: bool = False
    cache: dict[Any, Any] | None = field(default=None, compare=False, repr=False)
    files: object = field(default=None, compare=False, repr=False)
    rows: int | None = field(default=None, compare=False)
    limit: int | None = field(default=None, compare=False)
    note: str = ""
    ranked: bool = False
    lists: Lists | None = field(default=None, compare=False, repr=False)
    numbered: bool = True
    in_units: bool = False
    before: InputTable | None = field(default=None, compare=False, repr=False)
    excluded: Callable[[], int] | None = field(default=None, compare=False, repr=False)
    vocabulary: Vocabulary = Vocabulary()

    @property
    def frame(self) -> pl.LazyFrame:
        """Return the used columns under rankframe's names: ids as strings, numbers as Float64."""
        return self.with_ids({})

    def with_ids(self, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Return `frame` with its id columns cast to `types` (column → type), else to strings."""
        schema, columns = self.raw.collect_schema(), []
        for column, source in self.mapping.items():
            value = pl.col(source)
            kind = types.get(column, pl.String()) if column in TEXTS else pl.Float64()
            if column == SCORE_REST:
                value = beyond_float(source, schema[source])
            elif schema[source] != kind:
                is_text = schema[source] == pl.String and column not in TEXTS
                value = (value.str.strip_chars() if is_text else value).cast(kind)
            turned = self.distance and column in (SCORE, SCORE_REST)
            columns.append((-value if turned else value).alias(column))
        return self.raw.select(columns)

    def changed(self, raw: pl.LazyFrame) -> InputTable:
        """Return a copy of the input with `raw` as its rows."""
        return replace(self, raw=raw, rows=None, lists=None, before=None)

    def count(self, *, estimated: bool = False) -> int:
        """Count the rows; with `estimated`, estimate rows in list columns from the first lists."""
        table = self.before or self
        if table.rows is not None:
            return table.rows
        if estimated not in self._counts:
            self._counts[estimated] = (
                table.raw.select(pl.len()).collect(engine="streaming").item()
                if table.lists is None
                else table.lists.count(estimated=estimated)
            )
        return self._counts[estimated]

    @property
    def is_countable(self) -> bool:
        """Return whether `count(estimated=True)` is quick: it takes no pass over the rows."""
        return self.seekable or True in self._counts

    @cached_property
    def _counts(self) -> dict[bool, int]:
        """Return the cached row counts: key True for an estimate, False for an exact count."""
        return {}

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn any failure inside the block, which reads rows, into an error that names the input.

        If a column of numbers holds text, the error quotes the text.
        """
        try:
            yield
        except READ_ERRORS as error:
            with suppress(*READ_ERRORS):
                (self.before or self)._refuse_non_numeric()
            raise unreadable(self.name, error) from error

    def _refuse_non_numeric(self) -> None:
        """Refuse text in a column of numbers; the error counts such rows, and shows the first."""
        schema = self.raw.collect_schema()
        for column, source in self.mapping.items():
            if column in TEXTS or schema[source] != pl.String:
                continue
            text = pl.col(source)
            number = text.str.strip_chars().cast(pl.Float64, strict=False)
            rows = self.raw.select(text).with_row_index("_row")
            bad = rows.filter(number.is_null() & text.is_not_null()).collect()
            if bad.height:
                example = f"{bad[source][0]!r} at row {bad['_row'][0] + 1:,}"
                problem, advice = f"a non-numeric {column}", f"Every {column} must be a number"
                raise BadValueError(self.role, problem, bad.height, example, advice)


def part_of(frame: pl.DataFrame, role: Role | Side) -> InputTable:
    """Wrap a frame of checked rows, whose columns have rankframe's names, as an `InputTable`."""
    mapping = {name: name for name in frame.columns}
    return InputTable(
        role, f"the {role}", frame.lazy(), mapping, seekable=True, rows=frame.height, part=True
    )


def comparable(*tables: InputTable) -> list[pl.LazyFrame]:
    """Return the frames of several inputs, with ids in common types so that ids can be compared.

    Whole numbers stay numbers, and categories stay categories, if all inputs have them; else ids
    are strings.
    """
    types: dict[str, pl.DataType] = {}
    for name in (QUERY, DOC):
        kinds: set[pl.DataType] = set()
        for table in tables:
            kinds.add(table.raw.collect_schema()[table.mapping[name]])
        if kinds <= _WHOLE:
            types[name] = pl.Int64()
        elif len(kinds) == 1 and isinstance(kind := kinds.pop(), pl.Categorical | pl.Enum):
            types[name] = kind
    return [table.with_ids(types) for table in tables]
