"""Relevant documents of a run by rank, which trained methods learn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.stats.exact import Exact

Ints = NDArray[np.int64]

HIT_SCHEMA: dict[str, Any] = {"length": pl.Int64, "rank": pl.Int64, "count": pl.Int64}


@dataclass(frozen=True)
class Hits:
    """Count the lists and relevant documents of a run, in whole numbers and exact sums.

    The counts do not depend on the order of rows, and counts of different queries add up.
    """

    # length, rank, count: relevant documents at a rank of lists with a length; at rank 0, the lists
    table: pl.DataFrame
    # the sum of average precision
    precision: Exact
    # judged queries, also if the run lacks them
    queries: int

    @classmethod
    def from_missing_run(cls, queries: int) -> Hits:
        """Count for a run that lacks all judged queries."""
        table = pl.DataFrame({"length": [0], "rank": [0], "count": [queries]}, HIT_SCHEMA)
        return cls(table, Exact(), queries)

    @property
    def map(self) -> float:
        """Return the mean average precision."""
        return float(self.precision) / self.queries if self.queries else 0.0

    @cached_property
    def relevant(self) -> dict[str, Ints]:
        """Return length, rank and count of relevant documents, as arrays in this order."""
        rows = self.table.filter(pl.col("rank") > 0).sort("length", "rank")
        return {name: rows[name].to_numpy() for name in HIT_SCHEMA}

    def in_segments(self, ends: Ints) -> Ints:
        """Count relevant documents in segments of ranks that end at `ends`, not beyond the last."""
        segment = np.searchsorted(ends, self.relevant["rank"])
        inside = segment < len(ends)
        counts = self.relevant["count"][inside]
        return np.bincount(segment[inside], counts, minlength=len(ends)).astype(np.int64)

    def chances(self) -> NDArray[np.float64]:
        """Return for each rank the share of the lists reaching it that have a relevant document.

        Ranks go from 1 to the length of the longest list.
        """
        lists = self.table.filter(pl.col("rank") == 0)
        counts = np.bincount(lists["length"].to_numpy(), lists["count"].to_numpy(), minlength=1)
        reaching = np.cumsum(counts.astype(np.int64)[::-1])[::-1][1:]
        ranks = np.arange(1, len(reaching) + 1)
        return self.in_segments(ranks) / reaching
