"""Gaps between means, and intervals of these."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rankframe.stats.gaps import gap_between, gap_interval


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
