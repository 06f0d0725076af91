"""The registers, tests against scipy, and corrections by definition."""

from __future__ import annotations

from itertools import combinations
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankframe as rf
from rankframe.core.options import Correction, Test
from rankframe.stats.paired import PairedValues
from rankframe.stats.significance import (
    CORRECTIONS,
    FAMILYWISE,
    TESTS,
    against_margin,
    correct_p_values,
    count_needed_queries,
)
from tests.support.paired_cases import by_chance, chance, drawn, p_value, plain, random_values

# --- the registers


def test_editors_know_every_test_and_correction() -> None:
    assert set(get_args(Test)) == set(TESTS)
    assert set(get_args(Correction)) == set(CORRECTIONS)


@pytest.mark.parametrize("test", TESTS)
def test_what_a_test_says_of_itself_is_in_the_ledger_and_in_refusals(test: Any, refusal) -> None:
    says = TESTS[test]
    table = pl.DataFrame({"query_id": ["a", "b", "c"], "map": [0.1, 0.2, 0.3]})
    systems = {"a": table, "b": table.with_columns(pl.col("map") * 2)}
    found = rf.compare(None, systems, test=test, permutations=100, ci=None)
    drawn = ", 100 permutations, seed 0" if says.draws else ""
    assert found.note("policy_test") == f"{test}, hypothesis: {says.hypothesis}{drawn}"
    if says.takes == "plain means":
        qrels = {"q": {"d": 1}}
        runs = {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 1.0}}}
        refusal(rf.compare, qrels, runs, "recall(average=micro)@1", test=test)


# --- tests that scipy has


@pytest.mark.parametrize("queries", [2, 3, 10, 200])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_t_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    expected = stats.ttest_rel(values[1], values[0]).pvalue
    assert p_value("t", plain(values)) == pytest.approx(expected, rel=1e-12)
    assert p_value("t", plain(values[::-1])) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("queries", [2, 8, 13, 14, 40, 120])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_wilcoxon_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    expected = stats.wilcoxon(values[1], values[0]).pvalue  # pyright: ignore[reportAttributeAccessIssue]
    assert p_value("wilcoxon", plain(values)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("queries", [2, 9, 100])
@pytest.mark.parametrize("step", [0.0, 1.0])
def test_sign_is_scipys(queries: int, step: float) -> None:
    values = random_values(2, queries, queries, shift=0.3, step=step)
    up, down = (values[1] > values[0]).sum(), (values[1] < values[0]).sum()
    expected = stats.binomtest(int(up), int(up + down)).pvalue
    assert p_value("sign", plain(values)) == pytest.approx(expected, rel=1e-12)


def test_systems_that_never_differ() -> None:
    same = plain([[0.1, 0.2, 0.3]] * 2)
    assert p_value("t", same) == 1.0
    assert p_value("wilcoxon", same) == 1.0
    assert p_value("sign", same) == 1.0
    assert by_chance(same, 100) == 1.0
    assert drawn("tukey", same, [(0, 1)], chance(3), permutations=100, seed=0) == [1.0]


BEFORE = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.2]
AFTER = [0.2, 0.3, 0.4, 0.3, 0.6, 0.7, 0.8, 0.3]


def test_rounding_breaks_no_ties() -> None:
    # Seven times up and once down by 0.1, which no float is: as scipy has it of whole numbers.
    tenths: Any = stats.wilcoxon([1, 1, 1, -1, 1, 1, 1, 1])
    assert p_value("wilcoxon", plain([BEFORE, AFTER])) == tenths.pvalue == 0.0703125
    noise = [x * (1 + 1e-15) for x in BEFORE]
    assert p_value("wilcoxon", plain([BEFORE, noise])) == 1.0
    assert p_value("sign", plain([BEFORE, noise])) == 1.0
    assert p_value("t", plain([BEFORE, noise])) == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_wilcoxon_of_tenths_is_that_of_whole_numbers(seed: int) -> None:
    whole = np.random.default_rng(seed).integers(0, 11, (2, 50))
    expected: Any = stats.wilcoxon(whole[1] - whole[0])
    assert p_value("wilcoxon", plain(whole / 10)) == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("queries", [2, 3, 5, 6, 40])
def test_where_differences_do_not_vary_t_goes_by_their_signs(queries: int) -> None:
    before = np.arange(queries) / 10
    expected = stats.binomtest(queries, queries).pvalue
    for after in (before + 0.1, before + 0.1 + 1e-16 * np.arange(queries)):
        assert p_value("t", plain([before, after])) == expected
    weights = np.full((2, queries), 0.3)
    weighted = PairedValues(
        np.stack([before, before + 0.1]), weights * [before, before + 0.1], weights
    )
    assert p_value("t", weighted) == expected


@pytest.mark.parametrize(("level", "queries"), [(0.5, 3), (0.1, 5), (0.05, 6), (0.01, 8)])
def test_fewer_queries_show_nothing_even_if_all_agree(level: float, queries: int) -> None:
    assert count_needed_queries(level) == queries
    assert stats.binomtest(queries, queries).pvalue < level
    assert stats.binomtest(queries - 1, queries - 1).pvalue >= level


@pytest.mark.parametrize("queries", [0, 1])
def test_too_few_queries_have_no_p_value(queries: int) -> None:
    few = plain([[0.5] * queries, [1.5] * queries])
    assert p_value("t", few) is None
    assert p_value("wilcoxon", few) is None


@pytest.mark.parametrize("test", TESTS)
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


def test_a_margin_is_tested_on_one_side() -> None:
    apart = random_values(1, 25, 3, shift=0.0)[0] + 0.4
    change, error = float(apart.mean()), float(stats.sem(apart))
    bound, p = against_margin(change, error, 25, margin=-0.1, confidence=0.95)
    expected: Any = stats.ttest_1samp(apart, -0.1, alternative="greater")
    low = expected.confidence_interval(0.95).low
    assert (bound, p) == pytest.approx((low, expected.pvalue), rel=1e-9)
    assert against_margin(0.2, 0.0, 25, margin=0.1, confidence=0.95) == (0.2, 0.0)
    assert against_margin(0.0, 0.0, 25, margin=0.1, confidence=0.95) == (0.0, 1.0)


# --- corrections

P_VALUES = [0.0388, 0.001, 0.2, 0.012, 0.012, 0.9, 0.03, 1e-5]
RECORDED: dict[Any, list[float]] = {
    "holm": [0.12, 0.007, 0.4, 0.072, 0.072, 0.9, 0.12, 8e-05],
    "bonferroni": [0.3104, 0.008, 1.0, 0.096, 0.096, 1.0, 0.24, 8e-05],
    "bh": [0.0388 * 8 / 6, 0.004, 0.2 * 8 / 7, 0.024, 0.024, 0.9, 0.048, 8e-05],
}

p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12)


@given(p_values)
def test_bh_is_scipys(values: list[float]) -> None:
    expected = stats.false_discovery_control(values).tolist() if values else []
    assert correct_p_values(values, "bh") == pytest.approx(expected, abs=1e-15)


@given(p_values)
def test_bonferroni_and_holm_by_definition(values: list[float]) -> None:
    m = len(values)
    assert correct_p_values(values, "bonferroni") == [min(p * m, 1.0) for p in values]
    # Holm: p of those up to it, each times how many are not before it, the largest
    for p, found in zip(values, correct_p_values(values, "holm"), strict=True):
        steps = [(m - sum(other < q for other in values)) * q for q in values if q <= p]
        assert found == pytest.approx(min(max(steps), 1.0), abs=1e-15)


@given(p_values, st.sampled_from(list(CORRECTIONS)))
def test_corrections_keep_the_order_and_pass_over_what_is_unknown(values: list, how: Any) -> None:
    found = correct_p_values(values, how)
    for (p, one), (q, other) in combinations(zip(values, found, strict=True), 2):
        assert one is not None
        assert other is not None
        assert p > q or one <= other
    assert all(p <= one for p, one in zip(values, found, strict=True) if one is not None)
    spaced = [x for p in values for x in (None, p)]
    assert correct_p_values([*spaced, None], how) == [*(x for p in found for x in (None, p)), None]


@pytest.mark.parametrize("how", CORRECTIONS)
def test_families_that_are_corrected_already(how: Any) -> None:
    values = [0.01, None, 0.04, 0.3]
    found = correct_p_values(values, how, families=4)
    by_family = [0.04, None, 0.16, 1.0]
    assert found == (by_family if how in FAMILYWISE else correct_p_values(values, how))


def test_corrections_are_those_of_statsmodels() -> None:
    # statsmodels.stats.multitest.multipletests
    for how, expected in RECORDED.items():
        assert correct_p_values(P_VALUES, how) == pytest.approx(expected, rel=1e-12)


def test_no_correction_changes_nothing() -> None:
    assert correct_p_values([0.01, None, 0.04], "none") == [0.01, None, 0.04]
    assert correct_p_values([0.01, None, 0.04], "none", families=3) == [0.01, None, 0.04]


def test_nothing_to_correct() -> None:
    assert correct_p_values([], "holm") == []
    assert correct_p_values([None, None], "bh") == [None, None]
    assert correct_p_values([0.04], "holm") == [0.04]


def test_unknown_tests_and_corrections_are_refused(refusal) -> None:
    runs = {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 1.0}}}
    call = (rf.compare, {"q": {"d": 1}}, runs, "map")
    refusal(*call, test="tukeys")
    refusal(*call, correction="holms")
    refusal(*call, permutations=99)
