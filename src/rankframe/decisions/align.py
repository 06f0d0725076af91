"""The values of several systems side by side: the same queries for all, none dropped unsaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.base.columns import QUERY
from rankframe.base.errors import MetricParameterError, OptionError
from rankframe.decisions.systems import System
from rankframe.engine.plan import denominator
from rankframe.evaluation.summary import Terms
from rankframe.metrics.names import Metric

Unpaired = Literal["error", "skip", "zero"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Aligned:
    """Values of all systems for the same queries, in the same order."""

    queries: pl.Series
    values: dict[str, pl.DataFrame]
    # how many queries not every system has, and how many each lacks
    unpaired: int
    lacking: dict[str, int]


def align(systems: Mapping[str, System], metrics: Sequence[Metric], unpaired: Unpaired) -> Aligned:
    """The same queries for every system, as the policy has it."""
    first = next(iter(systems.values())).values[QUERY]
    values = {name: system.values for name, system in systems.items()}
    if all(frame[QUERY].equals(first) for frame in values.values()):
        return Aligned(first, values, 0, dict.fromkeys(values, 0))
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
            f"{len(alone):,} of {len(every):,} queries are not in every system, e.g. "
            f"{counts[name][QUERY][0]!r}, which {name!r} lacks. "
            'Pass unpaired="skip" to leave them out, or "zero" to score them 0.'
        )
    if unpaired == "skip":
        kept = every.to_frame().join(alone.to_frame(), on=QUERY, how="anti", maintain_order="left")
        if kept.is_empty():
            raise OptionError("the systems have no query in common. Is the key column right?")
    else:
        kept = every.to_frame()
    worst = {metric.label: 0.0 for metric in metrics if metric.higher_is_better}
    aligned = {}
    for name, frame in values.items():
        here = kept.join(frame, on=QUERY, how="left", maintain_order="left")
        if unpaired == "zero" and lacking[name]:
            absent = here[QUERY].is_in(counts[name][QUERY].implode())
            here = here.with_columns(
                pl.when(absent).then(pl.lit(worst.get(label.split("\0")[0]), pl.Float64))
                .otherwise(pl.col(label)).alias(label)
                for label in here.columns if label != QUERY
            )  # fmt: skip
        aligned[name] = here
    if unpaired == "zero":
        _share_denominators(aligned, [metric.label for metric in metrics])
    return Aligned(kept[QUERY], aligned, len(alone), lacking)


def _share_denominators(values: dict[str, pl.DataFrame], labels: Sequence[str]) -> None:
    """A query that a system lacks weighs as it does in the first system that has it."""
    frames = list(values.values())
    for label in [below for label in labels if (below := denominator(label)) in frames[0].columns]:
        largest = pl.DataFrame([f[label].alias(str(n)) for n, f in enumerate(frames)]).select(
            pl.max_horizontal(pl.all())
        )
        for name, frame in values.items():
            column = (
                frame[label]
                .to_frame()
                .select(
                    pl.when(pl.col(label) == 0).then(largest.to_series()).otherwise(pl.col(label))
                )
            )
            values[name] = frame.with_columns(column.to_series().alias(label))


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
    complete: NDArray[np.bool_]
    # the share of the top k that was judged, where that is known
    judged: Floats | None

    @classmethod
    def of(
        cls,
        metric: Metric,
        aligned: Aligned,
        *,
        weights: Floats | None = None,
        judged: str | None = None,
    ) -> Column:
        """Take a metric's columns; `judged` is the label of what goes beside it."""
        frames = list(aligned.values.values())
        terms = [Terms.of(metric, frame, weights) for frame in frames]
        for name, some in zip(aligned.values, terms, strict=True):
            if endless := int((~np.isfinite(some.above) | ~np.isfinite(some.divisor)).sum()):
                raise MetricParameterError(
                    f"{metric.label!r} is not finite for {endless:,} queries of {name!r}: there is "
                    "no mean of it to compare."
                )
        complete = np.logical_and.reduce([some.defined for some in terms])

        def stacked(rows: list[Floats]) -> Floats:
            return np.where(complete, np.stack(rows), 0.0)

        shares = None
        if judged is not None and all(judged in frame.columns for frame in frames):
            shares = np.stack([frame[judged].fill_null(0.0).to_numpy() for frame in frames])
        return cls(
            metric,
            stacked([some.values for some in terms]),
            stacked([some.above for some in terms]),
            stacked([some.divisor for some in terms]),
            complete,
            shares,
        )

    def taken(self, rows: NDArray[np.int64]) -> Column:
        """Of some of the queries."""
        if len(rows) == len(self.complete):
            return self
        judged = None if self.judged is None else self.judged[:, rows]
        return replace(
            self,
            values=self.values[:, rows],
            above=self.above[:, rows],
            below=self.below[:, rows],
            complete=self.complete[rows],
            judged=judged,
        )
