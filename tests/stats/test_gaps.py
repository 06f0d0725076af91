"""Gaps between means, and intervals of these."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rankframe.core.options import GapKind
from rankframe.stats.gaps import (
    GapChange,
    gap_between,
    gap_change,
    gap_interval,
    gap_weights,
    too_many,
)


def test_gaps_are_what_they_say() -> None:
    means = np.random.default_rng(1).random((50, 6))
    for row, widest, mean in zip(
        means, gap_between(means, "range"), gap_between(means, "mean"), strict=True
    ):
        apart = [abs(one - other) for one, other in combinations(row, 2)]
        assert widest == max(apart)
        assert mean == pytest.approx(np.mean(apart), abs=1e-15)


def test_intervals_cover_where_there_is_no_gap() -> None:
    """Of slices of 100 normal values, four alike: 95%, within what 2,000 draws can tell."""
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((1_000, 4)) / 10  # the same error for all: known here
    for kind in ("range", "mean"):
        covered = 0
        for means in rng.standard_normal((2_000, 4)) / 10:
            found = gap_interval(means, means + noise, 100, 0.95, kind)
            assert found is not None
            covered += found[0] == 0
        assert 0.93 < covered / 2_000 < 0.975


def test_nothing_is_said_of_nothing() -> None:
    means = np.array([0.0, 1.0])
    assert gap_interval(means, np.full((5, 2), np.nan), 100, 0.95, "range") is None
    assert gap_interval(means, np.zeros((5, 2)), 1, 0.95, "range") is None


KINDS: tuple[GapKind, ...] = ("range", "mean")


def changed(before, after, correlation=0.8, error=0.1, kind: GapKind = "range", **options) -> Any:
    """Two gaps whose means have these errors, which correlate."""
    means = np.array([before, after], np.float64)
    shared = error**2 * np.array([[1, correlation], [correlation, 1]])
    one, own = np.random.default_rng(4).standard_normal((2, 2_000, means.shape[1])) * error
    noise = np.stack([one, correlation * one + math.sqrt(1 - correlation**2) * own], axis=1)
    covariances = np.broadcast_to(shared, (means.shape[1], 2, 2))
    return gap_change(means, means + noise, covariances, 100, kind, **options)


def test_a_gap_is_a_sum_by_weights() -> None:
    means = np.random.default_rng(1).random((50, 6))
    for kind in KINDS:
        weights = gap_weights(means, kind)
        assert (weights * means).sum(axis=1) == pytest.approx(gap_between(means, kind), abs=1e-15)
        assert weights.sum(axis=1) == pytest.approx(0, abs=1e-15)
        # No other order gives more.
        assert (weights[::-1] * means).sum(axis=1).max() <= gap_between(means, kind).max() + 1e-15


def test_where_the_order_is_clear_it_is_the_paired_t_test() -> None:
    for kind in KINDS:
        found = changed([0, 9], [0, 9.3], kind=kind)
        error = math.sqrt(2 * 2 * 0.1**2 * (1 - 0.8))  # of two slices, of paired values
        half = stats.t.ppf(0.975, 99) * error
        assert found.value == pytest.approx(0.3)
        # The bias that is seen in 2,000 replicates of no bias widens it a little.
        assert found.interval(0.95) == pytest.approx((0.3 - half, 0.3 + half), abs=0.02)
        assert found.p_value() == pytest.approx(2 * stats.t.sf(0.3 / error, 99), rel=0.5)
        assert found.most(0.95) == pytest.approx(0.3 + stats.t.ppf(0.95, 99) * error, abs=0.02)
        assert found.p_below(0.5) == pytest.approx(stats.t.sf(0.2 / error, 99), rel=0.5)


def test_the_interval_is_beyond_0_where_p_is_below_its_level() -> None:
    for after in np.linspace(-0.6, 0.9, 16):
        for kind in KINDS:
            found = changed([0, 0.2, 0.5], [0, 0.2, after], kind=kind)
            low, high = found.interval(0.9)
            assert low <= found.value <= high
            assert (low > 0 or high < 0) == (found.p_value() < 0.1)


def test_the_same_twice_has_no_change() -> None:
    for kind in KINDS:
        found = changed([0, 0.1, 0.2], [0, 0.1, 0.2], correlation=1.0, kind=kind)
        assert (found.interval(0.95), found.p_value(), found.p_below(0.0)) == ((0, 0), 1, 0)


def test_where_values_do_not_vary_nothing_is_known() -> None:
    found = changed([0, 1], [0, 2], error=0.0)
    assert (found.value, found.interval(0.95), found.p_value()) == (1, None, None)
    assert (found.least(0.95), found.p_below(2.0), found.p_below(0.5)) == (1, 0, 1)
    means = np.zeros((2, 2))
    none = np.full((5, 2, 2), np.nan)
    assert gap_change(means, none, np.ones((2, 2, 2)), 100, "range") is None
    assert gap_change(means, np.zeros((5, 2, 2)), np.ones((2, 2, 2)), 1, "range") is None


def test_a_share_of_a_gap_that_may_be_none_is_none() -> None:
    assert changed([0, 0.1], [0, 0.5], relative=0.95) is None
    found = changed([0, 4], [0, 5], relative=0.95)
    assert found.value == pytest.approx(0.25)
    # By the error of a ratio.
    error = math.sqrt(2 * 0.1**2 * (1 + 1.25**2 - 2 * 0.8 * 1.25)) / 4
    assert found.errors[0] == pytest.approx(error)
    # The error of the first gap alone says whether there is one: .35 is 2.5 times the root of .02.
    assert changed([0, 0.35], [0, 9], relative=0.95) is not None


def test_a_wider_choice_of_orders_never_narrows_it() -> None:
    """Which slice is best is not known: the same difference of gaps is less sure."""
    clear, unclear = (changed([0, top, 5], [0, top, 5.3]) for top in (2, 5))
    assert np.ptp(unclear.interval(0.95)) > np.ptp(clear.interval(0.95))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("before", "after"),
    [([0] * 5, [0] * 5), ([0, 0, 0, 0, 6], [0] * 5), ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])],
)
def test_it_covers(kind: GapKind, before: list[float], after: list[float]) -> None:
    """Of 300 experiments 95% or more, within what so many can tell."""
    rng, means = np.random.default_rng(6), np.array([before, after], np.float64)
    truth = float(np.diff(gap_between(means, kind))[0])
    shared = np.array([[1, 0.7], [0.7, 1]])
    root = np.linalg.cholesky(shared)
    covered = 0
    for _ in range(300):
        seen = means + root @ rng.standard_normal((2, 5))
        drawn = seen + np.einsum("ij,rjk->rik", root, rng.standard_normal((300, 2, 5)))
        found = gap_change(seen, drawn, np.broadcast_to(shared, (5, 2, 2)), 100, kind)
        assert isinstance(found, GapChange)
        low, high = found.interval(0.95) or (0, 0)
        covered += low <= truth <= high
    assert covered / 300 > 0.92


def test_of_too_many_slices_nothing_is_said() -> None:
    many = np.arange(11.0)
    assert changed(many, many, kind="mean") is None
    assert changed(many[1:], many[1:], kind="mean") is not None
    assert changed(many, many) is not None
    assert too_many(10, "mean") == too_many(20, "range") == ""
    assert "with 21 slices, the difference of two gaps" in too_many(21, "range")
