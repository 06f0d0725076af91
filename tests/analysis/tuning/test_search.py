"""A search finds what a grid would, with fewer points, and the same each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rankframe.analysis.tuning.search import climb, starting_points, together
from rankframe.analysis.tuning.simplex import Point, simplex_size


def hill(top: Point) -> Callable[[Point], float]:
    def goodness(point: Point) -> float:
        return -sum((a - b) ** 2 for a, b in zip(point, top, strict=True))

    return goodness


def climbed(
    points: Sequence[Point], denominator: int, budget: int, goodness: Callable[[Point], float]
) -> list[Point]:
    climbs = {"one": climb(points, denominator, budget)}
    return together(climbs, lambda _: None, lambda _, point: goodness(point))["one"]


@pytest.mark.parametrize("top", [(10, 20, 30, 40), (0, 0, 100, 0), (97, 1, 1, 1)])
def test_the_top_of_a_hill_is_found(top: Point) -> None:
    points = starting_points(4, 100, 200, seed=0)
    found = climbed(points, 100, 200, hill(top))
    assert top in found
    assert len(found) <= 200 < simplex_size(4, 100)
    assert found == climbed(points, 100, 200, hill(top))


def test_every_search_begins_alike() -> None:
    points = starting_points(4, 100, 60, seed=0)
    assert len(points) == len(set(points)) == 30
    assert points[:5] == [(100, 0, 0, 0), (0, 100, 0, 0), (0, 0, 100, 0), (0, 0, 0, 100), (25,) * 4]
    assert points != starting_points(4, 100, 60, seed=1)
    assert climbed(points, 100, 60, hill((1, 2, 3, 94)))[:30] == points


def test_a_budget_is_kept() -> None:
    points = starting_points(3, 100, 20, seed=0)
    assert len(climbed(points, 100, 20, hill((50, 25, 25)))) <= 20
    assert len(starting_points(3, 100, 1, seed=0)) == 4  # each alone, and all alike
    assert len(starting_points(2, 2, 1_000, seed=0)) == 3  # there are no more


def test_on_a_plain_nothing_is_better_than_the_first() -> None:
    points = starting_points(3, 8, 10, seed=0)
    found = climbed(points, 8, 1_000, lambda _: 0.0)
    assert found[: len(points)] == points
    assert len(found) == len(set(found)) < simplex_size(3, 8)


def test_searches_look_together_and_find_what_each_would_alone() -> None:
    points = starting_points(3, 100, 80, seed=0)
    tops = {"a": (10, 20, 70), "b": (50, 50, 0), "c": (10, 20, 70)}
    looked: list[Sequence[Point]] = []
    found = together(
        {name: climb(points, 100, 80) for name in tops},
        looked.append,
        lambda name, point: hill(tops[name])(point),
    )
    for name, top in tops.items():
        assert found[name] == climbed(points, 100, 80, hill(top))
    every = [point for some in looked for point in some]
    assert looked[0] == points
    assert set(every) == {point for some in found.values() for point in some}
