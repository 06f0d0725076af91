"""Paired tests between systems over the same queries, and corrections for many of them.

To add a test: its function here, or beside those that draw in `randomisation.py`, and its name in
`Test` (core/options.py). Messages, the ledger and corrections follow from what it registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankframe.core.options import Correction
from rankframe.stats import randomisation  # noqa: F401 (registers its tests)
from rankframe.stats.paired import (
    TESTS,
    Floats,
    Paired,
    difference_error,
    differences,
    each_pair,
    only_rounding,
    ranked_differences,
    significance_test,
)

__all__ = ["CORRECTIONS", "TESTS", "against_margin", "corrected", "fewest_queries"]


def two_sided(statistic: float, freedom: int) -> float:
    """How likely Student's t is this far from 0.

    >>> round(two_sided(2.262157163, 9), 6)
    0.05
    """
    from scipy.special import stdtr  # noqa: PLC0415 (only where systems are compared)

    return float(2 * stdtr(freedom, -abs(statistic)))


@significance_test("t")
@each_pair
def t(paired: Paired, base: int, other: int) -> float | None:
    """Student's t, of averages of any kind by their standard error.

    Where differences do not vary there is no error to go by: the p value of the sign test.
    """
    difference = paired.ratios[other] - paired.ratios[base]
    error = difference_error(paired, base, other)
    if paired.queries < 2 or math.isnan(error) or math.isnan(difference):
        return None
    if only_rounding(error * math.sqrt(paired.queries), paired, base, other):
        return (
            1.0 if only_rounding(difference, paired, base, other) else _signs(paired, base, other)
        )
    return two_sided(difference / error, paired.queries - 1)


@significance_test("wilcoxon", takes="plain means")
@each_pair
def wilcoxon(paired: Paired, base: int, other: int) -> float | None:
    """Wilcoxon's signed rank test; queries without a difference are left out (scipy)."""
    from scipy import stats  # noqa: PLC0415

    apart = ranked_differences(paired.values[other], paired.values[base])
    if len(apart) < 2:
        return None
    if not apart.any():
        return 1.0
    found: Any = stats.wilcoxon(apart)
    return float(found.pvalue)


@significance_test("sign", takes="plain means")
@each_pair
def sign(paired: Paired, base: int, other: int) -> float | None:
    """The sign test; queries without a difference are left out (scipy)."""
    return _signs(paired, base, other)


def _signs(paired: Paired, base: int, other: int) -> float:
    from scipy.stats import binomtest  # noqa: PLC0415 (only where systems are compared)

    apart = differences(paired.values[other], paired.values[base])
    up, down = int((apart > 0).sum()), int((apart < 0).sum())
    return float(binomtest(up, up + down).pvalue) if up + down else 1.0


def fewest_queries(level: float) -> int:
    """With fewer queries than these, differences all in one direction are no rarer than the level
    by chance alone: whatever a test assumes, they show nothing.

    >>> fewest_queries(0.05)
    6
    """
    return math.floor(1 - math.log2(level)) + 1


def against_margin(
    change: float, error: float, queries: int, *, margin: float, confidence: float
) -> tuple[float, float]:
    """The one-sided lower bound of a change (Student's t), and the p value against a margin."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 (only where something is decided)

    above = change - margin
    if error == 0:
        return change, 0.0 if above >= 0 else 1.0
    bound = change - float(stdtrit(queries - 1, confidence)) * error
    return bound, float(stdtr(queries - 1, -above / error))


def _none(p_values: Floats) -> Floats:
    return p_values


def _holm(p_values: Floats) -> Floats:
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return adjusted


def _bonferroni(p_values: Floats) -> Floats:
    return p_values * len(p_values)


def _benjamini_hochberg(p_values: Floats) -> Floats:
    from scipy.stats import false_discovery_control  # noqa: PLC0415

    return false_discovery_control(p_values, method="bh")


class CorrectionRule(NamedTuple):
    """A way to correct p values for looking at many of them."""

    adjust: Callable[[Floats], Floats]
    # It bounds the chance of any false alarm, so that one p value alone is multiplied by how many
    # there are.
    any_alarm: bool


CORRECTIONS = {
    "holm": CorrectionRule(_holm, any_alarm=True),
    "bonferroni": CorrectionRule(_bonferroni, any_alarm=True),
    "bh": CorrectionRule(_benjamini_hochberg, any_alarm=False),
    "none": CorrectionRule(_none, any_alarm=False),
}


def corrected(
    p_values: Sequence[float | None], how: Correction, *, families: int | None = None
) -> list[float | None]:
    """The p values corrected for looking at all of them; those that are None are not looked at.

    holm and bonferroni bound the chance of any false alarm, bh the share of false alarms, none
    bounds nothing.
    `families`: so many, within each of which the test itself has corrected already.

    >>> corrected([0.01, 0.04, None, 0.03], "holm")
    [0.03, 0.06, None, 0.06]
    """
    known = np.array([p for p in p_values if p is not None])
    if not len(known):
        return list(p_values)
    rule = CORRECTIONS[how]
    # Over families one by one: within each, a step-down would not hold.
    adjusted = known * families if families and rule.any_alarm else rule.adjust(known)
    rest = iter(np.minimum(adjusted, 1.0).tolist())
    return [None if p is None else next(rest) for p in p_values]
