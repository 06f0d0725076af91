"""Select the rows of rankings for the same queries, and match the rows of two rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import RANK, SCORE
from rankframe.core.options import Duplicates
from rankframe.core.records import record
from rankframe.kernel.batch import Batch
from rankframe.kernel.duplicates import keep_one
from rankframe.kernel.matching import Documents, QueryIndex, find_documents
from rankframe.kernel.ranking import RankedBatch


def index_ranking(table: pl.DataFrame) -> QueryIndex:
    """Index a table with the columns that `hashed` adds as a ranking, by score or else by rank."""
    return QueryIndex.from_hashed(
        table.drop(RANK, strict=False) if SCORE in table.columns else table
    )


@record
class Side:
    """Hold one ranking's rows for some queries, in the order of the queries."""

    batch: Batch
    # the numbers of the queries that the batch has; None: all
    has: Ints | None
    # the number of queries, including queries that the batch lacks
    queries: int
    # the number of rows before duplicates were dropped
    read: int

    @classmethod
    def from_index(cls, index: QueryIndex, numbers: Ints) -> Self:
        """Select a ranking's rows for the queries at `numbers`; -1: the ranking lacks the query."""
        has = np.flatnonzero(numbers >= 0)
        batch = index.select(numbers[has])
        return cls(batch, None if len(has) == len(numbers) else has, len(numbers), batch.height)

    def spread(self, per_query: Ints) -> Ints:
        """Expand an array over the ranking's queries to all queries; 0 for those that it lacks."""
        if self.has is None:
            return per_query
        whole = np.zeros(self.queries, np.int64)
        whole[self.has] = per_query
        return whole

    @property
    def documents(self) -> Documents:
        """Return the columns by which the ranking's documents are joined.

        Query numbers are indices among all queries, including those that the ranking lacks.
        """
        code = self.batch.code if self.has is None else self.has[self.batch.code]
        return Documents(self.batch.key, code, self.batch.docs)

    def unique(self, role: str, duplicates: Duplicates) -> Side:
        """Keep one row for each document of a query, or refuse duplicates."""
        return replace(self, batch=keep_one(self.batch, role, duplicates))

    def without_rows(self) -> Side:
        """Return a `Side` for the same queries, of a ranking that has none of them."""
        empty = np.empty(0, np.int64)
        return Side(self.batch.select(empty), empty, self.queries, 0)


def match_sides(a: Side, b: Side, duplicates: Duplicates) -> tuple[Ints, Side, Side]:
    """Return, for each row of `a`, the row of `b` with the same document; -1 if `b` lacks it.

    `duplicates` says whether duplicate rows are refused or dropped before matching. Both sides are
    returned as they were matched.
    """
    a = a.unique("ranking a", duplicates)
    places = find_documents(b.documents, a.documents)
    if places is None:
        b = b.unique("ranking b", duplicates)
        places = find_documents(b.documents, a.documents)
    assert places is not None  # there are no duplicates any more
    return places, a, b


class Ranking:
    """Provide columns of one of two rankings for the rows of the pair frame."""

    def __init__(
        self, ranked: RankedBatch, length: Ints, rank: Codes, find_places: Callable[[], AnyInts]
    ) -> None:
        """Align a ranking with the rows of the pair frame.

        Args:
            ranked: The documents of the ranking.
            length: The number of documents of each query.
            rank: The rank of the document in each row of the frame; 0: the ranking lacks it.
            find_places: Returns the row of `ranked` for each row of the frame; an arbitrary number
                if the ranking lacks the document.
        """
        self.length, self.rank = length, rank
        self._ranked, self._find_places = ranked, find_places
        # whether any scores tie
        self.tied = ranked.same is not None

    @cached_property
    def present(self) -> Flags:
        """Flag the rows whose document the ranking has."""
        return self.rank > 0

    @cached_property
    def places(self) -> AnyInts:
        """Return, for each row of the pair frame, the ranking's row with its document."""
        return self._find_places()

    @cached_property
    def tied_rank(self) -> Floats:
        """Return, for each row of the pair frame, the mean rank of documents with its score."""
        return self._take(self._ranked.tied_rank) if self.tied else self.rank.astype(np.float64)

    @cached_property
    def score(self) -> Floats | None:
        """Return the score of each row of the pair frame, or None if the ranking has no scores."""
        score = self._ranked.score
        return None if score is None else self._take(score)

    def _take(self, values: Floats) -> Floats:
        if not len(values):
            return np.zeros(len(self.rank))
        values = values.take(self.places, mode="clip")
        np.putmask(values, ~self.present, 0)
        return values
