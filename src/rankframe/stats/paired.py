"""What a test of significance looks at, and the register of tests: `@significance_test` turns one
function into a test, with all that the rest has to know of it.

Every test sees a metric as what its average is made of (`Paired`), so that weighted means and
ratios of sums are tested as what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankframe.stats.exact import Exact, exact_sum
from rankframe.stats.resample import MOST_GROUPS, Grouping, Hashes

Floats = NDArray[np.float64]
Pair: TypeAlias = tuple[int, int]
# Of each metric, of each pair; None where there is none.
PValues: TypeAlias = list[list[float | None]]
# Averages: any; means with the same denominators in every system; means without weights.
Takes = Literal["any average", "means", "plain means"]

_ROUNDING = 1e-12  # of a value: more than what rounding takes from it


@dataclass(frozen=True)
class Paired:
    """A metric of several systems over the same queries, all of them defined.

    The average of system i is Σ above[i] / Σ below[i].
    """

    # systems × queries
    values: Floats
    above: Floats
    below: Floats

    @property
    def queries(self) -> int:
        """How many there are."""
        return self.values.shape[1]

    @cached_property
    def totals(self) -> list[tuple[Exact, Exact]]:
        """Σ above and Σ below of each system."""
        return [
            (exact_sum(above), exact_sum(below))
            for above, below in zip(self.above, self.below, strict=True)
        ]

    @cached_property
    def ratios(self) -> list[float]:
        """Each system's average; NaN where it has none."""
        return [
            float(above) / float(below) if float(below) else math.nan
            for above, below in self.totals
        ]

    @cached_property
    def common(self) -> bool:
        """Whether queries count the same below the line in every system."""
        return bool((self.below == self.below[0]).all())

    def contributions(self, at: int) -> Floats:
        """How far each query pulls a system's average away from where it is."""
        mean = float(self.totals[at][1]) / max(self.queries, 1)
        return (self.above[at] - self.ratios[at] * self.below[at]) / mean


@dataclass(frozen=True)
class Chance:
    """What tests that draw draw from: reproducible by its seed, on any machine."""

    # of the queries
    hashes: Hashes
    permutations: int = 10_000
    seed: int = 0
    most: int = MOST_GROUPS

    @cached_property
    def grouping(self) -> Grouping:
        """The groups of queries that are drawn."""
        return Grouping(self.hashes, self.most)


def difference_error(
    paired: Paired, base: int | None, other: int, *, scales: Sequence[float] = (1.0, 1.0)
) -> float:
    """The standard error of the difference of two averages (of one average, without a base).

    For means, that of the paired t test; for ratios of sums, by their linear part. `scales` are
    what each is multiplied by.
    """
    n = paired.queries
    if n < 2:
        return math.nan
    plain = paired.common and scales[0] == scales[-1] and (paired.below[0] == 1).all()
    if base is not None and plain:
        apart = paired.above[other] - paired.above[base]
        apart = (apart - float(exact_sum(apart)) / n) * scales[0]
    else:
        apart = paired.contributions(other) * scales[-1]
        if base is not None:
            apart = apart - paired.contributions(base) * scales[0]
    return math.sqrt(float(exact_sum(apart**2)) / (n * (n - 1)))


def differences(after: Floats, before: Floats) -> Floats:
    """How far values are apart: nothing, where that is no more than what rounding leaves.

    >>> differences(np.array([0.1 + 0.2, 0.8]), np.array([0.3, 0.5])).tolist()
    [0.0, 0.30000000000000004]
    """
    with np.errstate(invalid="ignore"):
        apart = after - before
    return np.where((after == before) | (np.abs(apart) <= _noise(after, before)), 0.0, apart)


def ranked_differences(after: Floats, before: Floats) -> Floats:
    """The same, where sizes that only rounding tells apart are equal, so that they share a rank.

    >>> ranked_differences(np.array([0.3, 0.4]), np.array([0.2, 0.5])).tolist()
    [0.09999999999999998, -0.09999999999999998]
    """
    apart, noise = differences(after, before), _noise(after, before)
    order = np.argsort(np.abs(apart), kind="stable")
    sizes, slack = np.abs(apart)[order], noise[order]
    first = np.ones(len(sizes), np.bool_)
    first[1:] = (np.diff(sizes) > np.maximum(slack[1:], slack[:-1])) | (
        (sizes[:-1] == 0) & (sizes[1:] > 0)  # nothing is like nothing else
    )
    shared = np.empty(len(sizes))
    shared[order] = sizes[first][np.cumsum(first) - 1]
    return np.sign(apart) * shared


def _noise(after: Floats, before: Floats) -> Floats:
    """What rounding may leave of a difference: nothing of values that are not finite."""
    larger = np.maximum(np.abs(after), np.abs(before))
    return _ROUNDING * np.where(np.isfinite(larger), larger, 0.0)


def only_rounding(apart: float, paired: Paired, base: int, other: int) -> bool:
    """Whether a difference of averages, or a spread, is no more than what rounding leaves."""
    sizes = [
        np.abs(paired.above[at]).max(initial=0) / max(abs(float(np.mean(paired.below[at]))), 1e-300)
        for at in (base, other)
    ]
    return abs(apart) <= _ROUNDING * max(sizes)


# Metrics over the same queries, and pairs of their systems.
Tested: TypeAlias = Callable[[Sequence[Paired], Sequence[Pair], Chance], PValues]


@dataclass(frozen=True)
class SignificanceTest:
    """A paired test between systems."""

    p_values: Tested
    takes: Takes
    # It draws queries, and sees all of them: what a query lacks counts for nothing.
    draws: bool
    # Its p values are corrected over all pairs of systems already.
    over_pairs: bool


TESTS: dict[str, SignificanceTest] = {}


def significance_test(
    name: str, *, takes: Takes = "any average", draws: bool = False, over_pairs: bool = False
) -> Callable[[Tested], Tested]:
    """Register a test under the name by which users call it."""

    def register(function: Tested) -> Tested:
        TESTS[name] = SignificanceTest(function, takes, draws, over_pairs)
        return function

    return register


def each_pair(function: Callable[[Paired, int, int], float | None]) -> Tested:
    """A test that looks at one metric and pair at a time, and does not draw."""

    @wraps(function)
    def p_values(metrics: Sequence[Paired], pairs: Sequence[Pair], _chance: Chance) -> PValues:
        return [[function(paired, *pair) for pair in pairs] for paired in metrics]

    return p_values
