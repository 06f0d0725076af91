"""An input that was opened and whose columns were found: its rows, under our names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rankframe.core.columns import DOC, QUERY, SCORE, SCORE_REST, TEXTS, Role, Side
from rankframe.io.formats.numbers import as_float, beyond_float
from rankframe.io.list_columns import Lists

# Whole numbers that are not all an Int64.
_LARGE = (pl.UInt64, pl.Int128, pl.UInt128)


@dataclass(frozen=True)
class InputTable:
    """An input that was opened and whose columns were found, but whose rows were not read."""

    role: Role | Side
    name: str
    # as found: for error messages that quote the input
    raw: pl.LazyFrame
    # rankframe's column → the column of the input
    mapping: dict[str, str]
    # whether any stretch of its rows can be read without reading those before
    seekable: bool = False
    # whether its score is a distance: turned round as it is read, so that more is better
    distance: bool = False
    # how its documents are ordered, and which of its columns are not looked at
    ordered: str = ""
    unused: tuple[str, ...] = ()
    # of the columns asked for of no side in particular: our column → whether it is here
    asked: Mapping[str, bool] = field(default_factory=dict)
    # the grade of every row, where it has none of its own
    grade: float | None = None
    # whether these are some of the rows of an input, so that there may be none
    part: bool = False
    # what was made of its rows, where these are held for whoever works on them again
    made: dict[Any, Any] | None = field(default=None, compare=False, repr=False)
    # the same as `raw`, faster where all of it is read, with texts for categories
    text: pl.LazyFrame | None = field(default=None, compare=False, repr=False)
    # the temporary files that it lies in, which go when nobody holds them any more
    files: object = field(default=None, compare=False, repr=False)
    # how many bytes the work on it may take; None: nobody said
    limit: int | None = field(default=None, compare=False)
    # how it was read, where that had to be told from its look
    note: str = ""
    # whether its rows are in the order of the ranking, where no column says another
    ranked: bool = False
    # the lists that its rows come from, as long as these are not held
    lists: Lists | None = field(default=None, compare=False, repr=False)
    # whether its rows are those of the source, so that a number says which one is meant
    numbered: bool = True
    # whether its documents are called by what they are part of; if it is whole, as it was before
    in_units: bool = False
    before: InputTable | None = field(default=None, compare=False, repr=False)
    # how many rows of what queries have had were dropped of a run; None: none is
    excluded: Callable[[], int] | None = field(default=None, compare=False, repr=False)

    def count(self) -> int:
        """How many rows it has."""
        if self.before is not None:
            return self.before.count()
        if self.lists is not None:
            return self.lists.count()
        return self.raw.select(pl.len()).collect(engine="streaming").item()

    def about(self) -> int:
        """The same where it need not be exact, without reading more than is needed for that."""
        of = self.before or self
        return of.count() if of.lists is None else of.lists.about()

    @property
    def whole(self) -> pl.LazyFrame:
        """As found, or with texts for categories: the faster way to read all of it."""
        return self.raw if self.text is None else self.text

    def changed(self, raw: pl.LazyFrame) -> InputTable:
        """The same with other rows."""
        return replace(self, raw=raw, text=None, lists=None, before=None)

    def with_number(self, ours: str, source: str) -> InputTable:
        """The same with one more numeric column."""
        return replace(self, mapping={**self.mapping, ours: source})

    @property
    def frame(self) -> pl.LazyFrame:
        """Only our columns, under our names: ids as strings, numbers as Float64."""
        return self.with_ids({})

    def with_ids(self, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """The same with some ids of these types."""
        schema = self.raw.collect_schema()
        return self.raw.select(
            pl.col(source).cast(types.get(ours, pl.String())).alias(ours)
            if ours in TEXTS
            else self._number(ours, source, schema[source]).alias(ours)
            for ours, source in self.mapping.items()
        )

    def _number(self, ours: str, source: str, dtype: pl.DataType) -> pl.Expr:
        number = (beyond_float if ours == SCORE_REST else as_float)(source, dtype)
        return -number if self.distance and ours in (SCORE, SCORE_REST) else number


def part_of(frame: pl.DataFrame, role: Role | Side) -> InputTable:
    """Some rows of an input that was opened and checked, under our names."""
    same = {name: name for name in frame.columns}
    return InputTable(role, f"the {role}", frame.lazy(), same, seekable=True, part=True)


def comparable(*sides: InputTable) -> list[pl.LazyFrame]:
    """The columns of several inputs, with ids in a form in which equal ones are equal: as they are
    where all have whole numbers or the same categories, else as strings. To be read as a whole.
    """
    sides = tuple(side.changed(side.whole) for side in sides)
    types: dict[str, pl.DataType] = {}
    for name in (QUERY, DOC):
        found = [side.raw.collect_schema()[side.mapping[name]] for side in sides]
        if all(kind.is_integer() and kind not in _LARGE for kind in found):
            types[name] = pl.Int64()
        elif found[0] in (pl.Categorical, pl.Enum) and all(kind == found[0] for kind in found):
            types[name] = found[0]
    return [side.with_ids(types) for side in sides]
