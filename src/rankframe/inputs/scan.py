"""Anything → a LazyFrame with rankframe's column names: files, frames, Arrow streams, dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
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
from rankframe.inputs.list_columns import (
    Schema,
    all_relevant,
    called_like,
    lists_of,
    looks_judged,
    taken_apart,
)
from rankframe.inputs.plain import NO_SOURCE, open_plain, ranking
from rankframe.inputs.scanned import Scanned
from rankframe.sources.formats import READ_ERRORS, unreadable
from rankframe.sources.numbers import with_rest
from rankframe.sources.opening import Opened, numeric_columns, open_path, open_stream

# A polars frame, a path, an open binary file, dicts, rows, or anything Arrow-like; also what was
# opened already, a `Scanned`.
Source: TypeAlias = Any
# {"query_id": "user_id"}, or one such mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_OPTIONAL = (SCORE, RANK, DISTANCE)


def scan(
    source: Source,
    role: Role | None,
    columns: Columns | None = None,
    *,
    order: Order | None = None,
    ranks: Ranks = "renumbered",
    called: Side | None = None,
) -> Scanned:
    """Open a source and find its columns; rows are read later.

    Without a role, a source with a grade and neither score nor rank is qrels, any other a run.
    `order`: what a run is ordered by; None: the caller sees to it that there is something. With
    `ranks` that are kept, its scores are not looked at.
    `called` is what errors call it, where that is not its role. What was opened already stays so.
    """
    if isinstance(source, Scanned):
        return source
    refuse_if_stranded()
    name = describe(source, called or role or "input")
    try:
        opened = _open(source, role, name)
        schema = opened.frame.collect_schema()
    except READ_ERRORS as error:
        raise unreadable(name, error) from error
    if role is None:
        role = _guess_role(schema, columns, ranking=called is not None)
    flat = taken_apart(schema, role, _asked_for(role, columns), called or role)
    mapping = _find_columns(flat.schema, role, columns, called or role)
    raw, seekable, text, ranked = opened
    lists = lists_of(raw if text is None else text, flat, mapping, called or role)
    if lists is not None:
        raw, seekable, text, ranked = lists.unrolled(), False, None, True
        if role == "qrels" and RELEVANCE not in mapping:
            raw, mapping[RELEVANCE] = raw.with_columns(pl.lit(1.0).alias(RELEVANCE)), RELEVANCE
        schema = raw.collect_schema()
    for ours, found in mapping.items():
        _check_type(called or role, ours, found, schema[found])
    distance = mapping.pop(DISTANCE, None)
    if distance is not None:
        mapping[SCORE] = distance
    mapping = with_rest(mapping, schema)
    scanned = Scanned(
        called or role, name, raw, mapping, seekable, distance is not None, text=text,
        ranked=ranked, lists=lists, numbered=lists is None,
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
    if by is None and order == "columns" and not run.ranked:
        raise UnorderedRunError(run.role, found, numeric_columns(run.raw, unused))
    said = f"as the {'lists' if run.ranked else 'rows'} stand"
    if by is not None:
        largest = by == SCORE and not run.distance
        said = f"by {run.mapping[by]!r}, the {'largest' if largest else 'smallest'} first"
    return replace(run, ordered=said, unused=tuple(unused))


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
    if isinstance(columns, Mapping):
        if wrong := [key for key in columns if key in ("qrels", "run")]:
            raise ColumnMappingError(wrong[0], [*SYNONYMS, "a", "b"])
        others = {key: value for key, value in columns.items() if key not in ("a", "b")}
        own = columns.get(side) or {}
        if not isinstance(own, Mapping):
            raise ColumnMappingError.kind(own)
        columns = {**others, **own}
    called: Side = "ranking a" if side == "a" else "ranking b"
    source = ranking(source, describe(source, called))
    scanned = scan(source, None, columns, order=order, called=called)
    if RELEVANCE not in scanned.mapping:
        return scanned
    mapping = {SCORE if ours == RELEVANCE else ours: of for ours, of in scanned.mapping.items()}
    mapping = with_rest(mapping, scanned.raw.collect_schema())
    return _ordered(replace(scanned, mapping=mapping), order)


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
    if isinstance(source, Mapping | list | tuple):
        return open_plain(source, role, name)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return Opened(pl.DataFrame(source).lazy(), seekable=True)
        except Exception as error:  # whatever the exporting library raises
            raise UnreadableInputError(
                name, f"it cannot be turned into Arrow data ({error})"
            ) from error
    raise UnreadableInputError(name, *NO_SOURCE)


def _guess_role(schema: Schema, columns: Columns | None, *, ranking: bool) -> Role:
    """`ranking`: one of two, which judgments are by their grades only."""
    qrels, run = _asked_for("qrels", columns), _asked_for("run", columns)
    schema = taken_apart(schema, None, qrels, "input").schema

    def has(ours: str, asked: Mapping[str, str]) -> bool:
        known = any(c.lower() in (ours, *SYNONYMS[ours]) for c in schema)
        return ours in asked or known or bool(called_like(ours, "qrels", schema))

    graded = has(RELEVANCE, qrels) or (not ranking and DOC not in run and looks_judged(schema))
    return "qrels" if graded and not any(has(ours, run) for ours in _OPTIONAL) else "run"


def _find_columns(
    schema: Schema, role: Role, columns: Columns | None, called: str
) -> dict[str, str]:
    asked, found = _asked_for(role, columns), list(schema)
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
        candidates = candidates or [c for c in called_like(ours, role, schema) if c not in taken]
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, ours, candidates)
        if candidates:
            mapping[ours] = candidates[0]
        elif ours == RELEVANCE and all_relevant(schema, mapping[DOC]):
            continue
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
