"""Find how far the order of documents with equal scores moves the averages of metrics.

Only queries in which the order matters are computed again, in the best and in the worst order of
grades. Of many judgments, a sample of the queries is, which depends on nothing but their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags
from rankframe.core.caveats import Caveat, find_caveat
from rankframe.core.columns import JUDGED_FRAME
from rankframe.core.options import Policies
from rankframe.engine.plan import compile_plan, compute_values
from rankframe.frames.judged import JudgedFrame
from rankframe.frames.matches import RunMatches, TieOrder, ties_matter
from rankframe.metrics.metric import Metric
from rankframe.stats.bootstrap import hash_ids
from rankframe.stats.exact import Exact, exact_sum

# With more judgments than these, a sample of the queries is looked at.
_JUDGMENTS = 1_000_000
# Metrics that a better document nearer to the top does not always improve.
UNBOUNDED: Final = frozenset({"infap", "compat"})
_ORDERS: tuple[TieOrder, TieOrder] = ("worst", "best")


@dataclass(frozen=True)
class TieRanges:
    """Sum up how much larger values are in the best and in the worst order of ties; sums merge."""

    # queries that were looked at, and those in which the order matters
    queries: int = 0
    affected: int = 0
    # by metric: what the worst and what the best order add to the sum of its values
    sums: dict[str, tuple[Exact, Exact]] = field(default_factory=dict)

    def __add__(self, other: TieRanges) -> TieRanges:
        nothing = Exact(), Exact()
        sums = dict(self.sums)
        for label, added in other.sums.items():
            worst, best = sums.get(label, nothing)
            sums[label] = worst + added[0], best + added[1]
        return TieRanges(self.queries + other.queries, self.affected + other.affected, sums)

    def caveats(self, summary: pl.DataFrame) -> list[Caveat]:
        """Return the caveat about the metric that ties move most, if they move any much.

        `summary`: the values of the metrics.
        """
        found: list[Caveat] = []
        values = dict(zip(summary["metric"], summary["value"], strict=True))
        for label, sums in self.sums.items():
            value = values.get(label)
            if value is None or not self.queries:
                continue
            low, high = sorted(float(total) / self.queries for total in sums)
            share = (high - low) / abs(value) if value else float(high > low)
            facts = {"metric": label, "worst": value + low, "best": value + high}
            found += find_caveat("ties", share, **facts)
        return sorted(found, key=lambda caveat: -caveat.value)[:1]


def find_tie_ranges(
    found: RunMatches,
    block: tuple[int, int],
    metrics: Sequence[Metric],
    values: pl.DataFrame,
    evaluated: Flags,
    max_grade: float | None,
) -> TieRanges | None:
    """Compute the metrics of a block of queries in the best and in the worst order of ties.

    Args:
        found: the run, looked up in the judgments.
        block: the first query, and the one after the last.
        metrics: of judgments.
        values: of the evaluated queries.
        evaluated: which queries these are.
        max_grade: the largest grade of all judgments, if it is known.

    Returns:
        None if the order of ties was chosen, or if there are none.
    """
    policies = found.policies
    bounded = [metric for metric in metrics if _is_bounded(metric)]
    if policies.ties in _ORDERS or policies.ranks == "kept" or not bounded:
        return None
    looked_at = evaluated & _sampled(found, block)
    affected = np.flatnonzero(ties_matter(found.select(*block)) & looked_at)
    queries = int(np.count_nonzero(looked_at))
    if not len(affected):
        return TieRanges(queries)
    plan = compile_plan(bounded, JUDGED_FRAME)
    rows = (np.cumsum(evaluated) - 1)[affected]
    sums = {metric.label: [Exact(), Exact()] for metric in bounded}
    for side, order in enumerate(_ORDERS):
        part = found.select(*block, ties=order).select(affected)
        judged = JudgedFrame(part, rel=policies.rel, max_grade=max_grade)
        ordered = compute_values(plan, judged)
        for label, pair in sums.items():
            change = ordered[label] - values[label][rows]
            pair[side] = exact_sum(change.fill_null(0.0).to_numpy())
    return TieRanges(
        queries, len(affected), {label: (pair[0], pair[1]) for label, pair in sums.items()}
    )


def _is_bounded(metric: Metric) -> bool:
    """Return whether the best and the worst order of ties bound the average of a metric."""
    if metric.definition is None or metric.grouped or metric.average != "macro":
        return False
    divides_by_found = metric.params.get("denominator") == "retrieved"
    return not divides_by_found and metric.definition.name not in UNBOUNDED


def _sampled(found: RunMatches, block: tuple[int, int]) -> Flags:
    """Flag the queries of a block that are looked at."""
    rows = found.judgments.rows_read
    if rows <= _JUDGMENTS:
        return np.ones(block[1] - block[0], np.bool_)
    hashes = hash_ids(found.whole.queries[slice(*block)])
    return (hashes >> np.uint64(32)).astype(np.int64) < (_JUDGMENTS << 32) // rows


def order_policies(policies: Policies, metrics: Sequence[Metric]) -> list[str]:
    """Return the metrics that have no best or worst order of ties, where the policies ask for it."""
    if policies.ties not in _ORDERS:
        return []
    return [
        metric.label
        for metric in metrics
        if metric.frame != "gap"
        and (
            metric.frame != "judged"
            or metric.params.get("denominator") == "retrieved"
            or (metric.definition is not None and metric.definition.name in UNBOUNDED)
        )
    ]
