"""A search for weights where a grid would be too large: random points, then from the best of them
uphill in steps that halve. All of it follows from the seed and the values.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from rankframe.analysis.tuning.simplex import (
    Point,
    corners_and_centre,
    neighbours,
    random_points,
    simplex_size,
)

Name = TypeVar("Name")

# Of what may be looked at, the share that is drawn before anything is known.
_DRAWN = 0.5
_FIRST_STEP = 0.25  # of all weight


def starting_points(runs: int, denominator: int, budget: int, seed: int) -> list[Point]:
    """Each run alone, all alike, and random ones: what every search begins with."""
    many = min(max(int(budget * _DRAWN), runs + 1), simplex_size(runs, denominator))
    points = dict.fromkeys(corners_and_centre(runs, denominator))
    drawn = random_points(runs, denominator, seed)
    while len(points) < many:
        points |= dict.fromkeys(islice(drawn, many - len(points)))
    return list(points)


# Points that are to be looked at, and how good each of them turned out to be.
Climb: TypeAlias = Generator[list[Point], list[float], list[Point]]


def climb(points: Sequence[Point], denominator: int, budget: int) -> Climb:
    """Ask for points, those to begin with first, and go where it turns out to be better; in the
    end, all that were looked at, up to so many. Of equal ones, the first is the best.
    """
    found = dict(zip(points, (yield list(points)), strict=True))
    best = max(found, key=found.__getitem__)
    step = max(int(denominator * _FIRST_STEP), 1)
    while step and len(found) < budget:
        new = [point for point in neighbours(best, step) if point not in found]
        new = new[: budget - len(found)]
        if new:
            found |= zip(new, (yield new), strict=True)
        better = max(found, key=found.__getitem__)
        if better == best:
            step //= 2
        best = better
    return list(found)


def together(
    climbs: Mapping[Name, Climb],
    look: Callable[[Sequence[Point]], None],
    goodness: Callable[[Name, Point], float],
) -> dict[Name, list[Point]]:
    """Searches side by side, so that what they ask for is looked at at once; all points of each.

    `look`: is told of points before it is asked how good they are to a search.
    """
    asked = {name: next(one) for name, one in climbs.items()}
    found: dict[Name, list[Point]] = {}
    while asked:
        look(list(dict.fromkeys(point for points in asked.values() for point in points)))
        for name, points in list(asked.items()):
            try:
                asked[name] = climbs[name].send([goodness(name, point) for point in points])
            except StopIteration as ended:
                found[name] = ended.value
                del asked[name]
    return found
