"""The ranking that is held in memory, by query, while the other one is read beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import RANK, RELEVANCE, SCORE, SCORE_REST
from rankframe.frames.pair_matching import Side
from rankframe.kernel.batch import Batch, taken
from rankframe.kernel.indexed import DocumentsOf, IndexedJudgments

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HeldRanking:
    """A ranking, each row with its key, and an index of the queries."""

    # as judgments are, with scores (or ranks) for grades
    indexed: IndexedJudgments
    # what these numbers are; None: rows are ranked as they come
    number: str | None
    # what floats lack of scores that are large whole numbers
    rest: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, table: pl.DataFrame) -> HeldRanking:
        """Index a table that was hashed."""
        number = next((name for name in (SCORE, RANK) if name in table.columns), None)
        graded = pl.lit(0.0) if number is None else pl.col(number)
        indexed = IndexedJudgments.of(table.with_columns(graded.alias(RELEVANCE)))
        rest = table[SCORE_REST].to_numpy() if SCORE_REST in table.columns else None
        if rest is not None and indexed.order is not None:
            rest = rest[indexed.order]
        return cls(indexed, number, rest)

    @property
    def queries(self) -> int:
        """How many queries it has."""
        return len(self.indexed.starts)

    def side(self, numbers: Ints) -> Side:
        """The rows of some queries; of those with a number of -1 there are none."""
        known = numbers >= 0
        has = None if known.all() else np.flatnonzero(known)
        chunk = self._chunk(numbers if has is None else numbers[has])
        return Side(chunk, has, len(numbers), chunk.height)

    def lacking(self, came: NDArray[np.bool_], rows: int) -> list[Ints]:
        """The queries that have not come, in stretches of about so many rows."""
        left = np.flatnonzero(~came)
        upto = np.cumsum(self.indexed.lengths[left])
        total = int(upto[-1]) if len(upto) else 0
        cuts = np.searchsorted(upto, np.arange(rows, total, rows), side="right")
        return [some for some in np.split(left, cuts) if len(some)]

    def _chunk(self, numbers: Ints) -> Batch:
        held = self.indexed
        rows = held.judgments_of(numbers)
        lengths = held.lengths[numbers]
        values = {} if self.number is None else {self.number: held.grades[rows]}
        if self.rest is not None:
            values[SCORE_REST] = self.rest[rows]
        return Batch(
            key=held.key[rows],
            starts=np.cumsum(lengths) - lengths,
            queries=taken(held.queries, numbers),
            hashes=held.index.keys[numbers],
            docs=DocumentsOf(held, rows),
            numbers=values,
        )
