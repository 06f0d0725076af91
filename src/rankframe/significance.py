"""Paired tests between systems over the same queries, and corrections for many of them.

Every test sees a metric as what its average is made of (`Paired`), so that weighted means and
ratios of sums are tested as what they are. Randomisation draws from hashes of query ids
(`resample.py`): reproducible by its seed, on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankframe.errors import OptionError
from rankframe.exact import Exact, exact_sum
from rankframe.resample import Grouping, Hashes, as_exact, sign_sums, words

Test = Literal["t", "wilcoxon", "sign", "randomisation", "tukey"]
Correction = Literal["holm", "bonferroni", "bh"]
Floats = NDArray[np.float64]

# Replicates at a time: what is held of them does not grow with their number.
_AT_ONCE = 1_000
_TABLE_SYSTEMS = 7  # so many systems have few enough orders to be listed: 5,040
_GROUPS_AT_ONCE = 2_048


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
    paired: Paired,
    pairs: Sequence[tuple[int, int]],
    grouping: Grouping,
    *,
    permutations: int,
    seed: int,
) -> list[float | None]:
    """Fisher's randomisation test for each pair: were the two systems swapped in random queries,
    how often would they be at least as far apart? (b + 1) / (B + 1).
    """
    if paired.queries < 2:
        return [None] * len(pairs)
    above = grouping.sums([paired.above[j] - paired.above[i] for i, j in pairs])
    columns = above
    if not paired.common:
        below = grouping.sums([paired.below[j] - paired.below[i] for i, j in pairs])
        columns = np.column_stack([above, below])
    observed = np.array([paired.ratios[j] - paired.ratios[i] for i, j in pairs])
    sums = [np.array([float(paired.totals[at][part]) for at, _ in pairs]) for part in (0, 1)]
    others = [np.array([float(paired.totals[at][part]) for _, at in pairs]) for part in (0, 1)]
    extreme = np.zeros(len(pairs), np.int64)
    # What rounding may add up to; equal sums must count as equal.
    slack = 1e-12 * np.abs(above).sum(axis=0) / np.abs(sums[1])
    for first in range(0, permutations, _AT_ONCE):
        count = min(_AT_ONCE, permutations - first)
        swapped = sign_sums(grouping.origins, columns, replicates=count, seed=seed, first=first)
        moved = swapped[:, : len(pairs)]
        if paired.common:
            apart = (others[0] - sums[0] - 2 * moved) / sums[1]
        else:
            under = swapped[:, len(pairs) :]
            apart = (others[0] - moved) / (others[1] - under)
            apart -= (sums[0] + moved) / (sums[1] + under)
        extreme += (np.abs(apart) >= np.abs(observed) - slack).sum(axis=0)
    found = (extreme + 1) / (permutations + 1)
    return [None if math.isnan(d) else float(p) for d, p in zip(observed, found, strict=True)]


def tukey_p_values(
    paired: Paired,
    pairs: Sequence[tuple[int, int]],
    grouping: Grouping,
    *,
    permutations: int,
    seed: int,
) -> list[float | None]:
    """Tukey's honest significant difference by randomisation: were all systems shuffled in every
    query, how often would the best and the worst be at least as far apart as these two?

    Corrected over all pairs of systems by itself (Carterette 2012).
    """
    if not paired.common:
        raise OptionError(
            "tukey compares means: a metric with average=micro has other denominators in every "
            "system. Use test=randomisation for it."
        )
    if paired.queries < 2:
        return [None] * len(pairs)
    sums = grouping.sums(list(paired.above))
    # Whole numbers of one unit, which add up exactly.
    whole, units = as_exact((sums - sums.mean(axis=1, keepdims=True)).reshape(-1, 1))
    values, unit = whole.reshape(sums.shape), float(units.max())
    ranges = np.empty(permutations)
    for first in range(0, permutations, _AT_ONCE):
        count = min(_AT_ONCE, permutations - first)
        totals = np.zeros((count, len(paired.above)))
        for at in range(0, len(values), _GROUPS_AT_ONCE):
            some = slice(at, at + _GROUPS_AT_ONCE)
            totals += _shuffled_sums(grouping.origins[some], values[some], count, seed, first)
        ranges[first : first + count] = np.ptp(totals, axis=1) * unit
    _, total = paired.totals[0]
    below = float(total)
    slack = 1e-12 * float(np.abs(values).sum() * unit)
    found: list[float | None] = []
    for base, other in pairs:
        apart = abs(paired.ratios[other] - paired.ratios[base]) * below
        extreme = int((ranges >= apart - slack).sum())
        found.append(None if math.isnan(apart) else (extreme + 1) / (permutations + 1))
    return found


def _shuffled_sums(
    origins: Hashes, values: Floats, replicates: int, seed: int, first: int
) -> Floats:
    """Replicates × systems: sums over groups, each with its systems in a random order."""
    systems = values.shape[1]
    totals = np.zeros((replicates, systems))
    for place, chosen in enumerate(_orders(origins, systems, replicates, seed, first)):
        for system in range(systems):
            totals[:, place] += chosen(system).T @ values[:, system]
    return totals


def _orders(
    origins: Hashes, systems: int, replicates: int, seed: int, first: int
) -> list[Callable[[int], Floats]]:
    """A random order of the systems for each group and replicate: for each place, a function that
    says with 1 where (groups × replicates) a system has it.
    """
    if systems <= _TABLE_SYSTEMS:
        table = np.array(list(permutations(range(systems))))
        drawn = words(origins, replicates, seed, first) >> np.uint64(32)
        number = ((drawn * np.uint64(len(table))) >> np.uint64(32)).astype(np.intp)
        return [
            lambda system, place=place: (table[:, place] == system).astype(np.float64)[number]
            for place in range(systems)
        ]
    drawn = words(origins, replicates * systems, seed, first * systems)
    drawn = drawn.reshape(len(origins), replicates, systems)
    order = np.argsort(drawn, axis=2, kind="stable")
    return [
        lambda system, place=place: (order[:, :, place] == system).astype(np.float64)
        for place in range(systems)
    ]


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
