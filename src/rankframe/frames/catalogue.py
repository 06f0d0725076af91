"""The documents that could be shown, and what is known of each: popularity, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats, Ints, Keys
from rankframe.core.columns import (
    DOC,
    DOCUMENTS_FRAME,
    QUERY,
    SHOWN_FRAME,
    SYNONYMS,
    Column,
    FrameColumns,
)
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, listing, number_of
from rankframe.frames.attributes import Values, ValueSets, Vectors
from rankframe.io.column_names import Columns, Requested, first_called
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import COUNT, Source, describe
from rankframe.io.opening import open_raw, read_whole, refuse_pattern
from rankframe.kernel.batch import KEY, Batch, hashed, text_hashes
from rankframe.kernel.matching import find_ids
from rankframe.kernel.tables import Index

# An attribute that documents have by themselves, and its values: the head are the most popular
# ones that make up so much of all interactions, cold ones are not in train.
POPULARITY = "popularity"
HEAD, TAIL, COLD = SLICES_OF_POPULARITY = ("head", "tail", "cold")
_HEAD_SHARE = 0.8


@dataclass(frozen=True)
class Catalogue:
    """Documents in order of their ids, and what is known of each."""

    docs: pl.Series
    # of each document: whether it can be shown, queries that have it, and how often it is there
    inside: Flags
    popularity: Ints
    interactions: Floats
    # queries in train; None: there is no train
    train_queries: int | None
    # of each document, a row; nothing but nulls for those that items lack
    attributes: pl.DataFrame
    # whether somebody said what the catalogue is: without, only what is shown is known
    given: bool

    @classmethod
    def of(
        cls, trained: Trained | None, items: Source | None, catalogue: Source | None,
        columns: Columns | None = None, *, limit: int | None = None,
    ) -> Catalogue:  # fmt: skip
        """Read what is known of documents."""
        known = None if trained is None else trained.documents
        queries = None if trained is None else trained.queries
        attributes = _items(items, "items", columns, limit)
        inside = attributes if catalogue is None else _items(catalogue, "catalogue", columns, limit)
        if inside is None:
            inside = known
        tables = [one.select(DOC) for one in (known, attributes, inside) if one is not None]
        if not tables:
            tables = [pl.DataFrame(schema={DOC: pl.String})]
        docs = pl.concat(tables).unique().sort(DOC)
        if known is None:
            known = pl.DataFrame(schema={DOC: pl.String, "popularity": pl.Int64, COUNT: pl.Float64})
        if attributes is None:
            attributes = docs.clear()
        whole = docs.join(known, on=DOC, how="left", maintain_order="left")
        return cls(
            docs[DOC],
            docs[DOC].is_in(inside[DOC].implode()).to_numpy()
            if inside is not None
            else np.zeros(docs.height, np.bool_),
            whole["popularity"].fill_null(0).cast(pl.Int64).to_numpy(),
            whole[COUNT].fill_null(0.0).to_numpy(),
            queries,
            docs.join(attributes, on=DOC, how="left", maintain_order="left").drop(DOC),
            inside is not None,
        )

    @property
    def size(self) -> int:
        """How many documents can be shown."""
        return int(self.inside.sum())

    @cached_property
    def popularity_rank(self) -> Ints:
        """Place by popularity, equal ones alike; 0 for what nobody has."""
        levels = np.unique(self.popularity[self.popularity > 0])
        place = len(levels) - np.searchsorted(levels, self.popularity)
        return np.where(self.popularity > 0, place, 0)

    @cached_property
    def more_popular(self) -> Floats:
        """The share of all interactions that documents with more of them have."""
        total = self.interactions.sum()
        levels, of = np.unique(self.interactions, return_inverse=True)
        each = np.bincount(of, weights=self.interactions, minlength=len(levels))
        above = np.cumsum(each[::-1])[::-1] - each
        share = above[of] / total if total else np.ones(len(of))
        return np.where(self.interactions > 0, share, 1.0)

    @property
    def train_interactions(self) -> float:
        """How many interactions there are."""
        return float(self.interactions.sum())

    @cached_property
    def _index(self) -> Index:
        return Index(text_hashes(DOC, self.docs))

    def find(self, hashes: Keys, docs: pl.Series) -> Ints:
        """The number of each document, given the hash of its text; -1 where it is not known."""
        return find_ids(self._index, self.docs, hashes, docs)

    @cached_property
    def frame(self) -> FrameColumns:
        """The columns of the retrieved frame, with the attributes of these documents."""
        attributes = {name: Column(kind, "") for name, kind in self.attributes.schema.items()}
        # Its own columns come first, and keep their parameters if an attribute is called `new`.
        columns = {**SHOWN_FRAME.columns, **attributes, **SHOWN_FRAME.columns}
        return replace(SHOWN_FRAME, columns=columns)

    def values(self, name: str) -> Values:
        """An attribute as numbers of values."""
        made: dict[str, Any] = self._made
        if name not in made:
            made[name] = Values.of(self.attribute(name))
        return made[name]

    def value_sets(self, name: str) -> ValueSets:
        """Documents by the set of values that they have of an attribute."""
        made: dict[str, Any] = self._made
        key = f"sets {name}"
        if key not in made:
            made[key] = ValueSets.of(self.values(name))
        return made[key]

    def vectors(self, name: str) -> Vectors:
        """An attribute as vectors of length 1."""
        made: dict[str, Any] = self._made
        key = f"vector {name}"
        if key not in made:
            made[key] = Vectors.of(self.attribute(name))
        return made[key]

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    def attribute(self, name: str) -> pl.Series:
        """A column of the items, or popularity; refused where there is none."""
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
                ": rows of query_id and doc_id from before, such as what users had bought.",
            )  # fmt: skip
        warm = np.where(self.more_popular < _HEAD_SHARE, HEAD, TAIL)
        return pl.Series(POPULARITY, np.where(self.popularity > 0, warm, COLD).tolist())


def document_hashes(chunk: Batch, rows: Ints) -> Keys:
    """The hash of the documents of some rows of a chunk, whose ids are text."""
    return chunk.key[rows] ^ chunk.hashes[chunk.code[rows]]


@dataclass(frozen=True)
class Trained:
    """What train says of documents: doc_id, popularity, count; and how many queries it has."""

    documents: pl.DataFrame
    queries: int

    @classmethod
    def of(cls, train: InputTable) -> Trained:
        """Count."""
        users = pl.len().cast(pl.Int64).alias("popularity")
        with train.explained():
            pairs = _pairs(train)
        documents = pairs.lazy().group_by(DOC).agg(users, pl.col(COUNT).sum())
        return cls(documents.collect(engine="streaming"), pairs[QUERY].n_unique())


def _pairs(train: InputTable) -> pl.DataFrame:
    """query_id, doc_id, count: each pair once."""
    rows = train.frame.select(QUERY, DOC, COUNT)
    added = pl.col(COUNT).sum()
    if train.limit is not None:  # as many rows as there are may not fit, where pairs do
        return rows.group_by(QUERY, DOC).agg(added).collect(engine="streaming")
    # Only what may be there twice, as keys tell, is brought together by its ids.
    held = hashed(rows).collect(engine="streaming")
    keys = np.sort(held[KEY].to_numpy())
    twice = np.unique(keys[1:][keys[1:] == keys[:-1]])
    if not len(twice):
        return held.select(QUERY, DOC, COUNT)
    again = held[KEY].is_in(pl.Series(twice).implode())
    several = held.filter(again).group_by(QUERY, DOC).agg(added)
    return pl.concat([held.filter(~again).select(QUERY, DOC, COUNT), several])


def _attribute_name(name: str) -> str:
    """What an attribute is called: its name, unless the frames have a column of that name."""
    column = SHOWN_FRAME.columns.get(name)
    own = name in DOCUMENTS_FRAME.columns or (column is not None and not column.parameters)
    return f"items.{name}" if own or SHOWN_FRAME.request(name).attribute is not None else name


def _items(
    source: Source | None, role: str, columns: Columns | None, limit: int | None
) -> pl.DataFrame | None:
    """doc_id and attributes, each document once."""
    if source is None:
        return None
    name = describe(source, role)
    if isinstance(source, list | set | tuple | pl.Series) and not any(
        isinstance(one, Mapping) for one in list(source)[:1]
    ):
        raw = pl.DataFrame({DOC: [str(one) for one in source]}).lazy()  # allowed: ids as listed
    else:
        opened = open_raw(source, name, limit)  # keeps temporary files
        raw = opened.frame
    found = list(raw.collect_schema())
    asked = Requested.from_mapping(columns, role).names.get(DOC)
    key = first_called((asked,) if asked else (DOC, *SYNONYMS[DOC]), found)
    if key is None:
        raise OptionError(
            Option(role, bare=True), f" needs the column {asked or DOC}; it has {listing(found)}."
        )
    for one in found:
        refuse_pattern(role, one)
    others = [one for one in found if one != key]
    named = [pl.col(one).alias(_attribute_name(one)) for one in others]
    table = read_whole(raw.select(pl.col(key).cast(pl.String).alias(DOC), *named), name, limit)
    empty = int((table[DOC].is_null() | (table[DOC] == "")).sum())
    if empty or table.is_empty():
        said = f" has {number_of(empty, 'row')} without an id." if empty else " has no rows."
        raise OptionError(Option(role, bare=True), said)
    twice = table[DOC].filter(table[DOC].is_duplicated())
    if len(twice) and others:
        raise OptionError(
            Option(role, bare=True),
            f" has {number_of(twice.n_unique(), 'document')} in several rows, e.g. "
            f"{twice.sort()[0]!r}. Give each document one.",
        )
    return table if others else table.unique()
