"""Graded gain: DCG, nDCG, expected reciprocal rank, half-life utility, rank-biased precision."""

from __future__ import annotations

from math import log, log2

import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import NOTHING_GAINED, Case, about, cases, one_list, value

GRADES = [3, 2, 3, 0, 1, 2, 0, 1, 0, 3]
BURGES = "gain=exp2"
JARVELIN = "discount=jarvelin"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("cg", 15),
        ("cg@10", 15),
        ("cg@3", 8),
        ("dcg@10", 8.0437860),
        ("dcg", 8.0437860),
        (f"dcg({BURGES})@10", 16.1871823),
        ("dcg_burges@10", 16.1871823),
        (f"dcg({JARVELIN})@10", 9.3335948),
        ("ndcg@10", 0.9227289),
        (f"ndcg({BURGES})@10", 0.8963679),
        ("ndcg_burges@10", 0.8963679),
        (f"ndcg({JARVELIN})@10", 0.8891507),
    ],
)
def test_reference_values_of_a_list_that_holds_all_judged(metric: str, expected: float) -> None:
    assert value(metric, GRADES) == about(expected, digits=7)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ndcg@10", 0.8301043),
        (f"ndcg({BURGES})@10", 0.8349268),
        ("ndcg(ideal=retrieved)@10", 0.9227289),
        (f"ndcg({BURGES},ideal=retrieved)@10", 0.8963679),
        ("dcg@10", 8.0437860),
    ],
)
def test_reference_values_with_judged_documents_not_retrieved(metric: str, expected: float) -> None:
    assert value(metric, GRADES, [2, 1]) == about(expected, digits=7)


# By hand: gains 1 and 2 at ranks 1 and 3, one of grade 3 not retrieved.
LIST, MISSING = [1, None, 2, 0], [3, 0]
IDEAL = 3 + 2 / log2(3) + 1 / log2(4)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("cg", 3),
        ("cg(gain=exp2)", 4),
        ("cg@2", 1),
        ("dcg", 1 + 2 / log2(4)),
        ("dcg@2", 1),
        ("dcg@100", 1 + 2 / log2(4)),
        ("dcg(gain=exp2)", 1 + 3 / log2(4)),
        ("dcg(discount=jarvelin)", 1 + 2 / log2(3)),
        ("dcg(discount=jarvelin)@2", 1),
        ("dcg(discount=jarvelin, base=3)", 1 + 2),
        ("dcg(discount=jarvelin, base=2.5)", 1 + 2 / log(3, 2.5)),
        ("dcg(discount=ln)", 1 / log(2) + 2 / log(4)),
        ("ideal_dcg(discount=ln)@2", 3 / log(2) + 2 / log(3)),
        ("ndcg(discount=ln)@2", 1 / (3 + 2 / log2(3))),
        ("ncg", 3 / 6),
        ("ncg@1", 1 / 3),
        ("ncg@2", 1 / 5),
        ("ncg(gain=exp2)", 4 / 11),
        ("ncg(ideal=retrieved)@3", 1),
        ("ncg(ideal=retrieved)@2", 1 / 3),
        ("ncg(min_grade=2)", 2 / 5),
        ("cg(min_grade=2)", 2),
        ("dcg(gain={1: 3, 2: 9, 3: 10})", 3 + 9 / log2(4)),
        ("cg(gain={1: 3, 2: 9, 3: 10})", 12),
        ("dcg(min_grade=2)", 2 / log2(4)),
        ("ideal_dcg", IDEAL),
        ("ideal_dcg@1", 3),
        ("ideal_dcg(min_grade=2)", 3 + 2 / log2(3)),
        ("ndcg", 2 / IDEAL),
        ("ndcg@1", 1 / 3),
        ("ndcg@2", 1 / (3 + 2 / log2(3))),
        ("ndcg(min_grade=2)", 1 / (3 + 2 / log2(3))),
        ("ndcg-l2", 1 / (3 + 2 / log2(3))),
        ("ndcg(ideal=retrieved)", 2 / (2 + 1 / log2(3))),
        ("ndcg(ideal=retrieved)@1", 1 / 2),
        ("ndcg(gain={1: 3, 2: 9, 3: 10})@1", 3 / 10),
        # P = 1/8, 0, 3/8 for gmax = 3
        ("err", 1 / 8 + 7 / 8 * 3 / 8 / 3),
        ("err@2", 1 / 8),
        ("err(max_grade=4)", 1 / 16 + 15 / 16 * 3 / 16 / 3),
        ("nerr@1", (1 / 8) / (7 / 8)),
        ("nerr", (1 / 8 + 7 / 64) / (7 / 8 + 1 / 8 * 3 / 8 / 2 + 1 / 8 * 5 / 8 * 1 / 8 / 3)),
        ("r_score", (1 + 2 / 2 ** (2 / 4)) / (3 + 2 / 2 ** (1 / 4) + 1 / 2 ** (2 / 4))),
        ("r_score(half_life=2)", (1 + 2 / 4) / (3 + 2 / 2 + 1 / 4)),
        ("r_score(half_life=2,neutral=1)", (0 + 1 / 4) / (2 + 1 / 2)),
        ("rbp(p=0.5)", 0.5 * (1 + 0.25)),
        ("rbp", 0.2 * (1 + 0.64)),
        ("rbp.50", 0.5 * (1 + 0.25)),
        ("rbp(p=0.5)@2", 0.5),
        ("rbp(p=0.5,rel=2)", 0.5 * 0.25),
        ("rbp(p=0.5,gain=linear)", 0.5 * (1 / 3 + 2 / 3 * 0.25)),
        ("rbp(p=0.5,gain=exp2)", 0.5 * (1 / 7 + 3 / 7 * 0.25)),
        ("rbp(p=0.5,gain=linear,max_grade=4)", 0.5 * (1 / 4 + 2 / 4 * 0.25)),
        # rank 2 is unjudged, and everything past rank 4 unknown
        ("rbp_residual(p=0.5)", 0.5**4 + 0.5 * 0.5),
        ("rbp_residual", 0.8**4 + 0.2 * 0.8),
    ],
)
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


def jarvelin(gains: list[int], base: float = 2) -> float:
    return sum(gain / max(log(rank, base), 1) for rank, gain in enumerate(gains, 1))


def by_log(gains: list[int]) -> float:
    return sum(gain / log(rank + 1) for rank, gain in enumerate(gains, 1))


def err(gains: list[int], top: int) -> float:
    total, unsatisfied = 0.0, 1.0
    for rank, gain in enumerate(gains, 1):
        satisfied = (2**gain - 1) / 2**top
        total += unsatisfied * satisfied / rank
        unsatisfied *= 1 - satisfied
    return total


def utility(gains: list[int]) -> float:
    return sum(max(gain - 1, 0) / 2 ** ((rank - 1) / 2) for rank, gain in enumerate(gains, 1))


def rbp(gains: list[float]) -> float:
    return 0.2 * sum(gain * 0.8 ** (rank - 1) for rank, gain in enumerate(gains, 1))


def share(value: float, ideal: float) -> float:
    return value / ideal if ideal else 0


@settings(max_examples=12, deadline=None)
@given(cases())
def test_values_by_definition(case: Case) -> None:
    case.assert_defined_as(
        {
            "cg@3": lambda r: sum(r.gains[:3]),
            "ncg@3": lambda r: share(sum(r.gains[:3]), sum(r.ideal[:3])),
            "dcg(discount=ln)@4": lambda r: by_log(r.gains[:4]),
            "ndcg(discount=ln)@4": lambda r: share(by_log(r.gains[:4]), by_log(r.ideal[:4])),
            "dcg(discount=jarvelin, base=3)": lambda r: jarvelin(r.gains, 3),
            "ndcg(discount=jarvelin, base=10)@12": lambda r: share(
                jarvelin(r.gains[:12], 10), jarvelin(r.ideal[:12], 10)
            ),
            "dcg(discount=jarvelin)@4": lambda r: jarvelin(r.gains[:4]),
            "ideal_dcg(discount=jarvelin)@4": lambda r: jarvelin(r.ideal[:4]),
            "ndcg(discount=jarvelin)": lambda r: share(jarvelin(r.gains), jarvelin(r.ideal)),
            "ndcg(discount=jarvelin,ideal=retrieved)@4": lambda r: share(
                jarvelin(r.gains[:4]), jarvelin(sorted(r.gains, reverse=True)[:4])
            ),
            "err": lambda r: err(r.gains, r.top_grade),
            "nerr@3": lambda r: share(err(r.gains[:3], r.top_grade), err(r.ideal[:3], r.top_grade)),
            "r_score(half_life=3,neutral=1)": lambda r: share(utility(r.gains), utility(r.ideal)),
            "rbp(gain=linear)": lambda r: rbp([share(g, r.top_grade) for g in r.gains]),
            "rbp_residual": lambda r: (
                0.8 ** len(r.grades) + rbp([float(g is None) for g in r.grades])
            ),
        }
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("err@3", 0.30599), ("err@5", 0.39347), ("nerr@3", 0.32096), ("nerr@5", 0.41252)],
)
def test_reference_values_of_expected_reciprocal_rank(metric: str, expected: float) -> None:
    assert value(metric, [2, 0, 3, 1, 4]) == about(expected, digits=5)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("r_score", 0.9672655),
        ("r_score(average=macro)", 0.9659516),
        ("r_score(neutral=3)", 0.9066295),
        ("r_score(neutral=3,average=macro)", 0.8969011),
        ("r_score(half_life=5,neutral=0,average=micro)", 0.9672655),
    ],
)
def test_reference_values_of_half_life_utility(metric: str, expected: float) -> None:
    ratings = {"u1": [5, 2, 4, 1], "u2": [3, 5]}
    qrels = {u: {f"i{i}": r for i, r in enumerate(rows)} for u, rows in ratings.items()}
    run = {u: {f"i{i}": -float(i) for i in range(len(rows))} for u, rows in ratings.items()}
    assert rf.evaluate(qrels, run, metric)[metric] == about(expected, digits=7)


ZERO = [
    "ncg", "ncg@2", "ncg(ideal=retrieved)",
    "cg", "cg@2", "dcg", "dcg@2", "dcg(gain=exp2,discount=jarvelin)", "ndcg", "ndcg@2",
    "ndcg(ideal=retrieved)@2", "ndcg(gain=exp2)", "err", "err@2", "nerr", "r_score", "rbp",
    "rbp(gain=linear)", "rbp(gain=exp2)",
]  # fmt: skip


@pytest.mark.parametrize(("grades", "missing"), NOTHING_GAINED)
def test_without_a_gain_the_value_is_zero(grades: list[int | None], missing: list[int]) -> None:
    assert one_list(grades, missing).values(ZERO)["q"] == dict.fromkeys(ZERO, 0)


@pytest.mark.parametrize(
    "metric", ["cg", "dcg", "dcg(gain=exp2)", "ndcg", "ndcg(gain=exp2)", "err", "nerr", "r_score"]
)
def test_negative_grades_gain_what_zero_gains(metric: str) -> None:
    with_negative = value(metric, [-1, 2, -3, 1], [-2, 1])
    assert with_negative == about(value(metric, [0, 2, 0, 1], [0, 1]))
    assert value(metric, [-1, 2, -3, 1], [-2, 1], rel=2) == with_negative


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("dcg", 0.5 + 1.5 / log2(3)),
        ("dcg(gain=exp2)", 2**0.5 - 1 + (2**1.5 - 1) / log2(3)),
        ("dcg(gain={0.5: 1, 1.5: 4})", 1 + 4 / log2(3)),
        ("ndcg", (0.5 + 1.5 / log2(3)) / (1.5 + 0.5 / log2(3))),
        ("err", (2**0.5 - 1) / 2**1.5 + (1 - (2**0.5 - 1) / 2**1.5) * (1 - 2**-1.5) / 2),
    ],
)
def test_fractional_grades_gain_fractions(metric: str, expected: float) -> None:
    assert value(metric, [0.5, 1.5]) == about(expected)


@pytest.mark.parametrize("gain", ["linear", "exp2"])
def test_the_base_cancels_in_ndcg_but_not_where_it_begins(gain: str) -> None:
    by_2, by_e = (value(f"ndcg(gain={gain},discount={d})@5", GRADES) for d in ("log2", "ln"))
    assert by_2 == about(by_e)
    dcg_2, dcg_e = (value(f"dcg(gain={gain},discount={d})@5", GRADES) for d in ("log2", "ln"))
    assert dcg_e == about(dcg_2 / log(2))
    others = [value(f"ndcg(gain={gain},{JARVELIN},base={base})", GRADES) for base in (2, 3, 10)]
    assert len({round(other, 6) for other in others}) == 3


def test_a_level_takes_the_gain_of_lower_grades() -> None:
    assert value("ndcg(min_grade=2)", [1, 2, 3]) == about(value("ndcg", [0, 2, 3]))
    # the level of the evaluation decides who is relevant, not what a grade is worth
    assert value("ndcg", [1, 2, 3], rel=2) == value("ndcg", [1, 2, 3])


def test_a_perfect_list_has_ndcg_1_even_where_it_is_shorter_than_k() -> None:
    assert value("ndcg@10", [3, 2, 1]) == 1
    assert value("ndcg@2", [3, 2, 1]) == 1
    assert value("ndcg@3", [3, 2], [1]) < 1


def test_the_largest_grade_is_that_of_all_judgments() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 2}}, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    result = rf.evaluate(qrels, run, ["err", "rbp(p=0.5,gain=linear)"])
    assert result.per_query["err"].to_list() == about([1 / 4, 3 / 4])
    assert result.per_query["rbp(p=0.5,gain=linear)"].to_list() == about([1 / 4, 1 / 2])


@pytest.mark.parametrize("metric", ["err(max_grade=1)", "rbp(gain=linear,max_grade=1)"])
def test_a_grade_above_the_largest_is_refused(metric: str, refusal) -> None:
    refusal(value, metric, [2])


def test_a_grade_without_a_gain_is_refused(refusal) -> None:
    refusal(value, "dcg(gain={1: 3})", [1, 2, 0], [2])


def test_graded_rbp_takes_grades_whatever_the_level_of_relevance(refusal) -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    result = rf.evaluate(qrels, run, ["rbp(p=0.5,gain=linear)", "rbp(p=0.5)"], rel=2)
    assert result.per_query.row(0)[1:] == about((0.5 * (1 / 2 + 1 / 2), 0.25))
    refusal(value, "rbp(gain=linear,rel=2)", [2])


def test_rbp_and_its_residual_are_at_most_1_together() -> None:
    grades = [1, None, 0, 1, None]
    assert value("rbp", grades) + value("rbp_residual", grades) < 1
    relevant = [1 if g is None else g for g in grades]
    most = value("rbp", relevant) + 0.8**5
    assert value("rbp", grades) + value("rbp_residual", grades) == about(most)


@pytest.mark.parametrize(("grades", "missing"), [([], [1]), ([], [0])])
def test_all_of_rbp_is_unknown_where_nothing_was_retrieved(
    grades: list[int], missing: list[int]
) -> None:
    assert value("rbp_residual", grades, missing) == 1


def test_half_life_utility_of_one_list_is_the_ratio_to_its_ideal() -> None:
    assert value("r_score", [5, 4, 3]) == 1
    assert value("r_score(neutral=5)", [5, 4, 3]) == 0


def test_ndcg_may_be_averaged_over_its_sums() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 3, "b": 1}}
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
    metric = "ndcg(average=micro)@2"
    expected = (1 / log2(3) + 3) / (1 + 3 + 1 / log2(3))
    assert rf.evaluate(qrels, run, metric)[metric] == about(expected)
