"""Join the documents and queries of two tables on 64-bit keys, verified by comparing ids.

This is a hash join: keys are looked up in a hash table of a batch's rows, which fits in the cache.
The ids of all matches are compared afterwards. If different ids have equal keys, rows are joined on
their ids instead, so a hash collision changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from rankframe.core.arrays import AnyInts, Flags, Ints, Keys
from rankframe.core.columns import DOC, QUERY
from rankframe.core.records import record
from rankframe.kernel.batch import (
    KEY,
    QUERY_HASH,
    Batch,
    Ids,
    as_text,
    numbers_of,
    query_starts,
    taken,
)
from rankframe.kernel.segments import segment_starts
from rankframe.kernel.tables import Index, probe, repeats, representatives

_LOOKED_AT = 1 << 14  # leading rows that are probed for queries that are not contiguous


class Documents(NamedTuple):
    """Hold the columns to join documents by (key, query, id), for rows outside a `Batch`."""

    key: Keys
    # the number of each row's query
    code: AnyInts
    docs: Ids


@record
class Matches:
    """Pair rows of a batch with rows of an index that have the same query and document."""

    batch_rows: Ints
    index_rows: Ints


def match_documents(batch: Batch, index: QueryIndex, numbers: Ints | None = None) -> Matches | None:
    """Join the rows of a batch with the rows of an index on query and document.

    Args:
        batch: The documents to look up.
        index: The table in which documents are looked up.
        numbers: The result of `index.find(batch)`, if you have called `find` already.

    Returns:
        The matching rows; None if the batch has duplicate documents for a query.
    """
    if numbers is None:
        numbers = index.find(batch)
    judged = np.flatnonzero(numbers >= 0)
    rows = index.rows_of_queries(numbers[judged])
    code = np.repeat(judged, index.lengths[numbers[judged]])
    targets = Documents(index.key[rows], code, index.docs.select(rows))
    found = find_documents(batch, targets)
    if found is None:
        return None
    hit = np.flatnonzero(found >= 0)
    return Matches(found[hit], rows[hit])


def find_documents(documents: Documents | Batch, targets: Documents | Batch) -> Ints | None:
    """Return the row of each target document among `documents`; -1 if it is not there.

    Both the query and the document of the two rows are equal.

    Returns None if a query has duplicates of a document.
    """
    probed = probe(documents.key, targets.key)
    if len(probed.again):
        if _are_equal(documents, probed.again, documents, probed.first).any():
            return None
    else:
        hit = np.flatnonzero(probed.found >= 0)
        if _are_equal(documents, probed.found[hit], targets, hit).all():
            return probed.found
    ids = pl.concat([as_text(side.docs.all()) for side in (documents, targets)])
    code = np.concatenate([documents.code, targets.code])
    keys = _number_by_ids(ids, code).view(np.uint64)
    probed = probe(keys[: len(documents.key)], keys[len(documents.key) :])
    return None if len(probed.again) else probed.found


def group_equal(keys: Keys, ids: pl.Series, code: AnyInts | None = None) -> Ints:
    """Return, for each row, one representative of all rows with the same id (and query `code`)."""
    same = representatives(keys).astype(np.int64)
    later = np.flatnonzero(same != np.arange(len(same)))
    equal = (taken(ids, later) == taken(ids, same[later])).to_numpy()
    if code is not None:
        equal &= code[later] == code[same[later]]
    return same if equal.all() else _number_by_ids(ids, code)


def _are_equal(
    left: Documents | Batch, left_rows: Ints, right: Documents | Batch, right_rows: Ints
) -> Flags:
    equal = (left.docs.take(left_rows) == right.docs.take(right_rows)).to_numpy()
    equal &= left.code[left_rows] == right.code[right_rows]
    return equal


def _number_by_ids(ids: pl.Series, code: AnyInts | None = None) -> Ints:
    """Return, for each row, the first row with the same id (and query), by comparing ids only."""
    columns = {"id": as_text(ids)}
    if code is not None:
        columns["code"] = pl.Series(code.astype(np.int64))
    rows = pl.DataFrame(columns).with_row_index("row")
    return rows.select(pl.col("row").first().over(list(columns)).cast(pl.Int64))["row"].to_numpy()


def find_ids(index: Index, index_ids: pl.Series, hashes: Keys, ids: pl.Series) -> Ints:
    """Return each id's position in `index_ids`, or -1 if the index lacks the id.

    Args:
        index: An index over the hashes of `index_ids`.
        index_ids: Distinct ids.
        hashes: The hashes of `ids`.
        ids: The ids to look up.
    """
    # If `ids` is a contiguous part of `index_ids`, one comparison replaces all look-ups.
    first = int(index.find(hashes[:1]).max(initial=-1))
    if first >= 0 and np.array_equal(index.keys[first : first + len(hashes)], hashes):
        numbers = np.arange(first, first + len(hashes))
    else:
        numbers = index.find(hashes)
    matched = np.flatnonzero(numbers >= 0)
    matched_ids = ids if len(matched) == len(numbers) else taken(ids, matched)
    if not index.repeats and (matched_ids == taken(index_ids, numbers[matched])).all():
        return numbers
    numbers = _number_by_ids(pl.concat([as_text(index_ids), as_text(ids)]))[len(index_ids) :]
    return np.where(numbers < len(index_ids), numbers, -1)


@dataclass(eq=False)
class QueryIndex(Batch):
    """Hold a table in memory as one batch, with a hash index of its queries.

    The column of document ids keeps the order of the input; all other columns are grouped by query.
    """

    # finds queries by the hashes of their ids
    index: Index

    @classmethod
    def from_hashed(cls, table: pl.DataFrame, **fields: Any) -> Self:
        """Index a table with the columns that `hashed` adds, in any order of rows.

        `fields` are the fields that a subclass adds.
        """
        query, hashes = table[QUERY], table[QUERY_HASH].to_numpy()
        order, starts, first_rows, index = _group_queries(query, hashes)
        columns = {name: table[name] for name in (KEY, *numbers_of(table))}
        if order is not None:
            columns = {name: taken(column, order) for name, column in columns.items()}
        numbers = {name: column.to_numpy() for name, column in columns.items()}
        return cls(
            key=numbers.pop(KEY),
            starts=starts,
            queries=taken(query, first_rows),
            hashes=index.keys,
            docs=Ids(table[DOC], order),
            numbers=numbers,
            index=index,
            **fields,
        )

    def find(self, batch: Batch) -> Ints:
        """Return, for each query of a batch, its index in this table; -1 if it is not there."""
        return find_ids(self.index, self.queries, batch.hashes, batch.queries)


def _group_queries(query: pl.Series, hashes: Keys) -> tuple[Ints | None, Ints, Ints, Index]:
    """Find a permutation that makes the rows of each query contiguous.

    Returns the permutation (None: no change), where each query begins in this order, the first row
    of each query in the table, and an index of the hashes of all queries.
    """
    orders = _orders(query, hashes)
    while True:
        order, is_last = next(orders)
        starts = query_starts(query if order is None else taken(query, order))
        first_rows = starts if order is None else order[starts]
        index = Index(hashes[first_rows])
        if is_last or not index.repeats:
            return order, starts, first_rows, index


def _orders(query: pl.Series, hashes: Keys) -> Iterator[tuple[Ints | None, bool]]:
    """Yield permutations that may make the rows of each query contiguous, the cheapest first.

    Each comes with a flag: true for the last permutation, which is sure to do so.
    """
    # The index of a short table finds out at once whether the rows are contiguous.
    beginning = hashes[:_LOOKED_AT]
    if len(hashes) <= _LOOKED_AT or not repeats(beginning[segment_starts(beginning)]):
        yield None, False
    # Sort by the leading bits of the query hashes; different queries may share these bits.
    row_bits = max(len(query) - 1, 1).bit_length()
    packed = hashes & np.uint64((1 << 64) - (1 << row_bits))
    packed |= np.arange(len(query), dtype=np.uint64)
    packed.sort()
    yield (packed & np.uint64((1 << row_bits) - 1)).view(np.int64), False
    yield np.argsort(hashes, kind="stable"), False
    names = pl.DataFrame({QUERY: as_text(query)}).with_row_index("row")
    yield names.sort(QUERY, maintain_order=True)["row"].to_numpy().astype(np.int64), True
