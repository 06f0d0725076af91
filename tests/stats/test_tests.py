"""Paired tests against scipy, and against listing every permutation; corrections by definition."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rankframe as rf
from rankframe.stats import tests as significance
from rankframe.stats.resample import Grouping
from rankframe.stats.tests import (
    Paired,
    corrected,
    difference_error,
    sign_p_value,
    t_p_value,
    wilcoxon_p_value,
)

MANY = 20_000


def plain(values: Any) -> Paired:
    """Systems × queries of plain means."""
    values = np.asarray(values, float)
    return Paired(values, values, np.ones_like(values))


def random_values(
    systems: int, queries: int, seed: int = 1, *, shift: float = 0.0, step: float = 0.0
) -> np.ndarray:
    """Correlated values, each system `shift` better; with a step, of a grid, so that some tie."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=queries) + rng.normal(size=(systems, queries))
    values += shift * np.arange(systems)[:, None]
    return np.round(values / step) * step if step else values


def grouping(queries: int, seed: int = 7, most: int = 1 << 16) -> Grouping:
    return Grouping(np.random.default_rng(seed).integers(0, 2**64, queries, np.uint64), most)


def randomisation_p_values(paired: Paired, *args: Any, **options: Any) -> list[float | None]:
    """Of one metric."""
    (found,) = significance.randomisation_p_values([paired], *args, **options)
    return found


def tukey_p_values(paired: Paired, *args: Any, **options: Any) -> list[float | None]:
    """Of one metric."""
    (found,) = significance.tukey_p_values([paired], *args, **options)
    return found


def t_p(paired: Paired, base: int = 0, other: int = 1) -> float | None:
    difference = paired.ratios[other] - paired.ratios[base]
    return t_p_value(difference, difference_error(paired, base, other), paired.queries)


def by_chance(paired: Paired, count: int = MANY, seed: int = 0, groups: Any = None) -> float:
    (p,) = randomisation_p_values(
        paired, [(0, 1)], groups or grouping(paired.queries), permutations=count, seed=seed
    )
    assert p is not None
    return p


def assert_near(found: float | None, exact: float, count: int = MANY) -> None:
    """Within what so many permutations may be off."""
    assert found is not None
    assert abs(found - exact) < 4 * math.sqrt(exact * (1 - exact) / count) + 1 / count


# --- tests that scipy has


@pytest.mark.parametrize("queries", [2, 3, 10, 200])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_t_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    expected = stats.ttest_rel(values[1], values[0]).pvalue
    assert t_p(plain(values)) == pytest.approx(expected, rel=1e-12)
    assert t_p(plain(values[::-1])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("queries", [2, 8, 13, 14, 40, 120])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_wilcoxon_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    expected = stats.wilcoxon(values[1], values[0]).pvalue  # pyright: ignore[reportAttributeAccessIssue]
    assert wilcoxon_p_value(plain(values), 0, 1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("queries", [2, 9, 100])
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_sign_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    up, down = (values[1] > values[0]).sum(), (values[1] < values[0]).sum()
    expected = stats.binomtest(int(up), int(up + down)).pvalue
    assert sign_p_value(plain(values), 0, 1) == pytest.approx(expected, rel=1e-12)


def test_systems_that_never_differ() -> None:
    same = plain([[0.1, 0.2, 0.3]] * 2)
    assert t_p(same) == 1.0
    assert wilcoxon_p_value(same, 0, 1) == 1.0
    assert sign_p_value(same, 0, 1) == 1.0
    assert by_chance(same, 100) == 1.0
    assert tukey_p_values(same, [(0, 1)], grouping(3), permutations=100, seed=0) == [1.0]


def test_a_difference_that_never_varies_is_certain_to_t() -> None:
    assert t_p(plain([[0.0, 1.0, 2.0], [0.5, 1.5, 2.5]])) == 0.0


@pytest.mark.parametrize("queries", [0, 1])
def test_too_few_queries_have_no_p_value(queries: int) -> None:
    few = plain([[0.5] * queries, [1.5] * queries])
    assert t_p(few) is None
    assert wilcoxon_p_value(few, 0, 1) is None


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "tukey"])
@pytest.mark.parametrize("queries", [0, 1])
def test_too_few_queries_have_no_p_value_in_a_comparison(queries: int, test: Any) -> None:
    # of the first metric, so many queries have a value
    few = pl.Series([0.5] * queries + [None] * (3 - queries), dtype=pl.Float64)
    one = pl.DataFrame({"query_id": ["a", "b", "c"], "few": few, "all": [0.1, 0.2, 0.3]})
    other = one.with_columns(pl.col("few", "all") * 2)
    table = rf.compare(None, {"a": one, "b": other}, test=test, permutations=100).table
    assert table["p_value"][0] is None
    assert table["p_value"][1] is not None
    assert table["significant"][0] is False


# --- errors of weighted means and of ratios of sums


def ratio_case(queries: int, seed: int = 4) -> Paired:
    """Hits of so many, which differ between the systems."""
    rng = np.random.default_rng(seed)
    below = rng.integers(1, 6, (2, queries)).astype(float)
    above = rng.integers(0, below + 1).astype(float)
    return Paired(above / below, above, below)


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
    assert t_p(halved) == pytest.approx(t_p(plain(values)) or 0, rel=1e-12)


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


# --- randomisation


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
    paired = Paired(values, values * weights, weights)
    assert_near(by_chance(paired), swapped_p(paired.above, paired.below))


def test_randomisation_is_reproducible_by_its_seed() -> None:
    paired = plain(random_values(2, 30, shift=0.3))
    assert by_chance(paired, 1_500, 3) == by_chance(paired, 1_500, 3)
    assert len({by_chance(paired, 1_500, seed) for seed in range(6)}) > 2


def test_more_permutations_than_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = random_values(3, 12, shift=0.3)
    for p_values in (randomisation_p_values, tukey_p_values):
        found = [
            p_values(plain(values), [(0, 1), (2, 0)], grouping(12), permutations=700, seed=1)
            for at_once in (1_000, 64, 99)
            if monkeypatch.setattr("rankframe.stats.tests._AT_ONCE", at_once) is None
        ]
        assert found[0] == found[1] == found[2]


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_order_of_queries_does_not_show(seed: int) -> None:
    values = random_values(3, 25, shift=0.2, step=0.25)
    hashes = np.random.default_rng(7).integers(0, 2**64, 25, np.uint64)
    order = np.random.default_rng(seed).permutation(25)
    for p_values in (randomisation_p_values, tukey_p_values):
        one, other = (
            p_values(plain(values[:, o]), [(0, 1), (1, 2)], Grouping(hashes[o]), permutations=200,
                     seed=1)
            for o in (slice(None), order)
        )  # fmt: skip
        assert one == other


def test_every_metric_is_tested_as_if_alone() -> None:
    ratios = ratio_case(20)
    metrics = [plain(random_values(2, 20, shift=0.3)), plain(random_values(2, 20, 5, step=0.5))]
    for p_values, some in (
        (significance.randomisation_p_values, [metrics[0], ratios, metrics[1]]),
        (significance.tukey_p_values, metrics),
    ):
        options: Any = {"permutations": 300, "seed": 4}
        together = p_values(some, [(0, 1), (1, 0)], grouping(20), **options)
        alone = [p_values([one], [(0, 1), (1, 0)], grouping(20), **options)[0] for one in some]
        assert together == alone


def test_every_pair_is_tested_as_if_alone() -> None:
    values = random_values(4, 20, shift=0.3)
    pairs = list(combinations(range(4), 2))
    together = randomisation_p_values(plain(values), pairs, grouping(20), permutations=500, seed=2)
    alone = [by_chance(plain(values[list(pair)]), 500, 2) for pair in pairs]
    assert together == alone
    turned = randomisation_p_values(
        plain(values), [(j, i) for i, j in pairs], grouping(20), permutations=500, seed=2
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
    paired = Paired(np.ones((2, 2)), np.array([[1.0, 0.0], [0.0, 2.0]]), below)
    assert 0 < by_chance(paired, 500) <= 1


def test_without_an_average_there_is_no_p_value() -> None:
    nothing = Paired(np.ones((2, 5)), np.zeros((2, 5)), np.zeros((2, 5)))
    for p_values in (randomisation_p_values, tukey_p_values):
        assert p_values(nothing, [(0, 1)], grouping(5), permutations=100, seed=0) == [None]


def test_groups_of_queries_keep_the_level() -> None:
    # no system is better: p values are spread evenly, whatever the groups
    times, queries = 250, 60
    for p_values in (randomisation_p_values, tukey_p_values):
        found = []
        for seed in range(times):
            values = random_values(2, queries, 1_000 + seed)
            groups = grouping(queries, seed, most=24)
            assert len(groups.origins) <= 24
            found += p_values(plain(values), [(0, 1)], groups, permutations=199, seed=seed)
        for level in (0.1, 0.5):
            share = np.mean(np.array(found) <= level)
            assert abs(share - level) < 4 * math.sqrt(level * (1 - level) / times)


def test_groups_of_queries_find_what_single_ones_do() -> None:
    values = random_values(2, 400, shift=0.17)
    single, grouped = (by_chance(plain(values), groups=grouping(400, most=m)) for m in (400, 128))
    assert 0.001 < single < 0.3
    assert grouped == pytest.approx(single, abs=0.05)


# --- Tukey


def tukey(values: np.ndarray, count: int = MANY, seed: int = 0) -> list[float | None]:
    pairs = list(combinations(range(len(values)), 2))
    return tukey_p_values(
        plain(values), pairs, grouping(values.shape[1]), permutations=count, seed=seed
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
    monkeypatch.setattr("rankframe.stats.tests._TABLE_SYSTEMS", 6)
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
    alone = randomisation_p_values(
        plain(values), pairs := list(combinations(range(5), 2)), grouping(30),
        permutations=2_000, seed=0,
    )  # fmt: skip
    for (i, j), found, one in zip(pairs, tukey(values, 2_000), alone, strict=True):
        assert found is not None
        assert one is not None
        assert found >= one - 0.03, (i, j)


def test_tukey_counts_exact_ties() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    assert tukey(values, 200) == [1.0, 1.0, 1.0]


def test_tukey_refuses_other_denominators(refusal) -> None:
    assert refusal(
        tukey_p_values, ratio_case(5), [(0, 1)], grouping(5), permutations=100, seed=0
    ) == (
        "tukey compares means: a metric with average=micro has other denominators in every "
        'system. Use test="randomisation" for it.'
    )


# --- corrections

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12)


@given(p_values)
def test_bh_is_scipys(values: list[float]) -> None:
    expected = stats.false_discovery_control(values).tolist() if values else []
    assert corrected(values, "bh") == pytest.approx(expected, abs=1e-15)


@given(p_values)
def test_bonferroni_and_holm_by_definition(values: list[float]) -> None:
    m = len(values)
    assert corrected(values, "bonferroni") == [min(p * m, 1.0) for p in values]
    # Holm: p of those up to it, each times how many are not before it, the largest
    for p, found in zip(values, corrected(values, "holm"), strict=True):
        steps = [(m - sum(other < q for other in values)) * q for q in values if q <= p]
        assert found == pytest.approx(min(max(steps), 1.0), abs=1e-15)


@given(p_values, st.sampled_from(["holm", "bonferroni", "bh"]))
def test_corrections_keep_the_order_and_pass_over_what_is_unknown(values: list, how: Any) -> None:
    found = corrected(values, how)
    for (p, one), (q, other) in combinations(zip(values, found, strict=True), 2):
        assert one is not None
        assert other is not None
        assert p > q or one <= other
    assert all(p <= one for p, one in zip(values, found, strict=True) if one is not None)
    spaced = [x for p in values for x in (None, p)]
    assert corrected([*spaced, None], how) == [*(x for p in found for x in (None, p)), None]


def test_nothing_to_correct() -> None:
    assert corrected([], "holm") == []
    assert corrected([None, None], "bh") == [None, None]
    assert corrected([0.04], "holm") == [0.04]


def test_unknown_tests_and_corrections_are_refused(refusal) -> None:
    runs = {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 1.0}}}
    call = (rf.compare, {"q": {"d": 1}}, runs, "map")
    assert refusal(*call, test="tukeys") == (
        "test='tukeys' is not one of 't', 'wilcoxon', 'sign', 'randomisation', 'tukey'. "
        "Did you mean 'tukey'?"
    )
    assert refusal(*call, correction="holms").endswith("Did you mean 'holm'?")
    assert refusal(*call, permutations=99) == (
        "permutations must be a whole number from 100 to 100,000, not 99."
    )
