"""Find pairs of systems with different judged shares, and compute how that affects their values.

Unjudged documents count as not relevant, so judgments that were made from the results of one
system favour that system. The value of a system is therefore accompanied by its condensed value,
over judged documents alone, and by bounds: the least and the largest value that any grades of the
unjudged documents give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.analysis.systems import System, Systems, depth_of
from rankframe.analysis.unjudged import bound_systems
from rankframe.core.arrays import Floats, Ints
from rankframe.core.caveats import CAVEATS, Caveat, find_caveat
from rankframe.core.messages import number_of
from rankframe.engine.accumulator import average_values
from rankframe.engine.ledger import EXAMPLES, TOP
from rankframe.metrics.names import Metric
from rankframe.stats.exact import exact_sum

CODE = "judged_differ"
CONDENSED = "condensed_value"
_STORED_SHARE = f"judged_share_top_{TOP}"


class JudgedGap(NamedTuple):
    """Hold the judged shares of the top k, for a system and its baseline."""

    metric: Metric
    k: int
    baseline: str
    system: str
    judged_baseline: float
    judged: float
    # describes the queries, if the shares are not over all queries
    among: str = ""

    @property
    def size(self) -> float:
        """Return the absolute difference of the judged shares."""
        return abs(self.judged - self.judged_baseline)

    @property
    def favours_baseline(self) -> bool:
        """Tell whether more of the baseline was judged."""
        return self.judged_baseline > self.judged

    @property
    def shares(self) -> str:
        """Describe both shares."""
        return (
            f"of the top {self.k}{self.among}, {self.judged:.0%} are judged for {self.system} and "
            f"{self.judged_baseline:.0%} for {self.baseline}"
        )


class JudgedShares:
    """Hold the judged share of each system's top k in each query, where it is known.

    Queries that a run lacks do not count: the run has no documents there that could be judged.

    Args:
        systems: the systems, with the same queries.
        k: the cutoff.
        rows: the queries to look at (default: all).
    """

    def __init__(self, systems: Systems, k: int, rows: Ints | None = None) -> None:
        chosen = slice(None) if rows is None else rows
        self._answered = {name: system.answered[chosen] for name, system in systems.by_name.items()}
        self._shares: dict[str, Floats] = {}
        self._whole: dict[str, float] = {}
        for name, system in systems.by_name.items():
            if k in system.judged:
                column = system.values[system.judged[k]].cast(pl.Float64)
                self._shares[name] = column.fill_null(math.nan).to_numpy()[chosen]
        # If every run has every query, the share does not depend on the other systems.
        if all((answered == 1).all() for answered in self._answered.values()):
            self._whole = {name: float(exact_sum(shares)) / len(shares)
                           for name, shares in self._shares.items()
                           if len(shares) and np.isfinite(shares).all()}  # fmt: skip

    def share(self, name: str, *others: str) -> float | None:
        """Return the judged share of a system over the queries that it and all others have.

        Returns None if the share is unknown.
        """
        if name not in self._shares or len(self._whole) == len(self._answered):
            return self._whole.get(name)
        compared = (name, *others)
        weights = np.prod([self._answered[each] for each in compared], axis=0)
        for each in compared:
            known = np.isfinite(self._shares.get(each, weights))
            weights = np.where(known, weights, 0.0)
        total = float(exact_sum(weights))
        judged = np.where(weights > 0, self._shares[name] * weights, 0.0)
        return float(exact_sum(judged)) / total if total else None

    def pair(self, baseline: str, system: str) -> tuple[float | None, float | None]:
        """Return the judged shares of two systems over the queries that both have."""
        return self.share(baseline, system), self.share(system, baseline)

    def among(self, baseline: str, system: str) -> str:
        """Describe the queries that a pair's shares are over; "" for all queries."""
        whole = all((self._answered[name] == 1).all() for name in (baseline, system))
        return "" if whole else " in the queries that both have"


def _stored_share(system: System) -> float | None:
    """Return the judged share in the ledger, corrected for the queries that the run lacks."""
    share, evaluated = system.entry(_STORED_SHARE)[0], system.entry("queries_evaluated")[0] or 0
    answered = evaluated - system.filled
    return share * evaluated / answered if share is not None and answered > 0 else share


def find_gaps(
    systems: Systems, pairs: Iterable[tuple[str, str]], rows: Ints | None = None
) -> list[JudgedGap]:
    """Return pairs of a baseline and a system whose judged shares differ too much, widest first.

    The shares are of the top k, k being the cutoff of each metric, or of the top 10 if a stored
    result has no share for that cutoff. Queries that one system of a pair lacks are left out.
    `rows`: the queries to look at.
    """
    named, gaps = list(pairs), []
    top = JudgedShares(systems, TOP, rows)
    stored = {name: _stored_share(system) for name, system in systems.by_name.items()}
    for metric in systems.metrics:
        if not metric.of_judgments:
            continue
        depth = depth_of(metric)
        shares = top if depth == TOP else JudgedShares(systems, depth, rows)
        for pair in named:
            k, (before, after) = depth, shares.pair(*pair)
            if before is None or after is None:
                k, known = TOP, zip(pair, top.pair(*pair), strict=True)
                before, after = (stored[name] if s is None else s for name, s in known)
            if before is not None and after is not None:
                gaps.append(JudgedGap(metric, k, *pair, before, after, shares.among(*pair)))
    apart = [gap for gap in gaps if gap.size > CAVEATS[CODE].threshold]
    return sorted(apart, key=lambda gap: -gap.size)


def describe_gaps(
    gaps: Sequence[JudgedGap], bounds: pl.DataFrame | None, systems: Mapping[str, System]
) -> Iterator[Caveat]:
    """Yield a caveat about the two systems whose judged shares differ most.

    The caveat also states how many other pairs of systems differ, and shows ids of unjudged
    documents, which may have another form than those of judged ones.

    Args:
        gaps: pairs of systems, widest gap first.
        bounds: the result of `find_bounds`; None if no run can be read again.
        systems: the systems by name.
    """
    if not gaps:
        return
    widest = gaps[0]
    names = [widest.system, widest.baseline]
    shares = [widest.judged, widest.judged_baseline]
    if widest.favours_baseline:
        names, shares = names[::-1], shares[::-1]
    others = len({(gap.baseline, gap.system) for gap in gaps}) - 1
    text = _describe_condensed(widest, bounds)
    if examples := systems[names[1]].entry(EXAMPLES)[1]:
        text += f". {examples}"
    if others:
        text += f". {number_of(others, 'more pair')} of systems {'is' if others == 1 else 'are'} "
        text += "judged as unevenly"
    yield from find_caveat(
        CODE, widest.size, k=f"{widest.k}{widest.among}", better=names[0], worse=names[1],
        high=shares[0], low=shares[1], condensed=text,
    )  # fmt: skip


def _describe_condensed(gap: JudgedGap, bounds: pl.DataFrame | None) -> str:
    """Describe the change over judged documents alone."""
    if bounds is not None:
        changes = []
        for column in ("value", CONDENSED):
            before = value_of(bounds, gap.baseline, gap.metric, column)
            after = value_of(bounds, gap.system, gap.metric, column)
            if before and after is not None:
                changes.append((after - before) / abs(before))
        if len(changes) == 2:
            return (
                f"Over judged documents alone, {gap.metric.label} of {gap.system} is "
                f"{changes[1]:+.1%} against {gap.baseline}, instead of {changes[0]:+.1%}"
            )
    return (
        "Their values over judged documents alone are not known here: evaluate the runs with "
        "judged_only to see them"
    )


def find_bounds(systems: Systems, metrics: Sequence[Metric]) -> pl.DataFrame | None:
    """Return values, condensed values and bounds of systems; None if no run can be read again.

    Columns: system, metric, value (with unjudged documents as not relevant), condensed_value, and
    the bounds and scenarios of `bound_metrics`.
    """
    judged = [metric for metric in metrics if metric.of_judgments]
    if not judged or not systems.at_hand:
        return None
    condensed = bound_systems(systems, judged, judged_only=True).select(
        "system", "metric", pl.col("if_none_relevant").alias(CONDENSED)
    )
    weights = systems.attributes.weights
    averages = [
        (name, metric.label, average_values(metric, system.computed, weights))
        for metric in judged
        for name, system in systems.by_name.items()
    ]
    schema = {"system": pl.String, "metric": pl.String, "value": pl.Float64}
    values = pl.DataFrame(averages, schema, orient="row")
    for found in (condensed, bound_systems(systems, judged)):
        values = values.join(found, on=["system", "metric"], how="left", maintain_order="left")
    # For a wholly judged stored system, condensed value and bounds equal the value.
    is_certain = pl.any_horizontal(
        (pl.col("metric") == metric.label) & pl.col("system").is_in(_wholly_judged(systems, metric))
        for metric in judged
    )
    names = [name for name in values.columns if name not in ("system", "metric", "value")]
    is_certain &= ~pl.col("system").is_in(list(systems.runs))
    return values.with_columns(pl.when(is_certain).then("value").otherwise(name).alias(name)
                               for name in names)  # fmt: skip


def _wholly_judged(systems: Systems, metric: Metric) -> list[str]:
    """Return the names of the systems whose whole top k was judged."""
    top = JudgedShares(systems, TOP), JudgedShares(systems, depth_of(metric))
    found = {}
    for name, system in systems.by_name.items():
        known = [shares.share(name) for shares in reversed(top)] + [_stored_share(system)]
        found[name] = next((share for share in known if share is not None), None)
    return [name for name, share in found.items() if share is not None and share > 1 - 1e-9]


def value_of(bounds: pl.DataFrame, system: str, metric: Metric, column: str) -> float | None:
    """Return the value of a column of `bounds` for a system and metric."""
    found = bounds.filter(system=system, metric=metric.label)[column]
    return found[0] if len(found) else None


def add_condensed(
    table: pl.DataFrame, singles: pl.DataFrame, bounds: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add condensed values and bounds to the rows over all queries, in both tables."""
    keys, whole = ["system", "metric"], pl.col("by").is_null()
    singles = singles.drop(HOLE_COLUMNS, strict=False).join(
        bounds.drop("value"), on=keys, how="left", maintain_order="left"
    )
    singles = singles.with_columns(pl.when(whole).then(pl.col(CONDENSED, *HOLE_COLUMNS)))
    own = bounds.select(*keys, CONDENSED)
    before = own.rename({"system": "baseline", CONDENSED: "condensed_baseline"})
    table = table.join(before, on=["baseline", "metric"], how="left", maintain_order="left")
    table = table.join(own, on=keys, how="left", maintain_order="left")
    columns = pl.when(whole).then(pl.col("condensed_baseline", CONDENSED))
    difference = pl.col(CONDENSED) - pl.col("condensed_baseline")
    return table.with_columns(columns).with_columns(condensed_difference=difference), singles
