"""One metric of several systems over the same queries: averages, and how queries move them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import number_of
from rankframe.engine.terms import Terms
from rankframe.metrics.names import Metric
from rankframe.stats.exact import exact_sum
from rankframe.stats.intervals import finish_average
from rankframe.stats.paired import Floats, PairedValues, count_moves, mean_error


@dataclass(frozen=True)
class AlignedValues(PairedValues):
    """Hold a metric of several systems over the same queries.

    Arrays are systems × queries, and 0 where the metric is undefined for some system: such queries
    count for no system.
    """

    metric: Metric
    # systems × queries: whether the metric is defined
    defined: NDArray[np.bool_]
    # judged@k, if it was computed; k is the cutoff of the metric, or 10
    judged: Floats | None = None
    # replicates × systems: Σ above / Σ below, if the bootstrap was drawn
    replicates: Floats | None = None

    @classmethod
    def from_terms(
        cls, metric: Metric, systems: Mapping[str, Terms], judged: Floats | None = None
    ) -> AlignedValues:
        """Stack what the averages of systems are made of."""
        for name, terms in systems.items():
            if count := int((~np.isfinite(terms.above) | ~np.isfinite(terms.divisor)).sum()):
                raise MetricParameterError(
                    f"{metric.label!r} is not finite for {number_of(count, 'query')} of "
                    f"{name!r}: there is no mean of it to compare."
                )
        defined = np.stack([terms.defined for terms in systems.values()])
        complete = defined.all(axis=0)

        def stack(rows: list[Floats]) -> Floats:
            stacked = np.stack(rows)
            return stacked if complete.all() else np.where(complete, stacked, 0.0)

        values = stack([terms.values for terms in systems.values()])
        plain = all(terms.above is terms.values for terms in systems.values())
        above = values if plain else stack([terms.above for terms in systems.values()])
        below = stack([terms.divisor for terms in systems.values()])
        return cls(values, above, below, metric, defined, judged)

    def take(self, rows: NDArray[np.int64]) -> AlignedValues:
        """Keep the queries at these rows."""
        if len(rows) == self.queries:
            return self
        return replace(
            self,
            values=self.values[:, rows],
            above=self.above[:, rows],
            below=self.below[:, rows],
            defined=self.defined[:, rows],
            judged=None if self.judged is None else self.judged[:, rows],
        )

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Mark the queries for which the metric is defined in every system."""
        return np.logical_and.reduce(self.defined)

    @cached_property
    def paired(self) -> PairedValues:
        """Return the values of the complete queries alone."""
        rows = self.complete
        if rows.all():
            return self
        return PairedValues(self.values[:, rows], self.above[:, rows], self.below[:, rows])

    @cached_property
    def averages(self) -> list[float | None]:
        """Return the average of each system, as its own summary has it."""
        averages: list[float | None] = []
        for (above, below), ratio in zip(self.paired.totals, self.paired.ratios, strict=True):
            if not float(below) or math.isnan(ratio):
                averages.append(None)
            elif self.metric.average == "sum":
                averages.append(float(above))
            else:
                averages.append(float(self.finish(np.array(ratio))))
        return averages

    @cached_property
    def judged_shares(self) -> list[float | None]:
        """Return judged@k of each system over the queries where all systems have it."""
        if self.judged is None:
            return [None] * len(self.values)
        finite = np.isfinite(self.judged).all(axis=0)
        count = int(finite.sum())
        return [
            float(exact_sum(shares[finite])) / count if count else None for shares in self.judged
        ]

    @property
    def bootstrap_averages(self) -> Floats:
        """Return the average of each system in every replicate: replicates × systems."""
        assert self.replicates is not None  # callers draw them first
        return self.finish(self.replicates)

    def finish(self, ratios: Floats) -> Floats:
        """Turn Σ above / Σ below into averages."""
        return finish_average(self.metric.average, ratios, self.paired.queries)

    def slope(self, system: int) -> float:
        """Return how much the average of a system moves with its Σ above / Σ below."""
        match self.metric.average:
            case "geometric":
                return self.averages[system] or 0.0
            case "sum":
                return float(self.paired.queries)
            case _:
                return 1.0

    def pull(self, system: int) -> Floats:
        """Return how far each complete query moves the average of a system."""
        return self.paired.contributions(system) * self.slope(system)

    def difference(self, base: int, other: int) -> float | None:
        """Subtract two averages, rounded once where it is a difference of sums."""
        before, after = self.averages[base], self.averages[other]
        if before is None or after is None:
            return None
        average = self.metric.average
        if not self.paired.common or average in ("geometric", "micro"):
            return after - before
        (first, below), (second, _) = self.paired.totals[base], self.paired.totals[other]
        return float(second - first) / (1.0 if average == "sum" else float(below))

    def count_wins(self, base: int, other: int) -> tuple[int, int]:
        """Count the queries in which the other system is better, and those in which it is worse."""
        up, down = count_moves(self.paired.values[other], self.paired.values[base])
        return (up, down) if self.metric.higher_is_better else (down, up)

    def improvement(self, *, relative: bool) -> tuple[float, float]:
        """Return by how much the second system is better than the first, and its standard error.

        `relative` gives both as shares of the first average.
        """
        before, after = self.averages
        assert before is not None and after is not None  # noqa: PT018 (checked before)
        sign = 1.0 if self.metric.higher_is_better else -1.0
        if relative:
            pulls = (self.pull(1) - after / before * self.pull(0)) / abs(before)
            return sign * (after - before) / abs(before), mean_error(pulls)
        return sign * (after - before), mean_error(self.pull(1) - self.pull(0))
