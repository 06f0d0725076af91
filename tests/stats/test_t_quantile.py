"""Quantiles of Student's t and the normal distribution, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, stdtrit

from rankframe.stats.intervals import normal_cdf, t_quantile

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


def test_normal_chances_are_those_of_scipy() -> None:
    x = np.linspace(-8, 8, 65)
    np.testing.assert_allclose([normal_cdf(v) for v in x.tolist()], ndtr(x), rtol=1e-13)
