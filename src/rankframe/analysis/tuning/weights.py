"""Make weights that add up to 1, in exact steps: all, random ones, or by hill climbing.

A point is a list of whole numbers over a common denominator, so that no point is lost to rounding:
for three runs in steps of 0.1 there are 66. Searches are deterministic, given the seed and values.
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
# Whole numbers, one per run, that add up to the denominator.
Point: TypeAlias = tuple[int, ...]
# A search: a generator that yields points to evaluate, is sent their scores, and returns all its
# points.
Climb: TypeAlias = Generator[list[Point], list[float], list[Point]]
_CLOSE = 1e-9
_MOST_STEPS = 1_000
# The share of the budget for starting points, which are evaluated before the search climbs.
_DRAWN = 0.5
_FIRST_STEP = 0.25  # as a share of the total weight


def denominator_of(step: object) -> int:
    """Return how many steps of this size make 1; refuse a step that does not divide 1.

    >>> denominator_of(0.05)
    20
    """
    if is_number(step) and 1 / _MOST_STEPS <= step <= 1:  # pyright: ignore[reportOperatorIssue]
        whole = round(1 / float(step))  # pyright: ignore[reportArgumentType]
        if abs(whole * float(step) - 1) < _CLOSE:  # pyright: ignore[reportArgumentType]
            return whole
    raise OptionError(
        f"the step of weights must divide 1, such as 0.1 or 0.05, and be at least "
        f"{1 / _MOST_STEPS:g}; it is {shown(step)}."
    )


def simplex_size(runs: int, denominator: int) -> int:
    """Return in how many ways `denominator` steps of weight can be divided among runs.

    >>> simplex_size(3, 10)
    66
    """
    return comb(denominator + runs - 1, runs - 1)


def simplex(runs: int, denominator: int) -> Iterator[Point]:
    """Yield every division of `denominator` steps among runs, by ascending share of the first run.

    >>> list(simplex(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    places = denominator + runs - 1
    for bars in combinations(range(places), runs - 1):
        yield _between(bars, places)


def _between(bars: Sequence[int], places: int) -> Point:
    """Return a division of weight by stars and bars: shares are the places between two bars."""
    return tuple(after - before - 1 for before, after in pairwise((-1, *bars, places)))


def weights_of(point: Point, denominator: int) -> tuple[float, ...]:
    """Return the weights of a point: its whole numbers divided by `denominator`."""
    return tuple(part / denominator for part in point)


def corners_and_centre(runs: int, denominator: int) -> Iterator[Point]:
    """Yield the divisions with all weight on one run, then the one nearest to equal weights."""
    for run in range(runs):
        yield tuple(denominator if other == run else 0 for other in range(runs))
    each, rest = divmod(denominator, runs)
    yield tuple(each + (run < rest) for run in range(runs))


def random_points(runs: int, denominator: int, seed: int) -> Iterator[Point]:
    """Yield random divisions of weight among runs without end, all equally likely, with repeats."""
    places = denominator + runs - 1
    for draw in range(1 << 62):
        drawn = random_words(np.array([draw], np.uint64), places, seed)[0]
        yield _between(sorted(np.argsort(drawn, kind="stable")[: runs - 1].tolist()), places)


def neighbours(point: Point, step: int) -> Iterator[Point]:
    """Yield the divisions in which up to `step` units of weight move from one run to another.

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
    """Return the divisions of weight at which every search starts: corners, centre, random ones."""
    count = min(max(int(budget * _DRAWN), runs + 1), simplex_size(runs, denominator))
    points = dict.fromkeys(corners_and_centre(runs, denominator))
    drawn = random_points(runs, denominator, seed)
    while len(points) < count:
        points |= dict.fromkeys(islice(drawn, count - len(points)))
    return list(points)


def climb(points: Sequence[Point], denominator: int, budget: int) -> Climb:
    """Search for the best weights by hill climbing from `points`, halving the step each time.

    Of points with equal scores, the first one is the best.
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
    """Run searches in parallel steps, to evaluate their points together; return each one's points.

    Args:
        climbs: the searches by name.
        evaluate: called with points, before `score` is called with any of them.
        score: returns the score of a point in a search; higher is better.
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
