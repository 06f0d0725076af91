"""Read the documents that can be retrieved, with their popularity and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats, Ints, Keys
from rankframe.core.columns import (
    DOC,
    DOCUMENTS_FRAME,
    QUERY,
    RETRIEVED_FRAME,
    SYNONYMS,
    Column,
    FrameColumns,
)
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, listing, number_of, shorten
from rankframe.core.options import SplitBy
from rankframe.core.records import record
from rankframe.frames.attributes import Values, ValueSets, Vectors
from rankframe.io.column_names import Columns, Requested, first_called
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import COUNT, Source, describe
from rankframe.io.memory import bytes_at_once, estimated_need, partitions_for
from rankframe.io.opening import open_raw, read_whole, refuse_pattern
from rankframe.io.partition_files import HashedInput
from rankframe.io.python_objects import read_texts
from rankframe.io.scratch import scratch_folder
from rankframe.kernel.batch import KEY, hashed, text_hashes
from rankframe.kernel.matching import find_ids
from rankframe.kernel.tables import Index

# A built-in attribute of every document, and its values. The head is the most popular documents
# that make up `_HEAD_SHARE` of all interactions; cold documents are not in train.
POPULARITY = "popularity"
HEAD, TAIL, COLD = SLICES_OF_POPULARITY = ("head", "tail", "cold")
_HEAD_SHARE = 0.8
# Separators of values in a text, and the least share of texts with a separator that makes lists.
_MARKS, _LISTED_SHARE = ("|", ";", ","), 0.1
# Bytes of memory per row of train while pairs of queries and documents are counted.
_PAIR_BYTES = 200
T = TypeVar("T")


@record
class Catalogue:
    """Hold all known documents by id: popularity, attributes, and whether they can be retrieved."""

    docs: pl.Series
    # for each document: whether it can be retrieved, in how many queries of train it is, and its
    # number of interactions
    inside: Flags
    popularity: Ints
    interactions: Floats
    # the number of queries in train; None: no train was passed
    train_queries: int | None
    # a row for each document; all nulls for documents that are not in `items`
    attributes: pl.DataFrame
    # whether `items` or `catalogue` lists the documents that can be retrieved
    is_listed: bool
    # attributes for which the user said whether texts are lists of values
    split: frozenset[str] = frozenset()
    _cache: dict[tuple[str, str], Any] = field(default_factory=dict)

    @classmethod
    def from_inputs(
        cls, trained: Trained | None, items: Source | None, catalogue: Source | None,
        columns: Columns | None = None, *, split: SplitBy | None = None, limit: int | None = None,
    ) -> Catalogue:  # fmt: skip
        """Build the catalogue from the documents of train, `items` and `catalogue`."""
        counts = None if trained is None else trained.documents
        attributes = _read_items(items, "items", columns, limit)
        if split:
            attributes = _split_texts(attributes, split)
        inside = attributes
        if catalogue is not None:
            inside = _read_items(catalogue, "catalogue", columns, limit)
        if inside is None:
            inside = counts
        tables = [table.select(DOC) for table in (counts, attributes, inside) if table is not None]
        empty = pl.DataFrame(schema={DOC: pl.String, "popularity": pl.Int64, COUNT: pl.Float64})
        docs = pl.concat([empty.select(DOC), *tables]).unique().sort(DOC)
        counted = docs.join(
            empty if counts is None else counts, on=DOC, how="left", maintain_order="left"
        )
        if attributes is None:
            attributes = docs.clear()
        listed = docs[:0] if inside is None else inside
        return cls(
            docs[DOC],
            docs[DOC].is_in(listed[DOC].implode()).to_numpy(),
            counted["popularity"].fill_null(0).cast(pl.Int64).to_numpy(),
            counted[COUNT].fill_null(0.0).to_numpy(),
            None if trained is None else trained.queries,
            docs.join(attributes, on=DOC, how="left", maintain_order="left").drop(DOC),
            inside is not None,
            frozenset(map(_name_attribute, split or ())),
        )

    @property
    def size(self) -> int:
        """Count the documents that can be retrieved."""
        return int(self.inside.sum())

    @cached_property
    def popularity_rank(self) -> Ints:
        """Return each document's dense rank by popularity; 0 for documents not in train."""
        levels = np.unique(self.popularity[self.popularity > 0])
        rank = len(levels) - np.searchsorted(levels, self.popularity)
        return np.where(self.popularity > 0, rank, 0)

    @cached_property
    def more_popular(self) -> Floats:
        """Return, for each document, the share of interactions with more popular documents."""
        total = self.interactions.sum()
        levels, level = np.unique(self.interactions, return_inverse=True)
        sums = np.bincount(level, weights=self.interactions, minlength=len(levels))
        above = np.cumsum(sums[::-1])[::-1] - sums
        share = above[level] / total if total else np.ones(len(level))
        return np.where(self.interactions > 0, share, 1.0)

    @property
    def train_interactions(self) -> float:
        """Count the interactions in train."""
        return float(self.interactions.sum())

    @cached_property
    def _index(self) -> Index:
        return Index(text_hashes(DOC, self.docs))

    def find(self, hashes: Keys, docs: pl.Series) -> Ints:
        """Return the index of each document, given its id and the id's hash; -1 if unknown."""
        return find_ids(self._index, self.docs, hashes, docs)

    @cached_property
    def frame(self) -> FrameColumns:
        """Describe the columns of the retrieved frame, which include attributes of documents."""
        attributes = {name: Column(kind, "") for name, kind in self.attributes.schema.items()}
        # The frame's own columns come first, and win over an attribute of the same name (`new`).
        columns = {**RETRIEVED_FRAME.columns, **attributes, **RETRIEVED_FRAME.columns}
        return replace(RETRIEVED_FRAME, columns=columns)

    def values(self, name: str) -> Values:
        """Return an attribute's values, dictionary-encoded; refuse text that looks like lists."""

        def number_values() -> Values:
            attribute = self.attribute(name)
            if name != POPULARITY and name not in self.split and attribute.dtype == pl.String:
                _refuse_lists_in_text(attribute)
            return Values.from_series(attribute)

        return self._cached(Values, name, number_values)

    def value_sets(self, name: str) -> ValueSets:
        """Group documents by the set of their values of an attribute."""
        return self._cached(ValueSets, name, lambda: ValueSets.from_values(self.values(name)))

    def vectors(self, name: str) -> Vectors:
        """Return the vectors in an attribute, each scaled to length 1."""
        return self._cached(Vectors, name, lambda: Vectors.from_series(self.attribute(name)))

    def _cached(self, kind: type[T], name: str, make: Callable[[], T]) -> T:
        key = kind.__name__, name
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def attribute(self, name: str) -> pl.Series:
        """Return a column of `items`, or the popularity attribute; refuse other names."""
        if name == POPULARITY:
            return self._popularity
        if name not in self.attributes.columns:
            there = self.attributes.columns
            raise OptionError(
                f"there is no attribute {name!r} of documents: ",
                Option("items", bare=True),
                f" has {listing(there)}." if there else " was not given.",
            )
        return self.attributes[name]

    @cached_property
    def _popularity(self) -> pl.Series:
        if self.train_queries is None:
            raise OptionError(
                f"the attribute {POPULARITY!r} of documents needs ", Option("train", bare=True),
                ": earlier interactions (query_id and doc_id), such as purchases.",
            )  # fmt: skip
        warm = np.where(self.more_popular < _HEAD_SHARE, HEAD, TAIL)
        return pl.Series(POPULARITY, np.where(self.popularity > 0, warm, COLD).tolist())


@record
class Trained:
    """Hold counts of the training interactions: a row per document, and the number of queries."""

    documents: pl.DataFrame
    queries: int

    @classmethod
    def from_train(cls, train: InputTable) -> Trained:
        """Count training interactions by document, in partitions if they do not fit in memory."""
        limit, partitions = train.limit, 1
        if limit is not None:
            partitions = partitions_for(estimated_need(train, _PAIR_BYTES, limit), limit)
        if partitions == 1:
            with train.explained():
                return cls.from_rows(train.frame)
        with scratch_folder() as folder:
            written = HashedInput.write(train, folder / "train", partitions, bytes_at_once(train))
            whole = cls.from_rows(written.read(0).lazy())
            for number in range(1, partitions):
                whole = whole.merge(cls.from_rows(written.read(number).lazy()))
            return whole

    @classmethod
    def from_rows(cls, rows: pl.LazyFrame) -> Trained:
        """Count training interactions by document; `rows` has all interactions of its queries."""
        pairs = _count_pairs(rows)
        users = pl.len().cast(pl.Int64).alias("popularity")
        documents = pairs.lazy().group_by(DOC).agg(users, pl.col(COUNT).sum())
        return cls(documents.collect(engine="streaming"), pairs[QUERY].n_unique())

    def merge(self, other: Trained) -> Trained:
        """Return the sum of the counts in `self` and in `other`, which has other queries."""
        documents = pl.concat([self.documents, other.documents]).group_by(DOC).agg(pl.all().sum())
        return Trained(documents, self.queries + other.queries)


def _count_pairs(rows: pl.LazyFrame) -> pl.DataFrame:
    """Sum `count` by query and document: return query_id, doc_id and count."""
    # Only rows with repeated keys need a group-by on ids.
    table = hashed(rows.select(QUERY, DOC, COUNT)).collect(engine="streaming")
    keys = np.sort(table[KEY].to_numpy())
    repeated = np.unique(keys[1:][keys[1:] == keys[:-1]])
    if not len(repeated):
        return table.select(QUERY, DOC, COUNT)
    again = table[KEY].is_in(pl.Series(repeated).implode())
    several = table.filter(again).group_by(QUERY, DOC).agg(pl.col(COUNT).sum())
    return pl.concat([table.filter(~again).select(QUERY, DOC, COUNT), several])


def _name_attribute(name: str) -> str:
    """Return an attribute's column name: with a prefix if a frame has a column of that name."""
    column = RETRIEVED_FRAME.columns.get(name)
    own = name in DOCUMENTS_FRAME.columns or (column is not None and not column.parameters)
    return f"items.{name}" if own or RETRIEVED_FRAME.request(name).attribute is not None else name


def _split_texts(attributes: pl.DataFrame | None, split: SplitBy) -> pl.DataFrame:
    """Split the texts of the attributes that `split` names into lists of values."""
    if attributes is None:
        raise OptionError(Option("split", bare=True), " needs ", Option("items", bare=True), ".")
    columns = [name for name in attributes.columns if name != DOC]
    for column, mark in split.items():
        name = _name_attribute(column)
        if name not in columns:
            problem = f" names {column!r}, which is no attribute of items: {listing(columns)}."
            raise OptionError(Option("split", bare=True), problem)
        if mark is None:
            continue
        if attributes[name].dtype != pl.String:
            problem = f" names {column!r}, which is no text but {attributes[name].dtype}."
            raise OptionError(Option("split", bare=True), problem)
        value = pl.element().str.strip_chars()
        values = value.filter(value != "")
        attributes = attributes.with_columns(pl.col(name).str.split(mark).list.eval(values))
    return attributes


def _refuse_lists_in_text(attribute: pl.Series) -> None:
    """Refuse an attribute with texts such as `Action|Romance`, each of which would be one value.

    Texts look like lists if at least a tenth of them have a separator, and if they share parts. For
    commas and semicolons, there must be fewer distinct parts than texts ("Rome, Italy" is not a
    list).
    """
    texts = attribute.drop_nulls().unique()
    for mark in _MARKS:
        joined = texts.filter(texts.str.contains(mark, literal=True))
        if len(joined) < max(_LISTED_SHARE * len(texts), 1):
            continue
        parts = texts.str.split(mark).explode().str.strip_chars().drop_nulls()
        several = parts.n_unique()
        if several < (len(parts) if mark == "|" else len(texts)):
            raise OptionError(
                f"the texts of the attribute {attribute.name!r} look like lists: "
                f"{len(joined):,} of {number_of(len(texts), 'distinct value')} have {mark!r}, e.g. "
                f"{shorten(repr(joined.sort()[0]))}. Each would count as one value. Pass ",
                Option("split", {attribute.name: mark}),
                " to split them, or ",
                Option("split", {attribute.name: None}),
                " to keep them whole.",
            )


def _as_numbers(texts: pl.Series) -> pl.Series:
    """Convert a column of a text file to numbers if all its values are numbers; else return it.

    Other file formats store such columns as numbers, so the types do not depend on the format.
    Codes with leading zeros, such as 007, stay text.
    """
    values = texts.drop_nulls()
    for kind in (pl.Int64, pl.Float64):
        numbers = values.cast(kind, strict=False)
        exact = (
            (numbers.cast(pl.String) == values).all()
            if kind == pl.Int64
            else (numbers.is_finite().all() and not values.str.contains(r"^[+-]?0\d").any())
        )
        if len(values) and not numbers.null_count() and exact:
            return texts.cast(kind)
    return texts


def _read_items(
    source: Source | None, role: str, columns: Columns | None, limit: int | None
) -> pl.DataFrame | None:
    """Read `items` or `catalogue`: doc_id and attributes, a row per document; None if not given."""
    if source is None:
        return None
    name, untyped = describe(source, role), False
    if isinstance(source, list | set | tuple | pl.Series) and not any(
        isinstance(entry, Mapping) for entry in list(source)[:1]
    ):
        raw = pl.LazyFrame([read_texts(source, name, DOC)])
    else:
        opened = open_raw(source, name, limit)  # temporary files live as long as this object
        raw, untyped = opened.frame, opened.untyped
    names = list(raw.collect_schema())
    requested = Requested.from_mapping(columns, role).names.get(DOC)
    key = first_called((requested,) if requested else (DOC, *SYNONYMS[DOC]), names)
    if key is None:
        problem = f" needs the column {requested or DOC}; it has {listing(names)}."
        raise OptionError(Option(role, bare=True), problem)
    for column in names:
        refuse_pattern(role, column)
    names.remove(key)
    attributes = [pl.col(column).alias(_name_attribute(column)) for column in names]
    rows = raw.select(pl.col(key).cast(pl.String).alias(DOC), *attributes)
    with reading(name):
        table = read_whole(rows, name, limit)
    if untyped:
        table = table.with_columns(map(_as_numbers, table.drop(DOC)))
    docs = table[DOC]
    empty = int((docs.is_null() | (docs == "")).sum())
    if empty or table.is_empty():
        problem = f" has {number_of(empty, 'row')} without an id." if empty else " has no rows."
        raise OptionError(Option(role, bare=True), problem)
    if not attributes:
        return table.unique()
    repeated = docs.filter(docs.is_duplicated())
    if len(repeated):
        raise OptionError(
            Option(role, bare=True),
            f" has {number_of(repeated.n_unique(), 'document')} in several rows, e.g. "
            f"{repeated.sort()[0]!r}. Keep one row for each document.",
        )
    return table
