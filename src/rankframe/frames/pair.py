"""Build the pair frame of two rankings of the same queries: one row per document that either has.

Rows are in the order of the first ranking, followed by documents that only the second ranking has,
in its order. A query has at least as many rows as either ranking is deep, so row i of a query also
stands for depth i. Measures over documents and measures over depths are sums over these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Codes
from rankframe.core.columns import DOC, PAIR_FRAME, QUERY, ColumnRequest
from rankframe.core.options import PairPolicies
from rankframe.frames.column_frame import ColumnFrame, where
from rankframe.frames.pair_depths import Overlaps
from rankframe.frames.pair_orders import DocumentPairs
from rankframe.frames.pair_sides import Ranking, Side, match_sides
from rankframe.kernel.batch import as_text
from rankframe.kernel.ranking import RankedBatch
from rankframe.kernel.segments import number_segments, position, spread


class PairFrame(ColumnFrame):
    """Hold the pair frame, one row per document of two rankings, for queries of either."""

    columns = PAIR_FRAME

    def __init__(self, queries: pl.Series, a: Side, b: Side, policies: PairPolicies) -> None:
        self._policies = policies
        self.queries = as_text(queries).alias(QUERY)
        self.read = a.read, b.read
        places, a, b = match_sides(a, b, policies.duplicates)
        ranked_a, ranked_b = self.ranked = (
            RankedBatch.from_batch(a.batch, policies.ties, policies.k_max),
            RankedBatch.from_batch(b.batch, policies.ties, policies.k_max),
        )
        # For each document of a, best first: its row in b, best first; -1: b lacks the document.
        places = ranked_a.take(places)
        if ranked_b.places is not None and b.batch.height:
            places = np.where(places >= 0, ranked_b.places.take(places, mode="clip"), -1)
        shared = places[places >= 0]
        self.matched = len(shared)
        only_b = np.ones(ranked_b.height, np.bool_)
        only_b[shared] = False
        count_only_b = np.add.reduceat(only_b, ranked_b.starts, dtype=np.int64)
        length_a, length_b = a.spread(ranked_a.lengths), b.spread(ranked_b.lengths)
        self.n_shared = length_b - b.spread(count_only_b)
        lengths = length_a + length_b - self.n_shared
        self.starts = np.cumsum(lengths) - lengths
        self.rows = ranked_a.height + ranked_b.height - self.matched
        # The rows of a in its order, then the rows that only b has, in the order of b.
        rank_a = self.depth * (self.depth <= self._spread(length_a.astype(np.int32)))
        in_a = rank_a > 0
        from_b = np.empty(self.rows, np.int64)
        from_b[in_a] = places
        from_b[~in_a] = np.flatnonzero(only_b)
        rank_b = np.zeros(self.rows, np.int32)
        if ranked_b.height:
            rank_b = ranked_b.rank.take(from_b, mode="clip")
            np.putmask(rank_b, from_b < 0, 0)
        # The row above the first row of each query. (A local variable, since a closure over `self`
        # would be a reference cycle, and keep the frame in memory until garbage collection.)
        above = a.spread(ranked_a.starts) - 1
        starts, rows = self.starts, self.rows
        self.a = Ranking(ranked_a, length_a, rank_a, lambda: spread(above, starts, rows) + rank_a)
        self.b = Ranking(ranked_b, length_b, rank_b, lambda: from_b)
        self._pairs: dict[int | None, DocumentPairs] = {}

    @property
    def code(self) -> Codes:
        """Return, for each row, the index of its query."""
        return number_segments(self.starts, self.rows)

    @cached_property
    def depth(self) -> Codes:
        """Return each row's position within its query, from 1: also a depth of the rankings."""
        depth = position(self.starts, self.rows)
        depth += 1
        return depth

    def _compute(self, request: ColumnRequest) -> NDArray[Any] | pl.Series:
        parameters = self.columns.columns[request.column].parameters
        if "ties" in parameters:
            return self._overlaps.column(request)
        if parameters:
            k = request.k
            if k not in self._pairs:
                missing = self._policies.missing
                self._pairs[k] = DocumentPairs(self.a, self.b, self.starts, missing, k)
            return self._pairs[k].column(request.column)
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: self.queries.gather(self.code),
            DOC: self._docs,
            "rank_a": lambda: where(self.a.present, self.a.rank),
            "rank_b": lambda: where(self.b.present, self.b.rank),
            "score_a": lambda: self._score(self.a),
            "score_b": lambda: self._score(self.b),
            "n_a": lambda: self._spread(self.a.length),
            "n_b": lambda: self._spread(self.b.length),
            "n_shared": lambda: self._spread(self.n_shared),
            "depth": lambda: self.depth,
            "overlap": lambda: self._overlaps.untied,
        }
        return makers[request.column]()

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.a, self.b, self.starts, self.depth)

    def _docs(self) -> pl.Series:
        docs_a, docs_b = (as_text(side.docs) for side in self.ranked)
        docs = pl.concat([docs_a, docs_b], rechunk=True)
        return docs.gather(np.where(self.a.present, self.a.places, len(docs_a) + self.b.places))

    def _score(self, ranking: Ranking) -> pl.Series:
        if ranking.score is None:
            return pl.repeat(None, self.rows, dtype=pl.Float64, eager=True)
        return where(ranking.present, ranking.score)

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return spread(per_query, self.starts, self.rows)
