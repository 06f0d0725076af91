"""List all documents that a run has for judged queries, with and without a judgment."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, RANK, SCORE
from rankframe.kernel.batch import Batch, as_text
from rankframe.kernel.ranking import DocumentRanks
from rankframe.kernel.segments import number_segments, position

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """Hold documents of judged queries, in any order."""

    # the number of the query, and of the judgment; -1: not judged
    query: NDArray[np.integer]
    judgment: NDArray[np.integer]
    rank: NDArray[np.int32]
    # score, or else rank, as given; None where rows say the order
    value: Floats | None = None
    # the mean rank of those with the same score; the ids: where these are asked for
    tied_rank: Floats | None = None
    docs: pl.Series | None = None

    def some(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Listed:
        """Select documents."""

        def taken(values: Floats | None) -> Floats | None:
            return None if values is None else values[rows]

        docs = None if self.docs is None else self.docs.gather(np.arange(len(self.rank))[rows])
        return Listed(
            self.query[rows],
            self.judgment[rows],
            self.rank[rows],
            taken(self.value),
            taken(self.tied_rank),
            docs,
        )


@dataclass
class Listing:
    """Collect documents, batch by batch."""

    tied_rank: bool = False
    docs: bool = False
    # no deeper than this
    k_max: int | None = None
    _parts: list[pl.DataFrame] = field(default_factory=list)

    def add(
        self, chunk: Batch, numbers: Ints, rows: Ints, judged: Ints, found: DocumentRanks
    ) -> None:
        """Add the documents of a batch.

        `numbers`: of its queries, -1 where not judged; `rows` and which judgments these are;
        `found`: the places of all rows.
        """
        query = numbers.astype(np.int32)[chunk.code]
        judgment = np.full(chunk.height, -1, np.int32)
        judgment[rows] = judged
        columns = {"query": query, "judgment": judgment, "rank": found.rank.astype(np.int32)}
        value = next((chunk.numbers[name] for name in (SCORE, RANK) if name in chunk.numbers), None)
        if value is not None:
            columns["value"] = value
        if self.tied_rank:
            last = found.last if self.k_max is None else np.minimum(found.last, self.k_max)
            columns["tied_rank"] = (found.first + last) / 2
        part = pl.DataFrame(columns)
        if self.docs:
            part = part.with_columns(as_text(chunk.docs.taken(np.arange(chunk.height))).alias(DOC))
        keep = query >= 0
        if self.k_max is not None:
            keep &= found.rank <= self.k_max
        self._parts.append(part if keep.all() else part.filter(pl.Series(keep)))

    def all(self) -> Listed:
        """Return the documents of all batches."""
        if not self._parts:
            nothing = np.empty(0, np.int64)
            ids = pl.Series(DOC, [], pl.String) if self.docs else None
            return Listed(nothing, nothing, nothing.astype(np.int32), docs=ids)
        whole = pl.concat(self._parts, rechunk=True)
        self._parts = [whole]

        def column(name: str) -> Floats | None:
            return whole[name].to_numpy() if name in whole.columns else None

        return Listed(
            whole["query"].to_numpy(),
            whole["judgment"].to_numpy(),
            whole["rank"].to_numpy(),
            column("value"),
            column("tied_rank"),
            whole[DOC] if self.docs else None,
        )


def unlisted_holes(starts: Ints, rank: NDArray[np.int32], retrieved: Ints) -> Listed:
    """Return documents without a judgment: the ranks that judged documents leave.

    `rank`: of each judgment (0: not retrieved); `retrieved`: how many documents each query has.
    """
    code = number_segments(starts, len(rank))
    firsts = np.cumsum(retrieved) - retrieved
    total = int(retrieved.sum())
    free = np.ones(total, np.bool_)
    found = np.flatnonzero(rank > 0)
    free[firsts[code[found]] + rank[found] - 1] = False
    holes = np.flatnonzero(free)
    some = np.flatnonzero(retrieved)
    place = position(firsts[some], total)
    query = np.repeat(some, retrieved[some])
    return Listed(query[holes], np.full(len(holes), -1), place[holes] + 1)
