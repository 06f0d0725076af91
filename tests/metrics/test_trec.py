"""trec_eval's experimental metrics; against/test_pytrec_eval.py has them on random data."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import NOTHING_GAINED, Case, Ranking, about, cases, value

# Gains 1 and 2 at ranks 1 and 3, one of grade 2 not retrieved.
LIST, MISSING = [1, None, 2, 0], [2]
# DCG of the list and of the ideal 2, 2, 1 at each rank
DCG = (1, 1, 1 + 2 / log2(4), 1 + 2 / log2(4))
IDEAL = (2, 2 + 2 / log2(3), 2 + 2 / log2(3) + 1 / log2(4))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # the missing one counts with the nDCG of the whole list
        ("ndcg_rel", (DCG[0] / IDEAL[0] + 2 * DCG[2] / IDEAL[2]) / 3),
        # the ideal list steps down after ranks 2 and 3
        ("rndcg", (DCG[1] / IDEAL[1] + DCG[2] / IDEAL[2]) / 2),
        ("bin_g", (1 / log2(2) + 1 / log2(3)) / 3),
        # by ranks 1 and 3 a perfect list has gained 2 and 5, this one 1 and 3
        ("g_measure", (1 / log2(2 + 2 - 1) + 2 / log2(2 + 5 - 3)) / 5),
        ("utility", 2 - 2),
        ("utility(a=3,b=-2,c=-1)", 3 * 2 - 2 * 2 - 1 * 1),
        # of ten documents, five were neither relevant nor retrieved
        ("utility(d=0.5,collection=10)", 2 - 2 + 0.5 * 5),
        ("utility(a=0,b=0,d=1,collection=5)", 0),
        ("trec_rbp(p=0.5)", (1 - 0.5) * (1 / 2 + 2 / 2 * 0.5**2)),
        ("trec_rbp", (1 - 0.9) * (1 / 2 + 2 / 2 * 0.9**2)),
        ("trec_rbp_resid(p=0.5)", 0.5**4 + 0.5 * 0.5),
        ("rbp_resid", 0.9**4 + 0.1 * 0.9),
        ("trec_unj@2", 1 / 2),
        ("unj@10", 1 / 10),
        ("trec_unj", 1 / 4),
    ],
)
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


@pytest.mark.parametrize("metric", ["ndcg_rel", "rndcg", "bin_g", "g_measure"])
def test_a_perfect_list_has_the_value_1(metric: str) -> None:
    assert value(metric, [3, 2, 2, 1, 0]) == about(1)


@pytest.mark.parametrize("metric", ["ndcg_rel", "rndcg", "bin_g", "g_measure"])
@pytest.mark.parametrize(("grades", "missing"), NOTHING_GAINED)
def test_without_a_gain_the_value_is_zero(
    metric: str, grades: list[int | None], missing: list[int]
) -> None:
    assert value(metric, grades, missing) == 0


@pytest.mark.parametrize("metric", ["ndcg_rel", "rndcg", "g_measure"])
def test_negative_grades_gain_what_zero_gains(metric: str) -> None:
    assert value(metric, [-1, 2, -3, 1], [-2, 1]) == about(value(metric, [0, 2, 0, 1], [0, 1]))


def test_rndcg_adds_the_whole_list_if_it_goes_on_past_the_last_gain() -> None:
    # two gain: the ideal list ends at rank 2; a third document is not enough, a fourth is
    short, long = [1, 0, 1], [1, 0, 1, None]
    at_2, whole = 1 / (1 + 1 / log2(3)), (1 + 1 / log2(4)) / (1 + 1 / log2(3))
    assert value("rndcg", short) == about(at_2)
    assert value("rndcg", long) == about((at_2 + whole) / 2)


def test_rndcg_is_zero_where_nothing_is_relevant_though_it_gains() -> None:
    # as trec_eval -l 2 has it; the other graded metrics take the grades whatever the level
    result = rf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0}}, ["rndcg", "ndcg@1"], rel=2)
    assert result.per_query.row(0)[1:] == (0, 1)


def test_g_goes_on_at_a_price_of_one_past_the_last_judged_rank() -> None:
    # rank 4 is past the two judged: the price is 2 + 1, and one more for each of ranks 3 and 4
    assert value("g_measure", [None, None, None, 2], [1]) == about(2 / log2(2 + 5 - 2) / 3)


def test_a_level_decides_who_is_relevant() -> None:
    grades = [1, 2, 0, 3]
    assert value("bin_g-l2", grades) == about((1 / log2(3) + 1 / log2(4)) / 2)
    assert value("utility(c=-1)-l2", grades, [2]) == 2 - 2 - 1


def test_utility_of_nothing_retrieved_is_that_of_what_was_missed() -> None:
    assert value("utility", [], [1, 0]) == 0
    assert value("utility(c=-1)", [], [1, 1, 0]) == -2


def test_utility_of_what_was_rightly_left_out_needs_the_size_of_the_collection(refusal) -> None:
    refusal(value, "utility(d=1)", LIST)


def test_a_negative_grade_is_no_judgment() -> None:
    grades = [1, -1, 0, None]
    assert value("trec_unj@2", grades) == 0.5
    assert value("trec_rbp_resid(p=0.5)", grades) == about(0.5**4 + 0.5 * (0.5 + 0.5**3))


def test_a_residual_is_0_where_all_that_was_retrieved_is_judged() -> None:
    assert value("trec_rbp_resid", [1, 0, 2]) == 0
    assert value("rbp_residual", [1, 0, 2]) > 0


def test_rbp_scales_by_the_largest_grade_of_the_query_if_it_exceeds_1() -> None:
    assert value("trec_rbp(p=0.5)", [1, 0]) == 0.5
    # the largest may not have been retrieved
    assert value("trec_rbp(p=0.5)", [1, 0], [4]) == 0.5 / 4


def discounted_gain(ranking: Ranking) -> float:
    highest = max([1, *ranking.ideal])
    return 0.1 * sum(gain / highest * 0.9**i for i, gain in enumerate(ranking.gains))


def residual(ranking: Ranking) -> float:
    unjudged = [i for i, g in enumerate(ranking.grades) if g is None or g < 0]
    n = len(ranking.grades)
    return 0.9**n + 0.1 * sum(0.9**i for i in unjudged) if unjudged else 0.0


@settings(max_examples=10, deadline=None)
@given(cases())
def test_what_trec_eval_9_lacks_is_as_defined(case: Case) -> None:
    case.assert_defined_as(
        {
            "trec_rbp": discounted_gain,
            "trec_rbp_resid": residual,
            "trec_unj@3": lambda r: sum(g is None or g < 0 for g in r.grades[:3]) / 3,
        }
    )
