"""Paired tests between systems over the same queries, and corrections for many of them.

Every test sees a metric as what its average is made of (`Paired`), so that weighted means and
ratios of sums are tested as what they are. Randomisation draws from hashes of query ids
(`resample.py`): reproducible by its seed, on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankframe.base.errors import OptionError
from rankframe.stats.exact import Exact, exact_sum
from rankframe.stats.resample import Grouping, Hashes, as_exact, sign_sums, words

Test = Literal["t", "wilcoxon", "sign", "randomisation", "tukey"]
Correction = Literal["holm", "bonferroni", "bh"]
Floats = NDArray[np.float64]

# Replicates at a time: what is held of them does not grow with their number.
_AT_ONCE = 1_000
_TABLE_SYSTEMS = 7  # so many systems have few enough orders to be listed: 5,040
_GROUPS_AT_ONCE = 256  # their draws fit in the cache


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


def t_p_value(difference: float, error: float, queries: int) -> float | None:
    """Two-sided p value of Student's t; None where there is none."""
    from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

    if queries < 2 or math.isnan(error) or math.isnan(difference):
        return None
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(queries - 1, -abs(difference) / error))


def wilcoxon_p_value(paired: Paired, base: int, other: int) -> float | None:
    """Wilcoxon's signed rank test; queries without a difference are left out (scipy)."""
    from scipy.stats import wilcoxon  # noqa: PLC0415

    apart = paired.values[other] - paired.values[base]
    if len(apart) < 2:
        return None
    if not apart.any():
        return 1.0
    found: Any = wilcoxon(apart)
    return float(found.pvalue)


def sign_p_value(paired: Paired, base: int, other: int) -> float | None:
    """The sign test; queries without a difference are left out (scipy)."""
    from scipy.stats import binomtest  # noqa: PLC0415

    apart = paired.values[other] - paired.values[base]
    up, down = int((apart > 0).sum()), int((apart < 0).sum())
    return float(binomtest(up, up + down).pvalue) if up + down else 1.0


@np.errstate(divide="ignore", invalid="ignore")  # a swap may leave nothing below the line
def randomisation_p_values(
    metrics: Sequence[Paired],
    pairs: Sequence[tuple[int, int]],
    grouping: Grouping,
    *,
    permutations: int,
    seed: int,
) -> list[list[float | None]]:
    """Fisher's randomisation test for each metric and pair: were the two systems swapped in random
    queries, how often would they be at least as far apart? (b + 1) / (B + 1).

    The metrics are of the same queries, which are swapped alike for all of them: each draw serves
    every metric and pair.
    """
    swaps = [_Swap.of(paired, pair, grouping) for paired in metrics for pair in pairs]
    columns = np.column_stack([part for swap in swaps for part in swap.moved])
    extreme = np.zeros(len(swaps), np.int64)
    for first in range(0, permutations, _AT_ONCE):
        count = min(_AT_ONCE, permutations - first)
        drawn = sign_sums(grouping.origins, columns, replicates=count, seed=seed, first=first)
        at = 0
        for number, swap in enumerate(swaps):
            width = len(swap.moved)
            extreme[number] += swap.extreme(drawn[:, at : at + width])
            at += width
    found = [
        None if swap.undefined else float((count + 1) / (permutations + 1))
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
    def of(cls, paired: Paired, pair: tuple[int, int], grouping: Grouping) -> _Swap:
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


def tukey_p_values(
    metrics: Sequence[Paired],
    pairs: Sequence[tuple[int, int]],
    grouping: Grouping,
    *,
    permutations: int,
    seed: int,
) -> list[list[float | None]]:
    """Tukey's honest significant difference by randomisation: were all systems shuffled in every
    query, how often would the best and the worst be at least as far apart as these two?

    Corrected over all pairs of systems by itself (Carterette 2012). The metrics are of the same
    queries, and shuffled alike.
    """
    if not all(paired.common for paired in metrics):
        raise OptionError(
            "tukey compares means: a metric with average=micro has other denominators in every "
            'system. Use test="randomisation" for it.'
        )
    # Whole numbers of one unit a metric, which add up exactly: groups × systems × metrics.
    scaled, units = [], []
    for paired in metrics:
        sums = grouping.sums(list(paired.above))
        whole, unit = as_exact((sums - sums.mean(axis=1, keepdims=True)).reshape(-1, 1))
        scaled.append(whole.reshape(sums.shape))
        units.append(float(unit.max()))
    values = np.stack(scaled, axis=2)
    ranges = np.empty((permutations, len(metrics)))
    for first in range(0, permutations, _AT_ONCE):
        count = min(_AT_ONCE, permutations - first)
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
            row.append(None if math.isnan(apart) else (extreme + 1) / (permutations + 1))
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


def corrected(p_values: Sequence[float | None], how: Correction) -> list[float | None]:
    """The p values corrected for looking at all of them; those that are None are not looked at.

    holm and bonferroni bound the chance of any false alarm, bh the share of false alarms.

    >>> corrected([0.01, 0.04, None, 0.03], "holm")
    [0.03, 0.06, None, 0.06]
    """
    known = np.array([p for p in p_values if p is not None])
    if not len(known):
        return list(p_values)
    count = len(known)
    if how == "bh":
        from scipy.stats import false_discovery_control  # noqa: PLC0415

        adjusted = false_discovery_control(known, method="bh")
    elif how == "bonferroni":
        adjusted = known * count
    else:
        order = np.argsort(known, kind="stable")
        steps = np.maximum.accumulate(known[order] * np.arange(count, 0, -1))
        adjusted = np.empty(count)
        adjusted[order] = steps
    rest = iter(np.minimum(adjusted, 1.0).tolist())
    return [None if p is None else next(rest) for p in p_values]
