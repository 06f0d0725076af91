"""Judged queries that a run lacks: counted, warned of, and refused where they are too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.systems import System
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.engine.ledger import POLICY
from rankframe.metrics.names import Metric

MISSING = "queries_missing"
_JUDGED = "qrels_queries"
# Above this share of the queries, missing ones are warned of.
MANY = 0.01
# The share that both systems must have of the queries that either has.
_LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Lack:
    """Count the judged queries that a system's run lacks, and tell what became of them."""

    system: str
    queries: int
    judged: int
    done: str

    @property
    def many(self) -> bool:
        """Tell whether they are so many that they move the averages."""
        return self.queries > MANY * self.judged

    def __str__(self) -> str:
        share = self.queries / max(self.judged, 1)
        return (
            f"{self.system} lacks {self.queries:,} of {number_of(self.judged, 'judged query')} "
            f"({share:.1%}): {self.done}"
        )


def lacks(systems: Mapping[str, System], metrics: Sequence[Metric]) -> list[Lack]:
    """Return what each system's run lacks, if its ledger counted any."""
    return [
        Lack(name, count, _ledger_count(system, _JUDGED), _describe(system, metrics))
        for name, system in systems.items()
        if (count := _ledger_count(system, MISSING))
    ]


def refuse_unshared(systems: Mapping[str, System]) -> None:
    """Refuse systems that share less than half of the queries that either has.

    Their values would be compared with what was filled in for missing queries.
    """
    for (name, system), (other_name, other) in combinations(systems.items(), 2):
        if not system.values[QUERY].equals(other.values[QUERY]):
            continue  # `unpaired` decides
        shared, exact = _most_shared(system, other)
        either = sum(len(s.values) - _count_filled(s) for s in (system, other)) - shared
        if shared < _LEAST_SHARED * either:
            raise OptionError(
                f"{name!r} and {other_name!r} share {'' if exact else 'at most '}{shared:,} of "
                f"{number_of(either, 'judged query')} that either has ({name!r} lacks "
                f"{_count_filled(system):,}, {other_name!r} {_count_filled(other):,} of "
                f"{len(system.values):,}), and what a run lacks scores 0. Are these runs of the "
                "same queries? Pass ",
                Option("missing", "zero"),
                " to compare them all the same.",
            )


def describe_filled(metrics: Sequence[Metric], left_out: Sequence[str]) -> str:
    """Describe what became of missing queries, where some metrics leave them out."""
    if len(left_out) == len(metrics):
        return "left out"
    return f"scored 0{', left out of ' if left_out else ''}{', '.join(left_out)}"


def _describe(system: System, metrics: Sequence[Metric]) -> str:
    if not _count_filled(system):
        return "left out"
    values = system.values.filter(pl.Series(_may_lack(system)))
    empty = [m.label for m in metrics if values[m.label].null_count() == values.height]
    return describe_filled(metrics, empty)


def _ledger_count(system: System, item: str) -> int:
    """Return a count of the system's ledger; 0 where it has none."""
    if system.ledger is None:
        return 0
    values = system.ledger.filter(pl.col("item") == item)["value"]
    return int(values[0] or 0) if len(values) else 0


def _count_filled(system: System) -> int:
    """Count the values that stand for queries that the run lacks."""
    policy = [] if system.ledger is None else system.ledger.filter(item=f"{POLICY}missing")["note"]
    return _ledger_count(system, MISSING) if list(policy) == ["zero"] else 0


def _may_lack(system: System) -> NDArray[np.bool_]:
    """Mark the queries that the run lacks, or that a stored result may lack."""
    lacking, filled = np.zeros(len(system.values), np.bool_), _count_filled(system)
    if not filled:
        return lacking
    if system.evidence:
        present = [pl.col(label).fill_null(0) != 0 for label in system.evidence]
        lacking = ~system.values.select(pl.any_horizontal(present)).to_series().to_numpy()
    # Where fewer have no evidence than are missing, the values cannot tell.
    return lacking if lacking.sum() >= filled else ~np.zeros_like(lacking)


def _most_shared(system_a: System, system_b: System) -> tuple[int, bool]:
    """Return how many queries both have at most, and whether that is exact.

    Queries that a system has for sure count, and as many of the doubtful ones as there may be.
    """
    doubtful = [_may_lack(system) for system in (system_a, system_b)]
    # how many of the doubtful queries the system has
    present = [
        int(rows.sum()) - _count_filled(system)
        for rows, system in zip(doubtful, (system_a, system_b), strict=True)
    ]
    sure = int((~doubtful[0] & ~doubtful[1]).sum())
    single = [int((doubtful[0] & ~doubtful[1]).sum()), int((doubtful[1] & ~doubtful[0]).sum())]
    met = [min(pair) for pair in zip(present, single, strict=True)]
    rest = min(count - used for count, used in zip(present, met, strict=True))
    return sure + sum(met) + rest, present == [0, 0]
