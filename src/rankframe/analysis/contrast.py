"""One metric of several systems over the same queries: averages, differences, and how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from rankframe.analysis.align import Column, Floats
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Comparing, Intervals, Test
from rankframe.engine.summary import SMALL
from rankframe.metrics.names import Metric
from rankframe.stats.exact import exact_sum
from rankframe.stats.intervals import Bounds, around, finished, percentile_interval, t_interval
from rankframe.stats.paired import (
    Chance,
    Pair,
    Paired,
    PValues,
    SignificanceTest,
    difference_error,
    differences,
    only_rounding,
)
from rankframe.stats.resample import Grouping, Hashes, poisson_sums
from rankframe.stats.significance import CORRECTIONS, TESTS, fewest_queries


@dataclass(frozen=True)
class Setup:
    """How systems are compared."""

    baseline: str | None = None
    comparing: Comparing = Comparing()  # noqa: RUF009 (frozen)
    intervals: Intervals = Intervals()  # noqa: RUF009 (frozen)

    @property
    def significance(self) -> SignificanceTest:
        """What its test says of itself."""
        return TESTS[self.comparing.test]

    def check_metrics(self, metrics: Sequence[Metric]) -> None:
        """Refuse metrics that the test does not know how to test."""
        others = [name for name in get_args(Test) if TESTS[name].takes == "any average"]
        hints = [part for name in others for part in (" or ", Option("test", name))][1:]
        for metric in metrics:
            plain = metric.average not in ("weighted", "micro")
            if not plain and self.significance.takes == "plain means":
                raise OptionError(
                    f"{metric.label!r} is no plain mean, and the {self.comparing.test} test knows "
                    "no other. Use ",
                    *hints,
                    ".",
                )

    @property
    def level(self) -> float:
        """Below which a corrected p value is called significant."""
        return round(1 - self.intervals.confidence, 12)

    @property
    def fewest(self) -> int:
        """With fewer queries nothing is called significant."""
        return fewest_queries(self.level)

    def out_of_reach(self, tests: int, groups: int) -> str:
        """What to say where no draw is rare enough to be significant among so many tests (of so
        many metrics and slices); else nothing.
        """
        correction, drawn = self.comparing.correction, self.comparing.permutations
        many = groups if self.significance.over_pairs else tests
        factor = many if CORRECTIONS[correction].any_alarm else 1
        if not self.significance.draws or factor / (drawn + 1) < self.level:
            return ""
        return (
            f"{drawn:,} permutations give no p below {1 / (drawn + 1):.2g}, which corrected "
            f"({correction}, {factor:,} at once) is not below {self.level:g}: nothing can be "
            f"significant with fewer than {math.floor(factor / self.level):,} permutations"
        )

    @property
    def called(self) -> str:
        """What is below the level where something is significant."""
        return "p" if self.comparing.correction == "none" else "corrected p"

    def described(self) -> dict[str, str]:
        """As the ledger shows it."""
        how: str = self.comparing.test
        if self.significance.draws:
            count = self.comparing.permutations
            how += f", {count:,} permutations, seed {self.intervals.seed}"
        return {
            "baseline": self.baseline or "none: every pair is compared",
            "test": how,
            "correction": self.comparing.correction,
            "significant": f"{self.called} below {self.level:g}",
            "fewest_queries": f"{self.fewest}: with fewer, nothing is called significant",
            "unpaired": self.comparing.unpaired,
            **self.intervals.described(),
        }


def contrasts(columns: Sequence[Column], hashes: Hashes, setup: Setup) -> list[Contrast]:
    """The contrasts of several metrics, which draw the same queries in each replicate."""
    replicates: list[Floats | None] = [None] * len(columns)
    systems = len(columns[0].values)
    if setup.intervals.ci == "bootstrap" and len(hashes):
        grouping = Grouping(hashes)
        # Where queries count the same in every system, one denominator serves all.
        below = [c.below[:1] if (c.below == c.below[0]).all() else c.below for c in columns]
        stacked = [row for c, b in zip(columns, below, strict=True) for row in (*c.above, *b)]
        sums = poisson_sums(
            grouping.origins,
            grouping.sums(stacked),
            replicates=setup.intervals.replicates,
            seed=setup.intervals.seed,
        )
        at = 0
        for number, under in enumerate(below):
            over = sums[:, at : at + systems]
            at += systems + len(under)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = over / sums[:, at - len(under) : at]
            replicates[number] = np.where(np.isfinite(ratio), ratio, np.nan)
    return [
        Contrast(column, hashes, drawn, setup)
        for column, drawn in zip(columns, replicates, strict=True)
    ]


def p_values(contrasts: Sequence[Contrast], pairs: Sequence[Pair], setup: Setup) -> PValues:
    """Of each metric and pair of systems, before any correction."""
    test = setup.significance
    seen = [contrast.whole if test.draws else contrast.paired for contrast in contrasts]
    chance = Chance(contrasts[0].hashes, setup.comparing.permutations, setup.intervals.seed)
    found = test.p_values(seen, pairs, chance)
    # One query says nothing.
    enough = [contrast.paired.queries > 1 for contrast in contrasts]
    return [row if e else [None] * len(pairs) for row, e in zip(found, enough, strict=True)]


@dataclass(frozen=True)
class Contrast:
    """A metric of several systems over some queries."""

    column: Column
    hashes: Hashes
    # replicates × systems: Σ above / Σ below
    replicates: Floats | None
    setup: Setup

    @cached_property
    def whole(self) -> Paired:
        """All queries; those for which some system has no value count for nothing."""
        return Paired(self.column.values, self.column.above, self.column.below)

    @cached_property
    def paired(self) -> Paired:
        """The queries for which every system has a value."""
        column, kept = self.column, self.column.complete
        if kept.all():
            return self.whole
        return Paired(column.values[:, kept], column.above[:, kept], column.below[:, kept])

    @cached_property
    def averages(self) -> list[float | None]:
        """What each system's summary says."""
        found = []
        for (above, below), ratio in zip(self.paired.totals, self.paired.ratios, strict=True):
            if not float(below) or math.isnan(ratio):
                found.append(None)
            elif self.column.metric.average == "sum":
                found.append(float(above))
            else:
                found.append(self._finished(ratio))
        return found

    def single(self, at: int) -> dict[str, object]:
        """One system by itself."""
        value, paired = self.averages[at], self.paired
        bounds = None
        if value is not None and self.setup.intervals.ci == "t":
            error = difference_error(paired, None, at)
            bounds = self._by_t(paired.ratios[at], error)
            bounds = bounds and (self._finished(bounds[0]), self._finished(bounds[1]))
        elif value is not None and self.replicates is not None:
            bounds = self._by_replicates(self._finished_all(self.replicates[:, at]))
        low, high = around(value, bounds)
        return {
            "metric": self.column.metric.label,
            "value": value,
            "ci_low": low,
            "ci_high": high,
            "queries": paired.queries,
            "judged": self._judged[at],
            "small": paired.queries < SMALL,
        }

    def pair(self, base: int, other: int) -> dict[str, object]:
        """One system against another, all but the p value."""
        paired, setup = self.paired, self.setup
        before, after = self.averages[base], self.averages[other]
        difference = relative = effect = bounds = None
        if before is not None and after is not None:
            difference = self._difference(base, other, after - before)
            relative = difference / abs(before) if before else None
            error = difference_error(paired, base, other)
            apart = paired.ratios[other] - paired.ratios[base]
            spread = error * math.sqrt(paired.queries)
            if only_rounding(apart, paired, base, other):
                effect = 0.0
            elif not only_rounding(spread, paired, base, other):
                effect = apart / spread
            if setup.intervals.ci == "t":
                scaled = difference_error(paired, base, other, scales=self.slopes(base, other))
                bounds = self._by_t(difference, scaled)
            elif self.replicates is not None:
                drawn = self.summaries
                bounds = self._by_replicates(drawn[:, other] - drawn[:, base])
        low, high = around(difference, bounds)
        ups, downs = self._moves(base, other)
        return {
            "metric": self.column.metric.label,
            "baseline_value": before,
            "value": after,
            "difference": difference,
            "relative": relative,
            "ci_low": low,
            "ci_high": high,
            "effect_size": effect,
            "wins": ups,
            "ties": paired.queries - ups - downs,
            "losses": downs,
            "queries": paired.queries,
            "undefined": len(self.column.complete) - paired.queries,
            "judged_baseline": self._judged[base],
            "judged": self._judged[other],
            "small": paired.queries < SMALL,
        }

    def _difference(self, base: int, other: int, plain: float) -> float:
        """The difference of two averages, rounded once where it is a difference of sums."""
        (first, below), (second, _) = (self.paired.totals[at] for at in (base, other))
        average = self.column.metric.average
        if not self.paired.common or average in ("geometric", "micro"):
            return plain
        return float(second - first) / (1.0 if average == "sum" else float(below))

    def improvement(self, *, relative: bool) -> tuple[float, float, int]:
        """By how much the second system is better than the first, the standard error of that, and
        how many queries differ.
        """
        before, after = self.averages
        assert before is not None and after is not None  # noqa: PT018 (checked before)
        sign = 1.0 if self.column.metric.higher_is_better else -1.0
        n, pull = self.paired.queries, self.pulls
        if relative:
            value = sign * (after - before) / abs(before)
            apart = (pull[1] - after / before * pull[0]) / abs(before)
        else:
            value = sign * (after - before)
            apart = pull[1] - pull[0]
        before_each, after_each = self.column.values
        differing = int(np.count_nonzero(differences(after_each, before_each)))
        return value, math.sqrt(float(exact_sum(apart**2)) / (n * (n - 1))), differing

    @property
    def pulls(self) -> list[Floats]:
        """Of each system, how far each query pulls its summary away from where it is."""
        systems = range(len(self.column.values))
        return [self.paired.contributions(at) * self.slopes(at)[0] for at in systems]

    @property
    def summaries(self) -> Floats:
        """Every replicate's summary of each system."""
        assert self.replicates is not None  # whoever asks had them drawn
        return self._finished_all(self.replicates)

    def _moves(self, base: int, other: int) -> tuple[int, int]:
        """In how many queries the other one is better, and worse."""
        apart = differences(self.paired.values[other], self.paired.values[base])
        up, down = int((apart > 0).sum()), int((apart < 0).sum())
        return (up, down) if self.column.metric.higher_is_better else (down, up)

    @cached_property
    def _judged(self) -> list[float | None]:
        """judged@k over the queries that are compared, as a row of its own would have it."""
        shares = self.column.judged
        if shares is None:
            return [None] * len(self.column.values)
        known = np.isfinite(shares).all(axis=0)
        count = int(known.sum())
        return [float(exact_sum(one[known])) / count if count else None for one in shares]

    def _finished_all(self, ratio: Floats) -> Floats:
        return finished(self.column.metric.average, ratio, self.paired.queries)

    def _finished(self, ratio: float) -> float:
        return float(self._finished_all(np.array(ratio)))

    def slopes(self, *systems: int) -> tuple[float, ...]:
        """How much a summary moves with its ratio."""
        match self.column.metric.average:
            case "geometric":
                return tuple(self.averages[at] or 0.0 for at in systems)
            case "sum":
                return (float(self.paired.queries),) * len(systems)
            case _:
                return (1.0,) * len(systems)

    def _by_t(self, value: float, error: float) -> Bounds | None:
        return t_interval(value, error, self.paired.queries, self.setup.intervals.confidence)

    def _by_replicates(self, replicates: Floats) -> Bounds | None:
        confidence = self.setup.intervals.confidence
        return percentile_interval(replicates, self.paired.queries, confidence)
