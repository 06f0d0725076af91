"""Weights that add up to 1, in exact steps: listed, drawn at random, or searched for uphill.

A point is a list of whole numbers over a common denominator, so that no point is lost to rounding:
for three runs in steps of 0.1 there are 66. Everything follows from the seed and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise
from math import comb
from typing import TypeAlias, TypeVar

import numpy as np

from rankframe.core.errors import OptionError
from rankframe.core.messages import shown
from rankframe.core.options import is_number
from rankframe.stats.bootstrap import random_words

Name = TypeVar("Name")
# Whole numbers, one a run, that add up to the denominator.
Point: TypeAlias = tuple[int, ...]
# A search: it yields points to evaluate, is sent how good each is, and returns all its points.
Climb: TypeAlias = Generator[list[Point], list[float], list[Point]]
_CLOSE = 1e-9
_MOST_STEPS = 1_000
# The share of the budget that is drawn before anything is known.
_DRAWN = 0.5
_FIRST_STEP = 0.25  # of all weight


def denominator_of(step: object) -> int:
    """Return how many steps of this size make 1; refuse one that does not divide 1.

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
    """Return in how many ways steps of weight can be divided among runs.

    >>> simplex_size(3, 10)
    66
    """
    return comb(denominator + runs - 1, runs - 1)


def simplex(runs: int, denominator: int) -> Iterator[Point]:
    """Yield every point, in ascending order of the first run's share.

    >>> list(simplex(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    places = denominator + runs - 1
    for bars in combinations(range(places), runs - 1):
        yield _between(bars, places)


def _between(bars: Sequence[int], places: int) -> Point:
    """Return the point whose shares are the numbers of free places between the bars."""
    return tuple(after - before - 1 for before, after in pairwise((-1, *bars, places)))


def weights_of(point: Point, denominator: int) -> tuple[float, ...]:
    """Return a point as weights, each rounded once."""
    return tuple(part / denominator for part in point)


def corners_and_centre(runs: int, denominator: int) -> Iterator[Point]:
    """Yield the points with all weight on one run, then the point nearest to equal weights."""
    for run in range(runs):
        yield tuple(denominator if other == run else 0 for other in range(runs))
    each, rest = divmod(denominator, runs)
    yield tuple(each + (run < rest) for run in range(runs))


def random_points(runs: int, denominator: int, seed: int) -> Iterator[Point]:
    """Yield random points without end, each with the same probability; points may repeat."""
    places = denominator + runs - 1
    for draw in range(1 << 62):
        drawn = random_words(np.array([draw], np.uint64), places, seed)[0]
        yield _between(sorted(np.argsort(drawn, kind="stable")[: runs - 1].tolist()), places)


def neighbours(point: Point, step: int) -> Iterator[Point]:
    """Yield the points at which one run gives a share to another: `step` units, or all it has.

    >>> list(neighbours((1, 3), 2))
    [(0, 4), (3, 1)]
    """
    for pair in combinations(range(len(point)), 2):
        for giver, taker in (pair, pair[::-1]):
            if share := min(step, point[giver]):
                moved = list(point)
                moved[giver] -= share
                moved[taker] += share
                yield tuple(moved)


def starting_points(runs: int, denominator: int, budget: int, seed: int) -> list[Point]:
    """Return the points at which every search begins: corners, centre and random points."""
    count = min(max(int(budget * _DRAWN), runs + 1), simplex_size(runs, denominator))
    points = dict.fromkeys(corners_and_centre(runs, denominator))
    drawn = random_points(runs, denominator, seed)
    while len(points) < count:
        points |= dict.fromkeys(islice(drawn, count - len(points)))
    return list(points)


def climb(points: Sequence[Point], denominator: int, budget: int) -> Climb:
    """Search uphill from the best of these points, in steps that halve, within the budget.

    Of equally good points, the first is the best.
    """
    scores = dict(zip(points, (yield list(points)), strict=True))
    best = max(scores, key=scores.__getitem__)
    step = max(int(denominator * _FIRST_STEP), 1)
    while step and len(scores) < budget:
        new = [point for point in neighbours(best, step) if point not in scores]
        new = new[: budget - len(scores)]
        if new:
            scores |= zip(new, (yield new), strict=True)
        better = max(scores, key=scores.__getitem__)
        if better == best:
            step //= 2
        best = better
    return list(scores)


def climb_together(
    climbs: Mapping[Name, Climb],
    evaluate: Callable[[Sequence[Point]], None],
    score: Callable[[Name, Point], float],
) -> dict[Name, list[Point]]:
    """Run searches side by side, so that their points are evaluated together; return their points.

    Args:
        climbs: the searches by name.
        evaluate: called with points, before `score` is called with any of them.
        score: returns how good a point is to a search.
    """
    requested = {name: next(search) for name, search in climbs.items()}
    visited: dict[Name, list[Point]] = {}
    while requested:
        evaluate(list(dict.fromkeys(point for points in requested.values() for point in points)))
        for name, points in list(requested.items()):
            try:
                requested[name] = climbs[name].send([score(name, point) for point in points])
            except StopIteration as ended:
                visited[name] = ended.value
                del requested[name]
    return visited
