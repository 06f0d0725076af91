"""Find our columns in an input: by the names in `columns=`, or by the usual names.

Names are compared without case, dashes, underscores and blanks: `Query-ID` is `query_id`. A name
for one side (`{"run": {"doc_id": "_id"}}`) must be a column of it; a name for no side in particular
(`{"doc_id": "_id"}`) is used on the sides that have the column, and one of them must. A name with
dots, `meta.id`, stands for a field of a struct.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import polars as pl

from rankframe.core.columns import (
    DISTANCE,
    DOC,
    GROUP,
    GROUP_WEIGHT,
    LATE_SYNONYMS,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
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
from rankframe.io.formats.beir import with_grades

# {"query_id": "user_id"}, or such a mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

# The sides of a mapping: of an evaluation, and of two rankings.
SIDES: Final = ("qrels", "run", "queries", "train", "items", "catalogue", "reference")
RANKINGS: Final = ("a", "b")

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE, GROUP, GROUP_WEIGHT),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_ORDERING = (SCORE, RANK, DISTANCE)
_SUBTOPIC = (GROUP, GROUP_WEIGHT)
_LISTS_AS_TEXT = (
    "lists of documents, which text files have no way to write. Write a row for each document, or "
    "the lists as Parquet or JSON Lines; if these are ids of single documents, name the column: "
    'columns={"doc_id": …}'
)


@dataclass(frozen=True)
class Requested:
    """The names that a `columns=` mapping has for the columns of one side.

    Attributes:
        own: our column → its name, for this side alone.
        shared: our column → its name on whichever side has it.
    """

    own: Mapping[str, str]
    shared: Mapping[str, str]

    @classmethod
    def from_mapping(cls, columns: Columns | None, side: str) -> Requested:
        """Check a whole mapping and return its part for one side."""
        sides = RANKINGS if side in RANKINGS else SIDES
        if not isinstance(columns, Mapping | None):
            raise ColumnMappingError.kind(columns)
        own, shared = {}, {}
        for key, value in (columns or {}).items():
            if key in sides:
                inner = _check_names(value, ())
                own |= inner if key == side else {}
            else:
                shared |= _check_names({key: value}, sides)
        return cls(own, shared)

    @property
    def names(self) -> dict[str, str]:
        """Our column → its name."""
        return {**self.shared, **self.own}


def _check_names(columns: object, sides: Sequence[str]) -> dict[str, str]:
    """Return a mapping from our columns to names; refuse anything else."""
    if not isinstance(columns, Mapping):
        raise ColumnMappingError.kind(columns)
    for key, value in columns.items():
        if not isinstance(key, str) or (isinstance(value, Mapping) and key in SYNONYMS):
            raise ColumnMappingError.kind(columns)
        if key not in SYNONYMS:
            raise ColumnMappingError(key, list(SYNONYMS), sides)
    return {key: str(value) for key, value in columns.items()}


def names_in(columns: object) -> tuple[str, ...]:
    """Return every name of a user's column in a `columns=` mapping, for any side."""
    if isinstance(columns, Mapping):
        names = (name for value in columns.values() for name in names_in(value))
        return tuple(dict.fromkeys(names))
    return (columns,) if isinstance(columns, str) else ()


def with_fields(table: pl.LazyFrame, names: Collection[str]) -> pl.LazyFrame:
    """Add the fields of structs that names with dots stand for, as columns of these names."""
    if not any("." in name for name in names):
        return table
    schema = table.collect_schema()
    fields = {name: _field(schema, name.split(".")) for name in names if name not in schema}
    columns = {name: field for name, field in fields.items() if field is not None}
    return table.with_columns(**columns) if columns else table


def _field(schema: Schema, path: list[str]) -> pl.Expr | None:
    name, *inner = path
    if name not in schema or not inner:
        return None
    column, kind = pl.col(name), schema[name]
    for part in inner:
        fields = dict(kind.to_schema()) if isinstance(kind, pl.Struct) else {}
        if part not in fields:
            return None
        column, kind = column.struct.field(part), fields[part]
    return column


def complete_columns(
    table: pl.LazyFrame, role: Role | None, names: Collection[str]
) -> pl.LazyFrame:
    """Add the fields that names with dots stand for, and the grades of BEIR's judgments."""
    table = with_fields(table, names)
    if role == "qrels":
        return with_grades(table)
    return with_grades(table, alone=True) if role is None and SCORE not in names else table


def guess_role(schema: Schema, columns: Columns | None, ranking: str | None = None) -> Role:
    """Tell judgments from runs by their columns.

    Judgments have a grade, and neither score nor rank, or lists that are called relevant.

    Args:
        schema: the columns.
        columns: the mapping that the user gave.
        ranking: which of two rankings this is; then only a grade makes it judgments.
    """
    qrels, run = (Requested.from_mapping(columns, ranking or role) for role in ("qrels", "run"))
    schema = taken_apart(schema, None, qrels.names, "input").schema

    def has(column: str, requested: Requested) -> bool:
        return (
            column in requested.own
            or (column in requested.shared and bool(_alike(requested.shared[column], schema)))
            or bool(_candidates(column, "qrels", schema, set()))
        )

    relevant = ranking is None and DOC not in run.names and looks_judged(schema)
    graded = relevant or has(RELEVANCE, qrels)
    if has(GROUP, qrels):  # then `weight` is the weight of a subtopic, not a score
        schema = {name: kind for name, kind in schema.items() if plain_name(name) != WEIGHT}
    return "qrels" if graded and not any(has(column, run) for column in _ORDERING) else "run"


def find_columns(
    schema: Schema, role: Role, requested: Requested, called: str, *, graded: bool = False
) -> tuple[dict[str, str], dict[str, bool]]:
    """Find our columns in an input, or say which is missing or ambiguous.

    Args:
        schema: the columns of the input.
        role: what the input is.
        requested: the names that the user gave.
        called: what errors call the input.
        graded: whether judgments need no column of grades.

    Returns:
        Our column → the column of the input; and for each name that was given for no side in
        particular, our column → whether it is here.
    """
    names = list(schema)
    named, shared = _find_requested(requested, role, names, called)
    mapping: dict[str, str] = {}
    for column in (column for column in _WANTED[role] if column not in _SUBTOPIC):
        if column in named:
            mapping[column] = named[column]
            continue
        instead = {SCORE: {DISTANCE} & named.keys(), DISTANCE: {SCORE, RANK} & mapping.keys()}
        if instead.get(column):
            continue
        candidates = _candidates(column, role, schema, set(named.values()))
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, column, candidates)
        if candidates:
            mapping[column] = candidates[0]
        elif column == DOC and (texts := as_text(role, schema)):
            raise ColumnTypeError(called, texts, "String", _LISTS_AS_TEXT)
        elif column not in _ORDERING and not (
            column == RELEVANCE and (graded or all_relevant(schema, mapping[DOC]))
        ):
            raise MissingColumnError(called, column, names, asked=shared.get(column), shared=True)
    if role == "qrels":
        for column in _SUBTOPIC:
            source = _find_subtopic(column, schema, named, mapping)
            if source is None:
                break
            mapping[column] = source
    lost = [column for column in shared if column in _ORDERING and column not in named]
    if lost and not set(_ORDERING) & set(mapping):
        raise MissingColumnError(called, lost[0], names, asked=shared[lost[0]])
    return mapping, {column: column in named for column in shared}


def _find_requested(
    requested: Requested, role: Role, names: Sequence[str], called: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Find the columns that the user named.

    Returns:
        Our column → the column of the input; and the names for no side in particular.
    """
    own = {column: name for column, name in requested.own.items() if column in _WANTED[role]}
    shared = {
        column: name
        for column, name in requested.shared.items()
        if column in _WANTED[role] and column not in own
    }
    named: dict[str, str] = {}
    for column, name in {**shared, **own}.items():
        alike = _alike(name, names)
        if len(alike) > 1:
            raise AmbiguousColumnError(called, column, alike)
        if alike:
            named[column] = alike[0]
        elif column in own:
            raise MissingColumnError(called, column, names, asked=name)
    if SCORE in named and DISTANCE in named:
        raise AmbiguousColumnError(called, SCORE, [named[SCORE], named[DISTANCE]])
    return named, shared


def _find_subtopic(
    column: str, schema: Schema, named: Mapping[str, str], mapping: Mapping[str, str]
) -> str | None:
    """Find the subtopic of judgments or its weight; None if it is missing or ambiguous."""
    if column in named:
        return named[column]
    candidates = _candidates(column, "qrels", schema, {*named.values(), *mapping.values()})
    if column == GROUP_WEIGHT:
        free = [name for name in schema if name not in mapping.values()]
        candidates = candidates or [name for name in free if plain_name(name) == WEIGHT]
    listed = is_list(schema[mapping[DOC]])
    fit = [
        name
        for name in candidates
        if not schema[name].is_nested() or (is_list(schema[name]) and listed)
    ]
    return fit[0] if len(fit) == 1 else None


def first_called(names: Sequence[str], columns: Collection[str]) -> str | None:
    """Return the column that has the first of some names that any column has.

    >>> first_called(["unit", "parent_id"], ["Doc ID", "Parent-ID"])
    'Parent-ID'
    """
    by_name = {plain_name(column): column for column in reversed(list(columns))}
    return next((by_name[plain_name(n)] for n in names if plain_name(n) in by_name), None)


def _alike(name: str, columns: Collection[str]) -> list[str]:
    """Return the column with exactly this name, or else the names that differ in case or signs."""
    same = plain_name(name)
    return (
        [name] if name in columns else [column for column in columns if plain_name(column) == same]
    )


def _candidates(column: str, role: Role, schema: Schema, taken: set[str]) -> list[str]:
    """Return the columns that have our name, or else a synonym, or a name for lists.

    With an underscore in front, our own name counts as a synonym: such columns come from the
    program that wrote the file, beside which people have their own.
    """
    free = {name: plain_name(name) for name in schema if name not in taken}
    same = plain_name(column)
    found = [name for name, plain in free.items() if plain == same and not name.startswith("_")]
    for late in (False, True):
        synonyms = {plain_name(n) for n in SYNONYMS[column] if (n in LATE_SYNONYMS) == late}
        found = found or [name for name, plain in free.items() if plain in synonyms | {same}]
    return found or [name for name in called_like(column, role, schema) if name in free]


Schema = Mapping[str, pl.DataType]


def is_list(kind: pl.DataType) -> bool:
    """Return whether a column of this type holds lists."""
    return isinstance(kind, pl.List | pl.Array)


@dataclass(frozen=True)
class Flat:
    """The columns of a table; a list of structs is replaced by its fields, each a list."""

    schema: dict[str, pl.DataType]
    struct: str | None = None
    fields: tuple[str, ...] = ()

    def found_as(self, name: str) -> str:
        """Return the column of the table that a column is, or is inside."""
        return self.struct if self.struct is not None and name in self.fields else name


def taken_apart(
    schema: Schema, role: Role | None, user_names: Mapping[str, str], called: str
) -> Flat:
    """Replace a list of structs by its fields if no other column has documents.

    A field hides a column of the same name.
    """
    structs = {
        name: kind.inner.to_schema()
        for name, kind in schema.items()
        if isinstance(kind, pl.List | pl.Array) and isinstance(kind.inner, pl.Struct)
    }
    plain = {name: kind for name, kind in schema.items() if name not in structs}
    doc_name = user_names.get(DOC)
    if not any(doc_name in names for names in (plain, structs, *structs.values())):
        doc_name = None  # another side may have it
    has_documents = doc_name in plain or (doc_name is None and _has_documents(plain, role))
    if not structs or has_documents or role == "queries":
        return Flat(dict(schema))
    found = [name for name, fields in structs.items() if doc_name in fields]
    found = found or _called(structs, _document_names(role)) or list(structs)
    if len(found) > 1:
        raise AmbiguousColumnError(called, DOC, found)
    fields = structs[found[0]]
    flat: dict[str, pl.DataType] = {}
    for name, kind in schema.items():
        if name == found[0]:
            flat |= {field: pl.List(kind_inside) for field, kind_inside in fields.items()}
        elif name not in fields:
            flat[name] = kind
    return Flat(flat, found[0], tuple(fields))


def called_like(column: str, role: Role, schema: Schema) -> list[str]:
    """Return the columns of lists whose names mean this column of ours."""
    lists = {name: kind for name, kind in schema.items() if is_list(kind)}
    if column == DOC:
        ids = {name: kind for name, kind in lists.items() if not _holds_flags(kind)}
        return _called(ids, _document_names(role))
    flags = ("relevant",) if column == RELEVANCE else ()
    marked = {name: kind for name, kind in lists.items() if _holds_flags(kind)}
    return _called(lists, [LIST_SYNONYMS.get(column, ())]) or _called(marked, [flags])


def as_text(role: Role, schema: Schema) -> str | None:
    """Return the column of text that has a name for lists of documents, as in CSV; None without."""
    texts = [name for name, kind in schema.items() if kind == pl.String]
    return next(iter(_called(texts, _document_names(role))), None)


def looks_judged(schema: Schema) -> bool:
    """Return whether lists are called relevant documents, and none retrieved documents."""
    lists = [name for name, kind in schema.items() if is_list(kind) and not _holds_flags(kind)]
    plain_names = _plain_names(*SYNONYMS[DOC], DOC, *LIST_SYNONYMS[DOC], *LIST_SYNONYMS_OF["run"])
    return bool(_called(lists, [LIST_SYNONYMS_OF["qrels"]])) and not any(
        plain_name(name) in plain_names for name in schema
    )


def all_relevant(schema: Schema, doc: str) -> bool:
    """Return whether a column holds lists of relevant documents without grades.

    That is not so if the table looks like a run, which has scores or ranks.
    """
    if not is_list(schema[doc]):
        return False
    lists = [name for name, kind in schema.items() if is_list(kind)]
    scored = [
        (column, *SYNONYMS[column], *LIST_SYNONYMS[column]) for column in (SCORE, DISTANCE, RANK)
    ]
    return bool(_called([doc], [LIST_SYNONYMS_OF["qrels"]])) or not _called(lists, scored)


def _has_documents(schema: Schema, role: Role | None) -> bool:
    plain_names = _plain_names(DOC, *SYNONYMS[DOC])
    lists = [name for name, kind in schema.items() if is_list(kind)]
    found = any(plain_name(name) in plain_names for name in schema)
    return found or bool(_called(lists, _document_names(role)))


def _document_names(role: Role | None) -> list[tuple[str, ...]]:
    """Return the names of lists of documents; names for one side come first."""
    sides = [LIST_SYNONYMS_OF[role]] if role else list(LIST_SYNONYMS_OF.values())
    return [*sides, LIST_SYNONYMS[DOC]]


def _called(names: Mapping[str, Any] | Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns that have a name of the first group of which any has one."""
    for group in groups:
        plain = _plain_names(*group)
        if found := [name for name in names if plain_name(name) in plain]:
            return found
    return []


def _holds_flags(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List | pl.Array) and kind.inner == pl.Boolean


def _plain_names(*names: str) -> set[str]:
    return set(map(plain_name, names))
