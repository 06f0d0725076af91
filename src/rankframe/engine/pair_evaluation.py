"""Evaluate two rankings of the same queries: the first is indexed, the second is read once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import PAIR_FRAME, QUERY
from rankframe.core.errors import DuplicateError, MetricParameterError, NoSharedQueryError
from rankframe.core.options import Intervals, PairPolicies, Report
from rankframe.core.records import record
from rankframe.core.threads import map_blocks
from rankframe.engine.accumulator import Accumulator, Averages
from rankframe.engine.evaluation import Evaluation, FindIds, Sides, report_rows
from rankframe.engine.ledger import Counts, Item, PairCounts, pair_items
from rankframe.engine.plan import Plan, compile_plan, compute_values
from rankframe.frames.pair import PairFrame
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches, load_unique
from rankframe.io.input_table import InputTable, comparable, part_of
from rankframe.kernel.batch import Batch
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.reading import BATCH_ROWS, OnProgress, ignore_progress, read_batches
from rankframe.metrics.names import Metrics, resolve

T = TypeVar("T")
Ints = NDArray[np.int64]


@record
class Pairing:
    """Pair the queries of two rankings: the first is indexed in memory, the second is read once."""

    a: InputTable
    index: QueryIndex
    b: Batches
    policies: PairPolicies

    @classmethod
    def from_rankings(cls, a: InputTable, b: InputTable, policies: PairPolicies) -> Pairing:
        """Read and index the first ranking; the second one is read later."""
        left, right = comparable(a, b)
        return cls(a, index_ranking(Batches(a, left).whole()), Batches(b, right), policies)

    def each(
        self, work: Callable[[PairFrame], T], on_progress: OnProgress = ignore_progress
    ) -> list[T]:
        """Call `work` with the pair frame of each batch, on all cores; return all results."""
        try:
            pairs = read_batches(self.b, lambda: _PairBatches(self, work), on_progress, heavy=True)
            return pairs.finish()
        except DuplicateError as error:
            if error.role == self.a.role:  # raise an error about the whole input instead
                load_unique(self.a)
            raise


class _PairBatches(Generic[T]):
    """Pair each batch of the second ranking with the first ranking, and process the pairs."""

    def __init__(self, pairing: Pairing, work: Callable[[PairFrame], T]) -> None:
        self._pairing, self._work = pairing, work
        self._came = np.zeros(len(pairing.index.starts), np.bool_)
        self._results: list[T] = []
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> None:
        """Pair a batch of the second ranking with the first ranking, and process the pairs."""
        numbers = self._pairing.index.find(batch)
        self._came[numbers[numbers >= 0]] = True
        result = self._pair(numbers, Side(batch, None, len(numbers), batch.height))
        with self._lock:
            self._results.append(result)

    def finish(self) -> list[T]:
        """Process the queries that only the first ranking has; return all results."""
        left = np.flatnonzero(~self._came)
        block = np.cumsum(self._pairing.index.lengths[left]) // BATCH_ROWS
        blocks = np.split(left, np.flatnonzero(np.diff(block)) + 1) if len(left) else []
        return [*self._results, *map_blocks(self._pair, blocks)]

    def _pair(self, numbers: Ints, b: Side | None = None) -> T:
        a = Side.from_index(self._pairing.index, numbers)
        if b is None:
            b = a.without_rows()
        queries = b.batch.queries if a.has is not None else a.batch.queries
        return self._work(PairFrame(queries, a, b, self._pairing.policies))


# Columns that come before the values: how many documents each ranking has, and both have.
PAIR_COUNTS = ("n_a", "n_b", "n_shared")


@record
class PairEvaluation(Evaluation):
    """Evaluate metrics over the pair frame of two rankings."""

    roles = ("a", "b")
    counts = PairCounts
    policies: PairPolicies
    plan: Plan

    @property
    def row_bytes(self) -> tuple[int, int]:
        """Return the memory that a row of each ranking takes at the peak, in bytes."""
        return 140, 110  # measured

    @classmethod
    def from_metrics(
        cls, metrics: Metrics, policies: PairPolicies, intervals: Intervals
    ) -> PairEvaluation:
        """Prepare the evaluation of metrics over the pair frame."""
        plan = compile_plan(resolve(metrics, "pair", any_average=True), PAIR_FRAME)
        if taken := [label for label in plan.labels if label in PAIR_COUNTS]:
            raise MetricParameterError(
                f"{taken[0]!r} is a column of every result: give the expression another name."
            )
        return cls(plan.metrics, policies, Averages(plan.metrics, intervals), plan)

    def left(self, left: InputTable | None) -> InputTable:
        """Return the first ranking."""
        assert left is not None  # a comparison has two sides
        return left

    def evaluate_in_memory(
        self, left: InputTable | None, right: InputTable, on_progress: Report | None = None
    ) -> list[Accumulator]:
        """Read the first ranking, then the second one once, and evaluate queries in batches."""
        pairing = Pairing.from_rankings(self.left(left), right, self.policies)
        return pairing.each(self._evaluate_pairs, report_rows(left, right, on_progress))

    def evaluate_partition(self, left: pl.DataFrame, right: pl.DataFrame) -> Accumulator:
        """Evaluate the queries of a partition, given all their rows in both rankings."""
        sides = part_of(left, "ranking a"), part_of(right, "ranking b")
        return self.merge(self.evaluate_in_memory(*sides))

    def _evaluate_pairs(self, pairs: PairFrame) -> Accumulator:
        values = compute_values(self.plan, pairs)
        lengths = zip(PAIR_COUNTS, (pairs.a.length, pairs.b.length, pairs.n_shared), strict=True)
        numbers = [pl.Series(name, counts) for name, counts in lengths]
        values = values.select(QUERY, *numbers, pl.exclude(QUERY))
        if self.policies.unmatched_queries == "skip":
            values = values.filter(pl.Series((pairs.a.length > 0) & (pairs.b.length > 0)))
        drops = self.policies.duplicates == "keep_best"
        counts = PairCounts.from_pairs(pairs, drops=drops)
        return Accumulator.from_values(self.averages, values, counts)

    def check(self, accumulator: Accumulator, find_ids: FindIds) -> None:
        """Refuse rankings that have no query in common."""
        if not cast("PairCounts", accumulator.counts).shared_queries:
            raise NoSharedQueryError(*find_ids(QUERY))

    def items(self, counts: Counts, sides: Sides) -> list[Item]:
        """Return the ledger rows with the counts of both rankings."""
        return pair_items(cast("PairCounts", counts), self.left(sides[0]), sides[1])
