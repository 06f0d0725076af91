"""Weights that add up to 1, in exact steps: points are whole numbers over a common denominator.

No point is lost to rounding: of three runs in steps of 0.1, there are 66.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb

import numpy as np

from rankframe.core.checks import is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import shown
from rankframe.stats.bootstrap import random_words

# Whole numbers, one a run, that add up to the denominator.
Point = tuple[int, ...]
_CLOSE = 1e-9
_MOST_STEPS = 1_000


def denominator_of(step: object) -> int:
    """How many steps of this size make 1; refused where that is no whole number.

    >>> denominator_of(0.05)
    20
    """
    if is_number(step) and 1 / _MOST_STEPS <= step <= 1:  # pyright: ignore[reportOperatorIssue]
        whole = round(1 / float(step))  # pyright: ignore[reportArgumentType]
        if abs(whole * float(step) - 1) < _CLOSE:  # pyright: ignore[reportArgumentType]
            return whole
    raise OptionError(
        f"weights go in steps of which a whole number makes 1, such as 0.1 or 0.05, and no less "
        f"than {1 / _MOST_STEPS:g}, not of {shown(step)}."
    )


def simplex_size(runs: int, denominator: int) -> int:
    """How many points there are.

    >>> simplex_size(3, 10)
    66
    """
    return comb(denominator + runs - 1, runs - 1)


def simplex(runs: int, denominator: int) -> Iterator[Point]:
    """Every point, the first run's share ascending.

    >>> list(simplex(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if runs == 1:
        yield (denominator,)
        return
    for first in range(denominator + 1):
        for rest in simplex(runs - 1, denominator - first):
            yield (first, *rest)


def weights_of(point: Point, denominator: int) -> tuple[float, ...]:
    """A point as weights, each rounded once."""
    return tuple(part / denominator for part in point)


def corners_and_centre(runs: int, denominator: int) -> Iterator[Point]:
    """Each run alone, and all alike, as far as the steps allow."""
    for run in range(runs):
        yield tuple(denominator if at == run else 0 for at in range(runs))
    each, more = divmod(denominator, runs)
    yield tuple(each + (at < more) for at in range(runs))


def random_points(runs: int, denominator: int, seed: int) -> Iterator[Point]:
    """Points drawn evenly from all of them, without end; some come again."""
    places = denominator + runs - 1
    for draw in range(1 << 62):
        drawn = random_words(np.array([draw], np.uint64), places, seed)[0]
        bars = sorted(np.argsort(drawn, kind="stable")[: runs - 1].tolist())
        ends = [-1, *bars, places]
        yield tuple(b - a - 1 for a, b in pairwise(ends))


def neighbours(point: Point, step: int) -> Iterator[Point]:
    """Points that differ by a share which one run gives to another: so many units, or all it has.

    >>> list(neighbours((1, 3), 2))
    [(0, 4), (3, 1)]
    """
    for one, other in combinations(range(len(point)), 2):
        for giver, taker in ((one, other), (other, one)):
            given = min(step, point[giver])
            if given:
                moved = list(point)
                moved[giver] -= given
                moved[taker] += given
                yield tuple(moved)
