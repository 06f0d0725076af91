"""Tests by randomisation: how often would chance alone put systems so far apart?

Draws are hashes of query ids (`resample.py`), the same for every metric and pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.stats.paired import Chance, Floats, Pair, Paired, PValues, significance_test
from rankframe.stats.resample import Grouping, Hashes, as_exact, sign_sums, words

# Replicates at a time: what is held of them does not grow with their number.
_AT_ONCE = 1_000
_TABLE_SYSTEMS = 7  # so many systems have few enough orders to be listed: 5,040
_GROUPS_AT_ONCE = 256  # their draws fit in the cache


@significance_test("randomisation", draws=True)
@np.errstate(divide="ignore", invalid="ignore")  # a swap may leave nothing below the line
def randomisation(metrics: Sequence[Paired], pairs: Sequence[Pair], chance: Chance) -> PValues:
    """Fisher's randomisation test for each metric and pair: were the two systems swapped in random
    queries, how often would they be at least as far apart? (b + 1) / (B + 1).

    The metrics are of the same queries, which are swapped alike for all of them: each draw serves
    every metric and pair.
    """
    grouping, times, seed = chance.grouping, chance.permutations, chance.seed
    swaps = [_Swap.of(paired, pair, grouping) for paired in metrics for pair in pairs]
    columns = np.column_stack([part for swap in swaps for part in swap.moved])
    extreme = np.zeros(len(swaps), np.int64)
    for first in range(0, times, _AT_ONCE):
        count = min(_AT_ONCE, times - first)
        drawn = sign_sums(grouping.origins, columns, replicates=count, seed=seed, first=first)
        at = 0
        for number, swap in enumerate(swaps):
            width = len(swap.moved)
            extreme[number] += swap.extreme(drawn[:, at : at + width])
            at += width
    found = [
        None if swap.undefined else float((count + 1) / (times + 1))
        for swap, count in zip(swaps, extreme.tolist(), strict=True)
    ]
    return [found[at : at + len(pairs)] for at in range(0, len(found), len(pairs))]


@dataclass(frozen=True)
class _Swap:
    """Two systems that are swapped in some groups of queries."""

    # Σ above and Σ below of both, as they are
    base: tuple[float, float]
    other: tuple[float, float]
    # by how much Σ above, and where it differs Σ below, of a group move if it is swapped
    moved: list[Floats]
    # what rounding may add up to: equal sums must count as equal
    slack: float

    @classmethod
    def of(cls, paired: Paired, pair: Pair, grouping: Grouping) -> _Swap:
        base, other = pair
        parts = [paired.above] if paired.common else [paired.above, paired.below]
        moved = list(grouping.sums([part[other] - part[base] for part in parts]).T)
        sums = [tuple(map(float, paired.totals[at])) for at in pair]
        size = abs(sums[0][1])
        slack = 1e-12 * float(np.abs(moved[0]).sum()) / size if size else 0.0
        return cls((sums[0][0], sums[0][1]), (sums[1][0], sums[1][1]), moved, slack)

    @property
    def undefined(self) -> bool:
        """Whether an average is not defined, so that there is nothing to compare."""
        return not self.base[1] or not self.other[1]

    def extreme(self, drawn: Floats) -> int:
        """In how many replicates the two are at least as far apart as they are."""
        if self.undefined:
            return 0
        under = drawn[:, 1] if drawn.shape[1] > 1 else 0.0
        apart = (self.other[0] - drawn[:, 0]) / (self.other[1] - under)
        apart -= (self.base[0] + drawn[:, 0]) / (self.base[1] + under)
        observed = self.other[0] / self.other[1] - self.base[0] / self.base[1]
        return int((np.abs(apart) >= abs(observed) - self.slack).sum())


@significance_test("tukey", takes="means", draws=True, over_pairs=True)
def tukey(metrics: Sequence[Paired], pairs: Sequence[Pair], chance: Chance) -> PValues:
    """Tukey's honest significant difference by randomisation: were all systems shuffled in every
    query, how often would the best and the worst be at least as far apart as these two?

    Corrected over all pairs of systems by itself (Carterette 2012). The metrics are of the same
    queries, and shuffled alike.
    """
    if not all(paired.common for paired in metrics):
        raise OptionError(
            "tukey compares means: a metric with average=micro has other denominators in every "
            "system. Use ",
            Option("test", "randomisation"),
            " for it.",
        )
    grouping, times, seed = chance.grouping, chance.permutations, chance.seed
    # Whole numbers of one unit a metric, which add up exactly: groups × systems × metrics.
    scaled, units = [], []
    for paired in metrics:
        sums = grouping.sums(list(paired.above))
        whole, unit = as_exact((sums - sums.mean(axis=1, keepdims=True)).reshape(-1, 1))
        scaled.append(whole.reshape(sums.shape))
        units.append(float(unit.max()))
    values = np.stack(scaled, axis=2)
    ranges = np.empty((times, len(metrics)))
    for first in range(0, times, _AT_ONCE):
        count = min(_AT_ONCE, times - first)
        totals = np.zeros((values.shape[1], count, len(metrics)))
        for at in range(0, len(values), _GROUPS_AT_ONCE):
            some = slice(at, at + _GROUPS_AT_ONCE)
            totals += _shuffled_sums(grouping.origins[some], values[some], count, seed, first)
        ranges[first : first + count] = np.ptp(totals, axis=0) * units
    found = []
    for number, paired in enumerate(metrics):
        _, total = paired.totals[0]
        slack = 1e-12 * float(np.abs(scaled[number]).sum()) * units[number]
        row: list[float | None] = []
        for base, other in pairs:
            apart = abs(paired.ratios[other] - paired.ratios[base]) * float(total)
            extreme = int((ranges[:, number] >= apart - slack).sum())
            row.append(None if math.isnan(apart) else (extreme + 1) / (times + 1))
        found.append(row)
    return found


def _shuffled_sums(
    origins: Hashes, values: Floats, replicates: int, seed: int, first: int
) -> Floats:
    """Systems × replicates × metrics: sums over groups, each with its systems in a random order."""
    _, systems, metrics = values.shape
    totals = np.zeros((systems, replicates, metrics))
    # The last system stands where no other one does, and the last place has what others have not.
    last = values[:, -1]
    for place, chosen in enumerate(_orders(origins, systems, replicates, seed, first)[:-1]):
        totals[place] = last.sum(axis=0)
        for system in range(systems - 1):
            here = (chosen == system).astype(np.float64)
            totals[place] += here.T @ (values[:, system] - last)
    totals[-1] = values.sum(axis=(0, 1)) - totals.sum(axis=0)
    return totals


def _orders(
    origins: Hashes, systems: int, replicates: int, seed: int, first: int
) -> NDArray[np.integer]:
    """Places × groups × replicates: which system stands there, in a random order for each."""
    if systems <= _TABLE_SYSTEMS:
        table = np.array(list(permutations(range(systems))), np.uint8)
        drawn = words(origins, replicates, seed, first) >> np.uint64(32)
        number = ((drawn * np.uint64(len(table))) >> np.uint64(32)).astype(np.intp)
        return np.stack([column[number] for column in table.T])
    drawn = words(origins, replicates * systems, seed, first * systems)
    drawn = drawn.reshape(len(origins), replicates, systems)
    return np.moveaxis(np.argsort(drawn, axis=2, kind="stable"), 2, 0)
