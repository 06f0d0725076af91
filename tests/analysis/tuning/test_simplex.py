"""Weights in exact steps: none is lost, none comes twice."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest

from rankframe.analysis.tuning.simplex import (
    corners_and_centre,
    denominator_of,
    neighbours,
    random_points,
    simplex,
    simplex_size,
    weights_of,
)
from rankframe.core.errors import OptionError


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
def test_other_steps_are_refused(step: object) -> None:
    with pytest.raises(OptionError, match="weights go in steps"):
        denominator_of(step)


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
