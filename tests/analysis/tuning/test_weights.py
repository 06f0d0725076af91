"""Weights in exact steps: none is lost or repeated; a search finds what a grid would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice

import pytest

from rankframe.analysis.tuning.weights import (
    Point,
    climb,
    climb_together,
    corners_and_centre,
    denominator_of,
    neighbours,
    random_points,
    simplex,
    simplex_size,
    starting_points,
    weights_of,
)


@pytest.mark.parametrize(
    ("runs", "denominator", "points"), [(2, 10, 11), (3, 10, 66), (4, 20, 1771)]
)
def test_no_point_is_lost(runs: int, denominator: int, points: int) -> None:
    found = list(simplex(runs, denominator))
    assert len(found) == len(set(found)) == simplex_size(runs, denominator) == points
    assert all(sum(point) == denominator for point in found)


def test_weights_are_what_people_type() -> None:
    assert weights_of((3, 7), 10) == (0.3, 0.7)
    assert [weights_of(point, 10)[0] for point in simplex(2, 10)] == [
        0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    ]  # fmt: skip
    third = weights_of((1, 1, 1), 3)
    assert third == (1 / 3, 1 / 3, 1 / 3)


@pytest.mark.parametrize(
    ("step", "steps"),
    [(0.1, 10), (0.05, 20), (1 / 3, 3), (Fraction(1, 7), 7), (1, 1), (0.001, 1000)],
)
def test_a_step_is_a_part_of_one(step: float, steps: int) -> None:
    assert denominator_of(step) == steps


@pytest.mark.parametrize("step", [0.3, 0, -0.1, 1.5, 0.0001, "0.1", None, True, float("nan")])
def test_other_steps_are_refused(step: object, refusal) -> None:
    refusal(denominator_of, step)


def test_random_points_are_even_and_follow_from_the_seed() -> None:
    drawn = list(islice(random_points(3, 4, 7), 3_000))
    assert drawn == list(islice(random_points(3, 4, 7), 3_000))
    assert drawn != list(islice(random_points(3, 4, 8), 3_000))
    counts = Counter(drawn)
    assert set(counts) == set(simplex(3, 4))
    assert 140 < min(counts.values()) < max(counts.values()) < 260  # 200 each, more or less


def test_corners_and_centre() -> None:
    assert list(corners_and_centre(3, 10)) == [(10, 0, 0), (0, 10, 0), (0, 0, 10), (4, 3, 3)]


def test_neighbours_share_all_but_a_step() -> None:
    assert set(neighbours((2, 3, 0), 2)) == {(0, 5, 0), (4, 1, 0), (0, 3, 2), (2, 1, 2)}
    assert set(neighbours((1, 0), 5)) == {(0, 1)}


def hill(top: Point) -> Callable[[Point], float]:
    def goodness(point: Point) -> float:
        return -sum((a - b) ** 2 for a, b in zip(point, top, strict=True))

    return goodness


def climbed(
    points: Sequence[Point], denominator: int, budget: int, goodness: Callable[[Point], float]
) -> list[Point]:
    climbs = {"one": climb(points, denominator, budget)}
    return climb_together(climbs, lambda _: None, lambda _, point: goodness(point))["one"]


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


@pytest.mark.parametrize(("denominator", "step"), [(16, 4), (8, 2), (3, 1), (1, 1)])
def test_the_first_step_is_a_quarter(denominator: int, step: int) -> None:
    start = (denominator, 0)
    search = climb([start], denominator, 9)
    assert next(search) == [start]
    assert search.send([1.0]) == [(denominator - step, step)]


def test_searches_look_together_and_find_what_each_would_alone() -> None:
    points = starting_points(3, 100, 80, seed=0)
    tops = {"a": (10, 20, 70), "b": (50, 50, 0), "c": (10, 20, 70)}
    looked: list[Sequence[Point]] = []
    found = climb_together(
        {name: climb(points, 100, 80) for name in tops},
        looked.append,
        lambda name, point: hill(tops[name])(point),
    )
    for name, top in tops.items():
        assert found[name] == climbed(points, 100, 80, hill(top))
    every = [point for some in looked for point in some]
    assert looked[0] == points
    assert set(every) == {point for some in found.values() for point in some}
