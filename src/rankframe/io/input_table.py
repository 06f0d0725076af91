"""An opened input: a lazy table whose columns were found, and its rows under our names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rankframe.core.columns import DOC, QUERY, SCORE, SCORE_REST, TEXTS, Role, Side
from rankframe.core.errors import BadValueError
from rankframe.io.formats.numbers import as_float, beyond_float
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.list_columns import Lists

# Whole numbers that do not all fit into an Int64.
_LARGE = (pl.UInt64, pl.Int128, pl.UInt128)


@dataclass(frozen=True)
class InputTable:
    """An input that was opened and whose columns were found, but whose rows were not read.

    Attributes:
        role: what errors call the input.
        name: where it is, or what kind of object it is.
        raw: its rows and columns as found.
        mapping: our column → the column of `raw`.
        seekable: whether a slice of the rows can be read without reading those before it.
        distance: whether the score is a distance, which is negated as it is read.
        ordered: what orders a run, in words.
        unused: the columns of a run that are not used.
        asked: our columns that `columns=` names for no input in particular → whether they are here.
        grade: the grade of every row, if there is no column of grades.
        part: whether these are some rows of an input, so that there may be none.
        made: results that are kept for further work on the same rows, if these are in memory.
        files: the temporary files with the rows, which live as long as this object.
        limit: how many bytes may be in memory at once; None without a limit.
        note: how the format was recognised, if that is worth a line in the ledger.
        ranked: whether rows stand in the order of the ranking, if no column orders them.
        lists: the lists that are unrolled into rows.
        numbered: whether row numbers mean anything to the owner of the input.
        in_units: whether documents were rolled up.
        before: the input before that.
        excluded: counts the rows that were dropped because the query has had the document.
    """

    role: Role | Side
    name: str
    raw: pl.LazyFrame
    mapping: dict[str, str]
    seekable: bool = False
    distance: bool = False
    ordered: str = ""
    unused: tuple[str, ...] = ()
    asked: Mapping[str, bool] = field(default_factory=dict)
    grade: float | None = None
    part: bool = False
    made: dict[Any, Any] | None = field(default=None, compare=False, repr=False)
    files: object = field(default=None, compare=False, repr=False)
    limit: int | None = field(default=None, compare=False)
    note: str = ""
    ranked: bool = False
    lists: Lists | None = field(default=None, compare=False, repr=False)
    numbered: bool = True
    in_units: bool = False
    before: InputTable | None = field(default=None, compare=False, repr=False)
    excluded: Callable[[], int] | None = field(default=None, compare=False, repr=False)

    @property
    def frame(self) -> pl.LazyFrame:
        """Only our columns, under our names: ids as strings, numbers as Float64."""
        return self.with_ids({})

    def with_ids(self, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Return `frame` with the ids in these types."""
        schema = self.raw.collect_schema()
        return self.raw.select(
            pl.col(source).cast(types.get(column, pl.String())).alias(column)
            if column in TEXTS
            else self._number(column, source, schema[source]).alias(column)
            for column, source in self.mapping.items()
        )

    def changed(self, raw: pl.LazyFrame) -> InputTable:
        """Return the input with other rows."""
        return replace(self, raw=raw, lists=None, before=None)

    def count(self) -> int:
        """Count the rows."""
        table = self.before or self
        if table.lists is not None:
            return table.lists.count()
        return table.raw.select(pl.len()).collect(engine="streaming").item()

    def about(self) -> int:
        """Estimate the number of rows, from the first lists if lists are unrolled."""
        table = self.before or self
        return table.count() if table.lists is None else table.lists.about()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what fails while rows are read as an error that names the input.

        If a text stands where a number should be, the error quotes it.
        """
        try:
            yield
        except READ_ERRORS as error:
            self.refuse_non_numeric()
            raise unreadable(self.name, error) from error

    def _number(self, column: str, source: str, dtype: pl.DataType) -> pl.Expr:
        number = (beyond_float if column == SCORE_REST else as_float)(source, dtype)
        return -number if self.distance and column in (SCORE, SCORE_REST) else number

    def refuse_non_numeric(self) -> None:
        """Refuse text in a column of numbers; say how many rows have it, and which is the first."""
        with suppress(*READ_ERRORS):
            (self.before or self)._refuse_non_numeric()

    def _refuse_non_numeric(self) -> None:
        schema = self.raw.collect_schema()
        for column, source in self.mapping.items():
            if column in TEXTS or schema[source] != pl.String:
                continue
            text = pl.col(source)
            number = text.str.strip_chars().cast(pl.Float64, strict=False)
            rows = self.raw.select(text).with_row_index("_row")
            bad = rows.filter(number.is_null() & text.is_not_null()).collect()
            if bad.height:
                raise BadValueError(
                    self.role,
                    f"a non-numeric {column}",
                    bad.height,
                    f"{bad[source][0]!r} at row {bad['_row'][0] + 1:,}",
                    f"Every {column} must be a number",
                )


def part_of(frame: pl.DataFrame, role: Role | Side) -> InputTable:
    """Wrap some rows of an input that was opened and checked, under our names."""
    mapping = {name: name for name in frame.columns}
    return InputTable(role, f"the {role}", frame.lazy(), mapping, seekable=True, part=True)


def comparable(*tables: InputTable) -> list[pl.LazyFrame]:
    """Return the columns of several inputs, with ids in types in which equal ids are equal.

    Whole numbers stay numbers, and categories stay categories, if all inputs have them; else ids
    are strings.
    """
    types: dict[str, pl.DataType] = {}
    for name in (QUERY, DOC):
        kinds = [table.raw.collect_schema()[table.mapping[name]] for table in tables]
        if all(kind.is_integer() and kind not in _LARGE for kind in kinds):
            types[name] = pl.Int64()
        elif kinds[0] in (pl.Categorical, pl.Enum) and all(kind == kinds[0] for kind in kinds):
            types[name] = kinds[0]
    return [table.with_ids(types) for table in tables]
