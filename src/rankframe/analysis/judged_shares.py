"""Find pairs of systems of which one is judged more than the other, and say what depends on it.

Unjudged documents count as not relevant, so judgments that were made from the results of one
system favour it. Beside the values stand those over judged documents alone (condensed), and the
least and the largest that any grades of the unjudged documents give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.analysis.systems import Systems, depth_of
from rankframe.analysis.unjudged import bound_systems
from rankframe.core.arrays import Ints
from rankframe.core.caveats import CAVEATS, Caveat, find_caveat
from rankframe.core.messages import number_of
from rankframe.engine.accumulator import average_values
from rankframe.engine.ledger import TOP
from rankframe.metrics.names import Metric

CODE = "judged_differ"
CONDENSED = "condensed_value"
_STORED_SHARE = f"judged_share_top_{TOP}"


class JudgedGap(NamedTuple):
    """Hold how much of the top k was judged, for a system and its baseline."""

    metric: Metric
    k: int
    baseline: str
    system: str
    judged_baseline: float
    judged: float

    @property
    def size(self) -> float:
        """Return how far the judged shares lie apart."""
        return abs(self.judged - self.judged_baseline)

    @property
    def favours_baseline(self) -> bool:
        """Tell whether more of the baseline was judged."""
        return self.judged_baseline > self.judged

    @property
    def shares(self) -> str:
        """Describe both shares."""
        return (
            f"of the top {self.k}, {self.judged:.0%} are judged for {self.system} and "
            f"{self.judged_baseline:.0%} for {self.baseline}"
        )


def judged_shares(systems: Systems, k: int, rows: Ints | None = None) -> dict[str, float | None]:
    """Return the judged share of the top k of each system; None where it is not known.

    `rows`: the queries to look at.
    """
    shares: dict[str, float | None] = {}
    for name, system in systems.by_name.items():
        share = None
        if k in system.judged:
            column = system.values[system.judged[k]]
            share = (column if rows is None else column.gather(rows)).mean()
        shares[name] = share if isinstance(share, float) else None
    return shares


def _shares(
    systems: Systems, metric: Metric, rows: Ints | None = None
) -> tuple[int, dict[str, float | None]]:
    """Return the judged shares of the top k of a metric, or of the top 10 if one is not stored."""
    k = depth_of(metric)
    shares = judged_shares(systems, k, rows)
    if None not in shares.values():
        return k, shares
    shares = judged_shares(systems, TOP, rows)
    stored = {name: system.entry(_STORED_SHARE)[0] for name, system in systems.by_name.items()}
    return TOP, {name: stored[name] if share is None else share for name, share in shares.items()}


def find_gaps(
    systems: Systems, pairs: Iterable[tuple[str, str]], rows: Ints | None = None
) -> list[JudgedGap]:
    """Return pairs of a baseline and a system whose judged shares lie apart, the widest first.

    The top k is that of each metric. Where a stored result does not have its share, it is the top
    10. `rows`: the queries to look at.
    """
    named, gaps = list(pairs), []
    for metric in systems.metrics:
        if not metric.of_judgments:
            continue
        k, shares = _shares(systems, metric, rows)
        for baseline, system in named:
            before, after = shares[baseline], shares[system]
            if before is not None and after is not None:
                gaps.append(JudgedGap(metric, k, baseline, system, before, after))
    apart = [gap for gap in gaps if gap.size > CAVEATS[CODE].threshold]
    return sorted(apart, key=lambda gap: -gap.size)


def describe_gaps(gaps: Sequence[JudgedGap], bounds: pl.DataFrame | None) -> Iterator[Caveat]:
    """Yield the caveat of the widest gap, which counts the other pairs.

    `bounds`: what `find_bounds` returned; None if the runs are not at hand.
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
    if others:
        text += f". {number_of(others, 'more pair')} of systems {'is' if others == 1 else 'are'} "
        text += "judged as unevenly"
    yield from find_caveat(
        CODE, widest.size, k=widest.k, better=names[0], worse=names[1], high=shares[0],
        low=shares[1], condensed=text,
    )  # fmt: skip


def _describe_condensed(gap: JudgedGap, bounds: pl.DataFrame | None) -> str:
    """Say what the change is over judged documents alone."""
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
    """Return value, condensed value and bounds of systems whose runs are at hand; None if none is.

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
    # A stored system of which all was judged has no other values.
    is_certain = pl.any_horizontal(
        (pl.col("metric") == metric.label) & pl.col("system").is_in(_wholly_judged(systems, metric))
        for metric in judged
    )
    names = [name for name in values.columns if name not in ("system", "metric", "value")]
    is_certain &= ~pl.col("system").is_in(list(systems.runs))
    return values.with_columns(pl.when(is_certain).then("value").otherwise(name).alias(name)
                               for name in names)  # fmt: skip


def _wholly_judged(systems: Systems, metric: Metric) -> list[str]:
    """Return the systems of which all of the top k was judged."""
    shares = _shares(systems, metric)[1]
    return [name for name, share in shares.items() if share is not None and share > 1 - 1e-9]


def value_of(bounds: pl.DataFrame, system: str, metric: Metric, column: str) -> float | None:
    """Return a value of a system and metric."""
    found = bounds.filter(system=system, metric=metric.label)[column]
    return found[0] if len(found) else None


def add_condensed(
    table: pl.DataFrame, singles: pl.DataFrame, bounds: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add condensed values to the rows over all queries, of pairs and of systems; and bounds."""
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
