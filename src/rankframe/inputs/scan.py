"""Anything → a LazyFrame with rankframe's column names: files, frames, Arrow streams, dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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
    SYNONYMS,
    Role,
    Side,
)
from rankframe.base.errors import (
    AmbiguousColumnError,
    ColumnMappingError,
    ColumnTypeError,
    MissingColumnError,
    OptionError,
    UnorderedRunError,
    UnreadableInputError,
)
from rankframe.base.forks import refuse_if_stranded
from rankframe.base.messages import Option
from rankframe.base.options import Order, Ranks
from rankframe.inputs.dicts import from_dicts
from rankframe.sources.formats import READ_ERRORS, unreadable
from rankframe.sources.numbers import as_float, beyond_float, with_rest
from rankframe.sources.opening import Opened, numeric_columns, open_path, open_stream

# A polars frame, a path, an open binary file, a dict of dicts, or anything Arrow-like; also what
# was opened already, a `Scanned`.
Source: TypeAlias = Any
# {"query_id": "user_id"}, or one such mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_OPTIONAL = (SCORE, RANK, DISTANCE)
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
    called: Side | None = None,
    limit: int | None = None,
) -> Scanned:
    """Open a source and find its columns; rows are read later.

    Without a role, a source with a grade and neither score nor rank is qrels, any other a run.
    `order`: what a run is ordered by; None: the caller sees to it that there is something. With
    `ranks` that are kept, its scores are not looked at.
    `called` is what errors call it, where that is not its role. What was opened already stays so.
    `limit`: how many bytes the work on it may take; text that is large beside it goes through
    temporary files.
    """
    if isinstance(source, Scanned):
        return source
    refuse_if_stranded()
    name = describe(source, called or role or "input")
    try:
        raw, seekable, text, files = _open(source, role, name, limit)
        schema = raw.collect_schema()
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    if role is None:
        role = _guess_role(list(schema), columns)
    mapping = _find_columns(list(schema), role, columns, called or role)
    for ours, found in mapping.items():
        _check_type(called or role, ours, found, schema[found])
    distance = mapping.pop(DISTANCE, None)
    if distance is not None:
        mapping[SCORE] = distance
    mapping = with_rest(mapping, schema)
    scanned = Scanned(
        called or role, name, raw, mapping, seekable, distance is not None,
        text=text, files=files, limit=limit,
    )  # fmt: skip
    return _ordered(scanned, order, ranks) if role == "run" else scanned


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
    limit: int | None = None,
) -> Scanned:
    """Open one of two rankings: a run, or judgments, whose grades are then its scores.

    `columns` speaks of both, or of each: `{"a": {...}, "b": {...}}`.
    """
    if isinstance(columns, Mapping):
        if wrong := [key for key in columns if key in ("qrels", "run")]:
            raise ColumnMappingError(wrong[0], [*SYNONYMS, "a", "b"])
        others = {key: value for key, value in columns.items() if key not in ("a", "b")}
        own = columns.get(side) or {}
        if not isinstance(own, Mapping):
            raise ColumnMappingError.kind(own)
        columns = {**others, **own}
    called: Side = "ranking a" if side == "a" else "ranking b"
    scanned = scan(source, None, columns, order=order, called=called, limit=limit)
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


def _open(source: Source, role: Role | None, name: str, limit: int | None) -> Opened:
    if isinstance(source, pl.LazyFrame):
        return Opened(source, seekable=False)
    if isinstance(source, pl.DataFrame):
        return Opened(source.lazy(), seekable=True)
    if isinstance(source, str | os.PathLike):
        return open_path(os.fspath(source), role, name, limit)
    if hasattr(source, "read"):
        return open_stream(source, role, name, limit)
    if isinstance(source, Mapping):
        return Opened(from_dicts(source, role, name).lazy(), seekable=True)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return Opened(pl.DataFrame(source).lazy(), seekable=True)
        except Exception as error:  # whatever the exporting library raises
            raise UnreadableInputError(
                name, f"it cannot be turned into Arrow data ({error})"
            ) from error
    raise UnreadableInputError(
        name,
        "this is neither a frame, an Arrow table, a path nor a dict of dicts",
        "For plain Python lists see rankframe.from_lists",
    )


def _guess_role(found: Sequence[str], columns: Columns | None) -> Role:
    def has(ours: str, asked: Mapping[str, str]) -> bool:
        return ours in asked or any(c.lower() in (ours, *SYNONYMS[ours]) for c in found)

    graded = has(RELEVANCE, _asked_for("qrels", columns))
    placed = any(has(ours, _asked_for("run", columns)) for ours in _OPTIONAL)
    return "qrels" if graded and not placed else "run"


def _find_columns(
    found: Sequence[str], role: Role, columns: Columns | None, called: str
) -> dict[str, str]:
    asked = _asked_for(role, columns)
    mapping: dict[str, str] = {}
    if SCORE in asked and DISTANCE in asked:
        raise AmbiguousColumnError(called, SCORE, [asked[SCORE], asked[DISTANCE]])
    for ours in _WANTED[role]:
        if ours not in asked and (
            (ours == SCORE and DISTANCE in asked)
            or (ours == DISTANCE and (SCORE in mapping or RANK in mapping))
        ):
            continue
        if ours in asked:
            if asked[ours] not in found:
                raise MissingColumnError(called, ours, found, asked=asked[ours])
            mapping[ours] = asked[ours]
            continue
        taken = set(asked.values())
        candidates = [c for c in found if c.lower() == ours and c not in taken] or [
            c for c in found if c.lower() in SYNONYMS[ours] and c not in taken
        ]
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, ours, candidates)
        if candidates:
            mapping[ours] = candidates[0]
        elif ours not in _OPTIONAL:
            raise MissingColumnError(called, ours, found)
    return mapping


def _asked_for(role: Role, columns: Columns | None) -> dict[str, str]:
    """The part of a `columns=` mapping that speaks of this side."""
    flat: dict[str, str] = {}
    if not isinstance(columns, Mapping | None):
        raise ColumnMappingError.kind(columns)
    for key, value in (columns or {}).items():
        if not isinstance(key, str):
            raise ColumnMappingError.kind(columns)
        if key in ("qrels", "run"):
            if key == role:
                flat.update(_asked_for(role, value))
        elif key not in SYNONYMS:
            raise ColumnMappingError(key, list(SYNONYMS))
        elif key in _WANTED[role]:
            flat[key] = str(value)
    return flat


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
