"""Match the columns of an input to rankframe's columns: by `columns=`, or by the usual names.

Names are compared without case, dashes, underscores and blanks: `Query-ID` is `query_id`. A name
for one side (`{"run": {"doc_id": "_id"}}`) must be a column of that side. A name for no side in
particular (`{"doc_id": "_id"}`) is used on all sides that have the column; at least one side must
have it. A name with dots, `meta.id`, stands for a field of a struct. Documents may also be in
lists, with one row per query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import polars as pl

from rankframe.core.columns import (
    DISTANCE,
    DOC,
    LATE_SYNONYMS,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SUBTOPIC,
    SUBTOPIC_WEIGHT,
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
from rankframe.core.vocabulary import Vocabulary

# {"query_id": "user_id"}, or such a mapping for each side: {"qrels": {…}, "run": {…}}.
Columns: TypeAlias = Mapping[str, Any]

# The keys of a mapping by side: for an evaluation, and for a comparison of two rankings.
SIDES: Final = ("qrels", "run", "queries", "train", "items", "catalogue", "reference")
RANKINGS: Final = ("a", "b")

_WANTED: dict[Role, tuple[str, ...]] = {
    "queries": (QUERY,),
    "qrels": (QUERY, DOC, RELEVANCE, SUBTOPIC, SUBTOPIC_WEIGHT),
    "run": (QUERY, DOC, SCORE, RANK, DISTANCE),
}
_ORDERING = (SCORE, RANK, DISTANCE)
_SUBTOPIC = (SUBTOPIC, SUBTOPIC_WEIGHT)
_LISTS_AS_TEXT = (
    "lists of documents, and text files cannot contain lists. Write one row for each document, or "
    "use Parquet or JSON Lines; if the column has ids of single documents, name it: "
    'columns={"doc_id": …}'
)


def _plain(names: Iterable[str]) -> frozenset[str]:
    """Normalise names (see `plain_name`); return each with and without an underscore in front."""
    plain = [plain_name(name) for name in names]
    return frozenset([*plain, *(f"_{name}" for name in plain)])


# Plain names of columns, in groups: the first group that matches any column is used. Our own name
# has no underscore in front: a program that writes files adds `_score`, and a file may also have a
# column `score` that its owner added.
_GROUPS = {
    column: (
        frozenset([plain_name(column)]),
        _plain([column, *(name for name in synonyms if name not in LATE_SYNONYMS)]),
        _plain(name for name in synonyms if name in LATE_SYNONYMS),
    )
    for column, synonyms in SYNONYMS.items()
}
_ANY = {column: frozenset().union(*groups) for column, groups in _GROUPS.items()}
# Plain names of list columns: for both roles, and for the documents of one role only.
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
# Plain names of columns of users, and of documents that are no items even if users get them.
_USERS = _plain(["user", "user_id", "uid", "customer_id"])
_TEXTS = _plain(["did", "corpus_id", "chunk_id", "passage_id"])
# Judgments of BEIR have these two columns.
_CORPUS_ID, _GRADES = _plain(["corpus-id"]), _plain([SCORE])


class Requested(NamedTuple):
    """Hold the column names that the argument `columns` of a call gives for one of its inputs.

    Attributes:
        names: rankframe's column → its name in the input.
        shared: the columns whose names were given for no input in particular.
    """

    names: Mapping[str, str]
    shared: Collection[str]

    @classmethod
    def from_mapping(cls, columns: Columns | None, side: str) -> Requested:
        """Check the argument `columns` of a call; return the names in it for the input `side`."""
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
        return cls({**shared, **own}, shared.keys() - own.keys())


def _check_names(columns: object, sides: Sequence[str]) -> dict[str, str]:
    """Return `columns` if it maps rankframe's columns to names; refuse anything else."""
    if not isinstance(columns, Mapping):
        raise ColumnMappingError.kind(columns)
    for key, value in columns.items():
        if not isinstance(key, str) or (isinstance(value, Mapping) and key in SYNONYMS):
            raise ColumnMappingError.kind(columns)
        if key not in SYNONYMS:
            raise ColumnMappingError(key, list(SYNONYMS), sides)
    return {key: str(value) for key, value in columns.items()}


def names_in(columns: object) -> tuple[str, ...]:
    """Return every name of a user's column in the argument `columns`, for any input."""
    if isinstance(columns, Mapping):
        names = (name for value in columns.values() for name in names_in(value))
        return tuple(dict.fromkeys(names))
    return (columns,) if isinstance(columns, str) else ()


def with_fields(table: pl.LazyFrame, names: Collection[str]) -> pl.LazyFrame:
    """Add a column for each name with dots in `names`: the struct field that it stands for."""
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


class InputNames:
    """Hold the schema of an input, and the normalised names of its columns.

    A list of structs with the documents is replaced by its fields, each a list.

    Attributes:
        schema: the names and types of the columns.
        struct: the column with the list of structs that was replaced; None without one.
        fields: the fields that replaced that column.
        plain: column → its normalised name.
        lists: the columns of lists.
    """

    def __init__(
        self,
        schema: Mapping[str, pl.DataType],
        struct: str | None = None,
        fields: Collection[str] = (),
    ) -> None:
        self.schema, self.struct, self.fields = schema, struct, fields
        self.plain: dict[str, str] = {}
        self.lists: list[str] = []
        for name, kind in schema.items():
            self.plain[name] = ("_" if name.startswith("_") else "") + plain_name(name)
            if isinstance(kind, pl.List | pl.Array):
                self.lists.append(name)

    def found_as(self, name: str) -> str:
        """Return the input's column with the values of `name`: `name`, or a list of structs."""
        return self.struct if self.struct is not None and name in self.fields else name

    def called(
        self,
        *groups: Collection[str],
        among: Iterable[str] | None = None,
        without: Collection[str] = (),
    ) -> list[str]:
        """Return the columns whose normalised names are in the first matching group of names."""
        columns = self.schema if among is None else list(among)
        for plain_names in groups:
            matching = [n for n in columns if self.plain[n] in plain_names and n not in without]
            if matching:
                return matching
        return []

    def like(self, name: str) -> list[str]:
        """Return the column `name`, or else those whose names differ only in case or separators."""
        return [name] if name in self.schema else self.called(_plain([name]))

    def id_lists(self, *, flags: bool = False) -> list[str]:
        """Return the list columns that may hold ids; with `flags`, the list columns of Booleans."""
        return [name for name in self.lists if (_inner(self.schema[name]) == pl.Boolean) is flags]

    def candidates(self, column: str, role: Role, taken: Collection[str] = ()) -> list[str]:
        """Return the columns that may be `column`: by its name, else by a synonym or list name."""
        columns = self.called(*_GROUPS[column], without=taken)
        if not columns and self.lists:
            if column == DOC:
                columns = self.called(*_DOCUMENTS[role], among=self.id_lists(), without=taken)
            else:
                columns = self.called(_LISTS.get(column, ()), among=self.lists, without=taken)
            if column == RELEVANCE and not columns:
                columns = self.called(_RELEVANT, among=self.id_lists(flags=True), without=taken)
        return columns or (self.grades_of_beir() if column == RELEVANCE else [])

    def grades_of_beir(self) -> list[str]:
        """Return the column of grades in BEIR's judgments, which is called score; [] in others."""
        if self.called(_CORPUS_ID) and not self.called(_ANY[RELEVANCE]):
            return self.called(_GRADES)[-1:]
        return []

    def flattened(self, role: Role | None, doc_name: str | None, called: str) -> InputNames:
        """Replace a column of lists of structs by a column for each field of the structs.

        Does nothing if another column has documents. A field replaces a column of the same name.

        Args:
            role: what the input is.
            doc_name: the name that the user gave to the column of documents.
            called: what errors call the input.
        """
        inner = {name: _inner(self.schema[name]) for name in self.lists}
        structs = {n: kind.to_schema() for n, kind in inner.items() if isinstance(kind, pl.Struct)}
        if not structs or role == "queries":
            return self
        plain = [name for name in self.schema if name not in structs]
        if not any(doc_name in names for names in (plain, structs, *structs.values())):
            doc_name = None  # another side may have this column
        lists = [name for name in self.lists if name in plain]
        if doc_name in plain or (
            doc_name is None
            and (self.called(_ANY[DOC], among=plain) or self.called(*_DOCUMENTS[role], among=lists))
        ):
            return self
        candidates = [name for name, fields in structs.items() if doc_name in fields]
        candidates = candidates or self.called(*_DOCUMENTS[role], among=structs) or list(structs)
        if len(candidates) > 1:
            raise AmbiguousColumnError(called, DOC, candidates)
        fields = structs[candidates[0]]
        flat: dict[str, pl.DataType] = {}
        for name, kind in self.schema.items():
            if name == candidates[0]:
                flat |= {field: pl.List(inner) for field, inner in fields.items()}
            elif name not in fields:
                flat[name] = kind
        return InputNames(flat, candidates[0], fields)


def _inner(kind: pl.DataType) -> Any:
    """Return the element type of a list or array type; None for any other type."""
    return kind.inner if isinstance(kind, pl.List | pl.Array) else None


def guess_role(names: InputNames, columns: Columns | None, ranking: str | None = None) -> Role:
    """Return whether an input is judgments ("qrels") or a run ("run"), by its columns.

    Judgments have either a grade without score and rank, or list columns named as relevant.

    Args:
        names: the columns.
        columns: the mapping that the user gave.
        ranking: "a" or "b" for one of two rankings, which is judgments only if it has a grade.
    """
    qrels, run = (Requested.from_mapping(columns, ranking or role) for role in ("qrels", "run"))
    names = names.flattened(None, qrels.names.get(DOC), "input")

    def has(column: str, requested: Requested) -> bool:
        name = requested.names.get(column)
        named = name is not None and (column not in requested.shared or names.like(name))
        return bool(named or names.candidates(column, "qrels"))

    # A list column is named as relevant documents, and none as retrieved documents.
    relevant = names.called(_LISTS_OF["qrels"], among=names.id_lists())
    relevant = relevant and not names.called(_RETRIEVED)
    graded = (relevant and ranking is None and DOC not in run.names) or has(RELEVANCE, qrels)
    other = names.grades_of_beir() if SCORE not in qrels.names.values() else []
    if has(SUBTOPIC, qrels):  # then `weight` is the weight of a subtopic, not a score
        other += names.called(_WEIGHTS)
    names = InputNames({n: kind for n, kind in names.schema.items() if n not in other})
    return "qrels" if graded and not any(has(column, run) for column in _ORDERING) else "run"


def find_columns(
    names: InputNames, role: Role, requested: Requested, called: str, *, graded: bool = False
) -> tuple[dict[str, str], dict[str, bool]]:
    """Map rankframe's columns to columns of an input; refuse missing or ambiguous columns.

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
    present = list(names.schema)
    named, shared = _find_requested(names, role, requested, called)
    mapping: dict[str, str] = {}
    for column in _WANTED[role]:
        if column in named:
            mapping[column] = named[column]
            continue
        # A distance counts as a score, and is searched for only if nothing else orders the run.
        if (column == SCORE and DISTANCE in named) or (
            column == DISTANCE and (SCORE in mapping or RANK in mapping)
        ):
            continue
        candidates = names.candidates(column, role, {*named.values(), *mapping.values()})
        if column in _SUBTOPIC:
            if column == SUBTOPIC_WEIGHT and not candidates:
                candidates = names.called(_WEIGHTS, without=mapping.values())
            listed = mapping[DOC] in names.lists
            fit = [
                name
                for name in candidates
                if not names.schema[name].is_nested() or (name in names.lists and listed)
            ]
            if len(fit) != 1:
                break
            mapping[column] = fit[0]
        elif len(candidates) > 1:
            raise AmbiguousColumnError(called, column, candidates)
        elif candidates:
            mapping[column] = candidates[0]
        elif column == DOC and (texts := _lists_as_text(names, role)):
            raise ColumnTypeError(called, texts[0], "String", _LISTS_AS_TEXT)
        elif column not in _ORDERING and not (
            column == RELEVANCE and (graded or _all_relevant(names, mapping[DOC]))
        ):
            name = requested.names.get(column)
            raise MissingColumnError(called, column, present, named=name, shared=True)
    if shared and not mapping.keys() & _ORDERING:
        for column in filter(shared.__contains__, _ORDERING):
            raise MissingColumnError(called, column, present, named=requested.names[column])
    return mapping, shared


def _find_requested(
    names: InputNames, role: Role, requested: Requested, called: str
) -> tuple[dict[str, str], dict[str, bool]]:
    """Map the columns that the user named to columns of the input; refuse missing ones.

    Returns:
        Our column → the column of the input; and for each name that was given for no side in
        particular, our column → whether it is here.
    """
    named: dict[str, str] = {}
    shared: dict[str, bool] = {}
    for column, name in requested.names.items():
        if column not in _WANTED[role]:
            continue
        alike = names.like(name)
        if len(alike) > 1:
            raise AmbiguousColumnError(called, column, alike)
        if column in requested.shared:
            shared[column] = bool(alike)
        elif not alike:
            raise MissingColumnError(called, column, list(names.schema), named=name)
        if alike:
            named[column] = alike[0]
    if SCORE in named and DISTANCE in named:
        raise AmbiguousColumnError(called, SCORE, [named[SCORE], named[DISTANCE]])
    return named, shared


def _lists_as_text(names: InputNames, role: Role) -> list[str]:
    """Return the text columns whose names mean lists of documents: CSV holds lists as text."""
    texts = [name for name, kind in names.schema.items() if kind == pl.String]
    return names.called(*_DOCUMENTS[role], among=texts)


def _all_relevant(names: InputNames, doc: str) -> bool:
    """Return whether a column holds lists of relevant documents without grades.

    Return False if the table looks like a run, which has scores or ranks.
    """
    if doc not in names.lists:
        return False
    relevant = names.called(_LISTS_OF["qrels"], among=[doc])
    return bool(relevant) or not names.called(*_SCORED, among=names.lists)


def vocabulary_of(query: str, doc: str) -> Vocabulary:
    """Choose the words for queries and documents (or users and items) by the names of id columns.

    The documents of users are called items, unless the name of their column says otherwise.

    >>> str(vocabulary_of("userId", "movieId")), str(vocabulary_of("qid", "docno"))
    ('users and items', 'queries and documents')
    """
    users, name = plain_name(query) in _USERS, plain_name(doc)
    items = "item" in name or (users and "doc" not in name and name not in _TEXTS)
    return Vocabulary("user" if users else "query", "item" if items else "document")


def first_called(names: Sequence[str], columns: Collection[str]) -> str | None:
    """Return the column that matches the earliest of `names`; None if no column matches.

    >>> first_called(["unit", "parent_id"], ["Doc ID", "Parent-ID"])
    'Parent-ID'
    """
    by_name = {plain_name(column): column for column in reversed(list(columns))}
    return next((by_name[plain_name(n)] for n in names if plain_name(n) in by_name), None)
