"""Which columns of an input are ours: by the names that were asked for, or by usual ones.

Names are compared without case, dashes, underscores and blanks: `Query-ID` is `query_id`. What is
asked for of one side (`{"run": {"doc_id": "_id"}}`) must be there; what is asked for of none in
particular (`{"doc_id": "_id"}`) is taken from the sides that have it, and one of them must.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rankframe.core.columns import (
    DISTANCE,
    DOC,
    GROUP,
    GROUP_WEIGHT,
    LATE_SYNONYMS,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SYNONYMS,
    WEIGHT,
    Role,
    plain_name,
)
from rankframe.core.errors import (
    AmbiguousColumnError,
    ColumnMappingError,
    ColumnTypeError,
    MissingColumnError,
)
from rankframe.io.list_columns import (
    Schema,
    all_relevant,
    as_text,
    called_like,
    is_list,
    looks_judged,
    taken_apart,
)

# {"query_id": "user_id"}, or one such mapping for a side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

# The sides that a mapping can speak of: where judgments are, and of two rankings.
SIDES: Final = ("qrels", "run", "queries", "train", "items", "catalogue", "base")
RANKINGS: Final = ("a", "b")

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE, GROUP, GROUP_WEIGHT),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_OPTIONAL = (SCORE, RANK, DISTANCE)
_OF_GROUPS = (GROUP, GROUP_WEIGHT)
# What becomes of lists in CSV.
_TAKEN_APART = (
    "lists of documents, which text files have no way to write. Write a row for each document, or "
    "the lists as Parquet or JSON Lines; if these are ids of single documents, name the column: "
    'columns={"doc_id": …}'
)


@dataclass(frozen=True)
class Asked:
    """What a `columns=` mapping asks for, as far as it is about a side."""

    # of this side alone
    own: Mapping[str, str]
    # of whichever side has it
    shared: Mapping[str, str]

    @classmethod
    def of(cls, columns: Columns | None, side: str) -> Asked:
        """The part of a mapping that speaks of this side; the whole of it is checked."""
        sides = RANKINGS if side in RANKINGS else SIDES
        if not isinstance(columns, Mapping | None):
            raise ColumnMappingError.kind(columns)
        own, shared = {}, {}
        for key, value in (columns or {}).items():
            if key in sides:
                inner = _named(value, ())
                own |= inner if key == side else {}
            else:
                shared |= _named({key: value}, sides)
        return cls(own, shared)

    @property
    def names(self) -> dict[str, str]:
        """Our column → what it is called, as far as it is asked for at all."""
        return {**self.shared, **self.own}

    def wanted(self, role: Role) -> Asked:
        """Without the columns that such an input is not looked at for."""
        own, shared = (
            {ours: name for ours, name in asked.items() if ours in _WANTED[role]}
            for asked in (self.own, self.shared)
        )
        return Asked(own, {ours: name for ours, name in shared.items() if ours not in own})


def _named(columns: object, sides: Sequence[str]) -> dict[str, str]:
    """A mapping from our columns to names, which it must be."""
    if not isinstance(columns, Mapping):
        raise ColumnMappingError.kind(columns)
    for key, value in columns.items():
        if not isinstance(key, str) or (isinstance(value, Mapping) and key in SYNONYMS):
            raise ColumnMappingError.kind(columns)
        if key not in SYNONYMS:
            raise ColumnMappingError(key, list(SYNONYMS), sides)
    return {key: str(value) for key, value in columns.items()}


@dataclass(frozen=True)
class FoundColumns:
    """Our columns in an input."""

    # our column → the column of the input
    mapping: dict[str, str]
    # of what was asked for of no side in particular: our column → whether it is here
    asked: dict[str, bool]


def guess_role(schema: Schema, columns: Columns | None, ranking: str | None = None) -> Role:
    """What an input is by its columns: with a grade, and neither score nor rank, judgments; and so
    are lists of what is called relevant.

    `ranking`: which of two it is, where it is one, which judgments are by their grades only.
    """
    qrels, run = (Asked.of(columns, ranking or role) for role in ("qrels", "run"))
    schema = taken_apart(schema, None, qrels.names, "input").schema

    def has(ours: str, asked: Asked) -> bool:
        return (
            ours in asked.own
            or (ours in asked.shared and bool(_alike(asked.shared[ours], schema)))
            or bool(_candidates(ours, "qrels", schema, set()))
        )

    relevant = ranking is None and DOC not in run.names and looks_judged(schema)
    graded = relevant or has(RELEVANCE, qrels)
    if has(GROUP, qrels):  # of which it is a weight, not a score
        schema = {name: kind for name, kind in schema.items() if plain_name(name) != WEIGHT}
    return "qrels" if graded and not any(has(ours, run) for ours in _OPTIONAL) else "run"


def find_columns(
    schema: Schema,
    role: Role,
    asked: Asked,
    called: str,
    *,
    without: Sequence[str] = (),
) -> FoundColumns:
    """Our columns of an input, or an error that says which is missing, or in doubt.

    `called`: what errors call the input; `without`: columns that it need not have.
    """
    asked, found = asked.wanted(role), list(schema)
    given = {ours: _the_one(ours, name, found, called) for ours, name in asked.names.items()}
    for ours, name in asked.own.items():
        if given[ours] is None:
            raise MissingColumnError(called, ours, found, asked=name)
    here = {ours: name for ours, name in given.items() if name is not None}
    if SCORE in here and DISTANCE in here:
        raise AmbiguousColumnError(called, SCORE, [here[SCORE], here[DISTANCE]])
    mapping: dict[str, str] = {}
    for ours in (name for name in _WANTED[role] if name not in _OF_GROUPS):
        if ours in here:
            mapping[ours] = here[ours]
            continue
        if (ours == SCORE and DISTANCE in here) or (
            ours == DISTANCE and (SCORE in mapping or RANK in mapping)
        ):
            continue
        candidates = _candidates(ours, role, schema, set(here.values()))
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, ours, candidates)
        if candidates:
            mapping[ours] = candidates[0]
        elif ours == RELEVANCE and all_relevant(schema, mapping[DOC]):
            continue
        elif ours not in (*_OPTIONAL, *without):
            if ours == DOC and (texts := as_text(role, schema)):
                raise ColumnTypeError(called, texts, "String", _TAKEN_APART)
            name = asked.shared.get(ours)
            raise MissingColumnError(called, ours, found, asked=name, shared=True)
    mapping |= _of_groups(schema, here, mapping) if role == "qrels" else {}
    lost = [ours for ours in asked.shared if ours in _OPTIONAL and ours not in here]
    if lost and not set(_OPTIONAL) & set(mapping):
        raise MissingColumnError(called, lost[0], found, asked=asked.shared[lost[0]])
    return FoundColumns(mapping, {ours: ours in here for ours in asked.shared})


def _of_groups(
    schema: Schema, asked: Mapping[str, str], found: Mapping[str, str]
) -> dict[str, str]:
    """Which columns say what judgments are about, and how much that counts: need not be there."""
    group = _of_group(GROUP, schema, asked, found)
    return group | (_of_group(GROUP_WEIGHT, schema, asked, {**found, **group}) if group else {})


def _of_group(
    ours: str, schema: Schema, asked: Mapping[str, str], found: Mapping[str, str]
) -> dict[str, str]:
    """A column that was asked for, or of which there is no doubt."""
    if ours in asked:
        return {ours: asked[ours]}
    candidates = _candidates(ours, "qrels", schema, {*asked.values(), *found.values()})
    if ours == GROUP_WEIGHT:
        free = [name for name in schema if name not in found.values()]
        candidates = candidates or [name for name in free if plain_name(name) == WEIGHT]
    listed = is_list(schema[found[DOC]])
    fit = [
        one for one in candidates if not schema[one].is_nested() or is_list(schema[one]) & listed
    ]
    return {ours: fit[0]} if len(fit) == 1 else {}


def refuse_absent(
    columns: Columns | None,
    sides: Sequence[tuple[str, Sequence[str], Mapping[str, bool]]],
    beside: Mapping[str, bool] | None = None,
) -> None:
    """Refuse what was asked for of no side in particular, where none has it.

    Of each side: what it is called, its columns, and what `FoundColumns` says was asked for;
    `beside`: the last of these for the frame of queries.
    """
    every = [asked for _, _, asked in sides] + [beside or {}]
    for ours, name in (columns or {}).items():
        seen = [asked[ours] for asked in every if ours in asked]
        if seen and not any(seen):
            lacking = {called: found for called, found, asked in sides if ours in asked}
            if len(lacking) == 1:
                ((called, found),) = lacking.items()
                raise MissingColumnError(called, ours, found, asked=str(name))
            raise MissingColumnError.everywhere(ours, str(name), lacking)


def first_called(names: Sequence[str], found: Collection[str]) -> str | None:
    """The column that goes by the first of some names that any has; None if there is none.

    >>> first_called(["unit", "parent_id"], ["Doc ID", "Parent-ID"])
    'Parent-ID'
    """
    there = {plain_name(one): one for one in reversed(list(found))}
    return next((there[plain_name(name)] for name in names if plain_name(name) in there), None)


def _the_one(ours: str, name: str, found: Sequence[str], called: str) -> str | None:
    """The column that goes by this name; None if there is none."""
    alike = _alike(name, found)
    if len(alike) > 1:
        raise AmbiguousColumnError(called, ours, alike)
    return alike[0] if alike else None


def _alike(name: str, found: Collection[str]) -> list[str]:
    """The column of this very name, or else those that are written alike."""
    return (
        [name] if name in found else [one for one in found if plain_name(one) == plain_name(name)]
    )


def _candidates(ours: str, role: Role, schema: Schema, taken: set[str]) -> list[str]:
    """The columns that are called so, or else those by one of its other names; of lists, by those
    that lists go by.

    With an underscore in front it is another name: those are of the program that wrote it, beside
    which people have their own.
    """
    free = {one: plain_name(one) for one in schema if one not in taken}
    same = plain_name(ours)
    called = [one for one, name in free.items() if name == same and not one.startswith("_")]
    for late in (False, True):
        known = {plain_name(name) for name in SYNONYMS[ours] if (name in LATE_SYNONYMS) == late}
        called = called or [one for one, name in free.items() if name in known | {same}]
    return called or [one for one in called_like(ours, role, schema) if one in free]
