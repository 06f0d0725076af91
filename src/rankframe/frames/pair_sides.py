"""The rows that one of several rankings has for the same queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import RANK, SCORE
from rankframe.core.options import Duplicates
from rankframe.kernel.batch import Batch
from rankframe.kernel.duplicates import keep_one
from rankframe.kernel.matching import Documents, QueryIndex, find_documents
from rankframe.kernel.ranking import RankedBatch


def index_ranking(table: pl.DataFrame) -> QueryIndex:
    """Index a ranking of a table with hashes, by its scores or else ranks."""
    number = next((name for name in (SCORE, RANK) if name in table.columns), None)
    others = [name for name in (SCORE, RANK) if name != number]
    return QueryIndex.from_hashed(table.drop(others, strict=False))


@dataclass(frozen=True)
class Side:
    """The rows that a ranking has for these queries, in their order."""

    batch: Batch
    # which of the queries the batch has; None: all
    has: Ints | None
    # how many queries there are
    queries: int
    # how many rows were read, of which some may have been dropped
    read: int

    @classmethod
    def from_index(cls, index: QueryIndex, numbers: Ints) -> Self:
        """Take the rows of queries by their numbers; -1: the ranking lacks the query."""
        known = numbers >= 0
        has = None if known.all() else np.flatnonzero(known)
        batch = index.select(numbers if has is None else numbers[has])
        return cls(batch, has, len(numbers), batch.height)

    @property
    def code(self) -> AnyInts:
        """Return the number of each row's query, among all."""
        return self.batch.code if self.has is None else self.has[self.batch.code]

    @property
    def documents(self) -> Documents:
        """Return what the documents are matched by."""
        return Documents(self.batch.key, self.code, self.batch.docs)

    def spread(self, per_query: Ints) -> Ints:
        """Spread numbers of the batch's queries over all; 0 for the others."""
        if self.has is None:
            return per_query
        whole = np.zeros(self.queries, np.int64)
        whole[self.has] = per_query
        return whole

    def without_rows(self) -> Side:
        """Return the side of a ranking that lacks all of these queries."""
        empty = np.empty(0, np.int64)
        return Side(self.batch.select(empty), empty, self.queries, 0)

    def unique(self, role: str, duplicates: Duplicates) -> Side:
        """Keep one row for each document of a query, or refuse several."""
        return replace(self, batch=keep_one(self.batch, role, duplicates))


def match_sides(a: Side, b: Side, duplicates: Duplicates) -> tuple[Ints, Side, Side]:
    """Return, for each row of a, the row of b with its document; -1: there is none.

    Also both sides, without rows that are there twice.
    """
    a = a.unique("ranking a", duplicates)
    found = find_documents(b.documents, a.documents)
    if found is None:
        b = b.unique("ranking b", duplicates)
        found = find_documents(b.documents, a.documents)
    assert found is not None  # each document is there once
    return found, a, b


class Ranking:
    """One of the two rankings, on the rows of the pair frame; 0 where it lacks the document.

    `length`: of each query. `at`: which row of the ranking each is, anything where it has none.
    """

    def __init__(
        self,
        ranked: RankedBatch,
        length: Ints,
        rank: Codes,
        at: Callable[[], AnyInts],
    ) -> None:
        self.length, self.rank = length, rank
        self._ranked, self._find = ranked, at

    @property
    def tied(self) -> bool:
        """Return whether documents have the same score."""
        return self._ranked.same is not None

    @cached_property
    def present(self) -> Flags:
        """Flag the rows whose document the ranking has."""
        return self.rank > 0

    @cached_property
    def at(self) -> AnyInts:
        """Return the row of the ranking that each row is."""
        return self._find()

    @cached_property
    def tied_rank(self) -> Floats:
        """Return the mean rank of the documents with the same score."""
        return self._take(self._ranked.tied_rank) if self.tied else self.rank.astype(np.float64)

    @cached_property
    def score(self) -> Floats | None:
        """Return the scores; None where the ranking has none."""
        score = self._ranked.score
        return None if score is None else self._take(score)

    def _take(self, values: Floats) -> Floats:
        if not len(values):
            return np.zeros(len(self.rank))
        values = values.take(self.at, mode="clip")
        np.putmask(values, ~self.present, 0)
        return values
