"""Tests that draw, against listing every swap or order."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankframe.stats.paired import PairedValues
from rankframe.stats.significance import TESTS, Draws
from tests.support.paired_cases import (
    MANY,
    by_chance,
    chance,
    drawn,
    plain,
    random_values,
    ratio_case,
)

DRAWING = [name for name, test in TESTS.items() if test.draws]


def assert_near(found: float | None, exact: float, count: int = MANY) -> None:
    """Within what so many permutations may be off."""
    assert found is not None
    assert abs(found - exact) < 4 * math.sqrt(exact * (1 - exact) / count) + 1 / count


def swapped_p(above: np.ndarray, below: np.ndarray) -> float:
    """The p value over all ways to swap two systems: (2, queries) each."""
    apart = []
    for swaps in product((False, True), repeat=above.shape[1]):
        over, under = (np.where(swaps, part[::-1], part).sum(axis=1) for part in (above, below))
        apart.append(abs(over[1] / under[1] - over[0] / under[0]))
    return float(np.mean(np.array(apart) >= apart[0] - 1e-12))


@pytest.mark.parametrize("queries", [2, 5, 9, 12])
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_randomisation_is_about_every_swap(queries: int, step: float) -> None:
    values = random_values(2, queries, 30 + queries, shift=0.8, step=step)
    exact = swapped_p(values, np.ones_like(values))
    assert_near(by_chance(plain(values)), exact)


@pytest.mark.parametrize("seed", range(3))
def test_randomisation_swaps_numerators_with_their_denominators(seed: int) -> None:
    paired = ratio_case(9, seed)
    assert not paired.common
    assert_near(by_chance(paired), swapped_p(paired.above, paired.below))


def test_randomisation_of_a_weighted_mean() -> None:
    values = random_values(2, 9, shift=0.5)
    weights: Any = np.tile(np.random.default_rng(3).integers(0, 6, 9) + 0.5, (2, 1))
    paired = PairedValues(values, values * weights, weights)
    assert_near(by_chance(paired), swapped_p(paired.above, paired.below))


def test_randomisation_is_reproducible_by_its_seed() -> None:
    paired = plain(random_values(2, 30, shift=0.3))
    assert by_chance(paired, 1_500, 3) == by_chance(paired, 1_500, 3)
    assert len({by_chance(paired, 1_500, seed) for seed in range(6)}) > 2


def test_more_permutations_than_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = random_values(3, 12, shift=0.3)
    for test in DRAWING:
        found = [
            drawn(test, plain(values), [(0, 1), (2, 0)], chance(12), permutations=700, seed=1)
            for at_once in (1_000, 64, 99)
            if monkeypatch.setattr("rankframe.stats.significance._AT_ONCE", at_once) is None
        ]
        assert found[0] == found[1] == found[2]


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_order_of_queries_does_not_show(seed: int) -> None:
    values = random_values(3, 25, shift=0.2, step=0.25)
    hashes = np.random.default_rng(7).integers(0, 2**64, 25, np.uint64)
    order = np.random.default_rng(seed).permutation(25)
    for test in DRAWING:
        one, other = (
            drawn(test, plain(values[:, o]), [(0, 1), (1, 2)], Draws(hashes[o]), permutations=200,
                     seed=1)
            for o in (slice(None), order)
        )  # fmt: skip
        assert one == other


def test_every_metric_is_tested_as_if_alone() -> None:
    ratios = ratio_case(20)
    metrics = [plain(random_values(2, 20, shift=0.3)), plain(random_values(2, 20, 5, step=0.5))]
    draws = replace(chance(20), permutations=300, seed=4)
    for name in DRAWING:
        test = TESTS[name]
        some = [metrics[0], ratios, metrics[1]] if test.takes == "any average" else metrics
        together = test.p_values(some, [(0, 1), (1, 0)], draws)
        alone = [test.p_values([one], [(0, 1), (1, 0)], draws)[0] for one in some]
        assert together == alone


def test_every_pair_is_tested_as_if_alone() -> None:
    values = random_values(4, 20, shift=0.3)
    pairs = list(combinations(range(4), 2))
    together = drawn("randomisation", plain(values), pairs, chance(20), permutations=500, seed=2)
    alone = [by_chance(plain(values[list(pair)]), 500, 2) for pair in pairs]
    assert together == alone
    turned = drawn(
        "randomisation",
        plain(values),
        [(j, i) for i, j in pairs],
        chance(20),
        permutations=500,
        seed=2,
    )
    assert turned == together


def test_the_smallest_p_value_counts_the_data_themselves() -> None:
    far = plain([[0.0] * 40, [1.0] * 40])
    assert by_chance(far, 999) == 1 / 1_000


def test_sums_that_tie_exactly_count_as_extreme() -> None:
    # 0.1 + 0.2 and 0.3 differ in floats: swaps that give the same difference must tie
    values = np.array([[0.0] * 4, [0.1, 0.2, 0.3, -0.3]])
    exact = swapped_p(np.round(values * 10), np.ones_like(values))
    assert_near(by_chance(plain(values)), exact)


def test_a_swap_that_leaves_nothing_below_the_line_is_no_warning() -> None:
    below = np.array([[3.0, 0.0], [0.0, 3.0]])
    paired = PairedValues(np.ones((2, 2)), np.array([[1.0, 0.0], [0.0, 2.0]]), below)
    assert 0 < by_chance(paired, 500) <= 1


def test_without_an_average_there_is_no_p_value() -> None:
    nothing = PairedValues(np.ones((2, 5)), np.zeros((2, 5)), np.zeros((2, 5)))
    for test in DRAWING:
        assert drawn(test, nothing, [(0, 1)], chance(5), permutations=100, seed=0) == [None]


def test_groups_of_queries_keep_the_level() -> None:
    # no system is better: p values are spread evenly, whatever the groups
    times, queries = 250, 60
    for test in DRAWING:
        found = []
        for seed in range(times):
            values = random_values(2, queries, 1_000 + seed)
            groups = chance(queries, seed, most=24)
            assert len(groups.buckets.origins) <= 24
            found += drawn(test, plain(values), [(0, 1)], groups, permutations=199, seed=seed)
        for level in (0.1, 0.5):
            share = np.mean(np.array(found) <= level)
            assert abs(share - level) < 4 * math.sqrt(level * (1 - level) / times)


def test_groups_of_queries_find_what_single_ones_do() -> None:
    values = random_values(2, 400, shift=0.17)
    single, grouped = (by_chance(plain(values), of=chance(400, most=m)) for m in (400, 128))
    assert 0.001 < single < 0.3
    assert grouped == pytest.approx(single, abs=0.05)


# --- Tukey


def tukey(values: np.ndarray, count: int = MANY, seed: int = 0) -> list[float | None]:
    pairs = list(combinations(range(len(values)), 2))
    return drawn(
        "tukey", plain(values), pairs, chance(values.shape[1]), permutations=count, seed=seed
    )


@pytest.mark.parametrize("step", [0.0, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_tukey_is_about_every_order_of_the_systems(seed: int, step: float) -> None:
    values = random_values(3, 4, seed, shift=0.9, step=step)
    orders = list(permutations(range(3)))
    columns = [np.array([values[list(o), q] for o in orders]) for q in range(4)]
    totals = sum(
        column[np.ix_(range(6))].reshape([6 if at == q else 1 for at in range(4)] + [3])
        for q, column in enumerate(columns)
    )
    ranges = np.ptp(np.asarray(totals), axis=-1).ravel()
    assert len(ranges) == 6**4
    for (i, j), found in zip(combinations(range(3), 2), tukey(values), strict=True):
        apart = abs(values[j].sum() - values[i].sum())
        assert_near(found, float(np.mean(ranges >= apart - 1e-12)))


def test_tukey_of_two_systems_is_randomisation() -> None:
    values = random_values(2, 15, shift=0.4)
    exact = swapped_p(values[:, :12], np.ones((2, 12)))
    assert_near(tukey(values[:, :12])[0], exact)
    (found,) = tukey(values)
    assert found == pytest.approx(by_chance(plain(values)), abs=0.02)


def test_many_systems_are_shuffled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    # eight are too many to list their orders; with the same, seven may be shuffled both ways
    values = random_values(7, 20, shift=0.15)
    listed = tukey(values, 4_000)
    monkeypatch.setattr("rankframe.stats.significance._TABLE_SYSTEMS", 6)
    for one, other in zip(listed, tukey(values, 4_000), strict=True):
        assert one == pytest.approx(other, abs=0.05)
    eight = tukey(random_values(8, 20, shift=0.15), 500)
    assert len(eight) == 28
    assert all(p is not None and 0 < p <= 1 for p in eight)
    assert eight == tukey(random_values(8, 20, shift=0.15), 500)


@pytest.mark.parametrize("systems", [3, 8])
def test_tukey_is_close_to_the_studentised_range(systems: int) -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(systems, 300)) + 0.04 * np.arange(systems)[:, None]
    expected = stats.tukey_hsd(*values).pvalue
    pairs = combinations(range(systems), 2)
    for pair, found in zip(pairs, tukey(values, 3_000), strict=True):
        assert found == pytest.approx(expected[pair], abs=0.03)


def test_tukey_is_larger_than_the_test_of_a_pair_alone() -> None:
    values = random_values(5, 30, shift=0.1)
    pairs = list(combinations(range(5), 2))
    alone = drawn("randomisation", plain(values), pairs, chance(30), permutations=2_000, seed=0)
    for (i, j), found, one in zip(pairs, tukey(values, 2_000), alone, strict=True):
        assert found is not None
        assert one is not None
        assert found >= one - 0.03, (i, j)


def test_tukey_counts_exact_ties() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    assert tukey(values, 200) == [1.0, 1.0, 1.0]


def test_tukey_refuses_other_denominators(refusal) -> None:
    refusal(drawn, "tukey", ratio_case(5), [(0, 1)], chance(5), permutations=100, seed=0)
