"""Match the documents and queries of two tables: by keys of 64 bits, verified by the ids.

Keys are looked up in tables of a batch's rows, which fit in the cache. Ids are compared afterwards,
and where keys are equal by chance, rows are numbered by their ids instead: no collision of hashes
changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Flags, Floats, Ints, Keys
from rankframe.core.columns import DOC, QUERY
from rankframe.kernel.batch import (
    KEY,
    QUERY_HASH,
    Batch,
    Documents,
    Ids,
    as_text,
    hashed,
    numbers_of,
    query_starts,
    taken,
)
from rankframe.kernel.segments import query_blocks, ranges, segment_lengths, segment_starts
from rankframe.kernel.tables import Index, probe, repeats, representatives

_LOOKED_AT = 1 << 14  # rows that show whether the rows of a query are contiguous
_BLOCK = 1 << 16  # rows that fit in the cache


@dataclass(frozen=True)
class Matches:
    """Rows of a batch and rows of an index with the same query and document."""

    batch_rows: Ints
    index_rows: Ints


def match_documents(batch: Batch, index: QueryIndex, numbers: Ints | None = None) -> Matches | None:
    """Find the rows of a batch that are in an index, too.

    `numbers`: what `index.find(batch)` returns, if it was called already. Returns None where a
    document is there twice for a query of the batch.
    """
    if numbers is None:
        numbers = index.find(batch)
    judged = np.flatnonzero(numbers >= 0)
    rows = index.rows_of_queries(numbers[judged])
    code = np.repeat(judged, index.lengths[numbers[judged]])
    found = find_documents(batch.documents, Documents(index.key[rows], code, index.docs_of(rows)))
    if found is None:
        return None
    hit = np.flatnonzero(found >= 0)
    return Matches(found[hit], rows[hit])


def find_documents(documents: Documents, targets: Documents) -> Ints | None:
    """Return the row of each wanted document; -1: there is none.

    Returns None where a document is there twice for a query.
    """
    probed = probe(documents.key, targets.key)
    if len(probed.again):
        if _are_equal(documents, probed.again, documents, probed.first).any():
            return None
    else:
        hit = np.flatnonzero(probed.found >= 0)
        if _are_equal(documents, probed.found[hit], targets, hit).all():
            return probed.found
    ids = pl.concat([as_text(side.docs.every) for side in (documents, targets)])
    code = np.concatenate([documents.code, targets.code])
    keys = _number_by_ids(ids, code).view(np.uint64)
    probed = probe(keys[: len(documents.key)], keys[len(documents.key) :])
    return None if len(probed.again) else probed.found


def group_equal(keys: Keys, ids: pl.Series, code: AnyInts | None = None) -> Ints:
    """Return, for each row, a row with the same id (and query): the same row for equal ids."""
    same = representatives(keys).astype(np.int64)
    repeats = np.flatnonzero(same != np.arange(len(same)))
    equal = (taken(ids, repeats) == taken(ids, same[repeats])).to_numpy()
    if code is not None:
        equal &= code[repeats] == code[same[repeats]]
    return same if equal.all() else _number_by_ids(ids, code)


def _are_equal(left: Documents, left_rows: Ints, right: Documents, right_rows: Ints) -> Flags:
    equal = (left.docs.taken(left_rows) == right.docs.taken(right_rows)).to_numpy()
    equal &= left.code[left_rows] == right.code[right_rows]
    return equal


def _number_by_ids(ids: pl.Series, code: AnyInts | None = None) -> Ints:
    """Return the first row with the id (and query) of each row: what keys do, where these fail."""
    columns = {"id": as_text(ids)}
    if code is not None:
        columns["code"] = pl.Series(code.astype(np.int64))
    rows = pl.DataFrame(columns).with_row_index("row")
    return rows.select(pl.col("row").first().over(list(columns)).cast(pl.Int64))["row"].to_numpy()


@dataclass(frozen=True)
class IdIndex:
    """Distinct ids, by which their numbers are found."""

    ids: pl.Series
    index: Index

    def find(self, hashes: Keys, ids: pl.Series) -> Ints:
        """Return the number of each id; -1: it is not here."""
        numbers = self._find_in_order(hashes)
        if numbers is None:
            numbers = self.index.find(hashes)
        matched = np.flatnonzero(numbers >= 0)
        matched_ids = ids if len(matched) == len(numbers) else taken(ids, matched)
        if not self.index.repeats and (matched_ids == taken(self.ids, numbers[matched])).all():
            return numbers
        numbers = _number_by_ids(pl.concat([as_text(self.ids), as_text(ids)]))[len(self.ids) :]
        return np.where(numbers < len(self.ids), numbers, -1)

    def _find_in_order(self, hashes: Keys) -> Ints | None:
        """Return the numbers of ids that come as they do here, which is quickly seen."""
        first = int(self.index.find(hashes[:1]).max(initial=-1))
        keys = self.index.keys[first : first + len(hashes)]
        if first < 0 or not np.array_equal(keys, hashes):
            return None
        return np.arange(first, first + len(hashes))


@dataclass(frozen=True)
class QueryIndex:
    """A table in memory, query by query, with a key for each row and an index of the queries.

    Ids stay in the order in which they were read; all else is in the order of the queries.
    """

    # query_id, doc_id: as read
    ids: pl.DataFrame
    # where each row was read; None: in this order
    order: Ints | None
    key: Keys
    # the columns of numbers
    numbers: Mapping[str, Floats]
    # the first row of each query
    starts: Ints
    # of the queries' hashes
    index: Index

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> Self:
        """Index a table."""
        return cls.from_hashed(hashed(table.lazy()).collect(engine="in-memory"))

    @classmethod
    def from_hashed(cls, table: pl.DataFrame, **fields: Any) -> Self:
        """Index a table with hashes; `fields` are passed to a subclass."""
        hashes = table[QUERY_HASH].to_numpy()
        order, starts, index = _group_queries(table[QUERY], hashes)

        def ordered(name: str) -> NDArray[Any]:
            values = table[name].to_numpy()
            return values if order is None else values[order]

        numbers = {name: ordered(name) for name in numbers_of(table)}
        return cls(table.select(QUERY, DOC), order, ordered(KEY), numbers, starts, index, **fields)

    @property
    def height(self) -> int:
        """Count the rows."""
        return len(self.key)

    @cached_property
    def lengths(self) -> Ints:
        """Count the rows of each query."""
        return segment_lengths(self.starts, self.height)

    @cached_property
    def queries(self) -> pl.Series:
        """Return the queries, as read."""
        return self.ids_of(QUERY, self.starts)

    @cached_property
    def _query_ids(self) -> IdIndex:
        return IdIndex(self.queries, self.index)

    def find(self, batch: Batch) -> Ints:
        """Return the number of each query of a batch; -1: it is not here."""
        return self._query_ids.find(batch.hashes, batch.queries)

    def ids_of(self, name: str, rows: AnyInts) -> pl.Series:
        """Return the ids of these rows."""
        return taken(self.ids[name], rows if self.order is None else self.order[rows])

    def docs_of(self, rows: AnyInts) -> Ids:
        """Return the documents of these rows, looked up when they are needed."""
        return Ids(self.ids[DOC], rows if self.order is None else self.order[rows])

    def rows_of(self, first: int, end: int) -> slice:
        """Return the rows of consecutive queries."""
        last = self.starts[end] if end < len(self.starts) else self.height
        return slice(int(self.starts[first]), int(last))

    def rows_of_queries(self, numbers: Ints) -> Ints:
        """Return the rows of queries, query by query."""
        return ranges(self.starts[numbers], self.lengths[numbers])

    def batch(self, numbers: Ints) -> Batch:
        """Make a batch of queries."""
        rows, lengths = self.rows_of_queries(numbers), self.lengths[numbers]
        return Batch(
            key=self.key[rows],
            starts=np.cumsum(lengths) - lengths,
            queries=taken(self.queries, numbers),
            hashes=self.index.keys[numbers],
            docs=self.docs_of(rows),
            numbers={name: values[rows] for name, values in self.numbers.items()},
        )

    def blocks(self, rows: int) -> list[tuple[int, int]]:
        """Divide the queries into blocks of about `rows` rows: the first query, and the end."""
        return query_blocks(self.starts, self.height, rows)

    def may_repeat(self) -> bool:
        """Return whether a document may be there twice for a query, as far as keys tell."""
        return any(repeats(self.key[self.rows_of(*block)]) for block in self.blocks(_BLOCK))


def _group_queries(query: pl.Series, hashes: Keys) -> tuple[Ints | None, Ints, Index]:
    """Return an order in which each query's rows are together, where they begin, and an index."""
    for order in _orders(query, hashes):
        starts, index = _index_queries(query, hashes, order)
        if not index.repeats:
            return order, starts, index
    names = pl.DataFrame({QUERY: as_text(query)}).with_row_index("row")
    order = names.sort(QUERY, maintain_order=True)["row"].to_numpy().astype(np.int64)
    return order, *_index_queries(query, hashes, order)


def _index_queries(query: pl.Series, hashes: Keys, order: Ints | None) -> tuple[Ints, Index]:
    starts = query_starts(query if order is None else taken(query, order))
    return starts, Index(hashes[starts if order is None else order[starts]])


def _orders(query: pl.Series, hashes: Keys) -> Iterator[Ints | None]:
    """Yield orders in which the rows of each query may be together, the quickest first."""
    beginning = hashes[:_LOOKED_AT]
    if not Index(beginning[segment_starts(beginning)]).repeats:
        yield None
    # By the leading bits of their hashes, which others may share.
    row_bits = max(len(query) - 1, 1).bit_length()
    packed = hashes & np.uint64((1 << 64) - (1 << row_bits))
    packed |= np.arange(len(query), dtype=np.uint64)
    packed.sort()
    yield (packed & np.uint64((1 << row_bits) - 1)).view(np.int64)
    yield np.argsort(hashes, kind="stable")
