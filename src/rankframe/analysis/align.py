"""The values of several systems side by side: the same queries for all, none dropped unsaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.missing_queries import done_with
from rankframe.analysis.systems import System, depth_of
from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Unpaired
from rankframe.engine.plan import PerQuery
from rankframe.engine.terms import Terms
from rankframe.metrics.names import Metric

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Aligned:
    """Systems with values for the same queries, in the same order."""

    queries: pl.Series
    systems: Mapping[str, System]
    # how many queries not every system has, and how many each lacks
    unpaired: int
    lacking: dict[str, int]
    # what became of them
    done: str = ""


def align(systems: Mapping[str, System], metrics: Sequence[Metric], unpaired: Unpaired) -> Aligned:
    """The same queries for every system, as the policy has it."""
    first = next(iter(systems.values())).values[QUERY]
    values = {name: system.values for name, system in systems.items()}
    if all(frame[QUERY].equals(first) for frame in values.values()):
        return Aligned(first, systems, 0, dict.fromkeys(values, 0))
    every = pl.concat([frame[QUERY] for frame in values.values()]).unique().sort()
    counts = {
        name: every.to_frame().join(frame, on=QUERY, how="anti", maintain_order="left")
        for name, frame in values.items()
    }
    lacking = {name: frame.height for name, frame in counts.items()}
    alone = pl.concat(counts.values())[QUERY].unique().sort()
    if unpaired == "error":
        name = next(name for name, frame in counts.items() if frame.height)
        raise OptionError(
            f"{len(alone):,} of {number_of(len(every), 'query')} "
            f"{'is' if len(alone) == 1 else 'are'} not in every system, e.g. "
            f"{counts[name][QUERY][0]!r}, which {name!r} lacks. Pass ",
            Option("unpaired", "skip"),
            " to leave them out, or ",
            Option("unpaired", "zero"),
            " to score them 0.",
        )
    if unpaired == "skip":
        kept = every.to_frame().join(alone.to_frame(), on=QUERY, how="anti", maintain_order="left")
        if kept.is_empty():
            raise OptionError("the systems have no query in common. Is the key column right?")
    else:
        kept = every.to_frame()
    worst = {metric.label: 0.0 for metric in metrics if metric.higher_is_better}
    filled = {}
    for name, frame in values.items():
        places = kept.join(frame.select(QUERY).with_row_index("_at"), on=QUERY, how="left",
                           maintain_order="left")["_at"]  # fmt: skip
        zero = places.is_null() if unpaired == "zero" else None
        nothing = {**worst, **dict.fromkeys(systems[name].judged.values(), 0.0)}
        computed = PerQuery(*(
            _taken(side, places, zero, nothing) for side in systems[name].computed.frames
        ))  # fmt: skip
        filled[name] = replace(
            systems[name],
            computed=replace(computed, values=computed.values.with_columns(kept[QUERY])),
        )
    if unpaired == "zero":
        _share_denominators(filled)
    left_out = [metric.label for metric in metrics if not metric.higher_is_better]
    done = "left out" if unpaired == "skip" else done_with(metrics, left_out)
    return Aligned(kept[QUERY], filled, len(alone), lacking, done)


def _taken(
    frame: pl.DataFrame, places: pl.Series, zero: pl.Series | None, worst: Mapping[str, float]
) -> pl.DataFrame:
    """The rows at these places; where there is none, the worst value if so asked."""
    taken = frame.select(pl.all().gather(places)) if frame.width else frame
    if zero is None or not zero.any():
        return taken
    return taken.with_columns(
        pl.when(zero).then(pl.lit(worst.get(label), pl.Float64)).otherwise(pl.col(label))
        .alias(label)
        for label in taken.columns if label != QUERY
    )  # fmt: skip


def _share_denominators(systems: dict[str, System]) -> None:
    """A query that a system lacks weighs as it does in the first system that has it."""
    sides = [system.computed.below for system in systems.values()]
    for label in sides[0].columns:
        largest = pl.DataFrame(
            [side[label].alias(str(at)) for at, side in enumerate(sides) if label in side.columns]
        ).max_horizontal()
        own = pl.col(label)
        for name, system in systems.items():
            shared = pl.when(own == 0).then(largest).otherwise(own).alias(label)
            below = system.computed.below.with_columns(shared)
            systems[name] = replace(system, computed=replace(system.computed, below=below))


@dataclass(frozen=True)
class Column:
    """A metric of several systems over the same queries, as what its averages are made of.

    Each array is systems × queries, and 0 where the metric is undefined for some system: such
    queries are left out for all.
    """

    metric: Metric
    values: Floats
    above: Floats
    below: Floats
    # systems × queries: whether the metric is defined
    defined: NDArray[np.bool_]
    # judged@k, where that is known; k is the metric's own, or 10
    judged: Floats | None

    @classmethod
    def of(cls, metric: Metric, aligned: Aligned, *, weights: Floats | None = None) -> Column:
        """Take a metric's columns, and what goes beside it."""
        systems = aligned.systems.values()
        terms = {
            name: Terms.of(metric, system.computed, weights)
            for name, system in aligned.systems.items()
        }
        depth, shares = depth_of(metric), None
        if all(depth in system.judged for system in systems):
            judged = [system.values[system.judged[depth]] for system in systems]
            shares = np.stack([share.to_numpy() for share in judged])  # NaN where it has none
        return cls.over(metric, terms, shares)

    @classmethod
    def over(
        cls, metric: Metric, systems: Mapping[str, Terms], judged: Floats | None = None
    ) -> Column:
        """Put side by side what the averages of systems are made of."""
        for name, some in systems.items():
            if endless := int((~np.isfinite(some.above) | ~np.isfinite(some.divisor)).sum()):
                raise MetricParameterError(
                    f"{metric.label!r} is not finite for {number_of(endless, 'query')} of "
                    f"{name!r}: there is no mean of it to compare."
                )
        terms = list(systems.values())
        defined = np.stack([some.defined for some in terms])
        complete = defined.all(axis=0)

        def stacked(rows: list[Floats]) -> Floats:
            whole = np.stack(rows)
            return whole if complete.all() else np.where(complete, whole, 0.0)

        values = stacked([some.values for some in terms])
        plain = all(some.above is some.values for some in terms)
        return cls(
            metric,
            values,
            values if plain else stacked([some.above for some in terms]),
            stacked([some.divisor for some in terms]),
            defined,
            judged,
        )

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """For which queries it is defined in every system."""
        return np.logical_and.reduce(self.defined)

    def taken(self, rows: NDArray[np.int64]) -> Column:
        """Of some of the queries."""
        if len(rows) == self.defined.shape[1]:
            return self
        judged = None if self.judged is None else self.judged[:, rows]
        return replace(
            self,
            values=self.values[:, rows],
            above=self.above[:, rows],
            below=self.below[:, rows],
            defined=self.defined[:, rows],
            judged=judged,
        )
