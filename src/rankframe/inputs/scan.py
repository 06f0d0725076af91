"""Anything → a LazyFrame with rankframe's column names: files, frames, Arrow streams, dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from rankframe.base.checks import is_pattern
from rankframe.base.columns import (
    DISTANCE,
    DOC,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SCORE_REST,
    Role,
    Side,
)
from rankframe.base.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionError,
    UnorderedRunError,
    UnreadableInputError,
)
from rankframe.base.forks import refuse_if_stranded
from rankframe.base.messages import Option
from rankframe.base.options import Order, Ranks
from rankframe.inputs.column_names import (
    Asked,
    Columns,
    find_columns,
    guess_role,
    refuse_absent,
)
from rankframe.inputs.dicts import from_dicts
from rankframe.sources.arrow_tables import open_arrow
from rankframe.sources.formats import READ_ERRORS, unreadable
from rankframe.sources.numbers import as_float, beyond_float, with_rest
from rankframe.sources.opening import Opened, numeric_columns, open_path, open_stream

# A polars frame, a path, an open binary file, a dict of dicts, or anything Arrow-like; also what
# was opened already, a `Scanned`.
Source: TypeAlias = Any
# Whole numbers that are not all an Int64.
_LARGE = (pl.UInt64, pl.Int128, pl.UInt128)


@dataclass(frozen=True)
class Scanned:
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

    @property
    def whole(self) -> pl.LazyFrame:
        """As found, or with texts for categories: the faster way to read all of it."""
        return self.raw if self.text is None else self.text

    def changed(self, raw: pl.LazyFrame) -> Scanned:
        """The same with other rows."""
        return replace(self, raw=raw, text=None)

    def with_number(self, ours: str, source: str) -> Scanned:
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
            if ours in (QUERY, DOC)
            else self._number(ours, source, schema[source]).alias(ours)
            for ours, source in self.mapping.items()
        )

    def _number(self, ours: str, source: str, dtype: pl.DataType) -> pl.Expr:
        number = (beyond_float if ours == SCORE_REST else as_float)(source, dtype)
        return -number if self.distance and ours in (SCORE, SCORE_REST) else number


def scan(
    source: Source,
    role: Role | None,
    columns: Columns | None = None,
    *,
    order: Order | None = None,
    ranks: Ranks = "renumbered",
    relevance: float | None = None,
    called: Side | None = None,
) -> Scanned:
    """Open a source and find its columns; rows are read later.

    Without a role, a source with a grade and neither score nor rank is qrels, any other a run.
    `order`: what a run is ordered by; None: the caller sees to it that there is something. With
    `ranks` that are kept, its scores are not looked at. `relevance`: the grade of judgments that
    have none. Of columns asked for of no side in particular, see `refuse_absent_columns`.
    `called` is what errors call it, where that is not its role. What was opened already stays so.
    """
    if isinstance(source, Scanned):
        return source
    refuse_if_stranded()
    name = describe(source, called or role or "input")
    try:
        raw, seekable, text = _open(source, role, name)
        schema = raw.collect_schema()
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    found, side = list(schema), called.removeprefix("ranking ") if called else None
    if role is None:
        role = guess_role(found, columns, side)
    ours = find_columns(
        found,
        role,
        Asked.of(columns, side or role),
        called or role,
        without=() if relevance is None else (RELEVANCE,),
    )
    mapping = ours.mapping
    for name_of_ours, one in mapping.items():
        _check_type(called or role, name_of_ours, one, schema[one])
    distance = mapping.pop(DISTANCE, None)
    if distance is not None:
        mapping[SCORE] = distance
    mapping = with_rest(mapping, schema)
    scanned = Scanned(
        called or role, name, raw, mapping, seekable, distance is not None, text=text,
        asked=ours.asked,
    )  # fmt: skip
    if role == "run":
        return _ordered(scanned, order, ranks)
    return scanned if role == "queries" or relevance is None else _graded(scanned, relevance)


def _graded(qrels: Scanned, grade: float) -> Scanned:
    """The same with this grade in every row; refused where it has grades."""
    if RELEVANCE in qrels.mapping:
        raise OptionError(
            Option("relevance", grade),
            " is the grade of judgments that have none, and ",
            f"{qrels.role} has the column {qrels.mapping[RELEVANCE]!r}. Leave one of them out. (",
            Option("rel"),
            " says from which grade on documents are relevant.)",
        )
    column = RELEVANCE
    while column in qrels.raw.collect_schema():
        column = f"_{column}"
    value = pl.lit(float(grade)).alias(column)
    return replace(
        qrels,
        raw=qrels.raw.with_columns(value),
        text=None if qrels.text is None else qrels.text.with_columns(value),
        mapping={**qrels.mapping, RELEVANCE: column},
        grade=float(grade),
    )


def refuse_absent_columns(
    columns: Columns | None, *sides: Scanned, queries: Mapping[str, bool] | None = None
) -> None:
    """Refuse columns asked for of no side in particular that none has.

    `queries`: what `asked` of the frame of queries says. To be called when all sides are open.
    """
    opened = [(side.role, list(side.raw.collect_schema()), side.asked) for side in sides]
    refuse_absent(columns, opened, queries)


def _ordered(run: Scanned, order: Order | None, ranks: Ranks = "renumbered") -> Scanned:
    """The same with what orders it; refused where that is to be a column, and there is none."""
    found = list(run.raw.collect_schema())
    if order == "rows" and ranks == "kept":
        said = (Option("order", "rows"), " and ", Option("ranks", "kept"))
        raise OptionError(*said, " contradict each other.")
    if order == "rows":
        mapping = {ours: of for ours, of in run.mapping.items() if ours in (QUERY, DOC)}
        run = replace(run, mapping=mapping, distance=False)
    if ranks == "kept":
        if RANK not in run.mapping:
            raise MissingColumnError(run.role, RANK, found)
        mapping = {ours: of for ours, of in run.mapping.items() if ours in (QUERY, DOC, RANK)}
        run = replace(run, mapping=mapping, distance=False)
    by = next((ours for ours in (SCORE, RANK) if ours in run.mapping), None)
    unused = [name for name in found if name not in run.mapping.values()]
    if by is None and order == "columns":
        raise UnorderedRunError(run.role, found, numeric_columns(run.raw, unused))
    said = "as the rows stand"
    if by is not None:
        largest = by == SCORE and not run.distance
        said = f"by {run.mapping[by]!r}, the {'largest' if largest else 'smallest'} first"
    return replace(run, ordered=said, unused=tuple(unused))


def part_of(frame: pl.DataFrame, role: Role | Side) -> Scanned:
    """Some rows of an input that was opened and checked, under our names."""
    same = {name: name for name in frame.columns}
    return Scanned(role, f"the {role}", frame.lazy(), same, seekable=True, part=True)


def scan_ranking(
    source: Source,
    side: Literal["a", "b"],
    columns: Columns | None = None,
    *,
    order: Order | None = None,
) -> Scanned:
    """Open one of two rankings: a run, or judgments, whose grades are then its scores.

    `columns` speaks of both, or of each: `{"a": {...}, "b": {...}}`.
    """
    called: Side = "ranking a" if side == "a" else "ranking b"
    scanned = scan(source, None, columns, order=order, called=called)
    if RELEVANCE not in scanned.mapping:
        return scanned
    mapping = {SCORE if ours == RELEVANCE else ours: of for ours, of in scanned.mapping.items()}
    mapping = with_rest(mapping, scanned.raw.collect_schema())
    return _ordered(replace(scanned, mapping=mapping), order)


def comparable(*sides: Scanned) -> list[pl.LazyFrame]:
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


def describe(source: Source, role: str) -> str:
    """How messages call a source: its path, or what kind of thing it is."""
    if isinstance(source, str | os.PathLike):
        return str(source)
    if hasattr(source, "read"):
        return f"the {role} on {getattr(source, 'name', 'the open file')}"
    return f"the {role} {type(source).__name__}"


def _open(source: Source, role: Role | None, name: str) -> Opened:
    if isinstance(source, pl.LazyFrame):
        return Opened(source, seekable=False)
    if isinstance(source, pl.DataFrame):
        return Opened(source.lazy(), seekable=True)
    if isinstance(source, str | os.PathLike):
        return open_path(os.fspath(source), role, name)
    if hasattr(source, "read"):
        return open_stream(source, role, name)
    if isinstance(source, Mapping):
        return Opened(from_dicts(source, role, name).lazy(), seekable=True)
    opened = open_arrow(source, role or "input", name)
    if opened is not None:
        return opened
    raise UnreadableInputError(
        name,
        "this is neither a frame, an Arrow table, a path nor a dict of dicts",
        "For plain Python lists see rankframe.from_lists",
    )


def _check_type(role: str, ours: str, found: str, dtype: pl.DataType) -> None:
    refuse_pattern(role, found)
    if ours in (QUERY, DOC):
        if dtype.is_nested() or dtype == pl.Object:
            raise ColumnTypeError(role, found, str(dtype), "ids (text or numbers)")
    elif not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Null)):
        raise ColumnTypeError(role, found, str(dtype), "numbers")


def refuse_pattern(role: str, column: str) -> None:
    """Refuse a column whose name would stand for others, too."""
    if is_pattern(column):
        raise UnreadableInputError(
            f"the {role}",
            f"its column {column!r} is called like a pattern of names",
            "Give it another name",
        )
