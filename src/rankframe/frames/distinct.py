"""How uncertain a number of distinct documents is.

Leaving out groups of queries one at a time says how many documents only one group shows, f1. The
variance of the number of distinct documents is rather f1 − f2 + f3 − …, where fj are shown by j
groups (Good and Toulmin 1956: as many as were to be found in as many queries again): the others
could as well have been missed. The jackknife, which sees f1, is brought down by their ratio.
"""

from __future__ import annotations

from math import comb, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

# The series is smoothed: a term counts as likely as so many coins show at least as many heads as
# its number (Efron and Thisted 1976).
_COINS: Final = 10
_WEIGHTS: Final = np.array(
    [
        (-1) ** (j + 1) * sum(comb(_COINS, heads) for heads in range(j, _COINS + 1)) / 2**_COINS
        for j in range(1, _COINS + 1)
    ]
)
# How many times its own error the sum has to be: with less, intervals are too narrow too often
# (docs/statistics.md).
_SURE: Final = 3.0


def shrinkage(shown: NDArray[np.bool_]) -> float | None:
    """By how much the jackknife's standard error is to be multiplied, given which groups show
    which documents (groups × documents); None where too few documents say so.
    """
    by_groups = np.bincount(shown.sum(axis=0), minlength=_COINS + 1)[1 : _COINS + 1]
    variance = float((by_groups * _WEIGHTS).sum())
    error = sqrt(float((by_groups * _WEIGHTS**2).sum()))
    if not by_groups[0] or variance < _SURE * error:
        return None
    return sqrt(variance / float(by_groups[0]))
