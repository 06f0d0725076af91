"""Put documents without a judgment among the judgments, as if they had grades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.frames.found import Matched
from rankframe.frames.listed import Listed
from rankframe.kernel.batch import taken
from rankframe.kernel.segments import number_segments, segment_lengths, sort_order

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Some = TypeVar("Some", bound="NDArray[Any] | pl.Series")


@dataclass(frozen=True)
class Filled(Matched):
    """Hold the judgments of whole queries and, among them, documents that were given grades."""

    # where these are known
    ids: pl.Series | None = None

    def docs(self) -> pl.Series:
        """Return the documents, as text."""
        assert self.ids is not None  # documents were listed with their ids
        return self.ids

    def blocks(self, rows: int) -> list[tuple[int, int]]:
        """Divide the queries into blocks of about `rows` rows: the first query, and the end."""
        cuts = np.unique(np.searchsorted(self.starts, np.arange(0, len(self.rank), rows)))
        ends = [*cuts[1:].tolist(), len(self.starts)]
        return [(a, b) for a, b in zip(cuts.tolist(), ends, strict=True) if a < b]

    def some(self, first: int, end: int) -> Filled:
        """Select consecutive queries."""
        last = self.starts[end] if end < len(self.starts) else len(self.rank)
        rows = slice(int(self.starts[first]), int(last))

        def cut(values: Some | None) -> Some | None:
            return None if values is None else values[rows]  # pyright: ignore[reportReturnType]

        return replace(
            self,
            queries=self.queries[first:end],
            starts=self.starts[first:end] - rows.start,
            grades=self.grades[rows],
            rank=self.rank[rows],
            tied_rank=cut(self.tied_rank),
            retrieved=self.retrieved[first:end],
            in_run=self.in_run[first:end],
            score=cut(self.score),
            ids=cut(self.ids),
        )


@dataclass(frozen=True)
class WithHoles:
    """Hold judgments, documents without one, and where their rows go, query by query."""

    part: Matched
    holes: Listed
    # where each row was, the holes behind the judgments
    order: Ints
    starts: Ints

    @classmethod
    def of(cls, part: Matched, holes: Listed) -> WithHoles:
        """Bring the rows of each query together."""
        code = number_segments(part.starts, len(part.rank))
        lengths = segment_lengths(part.starts, len(part.rank))
        lengths = lengths + np.bincount(holes.query, minlength=len(lengths))
        order = sort_order(np.concatenate([code, holes.query]))
        return cls(part, holes, order, np.cumsum(lengths) - lengths)

    def filled(self, grades: Floats) -> Filled:
        """Give grades to the holes."""
        part, holes = self.part, self.holes

        def joined(ours: Floats | None, theirs: Floats | None) -> Floats | None:
            if ours is None or theirs is None:
                return None
            return np.concatenate([ours, theirs])[self.order]

        ids = None
        if holes.docs is not None:
            ids = taken(pl.concat([part.docs(), holes.docs], rechunk=True), self.order)
        return Filled(
            queries=part.queries,
            starts=self.starts,
            grades=np.concatenate([part.grades, grades])[self.order],
            rank=np.concatenate([part.rank, holes.rank])[self.order],
            tied_rank=joined(part.tied_rank, holes.tied_rank),
            retrieved=part.retrieved,
            in_run=part.in_run,
            score=joined(part.score, holes.value),
            pool=part.pool,
            judgments=part.judgments,
            first=part.first,
            ids=ids,
        )
