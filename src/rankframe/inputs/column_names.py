"""Which columns of an input are ours: by the names that were asked for, or by usual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rankframe.base.columns import (
    DISTANCE,
    DOC,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SYNONYMS,
    Role,
)
from rankframe.base.errors import AmbiguousColumnError, ColumnMappingError, MissingColumnError

# {"query_id": "user_id"}, or one such mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_OPTIONAL = (SCORE, RANK, DISTANCE)


def guess_role(found: Sequence[str], columns: Columns | None) -> Role:
    """What an input is by its columns: with a grade, and neither score nor rank, judgments."""

    def has(ours: str, asked: Mapping[str, str]) -> bool:
        return ours in asked or any(c.lower() in (ours, *SYNONYMS[ours]) for c in found)

    graded = has(RELEVANCE, _asked_for("qrels", columns))
    placed = any(has(ours, _asked_for("run", columns)) for ours in _OPTIONAL)
    return "qrels" if graded and not placed else "run"


def find_columns(
    found: Sequence[str], role: Role, columns: Columns | None, called: str
) -> dict[str, str]:
    """Our columns → those of the input that are meant, or an error that says which is missing."""
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
