"""Find our columns in an input: by the names in `columns=`, or by the usual names.

Names are compared without case, dashes, underscores and blanks: `Query-ID` is `query_id`. A name
for one side (`{"run": {"doc_id": "_id"}}`) must be a column of it; a name for no side in particular
(`{"doc_id": "_id"}`) is used on the sides that have the column, and one of them must. A name with
dots, `meta.id`, stands for a field of a struct. Documents may also be in lists, a row per query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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


def _plain(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(plain_name, names))


# Plain names of columns: our own; with the synonyms that count first; with those that count last.
_OWN = {column: _plain([column]) for column in SYNONYMS}
_USUAL = {c: _plain([c, *(n for n in s if n not in LATE_SYNONYMS)]) for c, s in SYNONYMS.items()}
_LATE = {c: _plain([c, *(n for n in s if n in LATE_SYNONYMS)]) for c, s in SYNONYMS.items()}
_ANY = {column: _USUAL[column] | _LATE[column] for column in SYNONYMS}
# The same of lists: of any side, and of documents of one side.
_LISTS = {column: _plain(names) for column, names in LIST_SYNONYMS.items()}
_LISTS_OF: dict[Role | None, frozenset[str]] = {
    role: _plain(names) for role, names in LIST_SYNONYMS_OF.items()
}
_DOCUMENTS: dict[Role | None, list[frozenset[str]]] = {
    **{role: [names, _LISTS[DOC]] for role, names in _LISTS_OF.items()},
    None: [*_LISTS_OF.values(), _LISTS[DOC]],
}
_SCORED = [_ANY[column] | _LISTS[column] for column in (SCORE, DISTANCE, RANK)]
_RETRIEVED = _ANY[DOC] | _LISTS[DOC] | _LISTS_OF["run"]
_WEIGHTS, _RELEVANT = _plain([WEIGHT]), _plain(["relevant"])
_CORPUS_ID = _plain(["corpus-id"])  # of BEIR's judgments


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
        own: dict[str, str] = {}
        shared: dict[str, str] = {}
        if not isinstance(columns, Mapping | None):
            raise ColumnMappingError.kind(columns)
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


def _field(schema: Mapping[str, pl.DataType], path: list[str]) -> pl.Expr | None:
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


def with_grades(
    table: pl.LazyFrame, names: InputNames, *, alone: bool = False
) -> pl.LazyFrame | None:
    """Use the scores of BEIR's judgments as grades; return None for any other table.

    `alone`: without the score, so that the table is recognised as judgments.
    """
    score = names.called(_OWN[SCORE])
    if not score or not names.called(_CORPUS_ID) or names.called(_ANY[RELEVANCE]):
        return None
    if alone:
        return table.rename({score[-1]: RELEVANCE})
    return table.with_columns(pl.col(score[-1]).alias(RELEVANCE))


def is_list(kind: pl.DataType) -> bool:
    """Return whether a column of this type holds lists."""
    return isinstance(kind, pl.List | pl.Array)


def _holds_flags(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List | pl.Array) and kind.inner == pl.Boolean


@dataclass(frozen=True)
class InputNames:
    """The columns of an input, and their plain names, which are computed once.

    A list of structs with the documents is replaced by its fields, each a list.

    Attributes:
        schema: the names and types of the columns.
        struct: the list of structs that was replaced.
        fields: the fields that replaced it.
    """

    schema: Mapping[str, pl.DataType]
    struct: str | None = None
    fields: tuple[str, ...] = ()

    @cached_property
    def plain(self) -> dict[str, str]:
        """Column → its plain name."""
        return {name: plain_name(name) for name in self.schema}

    @cached_property
    def lists(self) -> list[str]:
        """The columns of lists."""
        return [name for name, kind in self.schema.items() if is_list(kind)]

    @cached_property
    def id_lists(self) -> list[str]:
        """The columns of lists that may hold ids."""
        return [name for name in self.lists if not _holds_flags(self.schema[name])]

    def found_as(self, name: str) -> str:
        """Return the column of the table that a column is, or is inside."""
        return self.struct if self.struct is not None and name in self.fields else name

    def called(self, plain_names: Collection[str], names: Iterable[str] | None = None) -> list[str]:
        """Return the columns among `names`, or of all columns, with one of these plain names."""
        columns = self.plain if names is None else names
        return [name for name in columns if self.plain[name] in plain_names]

    def first_called(self, groups: Iterable[Collection[str]], names: Iterable[str]) -> list[str]:
        """Return the columns that have a name of the first group of which any column has one."""
        names = list(names)
        return next(filter(None, (self.called(group, names) for group in groups)), [])

    def like(self, name: str) -> list[str]:
        """Return the column of exactly this name, or else those that differ in case or signs."""
        return [name] if name in self.schema else self.called(_plain([name]))

    def candidates(self, column: str, role: Role, taken: Collection[str] = ()) -> list[str]:
        """Return the columns that have our name, or else a synonym, or a name for lists.

        With an underscore in front, our own name counts as a synonym: such columns come from the
        program that wrote the file, beside which people have their own.
        """
        free = [name for name in self.schema if name not in taken]
        own = [name for name in self.called(_OWN[column], free) if not name.startswith("_")]
        found = own or self.first_called((_USUAL[column], _LATE[column]), free)
        if found or not self.lists:
            return found
        if column == DOC:
            lists = self.first_called(_DOCUMENTS[role], self.id_lists)
        else:
            flags = [name for name in self.lists if name not in self.id_lists]
            lists = self.called(_LISTS.get(column, ()), self.lists)
            lists = lists or (self.called(_RELEVANT, flags) if column == RELEVANCE else [])
        return [name for name in lists if name not in taken]

    def flattened(self, role: Role | None, doc_name: str | None, called: str) -> InputNames:
        """Replace a list of structs by its fields if no other column has documents.

        A field hides a column of the same name. `doc_name`: what the user calls the documents.
        """
        structs = {
            name: kind.inner.to_schema()
            for name, kind in self.schema.items()
            if isinstance(kind, pl.List | pl.Array) and isinstance(kind.inner, pl.Struct)
        }
        if not structs or role == "queries":
            return self
        plain = [name for name in self.schema if name not in structs]
        if not any(doc_name in names for names in (plain, structs, *structs.values())):
            doc_name = None  # another side may have it
        has_documents = doc_name in plain or (
            doc_name is None
            and bool(
                self.called(_ANY[DOC], plain)
                or self.first_called(_DOCUMENTS[role], [n for n in self.lists if n in plain])
            )
        )
        if has_documents:
            return self
        found = [name for name, fields in structs.items() if doc_name in fields]
        found = found or self.first_called(_DOCUMENTS[role], structs) or list(structs)
        if len(found) > 1:
            raise AmbiguousColumnError(called, DOC, found)
        fields = structs[found[0]]
        flat: dict[str, pl.DataType] = {}
        for name, kind in self.schema.items():
            if name == found[0]:
                flat |= {field: pl.List(inner) for field, inner in fields.items()}
            elif name not in fields:
                flat[name] = kind
        return InputNames(flat, found[0], tuple(fields))

    def lists_as_text(self, role: Role) -> str | None:
        """Return the column of text that has a name for lists of documents, as in CSV."""
        texts = [name for name, kind in self.schema.items() if kind == pl.String]
        return next(iter(self.first_called(_DOCUMENTS[role], texts)), None)

    def all_relevant(self, doc: str) -> bool:
        """Return whether a column holds lists of relevant documents without grades.

        That is not so if the table looks like a run, which has scores or ranks.
        """
        if doc not in self.lists:
            return False
        relevant = bool(self.called(_LISTS_OF["qrels"], [doc]))
        return relevant or not self.first_called(_SCORED, self.lists)


def guess_role(names: InputNames, columns: Columns | None, ranking: str | None = None) -> Role:
    """Tell judgments from runs by their columns.

    Judgments have a grade, and neither score nor rank, or lists that are called relevant.

    Args:
        names: the columns.
        columns: the mapping that the user gave.
        ranking: which of two rankings this is; then only a grade makes it judgments.
    """
    qrels, run = (Requested.from_mapping(columns, ranking or role) for role in ("qrels", "run"))
    names = names.flattened(None, qrels.names.get(DOC), "input")

    def has(column: str, requested: Requested) -> bool:
        return (
            column in requested.own
            or (column in requested.shared and bool(names.like(requested.shared[column])))
            or bool(names.candidates(column, "qrels"))
        )

    # Lists are called relevant documents, and none retrieved documents.
    relevant = names.called(_LISTS_OF["qrels"], names.id_lists) and not names.called(_RETRIEVED)
    graded = (relevant and ranking is None and DOC not in run.names) or has(RELEVANCE, qrels)
    if has(GROUP, qrels):  # then `weight` is the weight of a subtopic, not a score
        weights = names.called(_WEIGHTS)
        names = InputNames({n: kind for n, kind in names.schema.items() if n not in weights})
    return "qrels" if graded and not any(has(column, run) for column in _ORDERING) else "run"


def find_columns(
    names: InputNames, role: Role, requested: Requested, called: str, *, graded: bool = False
) -> tuple[dict[str, str], dict[str, bool]]:
    """Find our columns in an input, or say which is missing or ambiguous.

    Args:
        names: the columns of the input.
        role: what the input is.
        requested: the names that the user gave.
        called: what errors call the input.
        graded: whether judgments need no column of grades.

    Returns:
        Our column → the column of the input; and for each name that was given for no side in
        particular, our column → whether it is here.
    """
    named, shared = _find_requested(names, role, requested, called)
    present = list(names.schema)
    mapping: dict[str, str] = {}
    for column in _WANTED[role]:
        if column in named and column not in _SUBTOPIC:
            mapping[column] = named[column]
            continue
        instead = {SCORE: {DISTANCE} & named.keys(), DISTANCE: {SCORE, RANK} & mapping.keys()}
        if column in _SUBTOPIC or instead.get(column):
            continue
        candidates = names.candidates(column, role, set(named.values()))
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, column, candidates)
        if candidates:
            mapping[column] = candidates[0]
        elif column == DOC and (texts := names.lists_as_text(role)):
            raise ColumnTypeError(called, texts, "String", _LISTS_AS_TEXT)
        elif column not in _ORDERING and not (
            column == RELEVANCE and (graded or names.all_relevant(mapping[DOC]))
        ):
            raise MissingColumnError(called, column, present, named=shared.get(column), shared=True)
    for column in _SUBTOPIC if role == "qrels" else ():
        source = _find_subtopic(column, names, named, mapping)
        if source is None:
            break
        mapping[column] = source
    lost = [column for column in shared if column in _ORDERING and column not in named]
    if lost and not set(_ORDERING) & set(mapping):
        raise MissingColumnError(called, lost[0], present, named=shared[lost[0]])
    return mapping, {column: column in named for column in shared}


def _find_requested(
    names: InputNames, role: Role, requested: Requested, called: str
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
        alike = names.like(name)
        if len(alike) > 1:
            raise AmbiguousColumnError(called, column, alike)
        if alike:
            named[column] = alike[0]
        elif column in own:
            raise MissingColumnError(called, column, list(names.schema), named=name)
    if SCORE in named and DISTANCE in named:
        raise AmbiguousColumnError(called, SCORE, [named[SCORE], named[DISTANCE]])
    return named, shared


def _find_subtopic(
    column: str, names: InputNames, named: Mapping[str, str], mapping: Mapping[str, str]
) -> str | None:
    """Find the subtopic of judgments or its weight; None if it is missing or ambiguous."""
    if column in named:
        return named[column]
    candidates = names.candidates(column, "qrels", {*named.values(), *mapping.values()})
    if column == GROUP_WEIGHT and not candidates:
        free = [name for name in names.schema if name not in mapping.values()]
        candidates = names.called(_WEIGHTS, free)
    listed = mapping[DOC] in names.lists
    fit = [
        name
        for name in candidates
        if not names.schema[name].is_nested() or (name in names.lists and listed)
    ]
    return fit[0] if len(fit) == 1 else None


def first_called(names: Sequence[str], columns: Collection[str]) -> str | None:
    """Return the column that has the first of some names that any column has.

    >>> first_called(["unit", "parent_id"], ["Doc ID", "Parent-ID"])
    'Parent-ID'
    """
    by_name = {plain_name(column): column for column in reversed(list(columns))}
    return next((by_name[plain_name(n)] for n in names if plain_name(n) in by_name), None)
