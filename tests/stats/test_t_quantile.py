"""Quantiles of Student's t and the normal distribution, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

from rankframe.stats.intervals import t_quantile, widened_tail

FREEDOM = [1, 2, 3, 4, 5, 9, 10, 29, 100, 999, 1_000, 1_001, 5_000, 10**6, 10**9]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_quantiles_are_those_of_scipy(freedom: int) -> None:
    chances = [0.6, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.4, 0.05, 0.025, 0.005, 1e-4]
    ours = [t_quantile(chance, freedom) for chance in chances]
    np.testing.assert_allclose(ours, stdtrit(freedom, chances), rtol=1e-11)


def test_quantiles_at_the_middle_and_the_ends() -> None:
    assert abs(t_quantile(0.5, 7)) < 1e-15
    assert t_quantile(1.0, 7) == math.inf
    assert t_quantile(0.0, 7) == -math.inf


def test_tails_are_widened_as_students_t_is_wider_than_the_normal_distribution() -> None:
    for queries in (2, 5, 50, 10**6):
        for confidence in (0.5, 0.9, 0.95, 0.999):
            scale = math.sqrt(queries / (queries - 1))
            expected = ndtr(stdtrit(queries - 1, (1 - confidence) / 2) * scale)
            assert widened_tail(queries, confidence) == pytest.approx(expected, rel=1e-9)
