"""Hits in the top k: found(k) over k, R, n and what is made of them."""

from __future__ import annotations

from statistics import fmean

import polars as pl
import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import NOTHING_HIT, Case, Ranking, about, cases, one_list, value

# Relevant at ranks 1 and 4, rank 3 not judged; one more relevant was not retrieved: R = 3, n = 5.
LIST, MISSING = [1, 0, None, 2, 0], [1, 0]

BY_HAND = {
    "hits": 2,
    "hits@1": 1,
    "hits@3": 1,
    "hits@4": 2,
    "hits@10": 2,
    "hit_rate@1": 1,
    "success@1": 1,
    "top_k_accuracy@1": 1,
    "hit_rate": 1,
    "precision@3": 1 / 3,
    "precision@4": 2 / 4,
    "precision@10": 2 / 10,
    "precision": 2 / 5,
    "precision(denominator=retrieved)@3": 1 / 3,
    "precision(denominator=retrieved)@10": 2 / 5,
    "precision(denominator=retrieved)": 2 / 5,
    "recall@3": 1 / 3,
    "recall@10": 2 / 3,
    "recall": 2 / 3,
    "f1@3": 1 / 3,
    "f1@10": 2 * (1 / 5) * (2 / 3) / (1 / 5 + 2 / 3),
    "f1": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
    "f@3": 1 / 3,
    "f(beta=2)@4": 5 * (1 / 2) * (2 / 3) / (4 * (1 / 2) + 2 / 3),
    "f(beta=0.5)@4": 1.25 * (1 / 2) * (2 / 3) / (0.25 * (1 / 2) + 2 / 3),
    "r_precision": 1 / 3,
    # R = 3: depths of ⌊1.5⌋, ⌊5.1⌋ and ⌊6.9⌋
    "r_precision(multiple=0.2)": 1,
    "r_precision(multiple=1.4)": 2 / 5,
    "r_precision(multiple=2)": 2 / 6,
    "relative_precision@1": 1,
    "relative_precision@2": 1 / 2,
    "relative_precision@10": 2 / 3,
    "relative_precision": 2 / 3,
    "fall_out@1": 0,
    "fall_out@3": 2 / 3,
    "fall_out@10": 1,
    "set_precision": 2 / 5,
    "set_recall": 2 / 3,
    "set_f": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
    "set_f(x=3)": 4 * (2 / 5) * (2 / 3) / (2 / 3 + 3 * (2 / 5)),
    "set_map": (2 / 5) * (2 / 3),
}
METRICS = [
    "hits", "hits@3", "hit_rate@3", "precision", "precision@3",
    "precision(denominator=retrieved)@3", "recall@3", "f1@3", "f(beta=2)@3", "f1", "r_precision",
    "relative_precision@3", "relative_precision", "set_precision", "set_recall", "set_f",
    "set_map",
]  # fmt: skip


@pytest.mark.parametrize(("metric", "expected"), BY_HAND.items())
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


def f2_at_3(ranking: Ranking) -> float:
    hits = sum(gain > 0 for gain in ranking.gains[:3])
    if not hits:
        return 0
    precision, recall = hits / 3, hits / ranking.relevant_total
    return 5 * precision * recall / (4 * precision + recall)


def fall_out_at_3(ranking: Ranking) -> float | None:
    others = [gain == 0 for gain in ranking.gains]
    return sum(others[:3]) / sum(others) if any(others) else None


@settings(max_examples=12, deadline=None)
@given(cases())
def test_values_by_definition(case: Case) -> None:
    case.assert_defined_as(
        {
            "f(beta=2)@3": f2_at_3,
            "fall_out@3": fall_out_at_3,
            "precision(denominator=retrieved)@3": lambda r: (
                fmean(gain > 0 for gain in r.gains[:3]) if r.gains else 0
            ),
        }
    )


@pytest.mark.parametrize(("grades", "missing"), NOTHING_HIT)
def test_without_a_hit_the_value_is_zero(grades: list[int | None], missing: list[int]) -> None:
    assert one_list(grades, missing).values(METRICS)["q"] == dict.fromkeys(METRICS, 0)


@pytest.mark.parametrize(
    ("grades", "missing"),
    [([1, 1], []), ([], [1]), ([1], [0])],
    ids=["all relevant", "none", "one"],
)
def test_fall_out_is_undefined_where_no_non_relevant_document_was_retrieved(
    grades: list[int], missing: list[int]
) -> None:
    assert value("fall_out@1", grades, missing) is None


def test_fall_out_takes_unjudged_documents_for_non_relevant() -> None:
    assert value("fall_out@2", [None, 1, None, 0]) == about(1 / 3)


def test_a_short_list_is_not_excused_by_precision() -> None:
    assert value("precision@10", [1, 1]) == about(0.2)
    assert value("precision(denominator=retrieved)@10", [1, 1]) == 1


LEVELS = {"hits@3": 2, "recall": 2 / 3, "precision@3": 2 / 3, "r_precision": 2 / 3, "f1@3": 2 / 3}


@pytest.mark.parametrize(("metric", "expected"), LEVELS.items())
def test_a_level_decides_who_is_relevant(metric: str, expected: float) -> None:
    grades, missing = [2, 1, 3, 0], [2]
    assert value(f"{metric}-l2", grades, missing) == about(expected)
    assert value(metric, grades, missing, rel=2) == about(expected)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hits", 3),
        ("hits(rel=0.5)", 2),
        ("hits(rel=1)", 1),
        ("hits(rel=0.25)", 3),
        ("hits(rel=0)", 4),
    ],
)
def test_fractional_grades_are_relevant_above_zero_or_from_a_level_on(
    metric: str, expected: int
) -> None:
    assert value(metric, [0.25, 0.5, 1, 0, -1]) == expected


def test_negative_grades_are_not_relevant() -> None:
    assert value("recall", [-1, 1, -2], [-1]) == 1
    assert value("precision", [-1, 1, -2]) == about(1 / 3)


# q1 finds 1 of 1 in a list of 1, q2 finds 1 of 3 in a list of 2.
QRELS = {"q1": {"a": 1}, "q2": {"a": 1, "b": 1, "c": 1}}
RUN = {"q1": {"a": 1.0}, "q2": {"a": 2.0, "x": 1.0}}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("recall", (1 + 1 / 3) / 2),
        ("recall(average=macro)", (1 + 1 / 3) / 2),
        ("recall(average=micro)", 2 / 4),
        ("recall(average=sum)", 1 + 1 / 3),
        ("recall(average=geometric)", (1 * 1 / 3) ** 0.5),
        ("recall(average=weighted)", (3 * 1 + 1 * 1 / 3) / 4),
        ("precision@2", (1 / 2 + 1 / 2) / 2),
        ("precision(average=micro)", 2 / 3),
        ("precision(average=micro)@10", 2 / 20),
        ("f1", (1 + 2 / 5) / 2),
        ("f1(average=micro)", 2 * 2 / (1 + 2 + 1 + 3)),
    ],
)
def test_averages_over_queries(metric: str, expected: float) -> None:
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "traffic": [3, 1]})
    weighing = {"queries": queries, "weight": "traffic"} if "weighted" in metric else {}
    result = rf.evaluate(QRELS, RUN, metric, **weighing)
    assert result[metric] == about(expected)
    assert result.summary["queries"].to_list() == [2]
