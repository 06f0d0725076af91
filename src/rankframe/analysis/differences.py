"""Compute averages of several systems and their differences: intervals, effect sizes, p values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import get_args

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats, Ints
from rankframe.core.caveats import MOST_PERMUTATIONS, Caveat, find_caveat
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Comparing, Intervals, Test
from rankframe.core.records import record
from rankframe.engine.accumulator import Terms
from rankframe.engine.result import SMALL
from rankframe.metrics.names import Metric
from rankframe.stats.bootstrap import Hashes, QueryBuckets, bootstrap_ratios
from rankframe.stats.exact import exact_sum
from rankframe.stats.intervals import (
    Bounds,
    around,
    finish_average,
    percentile_interval,
    t_interval,
)
from rankframe.stats.paired import (
    PairedValues,
    count_moves,
    estimate_difference_error,
    estimate_mean_error,
    is_rounding,
)
from rankframe.stats.significance import (
    FAMILYWISE,
    TESTS,
    Draws,
    Pair,
    PValues,
    SignificanceTest,
    count_needed_queries,
)


@record
class Setup:
    """Hold how systems are compared: with which baseline, test, correction and intervals."""

    baseline: str | None = None
    comparing: Comparing = Comparing()
    intervals: Intervals = Intervals()

    @property
    def significance(self) -> SignificanceTest:
        """Return the test of significance."""
        return TESTS[self.comparing.test]

    def check_metrics(self, metrics: Sequence[Metric]) -> None:
        """Refuse metrics that the test cannot handle."""
        if self.significance.takes != "plain means":
            return
        general = [name for name in get_args(Test) if TESTS[name].takes == "any average"]
        hints = [part for name in general for part in (" or ", Option("test", name))][1:]
        for metric in metrics:
            if metric.average in ("weighted", "micro"):
                raise OptionError(
                    f"{metric.label!r} is not a plain mean, and the {self.comparing.test} test "
                    "supports only plain means. Use ",
                    *hints,
                    ".",
                )

    @property
    def level(self) -> float:
        """Return the significance level: a corrected p value below it is significant."""
        return round(1 - self.intervals.confidence, 12)

    @property
    def fewest(self) -> int:
        """Return the minimum number of queries for a significant result."""
        return count_needed_queries(self.level)

    def _needed_permutations(self, tests: int, families: int) -> int:
        """Return the fewest permutations with which one of `tests` tests can be significant.

        `families`: the number of metrics × slices among the tests. Tests without permutations: 0.
        """
        factor = families if self.significance.over_pairs else tests
        factor = factor if self.comparing.correction in FAMILYWISE else 1
        return math.floor(factor / self.level) if self.significance.draws else 0

    def with_enough_permutations(self, tests: int, families: int) -> Setup:
        """Return a setup with enough permutations for significance after the correction.

        The setup is unchanged if its permutations suffice, or if even the maximum would not. Twice
        the minimum is drawn, to resolve p values between the smallest possible ones.
        """
        needed = self._needed_permutations(tests, families)
        if not self.comparing.permutations < needed <= MOST_PERMUTATIONS:
            return self
        permutations = min(2 * needed, MOST_PERMUTATIONS)
        return replace(self, comparing=replace(self.comparing, permutations=permutations))

    def find_caveats(self, tests: int, families: int, queries: int) -> Iterator[Caveat]:
        """Yield the caveats of the test, for this number of tests and of queries."""
        test = self.comparing.test
        yield from find_caveat(
            "too_few_permutations",
            self._needed_permutations(tests, families),
            tests=tests,
            correction=self.comparing.correction,
            most=MOST_PERMUTATIONS,
        )
        if not self.significance.of_means and tests:
            hypothesis = self.significance.hypothesis
            yield from find_caveat("median_test", queries, test=test, hypothesis=hypothesis)

    def find_contradictions(self, table: pl.DataFrame) -> Iterator[Caveat]:
        """Yield a caveat if significant differences have intervals that contain 0.

        A test of means with a bootstrap interval has no caveat: it contradicts only in close cases.
        """
        if self.significance.of_means and self.intervals.ci != "t":
            return
        contains_0 = (pl.col("ci_low") <= 0) & (pl.col("ci_high") >= 0)
        rows = table.filter("significant", contains_0, pl.col("difference") != 0)
        for row in rows.head(1).to_dicts():
            named = {name: row[name] for name in ("metric", "system", "baseline")}
            named |= {"test": self.comparing.test, "hypothesis": self.significance.hypothesis}
            yield from find_caveat("test_contradicts_interval", rows.height, **named)

    def described(self) -> dict[str, str]:
        """Return the policies of the setup for the ledger."""
        test = f"{self.comparing.test}, hypothesis: {self.significance.hypothesis}"
        if self.significance.draws:
            count = self.comparing.permutations
            test += f", {count:,} permutations, seed {self.intervals.seed}"
        correction: str = self.comparing.correction
        p = "p" if correction == "none" else "corrected p"
        if self.significance.over_pairs:
            by_number = ", over metrics and slices by their number"
            more = {"none": "", "bh": ", then by bh"}.get(correction, by_number)
            correction, p = f"over pairs by the test{more}", "corrected p"
        return {
            "baseline": self.baseline or "none: every pair is compared",
            "test": test,
            "correction": correction,
            "significant": f"{p} below {self.level:g}",
            "fewest_queries": f"{self.fewest}: with fewer, nothing is called significant",
            "unpaired": self.comparing.unpaired,
            **self.intervals.described(),
        }

    def p_values(
        self, metrics: Sequence[AlignedValues], pairs: Sequence[Pair], hashes: Hashes
    ) -> PValues:
        """Return uncorrected p values by metric and pair; None with fewer than two queries."""
        test = self.significance
        tested = [values if test.draws else values.paired for values in metrics]
        draws = Draws(hashes, self.comparing.permutations, self.intervals.seed)
        rows = test.p_values(tested, pairs, draws)
        return [
            row if values.paired.queries > 1 else [None] * len(pairs)
            for row, values in zip(rows, metrics, strict=True)
        ]


Row = dict[str, object]
# The columns metric, by and slice; then a row for each system, and a row for each pair of systems.
Compared = tuple[dict[str, str | None], list[Row], list[Row]]


def value_row(value: float | None, bounds: Bounds | None, queries: int) -> Row:
    """Return the columns for a value: value, interval, number of queries."""
    low, high = around(value, bounds)
    return {
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "queries": queries,
        "small": queries < SMALL,
    }


def difference_row(
    before: float | None, after: float | None, difference: float | None, bounds: Bounds | None,
    p_value: float | None, queries: int,
) -> Row:  # fmt: skip
    """Return the columns for a system and its baseline: both values, their difference, p value."""
    return {
        **value_row(difference, bounds, queries),
        "baseline_value": before,
        "value": after,
        "difference": difference,
        "relative": difference / abs(before) if difference is not None and before else None,
        "p_value": p_value,
    }


@record
class AlignedValues(PairedValues):
    """Hold the values of a metric for several systems over the same queries.

    Arrays are systems × queries. A query for which the metric is undefined in any system is 0 for
    all systems and does not count.
    """

    metric: Metric
    # systems × queries: whether the metric is defined
    defined: Flags
    # judged@k, if it was computed; k is the cutoff of the metric, or 10
    judged: Floats | None = None
    # replicates × systems: Σ above / Σ below, if the bootstrap was drawn
    replicates: Floats | None = None

    @classmethod
    def from_terms(
        cls, metric: Metric, systems: Mapping[str, Terms], judged: Floats | None = None
    ) -> AlignedValues:
        """Stack the `Terms` of systems (values by query) into arrays; refuse infinite values."""
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

    def take(self, rows: Ints) -> AlignedValues:
        """Return the same values, only for the queries at the positions `rows`."""
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
    def complete(self) -> Flags:
        """Mark the queries for which the metric is defined in every system."""
        return np.logical_and.reduce(self.defined)

    @property
    def paired(self) -> PairedValues:
        """Return the values of the complete queries only."""
        return self if self.complete.all() else self._complete_values

    @cached_property
    def _complete_values(self) -> PairedValues:
        rows = self.complete
        return PairedValues(self.values[:, rows], self.above[:, rows], self.below[:, rows])

    @cached_property
    def averages(self) -> list[float | None]:
        """Return the average of each system over the complete queries; None if it is undefined."""
        averages: list[float | None] = []
        for (above, _), ratio in zip(self.paired.totals, self.paired.ratios, strict=True):
            if math.isnan(ratio):
                averages.append(None)
            elif self.metric.average == "sum":
                averages.append(float(above))
            else:
                averages.append(float(self.finish(np.array(ratio))))
        return averages

    @cached_property
    def judged_shares(self) -> list[float | None]:
        """Return judged@k of each system, over the queries where it is known for all systems."""
        if self.judged is None:
            return [None] * len(self.values)
        finite = np.isfinite(self.judged).all(axis=0)
        count = int(finite.sum())
        return [
            float(exact_sum(shares[finite])) / count if count else None for shares in self.judged
        ]

    @cached_property
    def bootstrap_averages(self) -> Floats:
        """Return the average of each system in every replicate: replicates × systems."""
        assert self.replicates is not None  # callers draw them first
        return self.finish(self.replicates)

    def finish(self, ratios: Floats) -> Floats:
        """Turn ratios of sums, Σ above / Σ below, into averages of the metric's kind."""
        return finish_average(self.metric.average, ratios, self.paired.queries)

    def slope(self, system: int) -> float:
        """Return the derivative of a system's average by its ratio of sums, Σ above / Σ below."""
        match self.metric.average:
            case "geometric":
                return self.averages[system] or 0.0
            case "sum":
                return float(self.paired.queries)
            case _:
                return 1.0

    def pull(self, system: int) -> Floats:
        """Return the influence of each complete query on the average of a system."""
        return self.paired.contributions(system) * self.slope(system)

    def difference(self, base: int, other: int) -> float | None:
        """Return the average of `other` minus that of `base`; None if one is undefined.

        With a common denominator, exact sums are subtracted, and the result is rounded once.
        """
        before, after = self.averages[base], self.averages[other]
        if before is None or after is None:
            return None
        average = self.metric.average
        if not self.paired.common or average in ("geometric", "micro"):
            return after - before
        (first, below), (second, _) = self.paired.totals[base], self.paired.totals[other]
        return float(second - first) / (1.0 if average == "sum" else float(below))

    def count_wins(self, base: int, other: int) -> tuple[int, int]:
        """Return the number of queries where `other` is better, and where it is worse."""
        up, down = count_moves(self.paired.values[other], self.paired.values[base])
        return (up, down) if self.metric.higher_is_better else (down, up)

    def improvement(self, *, relative: bool) -> tuple[float, float]:
        """Return by how much the second system is better than the first, and its standard error.

        `relative`: return both as shares of the first system's average.
        """
        before, after = self.averages
        assert before is not None and after is not None  # noqa: PT018 (checked before)
        sign = 1.0 if self.metric.higher_is_better else -1.0
        if relative:
            pulls = (self.pull(1) - after / before * self.pull(0)) / abs(before)
            return sign * (after - before) / abs(before), estimate_mean_error(pulls)
        return sign * (after - before), estimate_mean_error(self.pull(1) - self.pull(0))

    def system_row(self, system: int, intervals: Intervals) -> Row:
        """Return the table row of a system: its average, interval and judged share."""
        average, paired, bounds = self.averages[system], self.paired, None
        if average is not None and intervals.ci == "t":
            error = estimate_difference_error(paired, None, system)
            bounds = t_interval(paired.ratios[system], error, paired.queries, intervals.confidence)
            if bounds is not None:
                low, high = self.finish(np.array(bounds)).tolist()
                bounds = low, high
        elif average is not None and self.replicates is not None:
            replicates = self.finish(self.replicates[:, system])
            bounds = percentile_interval(replicates, paired.queries, intervals.confidence)
        judged = self.judged_shares[system]
        return value_row(average, bounds, paired.queries) | {"judged": judged}

    def pair_row(
        self, base: int, other: int, intervals: Intervals, p_value: float | None = None
    ) -> Row:
        """Return the table row that compares the system `other` with the system `base`."""
        paired, effect, bounds = self.paired, None, None
        difference = self.difference(base, other)
        if difference is not None:
            effect = self._effect_size(base, other)
            if intervals.ci == "t":
                scales = self.slope(base), self.slope(other)
                error = estimate_difference_error(paired, base, other, scales=scales)
                bounds = t_interval(difference, error, paired.queries, intervals.confidence)
            elif self.replicates is not None:
                averages = self.bootstrap_averages
                replicates = averages[:, other] - averages[:, base]
                bounds = percentile_interval(replicates, paired.queries, intervals.confidence)
        wins, losses = self.count_wins(base, other)
        before, after = self.averages[base], self.averages[other]
        return difference_row(before, after, difference, bounds, p_value, paired.queries) | {
            "effect_size": effect,
            "wins": wins,
            "ties": paired.queries - wins - losses,
            "losses": losses,
            "undefined": self.queries - paired.queries,
            "judged_baseline": self.judged_shares[base],
            "judged": self.judged_shares[other],
        }

    def _effect_size(self, base: int, other: int) -> float | None:
        """Return Cohen's d of the differences per query; None if the differences do not vary."""
        paired = self.paired
        difference = paired.ratios[other] - paired.ratios[base]
        if is_rounding(difference, paired, base, other):
            return 0.0
        spread = estimate_difference_error(paired, base, other) * math.sqrt(paired.queries)
        return None if is_rounding(spread, paired, base, other) else difference / spread


def draw_replicates(
    metrics: Sequence[AlignedValues], hashes: Hashes, intervals: Intervals
) -> list[AlignedValues]:
    """Return the metrics with bootstrap replicates, which draw the same queries for all metrics."""
    if intervals.ci != "bootstrap" or not len(hashes):
        return list(metrics)
    buckets, ratios = QueryBuckets(hashes), []
    for values in metrics:
        systems = len(values.values)
        # With a common denominator, it is summed once for all systems.
        sums = buckets.sums([*values.above, *(values.below[:1] if values.common else values.below)])
        above, below = sums.T[:systems], sums.T[systems:]
        ratios += zip(above, np.broadcast_to(below, above.shape), strict=True)
    drawn = bootstrap_ratios(
        buckets.origins, ratios, replicates=intervals.replicates, seed=intervals.seed
    )
    columns = np.split(drawn, len(metrics), axis=1)
    return [
        replace(values, replicates=np.ascontiguousarray(replicates))
        for values, replicates in zip(metrics, columns, strict=True)
    ]
