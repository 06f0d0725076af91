"""Judgments in memory, by query: what the rows of a run are looked up in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, QUERY, RELEVANCE
from rankframe.kernel.batch import KEY, QUERY_HASH, Batch, as_text, query_starts, taken
from rankframe.kernel.fingerprint import Fingerprint, Rows
from rankframe.kernel.group_rows import GroupRows, numbered
from rankframe.kernel.segments import (
    number_segments,
    ranges,
    segment_lengths,
    segment_starts,
    sort_order,
)
from rankframe.kernel.tables import Index, probe, representatives

_LOOKED_AT = 1 << 14  # rows by which one sees whether those of a query are together
_BLOCK = 1 << 16  # rows that are looked at together: what fits in the cache


@dataclass(frozen=True)
class IndexedJudgments:
    """Judgments with a key each, query by query, and an index of the queries.

    Ids stay in the order in which they were read; all else is in the order of the queries.
    """

    # query_id, doc_id: as read
    ids: pl.DataFrame
    # where each judgment was read; None: in this order
    order: NDArray[np.int64] | None
    key: NDArray[np.uint64]
    grades: NDArray[np.float64]
    # the first judgment of each query
    starts: NDArray[np.int64]
    # of the queries' hashes
    index: Index
    # how many rows were read, of which some may have been dropped
    read: int
    # what documents are about, where judgments say so: each document is then judged once, by the
    # best of its grades
    groups: GroupRows | None = None

    @classmethod
    def of(cls, table: pl.DataFrame, read: int | None = None) -> IndexedJudgments:
        """Index a table that was hashed; `read`: how many rows there were of it."""
        hashes = table[QUERY_HASH].to_numpy()
        order, starts, index = _grouped(table[QUERY], hashes)

        def ordered(name: str) -> NDArray[Any]:
            values = table[name].to_numpy()
            return values if order is None else values[order]

        return cls(
            table.select(QUERY, DOC),
            order,
            ordered(KEY),
            ordered(RELEVANCE),
            starts,
            index,
            table.height if read is None else read,
        )

    @property
    def height(self) -> int:
        """How many judgments there are."""
        return len(self.key)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many judgments each query has."""
        return segment_lengths(self.starts, self.height)

    @cached_property
    def queries(self) -> pl.Series:
        """The queries, as given."""
        return self.ids_of(QUERY, self.starts)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What tells these judgments from others."""
        rows = Rows(self.queries, self.lengths, self.ids[DOC], self.order, self.grades, self.key)
        whole = Fingerprint.of(rows)
        return whole if self.groups is None else whole + self.groups.fingerprint(rows)

    @property
    def dropped(self) -> int:
        """How many of the rows that were read were of others that are better."""
        return self.read - (self.height if self.groups is None else len(self.groups.of))

    def ids_of(self, name: str, judgments: NDArray[np.integer]) -> pl.Series:
        """The ids of some judgments."""
        return taken(self.ids[name], judgments if self.order is None else self.order[judgments])

    def blocks(self, rows: int) -> list[tuple[int, int]]:
        """The queries in stretches of about so many judgments: the first, and the one after."""
        if not len(self.starts):
            return []
        cuts = np.searchsorted(self.starts, np.arange(rows, self.height, rows))
        ends = np.append(cuts, len(self.starts))
        begins = np.append(0, cuts)
        return [(int(a), int(b)) for a, b in zip(begins, ends, strict=True) if a < b]

    def rows_of(self, first: int, end: int) -> slice:
        """The judgments of a stretch of queries."""
        last = self.starts[end] if end < len(self.starts) else self.height
        return slice(int(self.starts[first]), int(last))

    def may_repeat(self) -> bool:
        """Whether some judgment may be there twice."""
        empty = np.empty(0, np.uint64)
        some = (self.rows_of(*block) for block in self.blocks(_BLOCK))
        return any(len(probe(self.key[rows], empty).again) for rows in some)

    def same_documents(self) -> NDArray[np.int64]:
        """Of each judgment, one that is of the same document: the same for all that are."""
        same = np.empty(self.height, np.int64)
        for block in self.blocks(_BLOCK):
            rows = self.rows_of(*block)
            same[rows] = representatives(self.key[rows])
            same[rows] += rows.start
        again = np.flatnonzero(same != np.arange(self.height))
        code = number_segments(self.starts, self.height)
        equal = (self.ids_of(DOC, again) == self.ids_of(DOC, same[again])).to_numpy()
        if (equal & (code[again] == code[same[again]])).all():
            return same
        # Keys that are equal by chance.
        docs = as_text(self.ids_of(DOC, np.arange(self.height)))
        rows = pl.DataFrame({QUERY: code, DOC: docs}).with_row_index("row")
        return rows.select(pl.col("row").first().over(QUERY, DOC))["row"].cast(pl.Int64).to_numpy()

    def find(self, chunk: Batch) -> NDArray[np.int64]:
        """The number of each query of a chunk here; -1 where it is not judged."""
        hashes = chunk.hashes
        numbers = self._in_same_order(hashes)
        if numbers is None:
            numbers = self.index.find(hashes)
        known = np.flatnonzero(numbers >= 0)
        theirs = chunk.queries if len(known) == len(numbers) else taken(chunk.queries, known)
        if self.index.repeats or not (theirs == taken(self.queries, numbers[known])).all():
            return self._find_by_name(chunk.queries)  # hashes that are equal by chance
        return numbers

    def judgments_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of some queries, query by query."""
        return ranges(self.starts[numbers], self.lengths[numbers])

    def _in_same_order(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64] | None:
        """The numbers of queries that come as they do here, which is quickly seen."""
        at = int(self.index.find(hashes[:1])[0])
        if at < 0 or not np.array_equal(self.index.keys[at : at + len(hashes)], hashes):
            return None
        return np.arange(at, at + len(hashes))

    def _find_by_name(self, queries: pl.Series) -> NDArray[np.int64]:
        named = pl.DataFrame({QUERY: as_text(self.queries)}).with_row_index("number")
        asked = pl.DataFrame({QUERY: as_text(queries)})
        found = asked.join(named, on=QUERY, how="left", maintain_order="left")["number"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()


@dataclass(frozen=True)
class DocumentsOf:
    """The documents of some judgments, looked up when they are asked for."""

    held: IndexedJudgments
    rows: NDArray[np.int64]

    def taken(self, rows: NDArray[np.integer]) -> pl.Series:
        """Those of some of the rows."""
        return self.held.ids_of(DOC, self.rows[rows])


def by_document(table: pl.DataFrame) -> tuple[IndexedJudgments, bool]:
    """Judgments for groups, of a table that was hashed: each document judged once, by the best of
    its grades, and what it is about beside; and whether a document is judged twice for a group.
    """
    every = IndexedJudgments.of(table)

    def ordered(values: NDArray[Any]) -> NDArray[Any]:
        return values if every.order is None else values[every.order]

    same = every.same_documents()
    firsts = np.flatnonzero(same == np.arange(every.height))
    of = np.searchsorted(firsts, same)
    codes, names = numbered(table[GROUP])
    group = ordered(codes)
    order = sort_order(of, group + 1)
    of, group, grades = of[order], group[order], every.grades[order]
    weights = None
    if GROUP_WEIGHT in table.columns:
        weights = ordered(table[GROUP_WEIGHT].fill_null(1.0).to_numpy())[order]
    twice = bool(((of[1:] == of[:-1]) & (group[1:] == group[:-1])).any())
    best = np.maximum.reduceat(grades, segment_starts(of)) if len(of) else grades
    judgments = replace(
        every,
        ids=pl.DataFrame({name: every.ids_of(name, firsts) for name in (QUERY, DOC)}),
        order=None,
        key=every.key[firsts],
        grades=best,
        starts=np.searchsorted(firsts, every.starts),
        groups=GroupRows(of, group, names, grades, weights),
    )
    return judgments, twice


def _grouped(
    query: pl.Series, hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], Index]:
    """The order in which each query's rows are together, where each begins, and their index."""
    found: list[tuple[NDArray[np.int64] | None, NDArray[np.int64], Index]] = []
    for order in _orders(query, hashes):
        starts = query_starts(query if order is None else taken(query, order))
        found.append((order, starts, Index(hashes[starts if order is None else order[starts]])))
        if not found[-1][2].repeats:
            break
    return found[-1]  # in order of their names, some may share a hash


def _orders(query: pl.Series, hashes: NDArray[np.uint64]) -> Iterator[NDArray[np.int64] | None]:
    """Ways to bring the rows of each query together, the quickest first; the last one does."""
    some = hashes[:_LOOKED_AT]
    if not Index(some[segment_starts(some)]).repeats:
        yield None
    # By the leading bits of their hashes, which others may share.
    row_bits = max(len(query) - 1, 1).bit_length()
    packed = hashes & np.uint64((1 << 64) - (1 << row_bits))
    packed |= np.arange(len(query), dtype=np.uint64)
    packed.sort()
    yield (packed & np.uint64((1 << row_bits) - 1)).view(np.int64)
    yield np.argsort(hashes, kind="stable")
    names = pl.DataFrame({QUERY: as_text(query)}).with_row_index("row")
    yield names.sort(QUERY, maintain_order=True)["row"].to_numpy().astype(np.int64)
