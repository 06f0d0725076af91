"""Judged queries that a run lacks: counted before anything is put in their place, and said."""

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
# Above this share of the queries, what is lacking is warned of.
MANY = 0.01
# Of the queries that either of two systems has, what both must have.
_LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Lack:
    """How many of the judged queries a system's run lacks, and what became of them."""

    system: str
    queries: int
    judged: int
    done: str

    @property
    def many(self) -> bool:
        """Whether they are so many that averages are about them, too."""
        return self.queries > MANY * self.judged

    def __str__(self) -> str:
        share = self.queries / max(self.judged, 1)
        return (
            f"{self.system} lacks {self.queries:,} of {number_of(self.judged, 'judged query')} "
            f"({share:.1%}): {self.done}"
        )


def lacks(systems: Mapping[str, System], metrics: Sequence[Metric]) -> list[Lack]:
    """What each system's run lacks, as far as that is known and anything is lacking."""
    return [
        Lack(name, count, _counted(system, _JUDGED), _done(system, metrics))
        for name, system in systems.items()
        if (count := _counted(system, MISSING))
    ]


def refuse_unshared(systems: Mapping[str, System]) -> None:
    """Refuse systems that share less than half of the queries that either has: values would be
    compared with what was put in the place of missing ones.
    """
    for (name, system), (other, beside) in combinations(systems.items(), 2):
        if not system.values[QUERY].equals(beside.values[QUERY]):
            continue  # whoever puts them side by side decides that
        have = [len(one.values) - _filled(one) for one in (system, beside)]
        most = _most_shared(system, beside)
        if most < _LEAST_SHARED * (sum(have) - most):
            raise OptionError(
                f"{name!r} and {other!r} share {'' if _exact(system, beside) else 'at most '}"
                f"{most:,} of {number_of(sum(have) - most, 'judged query')} that either has "
                f"({name!r} lacks {_filled(system):,}, {other!r} {_filled(beside):,} of "
                f"{len(system.values):,}), and what a run lacks scores 0. Are these runs of the "
                "same queries? Pass ",
                Option("missing", "zero"),
                " to compare them all the same.",
            )


def describe_filled(metrics: Sequence[Metric], left_out: Sequence[str]) -> str:
    """What became of queries that were lacking, where some metrics leave them out."""
    if len(left_out) == len(metrics):
        return "left out"
    return f"scored 0{', left out of ' if left_out else ''}{', '.join(left_out)}"


def _done(system: System, metrics: Sequence[Metric]) -> str:
    if not _filled(system):
        return "left out"
    values = system.values.filter(pl.Series(_may_lack(system)))
    empty = [m.label for m in metrics if values[m.label].null_count() == values.height]
    return describe_filled(metrics, empty)


def _counted(system: System, item: str) -> int:
    """An entry of its ledger; 0 where there is none."""
    if system.ledger is None:
        return 0
    found = system.ledger.filter(pl.col("item") == item)["value"]
    return int(found[0] or 0) if len(found) else 0


def _filled(system: System) -> int:
    """How many of its values stand for queries that the run lacks."""
    policy = [] if system.ledger is None else system.ledger.filter(item=f"{POLICY}missing")["note"]
    return _counted(system, MISSING) if list(policy) == ["zero"] else 0


def _may_lack(system: System) -> NDArray[np.bool_]:
    """Which queries its run lacks; of a stored result, those that it may lack by their values."""
    nothing, filled = np.zeros(len(system.values), np.bool_), _filled(system)
    if not filled:
        return nothing
    found = [pl.col(label).fill_null(0) != 0 for label in system.evidence]
    if found:
        nothing = ~system.values.select(pl.any_horizontal(found)).to_series().to_numpy()
    # Where fewer have nothing than are lacking, the values say nothing of that.
    return nothing if nothing.sum() >= filled else ~np.zeros_like(nothing)


def _exact(*systems: System) -> bool:
    return all(_may_lack(system).sum() == _filled(system) for system in systems)


def _most_shared(one: System, other: System) -> int:
    """How many queries both have, at the most: those that surely are in both, and as many of the
    doubtful ones as may be.
    """
    unsure = [_may_lack(system) for system in (one, other)]
    # those that are there among the doubtful
    there = [int(may.sum()) - _filled(of) for may, of in zip(unsure, (one, other), strict=True)]
    sure = int((~unsure[0] & ~unsure[1]).sum())
    alone = [int((unsure[0] & ~unsure[1]).sum()), int((unsure[1] & ~unsure[0]).sum())]
    met = [min(some, places) for some, places in zip(there, alone, strict=True)]
    return sure + sum(met) + min(a - b for a, b in zip(there, met, strict=True))
