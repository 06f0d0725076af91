"""Find how far the order of documents with equal scores moves the averages of metrics.

Only queries in which the order matters are evaluated again: in the best and in the worst order by
grade. If there are many judgments, only a sample of these queries is evaluated again. The sample
depends only on the query ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags
from rankframe.core.caveats import Caveat, find_caveat
from rankframe.core.columns import JUDGED_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.engine.plan import compile_plan, compute_values
from rankframe.frames.judged import JudgedFrame
from rankframe.frames.matches import RunMatches, TieOrder, ties_matter
from rankframe.kernel.batch import taken
from rankframe.metrics.metric import Metric
from rankframe.stats.bootstrap import hash_ids
from rankframe.stats.exact import Exact, exact_moments, exact_sum

# With more judgments, only a sample of the queries is evaluated in both orders.
_JUDGMENTS = 200_000
# Metrics that a better document nearer to the top does not always improve.
UNBOUNDED: Final = frozenset({"infap", "compat"})
_NOTHING = Exact()
_ORDERS: tuple[TieOrder, TieOrder] = ("worst", "best")


@record
class TieSums:
    """Hold the sum of a metric's values, and how the worst and the best tie order change it."""

    queries: int = 0
    values: Exact = _NOTHING
    worst: Exact = _NOTHING
    best: Exact = _NOTHING

    def __add__(self, other: TieSums) -> TieSums:
        return TieSums(
            self.queries + other.queries,
            self.values + other.values,
            self.worst + other.worst,
            self.best + other.best,
        )


@record
class TieRanges:
    """Hold a `TieSums` for each metric; those of different queries add up."""

    # queries in which the order of ties matters
    affected: int = 0
    sums: dict[str, TieSums] = field(default_factory=dict)

    def __add__(self, other: TieRanges) -> TieRanges:
        labels = dict.fromkeys([*self.sums, *other.sums])
        nothing = TieSums()
        sums = {
            label: self.sums.get(label, nothing) + other.sums.get(label, nothing)
            for label in labels
        }
        return TieRanges(self.affected + other.affected, sums)

    def caveats(self) -> list[Caveat]:
        """Return the caveat about the metric that the order of ties moves most."""
        found: list[Caveat] = []
        for label, sums in self.sums.items():
            if not (self.affected and sums.queries):
                continue
            value, worst, best = (
                float(total) / sums.queries for total in (sums.values, sums.worst, sums.best)
            )
            low, high = sorted((worst, best))
            share = (high - low) / abs(value) if value else float(high > low)
            facts = {"metric": label, "low": value + low, "high": value + high}
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
    """Compute how much the best and the worst order of ties change metrics in some queries.

    Args:
        found: the run, looked up in the judgments.
        block: the first query, and the one after the last.
        metrics: the metrics, which use judgments.
        values: the values of the evaluated queries.
        evaluated: flags of the evaluated queries.
        max_grade: the largest grade of all judgments, if it is known.

    Returns:
        None if the order of ties was chosen.
    """
    policies = found.policies
    bounded = [metric for metric in metrics if metric.average == "macro" and has_bounds(metric)]
    if policies.ties in _ORDERS or policies.ranks == "kept" or not bounded:
        return None
    looked_at = np.flatnonzero(evaluated & _sampled(found, block))
    rows = (np.cumsum(evaluated) - 1)[looked_at]
    affected, affected_rows = looked_at[:0], rows[:0]
    if found.counts.tied:
        matters = ties_matter(found.select(*block, queries=looked_at))
        affected, affected_rows = looked_at[matters], rows[matters]
    changes = {metric.label: [Exact(), Exact()] for metric in bounded}
    if len(affected):
        plan = compile_plan(bounded, JUDGED_FRAME)
        for side, order in enumerate(_ORDERS):
            part = found.select(*block, queries=affected, ties=order)
            ordered = compute_values(plan, JudgedFrame(part, rel=policies.rel, max_grade=max_grade))
            for label, pair in changes.items():
                change = ordered[label] - values[label][affected_rows]
                pair[side] = exact_sum(change.fill_null(0.0).to_numpy())
    columns = [values[label] for label in changes]
    if len(rows) < values.height:
        columns = [taken(column, rows) for column in columns]
    nulls = [column.null_count() for column in columns]
    filled = [
        column.fill_null(0.0) if n else column for column, n in zip(columns, nulls, strict=True)
    ]
    totals = [total for total, _ in exact_moments([column.to_numpy() for column in filled])]
    sums = {
        label: TieSums(len(rows) - null, total, *changes[label])
        for label, null, total in zip(changes, nulls, totals, strict=True)
    }
    return TieRanges(len(affected), sums)


def has_bounds(metric: Metric) -> bool:
    """Tell whether the best and the worst order of ties bound the values of a metric."""
    if metric.definition is None or metric.frame != "judged":
        return False
    gain = metric.params.get("gain")
    gains = [gain[grade] for grade in sorted(gain)] if isinstance(gain, Mapping) else []
    rises = gains == sorted(gains)
    divides_by_found = metric.params.get("denominator") == "retrieved"
    return rises and not divides_by_found and metric.definition.name not in UNBOUNDED


def _sampled(found: RunMatches, block: tuple[int, int]) -> Flags:
    """Flag the sampled queries among those of a block (see `_JUDGMENTS`)."""
    rows = found.judgments.read
    if rows <= _JUDGMENTS:
        return np.ones(block[1] - block[0], np.bool_)
    hashes = hash_ids(found.whole.queries[slice(*block)])
    return (hashes >> np.uint64(32)).astype(np.int64) < (_JUDGMENTS << 32) // rows


def refuse_unbounded(policies: Policies, metrics: Sequence[Metric]) -> None:
    """Refuse ties="best" and ties="worst" for metrics whose range those orders do not bound."""
    if policies.ties not in _ORDERS:
        return
    for metric in metrics:
        own = metric.definition is None and metric.frame == "judged"
        if metric.frame != "gap" and not own and not has_bounds(metric):
            raise OptionError(
                Option("ties", policies.ties),
                f" cannot be used with {metric.label!r}: ordering ties by grade does not bound it.",
            )
