"""Corrections of p values for looking at many of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankframe.core.options import Correction

Floats = NDArray[np.float64]


class CorrectionRule(NamedTuple):
    """Describe a correction of p values."""

    adjust: Callable[[Floats], Floats]
    # It bounds the chance of any false alarm: one p value is multiplied by how many there are.
    any_alarm: bool


def _holm(p_values: Floats) -> Floats:
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return adjusted


def _benjamini_hochberg(p_values: Floats) -> Floats:
    from scipy.stats import false_discovery_control  # noqa: PLC0415

    return false_discovery_control(p_values, method="bh")


CORRECTIONS: dict[Correction, CorrectionRule] = {
    "holm": CorrectionRule(_holm, any_alarm=True),
    "bonferroni": CorrectionRule(lambda p_values: p_values * len(p_values), any_alarm=True),
    "bh": CorrectionRule(_benjamini_hochberg, any_alarm=False),
    "none": CorrectionRule(lambda p_values: p_values, any_alarm=False),
}


def correct_p_values(
    p_values: Sequence[float | None], correction: Correction, *, families: int | None = None
) -> list[float | None]:
    """Correct p values for looking at all of them; None stays None and does not count.

    holm and bonferroni bound the chance of any false alarm, bh the share of false alarms, none
    bounds nothing.

    Args:
        p_values: one for each test.
        correction: its name.
        families: how many families there are, if the test itself corrects within each.

    >>> correct_p_values([0.01, 0.04, None, 0.03], "holm")
    [0.03, 0.06, None, 0.06]
    """
    tested = np.array([p for p in p_values if p is not None])
    if not len(tested):
        return list(p_values)
    rule = CORRECTIONS[correction]
    # Over families, a step-down would not hold within each.
    adjusted = tested * families if families and rule.any_alarm else rule.adjust(tested)
    rest = iter(np.minimum(adjusted, 1.0).tolist())
    return [None if p is None else next(rest) for p in p_values]
