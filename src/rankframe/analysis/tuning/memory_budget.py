"""Divide a memory limit between values and judgments, which are held, and the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankframe.analysis.tuning.candidates import Family
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.engine.memory import for_rows, limit_of, size_text
from rankframe.metrics.names import Metric

# Bytes of a value at the peak, where intervals are computed: 32 were measured. Averages other than
# the plain mean keep both sides of the ratio beside each value.
_VALUE, _SIDES = 40, 16
# The least shares of the room for rows that are left for the runs, and for ranks of fusions.
_FOR_RUNS, _FOR_RANKS = 0.2, 0.25


def count_values(families: Sequence[Family], runs: Sequence[str], budget: int, folds: int) -> int:
    """Return the largest number of values that a query has: one for each candidate.

    A trained candidate has another value for every fold.
    """
    total = 1  # plain RRF
    for family in families:
        candidates = list(family.candidates())
        # All searches share the points that they start with, half of the budget.
        searched = (budget // 2 + 1) * (folds + 2)
        count = len(candidates) if family.denominator is None else searched
        trained = candidates[0].resolve(runs).definition.trained
        total += count * (1 + folds if trained else 1)
    return total


class RunLimits(NamedTuple):
    """Limit the memory for runs; None: no limit beyond what the machine has."""

    max_memory: int | None
    # for the ranks of fusions that are evaluated together
    rank_bytes: int | None


def limit_runs(
    values: int, queries: int, judgment_bytes: int, metric: Metric, max_memory: str | int | None
) -> RunLimits:
    """Subtract the memory of values and judgments from the limit; refuse too many values."""
    limit = limit_of(max_memory)
    room = for_rows(limit)
    size = _VALUE if metric.average in ("macro", "sum") else _VALUE + _SIDES
    need = values * queries * size + judgment_bytes
    left = room - need
    if left < room * _FOR_RUNS:
        enough = size_text(int(need / (1 - _FOR_RUNS)) + limit - room)
        raise OptionError(
            f"the values of up to {number_of(values, 'candidate')} in "
            f"{number_of(queries, 'query')}, and the judgments, are held in memory and take about "
            f"{size_text(need)}: a limit of {size_text(limit)} cannot be held. Pass ",
            Option("max_memory", enough),
            ", or try fewer candidates.",
        )
    if max_memory is None:
        return RunLimits(None, None)
    return RunLimits(left + limit - room, int(left * _FOR_RANKS))
