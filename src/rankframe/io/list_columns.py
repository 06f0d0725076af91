"""Find columns with one row per query and lists of documents, and unroll them as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.columns import (
    DISTANCE,
    DOC,
    GROUP,
    GROUP_WEIGHT,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SYNONYMS,
    Role,
    plain_name,
)
from rankframe.core.errors import (
    AmbiguousColumnError,
    BadValueError,
    ColumnTypeError,
    DuplicateError,
)
from rankframe.io.steps import in_steps

Schema = Mapping[str, pl.DataType]

# Rows of the tables that lists are unrolled into: about as many as polars reads at a time.
_ROWS = 1 << 17
# Lists by whose lengths all are estimated.
_SAMPLE = 10_000
# Of a limit of memory, what is read at once: one part of so many.
_AT_ONCE = 32
_ROW_BYTES = 256
_ROW = "_row"


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


def lists_of(
    frame: pl.LazyFrame,
    flat: Flat,
    mapping: Mapping[str, str],
    role: str,
    limit: int | None = None,
) -> Lists | None:
    """Return the lists to unroll in a table whose columns were found; None without lists.

    `limit`: how many bytes the work may take, if any slice of the table can be read alone.
    """
    doc, schema = mapping.get(DOC), flat.schema
    if doc is None or not is_list(schema[doc]):
        return None
    numbers = {name: source for name, source in mapping.items() if name not in (QUERY, DOC)}
    # A group may be that of all documents in the list.
    shared = [name for name in (GROUP, GROUP_WEIGHT) if not is_list(schema[numbers.get(name, doc)])]
    numbers = {name: source for name, source in numbers.items() if name not in shared}
    for column in numbers.values():
        if not is_list(schema[column]):
            raise ColumnTypeError(
                role, column, str(schema[column]),
                f"a list of numbers, one for each document in the list {doc!r}",
            )  # fmt: skip
    columns = tuple(dict.fromkeys((doc, *numbers.values())))
    ordered = not numbers and role != "qrels"
    return Lists(frame, flat, mapping[QUERY], columns, role, ordered, limit)


@dataclass(frozen=True)
class Lists:
    """A table with one row per query."""

    frame: pl.LazyFrame
    flat: Flat
    query: str
    # the columns that are unrolled together, the documents first
    columns: tuple[str, ...]
    role: str
    # the order of the documents is that of their list
    ordered: bool
    # how many bytes the work may take; None: nobody said, or it is read as polars likes
    limit: int | None

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns once lists are unrolled."""
        found = self.frame.collect_schema()
        return {
            name: kind.inner  # pyright: ignore[reportAttributeAccessIssue] (a list has one)
            if name in self.columns or name in self.flat.fields
            else found[name]
            for name, kind in self.flat.schema.items()
        }

    def unrolled(self) -> pl.LazyFrame:
        """Return a row for each document, in the order of its list; lists are read in slices."""
        from polars.io.plugins import register_io_source  # noqa: PLC0415 (only where needed)

        return register_io_source(self._read, schema=self.schema)

    def count(self) -> int:
        """Count the documents."""
        return self._lengths().select(pl.col("0").sum()).collect(engine="streaming").item()

    def about(self) -> int:
        """Estimate the number of documents from the first lists, which is much faster."""
        lists = self.frame.select(pl.len()).collect(engine="streaming").item()
        first = self._lengths(self.frame.head(_SAMPLE)).select(pl.col("0").mean()).collect().item()
        return round(lists * (first or 0))

    def _source(self, names: Sequence[str]) -> list[pl.Expr]:
        """Return the columns of the table that hold these columns, each list as a List."""
        schema = self.frame.collect_schema()
        return [
            pl.col(name).arr.to_list() if isinstance(schema[name], pl.Array) else pl.col(name)
            for name in dict.fromkeys(map(self.flat.found_as, names))
        ]

    def _lengths(self, frame: pl.LazyFrame | None = None) -> pl.LazyFrame:
        """Return the lengths of the lists of each row, in columns 0, 1, …; null has length 0."""
        lists = (self.frame if frame is None else frame).select(self._source(self.columns))
        names = lists.collect_schema().names()
        return lists.select(
            pl.col(name).list.len().fill_null(0).alias(str(number))
            for number, name in enumerate(names)
        )

    def _read(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        selected = list(self.schema) if columns is None else columns
        lists = [name for name in self.columns if name in selected or name == self.columns[0]]
        if rows == 0:
            return
        whole = rows is None
        watched = [self.query] if self.ordered and whole else []
        frame = self.frame.select(self._source([*lists, *selected, *watched]))
        queries: list[pl.Series] = []
        # Most lists hold something: so many hold as many rows, or else more are read.
        for part in [frame] if whole else [frame.head(rows), frame.slice(rows)]:
            for table in self._stretches(part):
                if watched:
                    queries.append(table[self.query].hash())
                for unrolled in self._tables(table, lists):
                    part_rows = unrolled.select(selected)
                    if rows is not None:
                        part_rows = part_rows.head(rows)
                        rows -= part_rows.height
                    yield part_rows if predicate is None else part_rows.filter(predicate)
                    if rows == 0:
                        return
        if queries and (all_queries := pl.concat(queries)).n_unique() < len(all_queries):
            self._refuse_repeated()
        yield pl.DataFrame(schema=self.schema).select(selected)

    def _stretches(self, frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Yield the lists in order, in slices."""
        if self.limit is None:
            return frame.collect_batches(lazy=True, maintain_order=True)
        return in_steps(frame, self.limit // _AT_ONCE, seekable=True)

    def _tables(self, table: pl.DataFrame, lists: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield a row for each element, in tables of about as many rows as other inputs have."""
        found = list(dict.fromkeys(map(self.flat.found_as, lists)))
        lengths = [table[name].list.len().fill_null(0).to_numpy() for name in found]
        if any(not np.array_equal(lengths[0], length) for length in lengths[1:]):
            self._refuse_unequal()
        ends = np.cumsum(lengths[0], dtype=np.int64)
        # A table of a stretch is small already, and may be larger once it is unrolled.
        most_rows = (
            _ROWS if self.limit is None else min(_ROWS, self.limit // _AT_ONCE // _ROW_BYTES + 1)
        )
        cuts = (
            np.searchsorted(ends, np.arange(most_rows, ends[-1] if len(ends) else 0, most_rows)) + 1
        )
        for start, end in pairwise(np.unique([0, *cuts, table.height]).tolist()):
            unrolled = table[start:end].explode(found, empty_as_null=False, keep_nulls=False)
            if self.flat.struct in found:
                fields = unrolled[self.flat.struct].struct.unnest()
                unrolled = unrolled.drop(self.flat.struct, *fields.columns, strict=False).hstack(
                    fields
                )
            yield unrolled

    def _refuse_unequal(self) -> None:
        lengths = self._lengths()
        names = lengths.collect_schema().names()
        queries = self.frame.select(pl.col(self.query).cast(pl.String).alias(QUERY))
        unequal = pl.any_horizontal(pl.col(names[0]) != pl.col(other) for other in names[1:])
        rows = pl.concat([queries, lengths], how="horizontal").with_row_index(_ROW, offset=1)
        bad = rows.filter(unequal).collect(engine="streaming")
        if bad.is_empty():
            return
        row: dict[str, Any] = bad.row(0, named=True)
        first, *plain = dict.fromkeys(map(self.flat.found_as, self.columns))
        other, count = next(
            (name, row[number])
            for number, name in zip(names[1:], plain, strict=True)
            if row[number] != row["0"]
        )
        raise BadValueError(
            self.role,
            "lists of different lengths",
            bad.height,
            f"row {row[_ROW]:,} (query_id {row[QUERY]!r}): {row['0']:,} in {first!r}, "
            f"{count:,} in {other!r}",
            "Give each document a number of its own",
        )

    def _refuse_repeated(self) -> None:
        """Refuse a query with two lists: either could come first."""
        key = pl.col(self.query).cast(pl.String).alias(QUERY)
        rows = self.frame.select(key).with_row_index(_ROW, offset=1).drop_nulls()
        twice = rows.filter(pl.col(QUERY).is_duplicated()).collect(engine="streaming")
        if twice.is_empty():
            return
        first = twice[QUERY][0]
        places = twice.filter(pl.col(QUERY) == first)[_ROW].to_list()
        count = twice[QUERY].n_unique()
        raise DuplicateError(self.role, count, {QUERY: first}, places, resolvable=False)


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
