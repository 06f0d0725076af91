"""Metrics over two rankings of the same queries: the pair frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from rankframe.core.columns import PAIR_FRAME
from rankframe.core.errors import MetricParameterError
from rankframe.core.options import PairPolicies
from rankframe.engine.counts import PairCounts
from rankframe.engine.plan import PerQuery, Plan, compile_plan, per_query_values
from rankframe.frames.pair import Pairs
from rankframe.metrics.names import Metrics, resolve

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

    def compute(self, pairs: Pairs) -> tuple[PerQuery, PairCounts]:
        """Compute the values of some queries."""
        values = per_query_values(self.plan, pairs)
        query, *columns = values.values
        lengths = zip(PAIR_COUNTS, (pairs.a.length, pairs.b.length, pairs.n_shared), strict=True)
        numbers = [pl.Series(name, counts) for name, counts in lengths]
        values = replace(values, values=pl.DataFrame([query, *numbers, *columns]))
        if self.policies.unmatched_queries == "skip":
            values = values.kept((pairs.a.length > 0) & (pairs.b.length > 0))
        drops = self.policies.duplicates == "keep_best"
        return values, PairCounts.from_pairs(pairs, compared=values.height, drops=drops)
