"""Where the relevant documents stand: average precision and its kin."""

from __future__ import annotations

import math
from statistics import fmean

import polars as pl
import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import NOTHING_HIT, Case, Ranking, about, cases, one_list, value

# Relevant at ranks 2, 3 and 6, rank 4 not judged; one more relevant was not retrieved: R = 4.
LIST, MISSING = [0, 1, 2, None, 0, 1], [1, 0]

BY_HAND = {
    "map": (1 / 2 + 2 / 3 + 3 / 6) / 4,
    "ap@3": (1 / 2 + 2 / 3) / 4,
    "average_precision@1": 0,
    "map(denominator=retrieved)": (1 / 2 + 2 / 3 + 3 / 6) / 3,
    "map(denominator=retrieved)@3": (1 / 2 + 2 / 3) / 2,
    "map(denominator=retrieved)@1": 0,
    "map(denominator=min)@3": (1 / 2 + 2 / 3) / 3,
    "map(denominator=min)@5": (1 / 2 + 2 / 3) / 4,
    "map(denominator=min)": (1 / 2 + 2 / 3 + 3 / 6) / 4,
    "average_recall@1": 0,
    "average_recall@3": (0 + 1 / 4 + 2 / 4) / 3,
    "mar@8": (0 + 1 + 2 + 2 + 2 + 3 + 3 + 3) / 4 / 8,
    "average_recall": (0 + 1 + 2 + 2 + 2 + 3) / 4 / 6,
    "mrr": 1 / 2,
    "reciprocal_rank@2": 1 / 2,
    "rr@1": 0,
    # judged non-relevant above: 1, 1, 2; R = 4, N = 3
    "bpref": (1 - 1 / 3 + 1 - 1 / 3 + 1 - 2 / 3) / 4,
    "iprec(recall=0)": 2 / 3,
    "iprec(recall=0.25)": 2 / 3,
    "iprec(recall=0.75)": 3 / 6,
    "iprec(recall=1)": 0,
    "precision_at_recall(recall=0)": 1 / 2,
    "precision_at_recall(recall=0.25)": 1 / 2,
    "precision_at_recall(recall=0.5)": 2 / 3,
    "precision_at_recall(recall=0.75)": 3 / 6,
    "precision_at_recall(recall=1)": 0,
    # x·R for x = 0, .1, …, 1 rounds to 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4
    "eleven_point": (7 * (2 / 3) + 2 * (3 / 6) + 2 * 0) / 11,
    "yaap": math.log((1 + 5 / 3) / (1 + 4 - 5 / 3)),
    "lag": (1 + 1 + 3) / 3,
    # the missing one stands at rank 7, behind three non-relevant ones
    "lag(missing=end)": (1 + 1 + 3 + 3) / 4,
    # of three relevant and three others retrieved, pairs in order: 2 + 2 + 0
    "auc": 4 / 9,
}
ZERO = [
    "map", "map@3", "map(denominator=retrieved)", "map(denominator=min)@3", "average_recall",
    "average_recall@3", "mrr", "mrr@3", "bpref", "infap", "iprec(recall=0)", "iprec(recall=0.5)",
    "eleven_point", "precision_at_recall(recall=0)", "precision_at_recall(recall=0.5)",
]  # fmt: skip


@pytest.mark.parametrize(("metric", "expected"), BY_HAND.items())
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


def average_recall(ranking: Ranking, k: int) -> float:
    if not ranking.relevant_total or not k:
        return 0
    recalls = [sum(r <= i for r in ranking.relevant_ranks) for i in range(1, k + 1)]
    return fmean(recalls) / ranking.relevant_total


def lag(ranking: Ranking, lost: int = 0) -> float | None:
    behind = [len(ranking.grades) + i for i in range(1, lost + 1)]
    lags = [rank - found for found, rank in enumerate([*ranking.relevant_ranks, *behind], 1)]
    return fmean(lags) if lags else None


def precision_at_half(ranking: Ranking) -> float:
    wanted = max((ranking.relevant_total + 1) // 2, 1)
    ranks = ranking.relevant_ranks
    return wanted / ranks[wanted - 1] if len(ranks) >= wanted else 0


def yaap(ranking: Ranking) -> float:
    total = sum(found / rank for found, rank in enumerate(ranking.relevant_ranks, 1))
    return math.log((1 + total) / (1 + ranking.relevant_total - total))


@settings(max_examples=12, deadline=None)
@given(cases())
def test_values_by_definition(case: Case) -> None:
    case.assert_defined_as(
        {
            "average_recall@4": lambda r: average_recall(r, 4),
            "average_recall": lambda r: average_recall(r, len(r.grades)),
            "lag": lag,
            "lag(missing=end)": lambda r: lag(r, r.relevant_total - len(r.relevant_ranks)),
            "precision_at_recall(recall=0.5)": precision_at_half,
            "yaap": yaap,
        }
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("map", 0.6759259),
        ("map(denominator=retrieved)", 0.8690476),
        ("map@5", 0.4222222),
        ("map(denominator=min)@5", 0.76),
        ("map(denominator=retrieved)@5", 0.95),
        ("average_recall@5", 0.2888889),
    ],
)
def test_reference_values_of_a_list_with_nine_relevant(metric: str, expected: float) -> None:
    grades, missing = [3, 2, 3, 0, 1, 2, 0, 1, 0, 3], [2, 1]
    assert value(metric, grades, missing) == about(expected, digits=7)


def test_reference_value_of_average_precision() -> None:
    assert value("ap", [1, 0, 1, 0, 1, 0, 0, 1, 0, 1]) == about(0.6533333, digits=7)


def test_mean_reciprocal_rank_of_five_lists() -> None:
    first = {"a": 3, "b": 1, "c": 2, "d": 4, "e": 5}
    run = {q: {f"d{i}": -float(i) for i in range(1, 6)} for q in first}
    qrels = {q: {f"d{i}": 1} for q, i in first.items()}
    assert rf.evaluate(qrels, run, "mrr")["mrr"] == about(0.4566667, digits=7)


@pytest.mark.parametrize(
    ("metric", "expected", "digits"),
    [("infap", 0.7037034568, 10), ("map", 0.6333333, 7), ("bpref", 0.6666667, 7)],
)
def test_reference_values_of_a_sampled_pool(metric: str, expected: float, digits: int) -> None:
    # -1 was pooled, but not judged; None was not even pooled.
    assert value(metric, [1, 0, None, -1, 1, 1, 0]) == about(expected, digits)


def test_infap_by_hand() -> None:
    epsilon = 1e-5
    # rank 1 counts 1; above rank 4 stand one relevant, one non-relevant, one pooled but unjudged
    second = 1 / 4 + 3 / 4 * (1 + epsilon) / (2 + 2 * epsilon)
    assert value("infap", [1, 0, -1, 1]) == about((1 + second) / 2)
    # above rank 3 stands one document that was pooled, and none that was judged
    assert value("infap", [-1, None, 1]) == about(1 / 3 + 1 / 3 * epsilon / (2 * epsilon))


@pytest.mark.parametrize(("grades", "missing"), NOTHING_HIT)
def test_without_a_hit_the_value_is_zero(grades: list[int | None], missing: list[int]) -> None:
    assert one_list(grades, missing).values(ZERO)["q"] == dict.fromkeys(ZERO, 0)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("map", (1 + 2 / 4) / 2),
        ("mrr", 1),
        ("average_recall@4", (1 + 1 + 1 + 2) / 2 / 4),
        ("bpref", (1 + 1 - 1 / 2) / 2),
        ("iprec(recall=1)", 2 / 4),
        ("precision_at_recall(recall=1)", 2 / 4),
        ("lag", 2 / 2),
        ("auc", 4 / 6),
        ("yaap", math.log((1 + 1.5) / (1 + 2 - 1.5))),
    ],
)
def test_a_level_decides_who_is_relevant(metric: str, expected: float) -> None:
    # At level 2 the relevant ones stand at ranks 1 and 4; non-relevant are 1, 0 and not -1.
    grades = [2, 1, -1, 3, 0]
    assert value(f"{metric}-l2", grades) == about(expected)
    assert value(metric, grades, rel=2) == about(expected)


class TestBpref:
    def test_every_relevant_document_counts_fully_where_nothing_was_judged_non_relevant(
        self,
    ) -> None:
        assert value("bpref", [None, 1, None, 1]) == 1

    def test_no_more_than_r_non_relevant_documents_are_held_against_one(self) -> None:
        assert value("bpref", [0, 0, 0, 1]) == 0
        assert value("bpref", [0, 1, 0, 0, 0, 1]) == about((1 - 1 / 2 + 0) / 2)

    def test_a_negative_grade_is_neither_relevant_nor_non_relevant(self) -> None:
        assert value("bpref", [-1, 1], [-1]) == 1


class TestLag:
    def test_undefined_where_nothing_relevant_was_retrieved(self) -> None:
        assert value("lag", [0, None], [1]) is None
        assert value("lag", [], [1]) is None
        assert value("lag", [0]) is None

    def test_missing_ones_at_the_end_come_one_behind_the_other(self) -> None:
        # n = 2 and nothing found: the missing ones stand at 3 and 4, two non-relevant above each
        assert value("lag(missing=end)", [0, None], [1, 1]) == 2
        assert value("lag(missing=end)", [], [1, 1]) == 0
        assert value("lag(missing=end)", [0], [0]) is None

    def test_queries_without_a_lag_are_not_averaged(self) -> None:
        qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}}
        run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 1.0}}
        result = rf.evaluate(qrels, run, ["lag", "lag(missing=end)"])
        assert result.summary["queries"].to_list() == [1, 2]
        assert result.means == {"lag": 1, "lag(missing=end)": 1}


class TestAuc:
    @pytest.mark.parametrize(
        ("grades", "missing"), [([1, 1], [0]), ([0, None], [1]), ([], [1, 0]), ([0], [])]
    )
    def test_undefined_without_both_kinds_retrieved(
        self, grades: list[int | None], missing: list[int]
    ) -> None:
        assert value("auc", grades, missing) is None

    def test_best_and_worst(self) -> None:
        assert value("auc", [1, 1, 0, None]) == 1
        assert value("auc", [None, 0, 1, 1]) == 0

    def test_equal_scores_count_half(self) -> None:
        qrels = {"q": {"a": 1, "b": 0, "c": 0, "d": 1}}
        run = {"q": {"a": 2.0, "b": 2.0, "c": 1.0, "d": 1.0}}
        # a against b ½ and c 1, d against b 0 and c ½
        assert rf.evaluate(qrels, run, "auc")["auc"] == about(2 / 4)

    def test_runs_without_scores_have_no_ties(self, refusal) -> None:
        run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "rank": [1, 2, 3]})
        qrels = {"q": {"b": 1}}
        assert rf.evaluate(qrels, run, "auc")["auc"] == about(1 / 2)
        refusal(rf.evaluate, qrels, run, "auc(pool=true)")

    def test_pooled_scores_are_compared_across_queries(self) -> None:
        qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
        run = {"q1": {"a": 5.0, "x": 4.0}, "q2": {"a": 2.0, "x": 1.0}, "unjudged": {"x": 9.0}}
        result = rf.evaluate(qrels, run, ["auc", "auc(pool=true)"])
        assert result.means == {"auc": 1, "auc(pool=true)": about(3 / 4)}
        # of each query: how its own relevant documents fare against all non-relevant ones
        assert result.per_query["auc(pool=true)"].to_list() == [1, 0.5]

    def test_micro_average_is_over_pairs(self) -> None:
        qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
        run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 4.0, "y": 3.0, "a": 2.0, "z": 1.0}}
        assert rf.evaluate(qrels, run, "auc(average=micro)")["auc(average=micro)"] == about(2 / 4)


class TestPlainLists:
    """Reference values of lists with one set of relevant elements for all of them."""

    METRICS = ("auc(pool=true)", "lag(average=micro)", "map(denominator=retrieved)")

    def test_larger_scores_first(self) -> None:
        qrels, run = rf.from_lists(
            [["A", "B", "C"], ["D", "A", "B"]],
            {"A", "B"},
            scores=[[0.9, 0.8, 0.4], [0.7, 0.6, 0.5]],
        )
        means = list(rf.evaluate(qrels, run, self.METRICS).means.values())
        assert means == about([0.75, 0.5, 0.791667], digits=6)

    def test_smaller_scores_first(self) -> None:
        qrels, run = rf.from_lists(
            [["D", "E", "F"], ["B", "A", "D"]],
            {"D", "E"},
            scores=[[0.4, 0.8, 0.9], [0.5, 0.6, 0.7]],
            smaller_is_better=True,
        )
        means = list(rf.evaluate(qrels, run, self.METRICS).means.values())
        assert means == about([0.55556, 0.66667, 0.66667], digits=5)


def test_geometric_mean_has_a_floor() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"x": 2.0, "a": 1.0}}
    expected = math.exp((math.log(1) + math.log(0.5) + math.log(1e-5)) / 3)
    result = rf.evaluate(qrels, run, ["gm_map", "map(average=geometric)"])
    assert list(result.means.values()) == about([expected, expected])


def test_micro_average_of_lag_weighs_each_relevant_document_alike() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1, "b": 1}}
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    result = rf.evaluate(qrels, run, ["lag", "lag(average=micro)"])
    assert result.means == {"lag": 0.5, "lag(average=micro)": about(1 / 3)}


def test_recall_points_that_fall_in_the_middle_are_rounded_up() -> None:
    # R = 5: recall .1 and .3 stand for .5 and 1.5 documents, which are 1 and 2
    case = one_list([1, 0, 0, 1, 0, 1, 1, 1])
    values = case.values(["precision_at_recall(recall=0.1)", "precision_at_recall(recall=0.3)"])
    assert list(values["q"].values()) == about([1, 2 / 4])


def test_yaap_is_zero_where_nothing_is_relevant() -> None:
    assert value("yaap", [0, None]) == 0
