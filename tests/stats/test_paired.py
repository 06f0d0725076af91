"""Standard errors of weighted means and of ratios of sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rankframe.stats.paired import (
    PairedValues,
    differences,
    estimate_difference_error,
    ranked_differences,
)
from tests.support.paired_cases import p_value, plain, random_values, ratio_case


def test_the_error_of_a_ratio_of_sums_is_about_that_of_leaving_each_query_out() -> None:
    paired = ratio_case(200)
    n = paired.queries
    above, below = (x.sum(axis=1)[:, None] - x for x in (paired.above, paired.below))
    left_out = (above / below)[1] - (above / below)[0]
    jackknife = math.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    assert estimate_difference_error(paired, 0, 1) == pytest.approx(jackknife, rel=0.02)


def test_equal_differences_share_a_rank_whatever_the_size_of_values() -> None:
    before = np.concatenate([np.arange(10) / 10, [0.05, 5.0, 50.0, 0.0]])
    apart = ranked_differences(before + 0.1, before)
    assert len(set(apart.tolist())) == 1
    assert apart == pytest.approx(np.full(14, 0.1), rel=1e-12)
    down = ranked_differences(before, before + 0.1)
    assert (down == -apart).all()
    # small differences beside a huge value are what they are
    mixed = ranked_differences(np.array([1e12 + 1, 0.5, 0.25]), np.array([1e12, 0.0, 0.0]))
    assert mixed.tolist() == [0.0, 0.5, 0.25]
    assert ranked_differences(np.empty(0), np.empty(0)).tolist() == []


def test_what_rounding_adds_is_no_difference() -> None:
    before = np.array([0.1 + 0.2, 1e-30, 0.0, 1e9])
    assert differences(np.array([0.3, 1e-30, 0.0, 1e9 + 1e-4]), before).tolist() == [0.0] * 4
    assert differences(np.array([0.3 + 1e-11]), np.array([0.3]))[0] > 0


def test_differences_of_what_is_not_finite() -> None:
    inf, nan = math.inf, math.nan
    apart = differences(np.array([inf, inf, nan, 1.0]), np.array([inf, 1.0, 1.0, inf]))
    assert apart.tolist() == pytest.approx([0.0, inf, nan, -inf], nan_ok=True)


def test_a_weight_of_a_half_for_all_is_none() -> None:
    values = random_values(2, 12)
    halved = PairedValues(values, values / 2, np.full_like(values, 0.5))
    assert estimate_difference_error(halved, 0, 1) == pytest.approx(
        estimate_difference_error(plain(values), 0, 1), rel=1e-12
    )
    assert p_value("t", halved) == pytest.approx(p_value("t", plain(values)) or 0, rel=1e-12)


def test_the_error_of_one_mean_is_scipys() -> None:
    values = random_values(2, 30)
    assert estimate_difference_error(plain(values), None, 1) == pytest.approx(
        stats.sem(values[1]), rel=1e-12
    )
    assert estimate_difference_error(plain(values), 0, 1, scales=(3.0, 3.0)) == pytest.approx(
        3 * estimate_difference_error(plain(values), 0, 1), rel=1e-12
    )
    apart = 2 * values[1] - 5 * values[0]
    assert estimate_difference_error(plain(values), 0, 1, scales=(5.0, 2.0)) == pytest.approx(
        stats.sem(apart), rel=1e-12
    )
