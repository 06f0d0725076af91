"""Standard errors of weighted means and of ratios of sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rankframe.stats.paired import Paired, difference_error
from tests.support.paired_cases import p_value, plain, random_values, ratio_case


def test_the_error_of_a_ratio_of_sums_is_about_that_of_leaving_each_query_out() -> None:
    paired = ratio_case(200)
    n = paired.queries
    above, below = (x.sum(axis=1)[:, None] - x for x in (paired.above, paired.below))
    left_out = (above / below)[1] - (above / below)[0]
    jackknife = math.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    assert difference_error(paired, 0, 1) == pytest.approx(jackknife, rel=0.02)


def test_a_weight_of_a_half_for_all_is_none() -> None:
    values = random_values(2, 12)
    halved = Paired(values, values / 2, np.full_like(values, 0.5))
    assert difference_error(halved, 0, 1) == pytest.approx(
        difference_error(plain(values), 0, 1), rel=1e-12
    )
    assert p_value("t", halved) == pytest.approx(p_value("t", plain(values)) or 0, rel=1e-12)


def test_the_error_of_one_mean_is_scipys() -> None:
    values = random_values(2, 30)
    assert difference_error(plain(values), None, 1) == pytest.approx(
        stats.sem(values[1]), rel=1e-12
    )
    assert difference_error(plain(values), 0, 1, scales=(3.0, 3.0)) == pytest.approx(
        3 * difference_error(plain(values), 0, 1), rel=1e-12
    )
    apart = 2 * values[1] - 5 * values[0]
    assert difference_error(plain(values), 0, 1, scales=(5.0, 2.0)) == pytest.approx(
        stats.sem(apart), rel=1e-12
    )
