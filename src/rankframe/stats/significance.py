"""Paired tests of significance between systems over the same queries, and corrections of p values.

To add a test, write its function here, with a line in `TESTS`, and add its name to `Test`
(core/options.py). Checks, messages, the ledger and corrections follow from that line.

Permutation tests derive their random draws from hashes of query ids (`bootstrap.py`), the same
draws for every metric and pair of systems, so that p values are reproducible on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial, wraps
from itertools import permutations
from typing import Any, Literal, TypeAlias

import numpy as np

from rankframe.core.arrays import AnyInts, Floats
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Correction
from rankframe.core.records import record
from rankframe.stats.bootstrap import (
    MOST_BUCKETS,
    Hashes,
    QueryBuckets,
    coin_weights,
    random_words,
    scale_to_integers,
    weighted_sums,
)
from rankframe.stats.paired import (
    PairedValues,
    count_moves,
    estimate_difference_error,
    is_rounding,
    ranked_differences,
)


def _holm(p_values: Floats) -> Floats:
    """Adjust p values by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return adjusted


def _benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjust p values by the method of Benjamini and Hochberg."""
    from scipy.stats import false_discovery_control  # noqa: PLC0415

    return false_discovery_control(p_values, method="bh")


CORRECTIONS: dict[Correction, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "bonferroni": lambda p_values: p_values * len(p_values),
    "bh": _benjamini_hochberg,
    "none": lambda p_values: p_values,
}
# Corrections of the family-wise error rate: the chance of any false alarm.
FAMILYWISE: tuple[Correction, ...] = ("holm", "bonferroni")


def correct_p_values(
    p_values: Sequence[float | None], correction: Correction, *, families: int | None = None
) -> list[float | None]:
    """Correct p values for multiple testing; None stays None and does not count.

    "holm" and "bonferroni" bound the family-wise error rate, "bh" bounds the false discovery rate,
    and "none" returns the p values unchanged.

    Args:
        p_values: One p value per test.
        correction: The name of the correction.
        families: The number of families, if the test itself corrects within each family.

    >>> correct_p_values([0.01, 0.04, None, 0.03], "holm")
    [0.03, 0.06, None, 0.06]
    """
    tested = np.array([p for p in p_values if p is not None])
    if not len(tested):
        return list(p_values)
    # Holm's step-down over families would not be valid within a family.
    is_multiplied = families and correction in FAMILYWISE
    adjusted = tested * families if is_multiplied else CORRECTIONS[correction](tested)
    rest = iter(np.minimum(adjusted, 1.0).tolist())
    return [None if p is None else next(rest) for p in p_values]


Pair: TypeAlias = tuple[int, int]
# The p value by metric and pair of systems; None if undefined.
PValues: TypeAlias = list[list[float | None]]
# The averages that a test accepts: any average; means with the same denominators in every system;
# unweighted means.
Takes = Literal["any average", "means", "plain means"]

# Replicates drawn at a time: memory does not grow with their number.
_AT_ONCE = 1_000
_TABLE_SYSTEMS = 7  # up to this number of systems, all permutations (5,040) are tabulated
_BUCKETS_AT_ONCE = 256  # buckets whose draws fit in the cache


@record
class Draws:
    """Describe the random permutations of a test: hashes of its queries, number, and seed."""

    hashes: Hashes
    permutations: int = 10_000
    seed: int = 0
    most_buckets: int = MOST_BUCKETS

    @cached_property
    def buckets(self) -> QueryBuckets:
        """Assign the queries to buckets, which are permuted instead of queries."""
        return QueryBuckets(self.hashes, self.most_buckets)


TestFunction: TypeAlias = Callable[[Sequence[PairedValues], Sequence[Pair], Draws], PValues]


@record
class SignificanceTest:
    """Describe a paired test between systems: its function, hypothesis and requirements."""

    p_values: TestFunction
    # the null hypothesis, and whether it is about the reported means
    hypothesis: str = "equal means"
    of_means: bool = True
    takes: Takes = "any average"
    # whether the test permutes queries. It then needs all queries: an undefined query has 0 above
    # and below
    draws: bool = False
    # whether the p values are corrected over all pairs of systems already
    over_pairs: bool = False


def each_pair(function: Callable[[PairedValues, int, int], float | None]) -> TestFunction:
    """Turn a function that tests one metric and one pair of systems into a `TestFunction`."""

    @wraps(function)
    def p_values(metrics: Sequence[PairedValues], pairs: Sequence[Pair], _draws: Draws) -> PValues:
        return [[function(paired, *pair) for pair in pairs] for paired in metrics]

    return p_values


def t(paired: PairedValues, baseline: int, system: int) -> float | None:
    """Return the p value of Student's paired t test, for any kind of average.

    If the differences do not vary, there is no error: the result is the sign test's p value.
    """
    difference = paired.ratios[system] - paired.ratios[baseline]
    error = estimate_difference_error(paired, baseline, system)
    if paired.queries < 2 or math.isnan(error) or math.isnan(difference):
        return None
    if is_rounding(error * math.sqrt(paired.queries), paired, baseline, system):
        if is_rounding(difference, paired, baseline, system):
            return 1.0
        return sign(paired, baseline, system)
    return two_sided(difference / error, paired.queries - 1)


def two_sided(statistic: float, freedom: int) -> float:
    """Return the two-sided p value: the probability that |t| is at least this large.

    >>> round(two_sided(2.262157163, 9), 6)
    0.05
    """
    from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

    return float(2 * stdtr(freedom, -abs(statistic)))


def wilcoxon(paired: PairedValues, baseline: int, system: int) -> float | None:
    """Return the p value of Wilcoxon's signed rank test; differences of 0 are left out."""
    from scipy import stats  # noqa: PLC0415

    apart = ranked_differences(paired.values[system], paired.values[baseline])
    if len(apart) < 2:
        return None
    if not apart.any():
        return 1.0
    outcome: Any = stats.wilcoxon(apart)
    return float(outcome.pvalue)


def sign(paired: PairedValues, baseline: int, system: int) -> float:
    """Return the p value of the sign test; differences of 0 are left out."""
    from scipy.stats import binomtest  # noqa: PLC0415 (only where systems are compared)

    up, down = count_moves(paired.values[system], paired.values[baseline])
    return float(binomtest(up, up + down).pvalue) if up + down else 1.0


@np.errstate(divide="ignore", invalid="ignore")  # a swap may leave a denominator of 0
def randomisation(metrics: Sequence[PairedValues], pairs: Sequence[Pair], draws: Draws) -> PValues:
    """Return the p values of Fisher's randomisation test, by metric and pair of systems.

    Each draw swaps the two systems in random queries. If b of B draws make the difference at least
    as large as the observed difference, p is (b + 1) / (B + 1). Each draw serves every metric and
    pair.
    """
    buckets, count = draws.buckets, draws.permutations
    swaps = [_Swap.from_values(paired, pair, buckets) for paired in metrics for pair in pairs]
    columns = np.column_stack([part for swap in swaps for part in swap.moved])
    ends = np.cumsum([len(swap.moved) for swap in swaps])
    extreme = np.zeros(len(swaps), np.int64)
    for first in range(0, count, _AT_ONCE):
        replicates = min(_AT_ONCE, count - first)
        coins = partial(coin_weights, first=first)
        sums = weighted_sums(
            buckets.origins, columns, coins, replicates=replicates, seed=draws.seed
        )
        of_swaps = zip(swaps, np.split(sums, ends[:-1], axis=1), strict=True)
        extreme += [swap.count_extreme(moved) for swap, moved in of_swaps]
    p_values = [
        None if swap.undefined else float((extremes + 1) / (count + 1))
        for swap, extremes in zip(swaps, extreme.tolist(), strict=True)
    ]
    return [p_values[i : i + len(pairs)] for i in range(0, len(p_values), len(pairs))]


@record
class _Swap:
    """Hold sums of two systems, and the change if the systems swap their values in a bucket."""

    # Σ above and Σ below of each system before any swap
    baseline: tuple[float, float]
    system: tuple[float, float]
    # by bucket: the change of Σ above if the bucket is swapped; then of Σ below, unless the
    # denominators are equal
    moved: list[Floats]
    # the largest rounding error: equal sums must count as equal
    slack: float

    @classmethod
    def from_values(cls, paired: PairedValues, pair: Pair, buckets: QueryBuckets) -> _Swap:
        """Sum the values of two systems over each bucket."""
        baseline, system = pair
        parts = [paired.above] if paired.common else [paired.above, paired.below]
        moved = list(buckets.sums([part[system] - part[baseline] for part in parts]).T)
        totals = [(float(above), float(below)) for above, below in paired.totals]
        size = abs(totals[baseline][1])
        slack = 1e-12 * float(np.abs(moved[0]).sum()) / size if size else 0.0
        return cls(totals[baseline], totals[system], moved, slack)

    @property
    def undefined(self) -> bool:
        """Tell whether an average is undefined, so that there is nothing to compare."""
        return not self.baseline[1] or not self.system[1]

    def count_extreme(self, sums: Floats) -> int:
        """Count the replicates whose difference is at least as large as the observed one.

        `sums` are the sums of `moved` over the swapped buckets of each replicate.
        """
        if self.undefined:
            return 0
        below = sums[:, 1] if sums.shape[1] > 1 else 0.0
        apart = (self.system[0] - sums[:, 0]) / (self.system[1] - below)
        apart -= (self.baseline[0] + sums[:, 0]) / (self.baseline[1] + below)
        observed = self.system[0] / self.system[1] - self.baseline[0] / self.baseline[1]
        return int((np.abs(apart) >= abs(observed) - self.slack).sum())


def tukey(metrics: Sequence[PairedValues], pairs: Sequence[Pair], draws: Draws) -> PValues:
    """Return the p values of Tukey's honest significant difference, by randomisation.

    Each draw shuffles all systems in every query: p is the share of draws in which the best and the
    worst system differ at least as much as the two compared systems do. This corrects over all
    pairs of systems (Carterette 2012). Each draw serves every metric.
    """
    if not all(paired.common for paired in metrics):
        raise OptionError(
            "tukey compares means over the same queries; with average=micro, the denominators "
            "differ between systems. Use ",
            Option("test", "randomisation"),
            " for such metrics.",
        )
    buckets, count, seed = draws.buckets, draws.permutations, draws.seed
    # Scaled to whole numbers, whose sums are exact: buckets × systems × metrics.
    scaled, units = [], []
    for paired in metrics:
        sums = buckets.sums(list(paired.above))
        whole, unit = scale_to_integers((sums - sums.mean(axis=1, keepdims=True)).reshape(-1, 1))
        scaled.append(whole.reshape(sums.shape))
        units.append(float(unit.max()))
    values = np.stack(scaled, axis=2)
    ranges = np.empty((count, len(metrics)))
    for first in range(0, count, _AT_ONCE):
        replicates = min(_AT_ONCE, count - first)
        totals = np.zeros((values.shape[1], replicates, len(metrics)))
        for start in range(0, len(values), _BUCKETS_AT_ONCE):
            rows = slice(start, start + _BUCKETS_AT_ONCE)
            totals += _shuffled_sums(buckets.origins[rows], values[rows], replicates, seed, first)
        ranges[first : first + replicates] = np.ptp(totals, axis=0) * units
    p_values = []
    for number, paired in enumerate(metrics):
        _, total = paired.totals[0]
        slack = 1e-12 * float(np.abs(scaled[number]).sum()) * units[number]
        row: list[float | None] = []
        for baseline, system in pairs:
            apart = abs(paired.ratios[system] - paired.ratios[baseline]) * float(total)
            extreme = int((ranges[:, number] >= apart - slack).sum())
            row.append(None if math.isnan(apart) else (extreme + 1) / (count + 1))
        p_values.append(row)
    return p_values


def _shuffled_sums(
    origins: Hashes, values: Floats, replicates: int, seed: int, first: int
) -> Floats:
    """Shuffle the systems in each bucket of queries, and sum over all buckets.

    Returns systems × replicates × metrics.
    """
    _, systems, metrics = values.shape
    totals = np.zeros((systems, replicates, metrics))
    # Assume the last system in every place, and correct for the others; the last place is the rest.
    last = values[:, -1]
    for place, chosen in enumerate(_orders(origins, systems, replicates, seed, first)[:-1]):
        totals[place] = last.sum(axis=0)
        for system in range(systems - 1):
            here = (chosen == system).astype(np.float64)
            totals[place] += here.T @ (values[:, system] - last)
    totals[-1] = values.sum(axis=(0, 1)) - totals.sum(axis=0)
    return totals


def _orders(origins: Hashes, systems: int, replicates: int, seed: int, first: int) -> AnyInts:
    """Draw a permutation of the systems for each bucket and replicate.

    Returns the system at each place: systems × buckets × replicates.
    """
    if systems <= _TABLE_SYSTEMS:
        table = np.array(list(permutations(range(systems))), np.uint8)
        drawn = random_words(origins, replicates, seed, first) >> np.uint64(32)
        number = ((drawn * np.uint64(len(table))) >> np.uint64(32)).astype(np.intp)
        return np.stack([column[number] for column in table.T])
    drawn = random_words(origins, replicates * systems, seed, first * systems)
    drawn = drawn.reshape(len(origins), replicates, systems)
    return np.moveaxis(np.argsort(drawn, axis=2, kind="stable"), 2, 0)


_EXCHANGEABLE = "equal means (strictly: exchangeable systems)"
TESTS: dict[str, SignificanceTest] = {
    "t": SignificanceTest(each_pair(t)),
    "wilcoxon": SignificanceTest(
        each_pair(wilcoxon), "differences symmetric around 0", of_means=False, takes="plain means"
    ),
    "sign": SignificanceTest(
        each_pair(sign), "as many wins as losses", of_means=False, takes="plain means"
    ),
    "randomisation": SignificanceTest(randomisation, _EXCHANGEABLE, draws=True),
    "tukey": SignificanceTest(tukey, _EXCHANGEABLE, takes="means", draws=True, over_pairs=True),
}


def count_needed_queries(level: float) -> int:
    """Return the smallest number of queries with which any difference can be significant.

    With fewer queries, even differences that all have the same sign are too likely by chance.

    >>> count_needed_queries(0.05)
    6
    """
    return math.floor(1 - math.log2(level)) + 1


def against_margin(
    change: float, error: float, queries: int, *, margin: float, confidence: float
) -> tuple[float, float]:
    """Return the one-sided lower bound of a change (Student's t), and its p value against a margin.

    `error` is the standard error of the change.
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 (only where a gate decides)

    above = change - margin
    if error == 0:
        return change, 0.0 if above >= 0 else 1.0
    bound = change - float(stdtrit(queries - 1, confidence)) * error
    return bound, float(stdtr(queries - 1, -above / error))
