"""Metrics over two rankings of the same queries: the first held by query, the second read once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import PAIR_FRAME, QUERY
from rankframe.core.errors import DuplicateError, MetricParameterError
from rankframe.core.options import PairPolicies
from rankframe.engine.ledger import PairCounts
from rankframe.engine.plan import PerQuery, Plan, compile_plan, per_query_values
from rankframe.frames.pair import PairFrame
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches, load_unique
from rankframe.io.input_table import InputTable, comparable
from rankframe.kernel.batch import Batch
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.reading import BATCH_ROWS, OnProgress, ignore_progress, read_batches, workers
from rankframe.metrics.names import Metrics, resolve

T = TypeVar("T")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pairing:
    """Two rankings whose queries are compared."""

    a: InputTable
    index: QueryIndex
    b: Batches
    policies: PairPolicies

    @classmethod
    def of(cls, a: InputTable, b: InputTable, policies: PairPolicies) -> Pairing:
        """Read the first; the second is not read yet."""
        left, right = comparable(a, b)
        return cls(a, index_ranking(Batches(a, left).whole()), Batches(b, right), policies)

    def each(
        self, work: Callable[[PairFrame], T], on_progress: OnProgress = ignore_progress
    ) -> list[T]:
        """Work on all queries of both rankings, batch by batch, in any order and on all cores."""
        try:
            pairs = read_batches(self.b, lambda: _PairBatches(self, work), on_progress, heavy=True)
            return pairs.finish()
        except DuplicateError as error:
            if error.role == self.a.role:  # tell of the whole input: how many, and which rows
                load_unique(self.a)
            raise


class _PairBatches(Generic[T]):
    """Work on the pairs of batches of the second ranking."""

    def __init__(self, pairing: Pairing, work: Callable[[PairFrame], T]) -> None:
        self._pairing, self._work = pairing, work
        self._came = np.zeros(len(pairing.index.starts), np.bool_)
        self._results: list[T] = []
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> None:
        """Work on a batch of the second ranking."""
        numbers = self._pairing.index.find(batch)
        self._came[numbers[numbers >= 0]] = True
        result = self._pair(numbers, Side(batch, None, len(numbers), batch.height))
        with self._lock:
            self._results.append(result)

    def finish(self) -> list[T]:
        """Work on the queries that only the first ranking has, and return all results."""
        left = np.flatnonzero(~self._came)
        block = np.cumsum(self._pairing.index.lengths[left]) // BATCH_ROWS
        blocks = np.split(left, np.flatnonzero(np.diff(block)) + 1) if len(left) else []
        with ThreadPoolExecutor(workers()) as pool:
            return [*self._results, *pool.map(self._pair, blocks)]

    def _pair(self, numbers: Ints, b: Side | None = None) -> T:
        a = Side.from_index(self._pairing.index, numbers)
        if b is None:
            b = a.without_rows()
        queries = b.batch.queries if a.has is not None else a.batch.queries
        return self._work(PairFrame(queries, a, b, self._pairing.policies))


# Columns that come before the values: how many documents each ranking has, and both have.
PAIR_COUNTS = ("n_a", "n_b", "n_shared")


def pair_plan(metrics: Metrics) -> Plan:
    """Compile metrics over the pair frame."""
    plan = compile_plan(resolve(metrics, "pair", any_average=True), PAIR_FRAME)
    if taken := [label for label in plan.labels if label in PAIR_COUNTS]:
        raise MetricParameterError(
            f"{taken[0]!r} is a column of every result: give the expression another name."
        )
    return plan


@dataclass(frozen=True)
class PairMetrics:
    """Compute metrics over the pair frame."""

    plan: Plan
    policies: PairPolicies
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (140, 110)

    def compute(self, pairs: PairFrame) -> tuple[PerQuery, PairCounts]:
        """Compute the values of some queries."""
        values = per_query_values(self.plan, pairs)
        lengths = zip(PAIR_COUNTS, (pairs.a.length, pairs.b.length, pairs.n_shared), strict=True)
        numbers = [pl.Series(name, counts) for name, counts in lengths]
        values = PerQuery(values.rows.select(QUERY, *numbers, pl.exclude(QUERY)))
        if self.policies.unmatched_queries == "skip":
            values = values.kept((pairs.a.length > 0) & (pairs.b.length > 0))
        drops = self.policies.duplicates == "keep_best"
        return values, PairCounts.from_pairs(pairs, compared=values.height, drops=drops)
