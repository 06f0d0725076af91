"""Plain Python lists: every form of ranked results, ground truth and scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf

LISTS = [["A", "B", "C"], ["D", "A", "B"]]
RETRIEVED = "map(denominator=retrieved)"


def _means(*args: Any, metrics: Any = "map", **options: Any) -> dict[str, float | None]:
    return rf.evaluate(*rf.from_lists(*args, **options), metrics).means


@pytest.mark.parametrize(
    ("lists", "truth", "scores", "smaller", "expected"),
    [
        (LISTS, {"A", "B"}, [[0.9, 0.8, 0.4], [0.7, 0.6, 0.5]], False, (0.75, 0.5, 0.791667)),
        (
            [["D", "E", "F"], ["B", "A", "D"]],
            {"D", "E"},
            [[0.4, 0.8, 0.9], [0.5, 0.6, 0.7]],
            True,
            (0.55556, 0.66667, 0.66667),
        ),
    ],
    ids=["similarity", "distance"],
)
def test_one_truth_for_all_lists_gives_the_values_of_ardoco(
    lists: Any, truth: Any, scores: Any, smaller: bool, expected: tuple[float, ...]
) -> None:
    metrics = ["auc(pool=true)", "lag(average=micro)", RETRIEVED]
    means = _means(lists, truth, scores=scores, smaller_is_better=smaller, metrics=metrics)
    assert list(means.values()) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "truth", [{"A", "B"}, frozenset("AB"), ["A", "B"], ("B", "A"), ["A", "A", "B"]]
)
def test_one_truth_may_be_any_collection(truth: Any) -> None:
    assert _means(LISTS, truth, metrics=RETRIEVED)[RETRIEVED] == pytest.approx(19 / 24)


def test_relevant_documents_of_a_list_are_those_in_it_where_one_truth_is_for_all() -> None:
    qrels, _ = rf.from_lists(LISTS, {"A", "B", "Z"})
    assert qrels.filter(pl.col("relevance") > 0).rows() == [
        ("0", "A", 1.0), ("0", "B", 1.0), ("1", "A", 1.0), ("1", "B", 1.0),
    ]  # fmt: skip
    assert qrels.filter(pl.col("relevance") == 0).rows() == [("0", "C", 0.0), ("1", "D", 0.0)]


@pytest.mark.parametrize(
    "truth",
    [
        [{"B"}, {"D", "Z"}],
        [["B"], ("Z", "D")],
        [{"B": 1, "A": 0}, {"D": 1.0, "Z": 1}],
        [{"B"}, {"D": 1, "Z": 1}],
    ],
    ids=["sets", "lists", "graded", "both"],
)
def test_a_truth_for_each_list_may_name_what_was_not_retrieved(truth: Any) -> None:
    assert _means(LISTS, truth, metrics=["map", "recall"]) == {"map": 0.5, "recall": 0.75}


@pytest.mark.parametrize(
    ("truth", "queries"),
    [
        ({"y": {"D", "Z"}, "x": {"B"}}, ["x", "y"]),
        ({1: ["D", "Z"], 0: ["B"]}, range(2)),
        ([{"B"}, {"D", "Z"}], ["x", "y"]),
    ],
    ids=["names", "numbers", "in order"],
)
def test_queries_say_of_which_query_each_list_is(truth: Any, queries: Any) -> None:
    qrels, run = rf.from_lists(LISTS, truth, queries=queries)
    assert rf.evaluate(qrels, run, ["map", "recall"]).means == {"map": 0.5, "recall": 0.75}
    assert run["query_id"].unique(maintain_order=True).to_list() == list(map(str, queries))
    scores = {query: [1, 2, 3] for query in queries}
    by_score = rf.from_lists(LISTS, truth, queries=queries, scores=scores)
    assert rf.evaluate(*by_score, "mrr")["mrr"] == pytest.approx(5 / 12)


@pytest.mark.parametrize("truth", [{"0": {"B"}, "1": {"D"}}, {"x": {"B"}, "y": {"D"}}, {}])
def test_a_truth_by_query_says_nothing_of_lists_by_their_place(truth: Any, refusal) -> None:
    refusal(rf.from_lists, LISTS, truth)


def test_a_list_without_a_truth_is_unjudged_and_counted() -> None:
    ranked = {"x": ["A", "B"], "y": ["B", "A"], "z": []}
    qrels, run = rf.from_lists(ranked, {"x": {"B"}, "z": {"A"}})
    assert qrels.rows() == [("x", "B", 1.0), ("z", "A", 1.0), ("x", "A", 0.0)]
    result = rf.evaluate(qrels, run, "mrr")
    assert dict(result.per_query.iter_rows()) == {"x": 0.5, "z": 0.0}
    assert result.count("queries_unjudged") == 1
    # an empty truth is one: nothing is relevant
    empty = rf.evaluate(*rf.from_lists({"x": ["A"], "y": ["B"]}, {"x": {"A"}, "y": set()}), "mrr")
    assert (empty["mrr"], empty.count("queries_unjudged")) == (0.5, 0)


@pytest.mark.parametrize(
    ("ranked", "truth"),
    [
        (LISTS, {"a", "b"}),
        (LISTS, [{"a"}, {"b"}]),
        (dict(zip("xyz", [*LISTS, ["a"]], strict=True)), {"y": ["a", "b"]}),
    ],
    ids=["one for all", "one each", "by query"],
)
def test_lists_without_one_element_of_the_truth_are_refused(
    ranked: Any, truth: Any, refusal
) -> None:
    text = refusal(rf.from_lists, ranked, truth)
    assert "like 'a', 'b'" in text or "like 'b', 'a'" in text
    assert _means(ranked, truth, no_overlap="zero", metrics="mrr") == {"mrr": 0}
    refusal(rf.from_lists, ranked, truth, no_overlap="never")


def test_lists_of_other_queries_than_the_truth_are_refused_by_the_evaluation(refusal) -> None:
    refusal(_means, {"x": ["A"]}, {"y": {"A"}})


def test_a_dict_of_lists_is_matched_by_its_keys() -> None:
    ranked = {"x": ["A", "B"], 7: ["B", "A"]}
    result = rf.evaluate(*rf.from_lists(ranked, {7: {"B"}, "x": {"B"}}), "mrr")
    assert dict(result.per_query.iter_rows()) == {"7": 1.0, "x": 0.5}


def test_a_dict_of_lists_may_have_one_truth_for_all() -> None:
    assert _means({"x": ["A", "B"], "y": ["B", "A"]}, {"B"}, metrics="mrr") == {"mrr": 0.75}


def test_a_truth_without_a_list_is_a_query_that_the_run_lacks() -> None:
    result = rf.evaluate(*rf.from_lists({"x": ["A"]}, {"x": {"A"}, "y": {"A"}}), "mrr")
    assert result["mrr"] == 0.5
    assert result.count("queries_missing") == 1


def test_grades_are_used_by_graded_metrics() -> None:
    expected = rf.evaluate(
        {"0": {"A": 1, "B": 3, "C": 0}}, {"0": {"A": 2.0, "B": 1.0, "C": 0.0}}, "ndcg"
    )
    assert _means([["A", "B", "C"]], [{"B": 3, "A": 1}], metrics="ndcg") == expected.means
    assert _means([["A", "B", "C"]], {"B": 3, "A": 1}, metrics="ndcg") == expected.means


@dataclass(frozen=True)
class Item:
    name: str
    price: int = 0


def test_key_turns_objects_of_both_sides_into_what_is_compared() -> None:
    ranked = [[Item("x", 3), Item("a", 1)]]
    assert _means(ranked, [{Item("a", 9)}], key=lambda item: item.name, metrics="mrr") == {
        "mrr": 0.5
    }


def test_numbers_are_compared_as_text() -> None:
    assert _means([[3, 1, 2]], [{"1"}], metrics="mrr") == {"mrr": 0.5}


@pytest.mark.parametrize(
    "scores",
    [
        [[0.1, 0.2, 0.3], [3, 2, 1]],
        {"0": [0.1, 0.2, 0.3], "1": [3, 2, 1]},
        np.array([[0.1, 0.2, 0.3], [3, 2, 1]]),
        (np.array([0.1, 0.2, 0.3]), np.array([3, 2, 1], np.float32)),
    ],
    ids=["lists", "dict", "array", "arrays"],
)
def test_scores_decide_the_order(scores: Any) -> None:
    result = rf.evaluate(*rf.from_lists(LISTS, [{"A"}, {"A"}], scores=scores), "mrr")
    assert result.per_query["mrr"].to_list() == pytest.approx([1 / 3, 1 / 2])


def test_smaller_is_better_turns_the_order_round() -> None:
    scores = {"a": [0.1, 0.2, 0.3]}
    qrels, run = rf.from_lists({"a": LISTS[0]}, {"A"}, scores=scores, smaller_is_better=True)
    assert rf.evaluate(qrels, run, "mrr")["mrr"] == 1
    assert run["score"].to_list() == [-0.1, -0.2, -0.3]


def test_an_empty_list_with_a_truth_of_its_own_scores_0() -> None:
    result = rf.evaluate(*rf.from_lists([["A"], []], [{"A"}, {"B"}]), "map")
    assert result.per_query.rows() == [("0", 1.0), ("1", 0.0)]


def test_elements_twice_in_a_list_are_refused_as_duplicates(refusal) -> None:
    refusal(_means, [["A", "B", "A"]], {"A"})


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((LISTS, [{"A"}]), {}),
        ((["A", "B"], {"A"}), {}),
        (([1, 2], {1}), {}),
        ((LISTS, {"A"}), {"scores": [[1, 2, 3]]}),
        ((LISTS, {"A"}), {"scores": [[1, 2, 3], [1, 2]]}),
        (({"x": ["A"], "y": ["B"]}, {"A"}), {"scores": {"x": [1]}}),
        ((LISTS, {"A"}), {"queries": ["x"]}),
        ((LISTS, {"A"}), {"queries": [7, "7"]}),
        (({"x": ["A"]}, {"A"}), {"queries": ["x"]}),
        (([["A"], [], []], {"A"}), {}),
    ],
    ids=["lengths", "flat", "flat numbers", "scores", "scores of a list", "scores lack",
         "queries", "queries twice", "queries and a dict", "blank"],
)  # fmt: skip
def test_what_does_not_fit_is_refused(args: Any, options: Any, refusal) -> None:
    refusal(rf.from_lists, *args, **options)


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((LISTS, [{"A"}, None]), {}),
        ((LISTS, {"A"}), {"scores": [1.0, 2.0]}),
        ((LISTS, {"A"}), {"scores": [["x", "y", "z"], [1, 2, 3]]}),
        ((LISTS, [{"A": "high"}, {"B": 1}]), {}),
        ((LISTS, {"A"}), {"key": len}),
        (({"x": ["A"]}, [{"A"}]), {}),
    ],
    ids=["no truth of one", "flat scores", "text scores", "text grade", "key", "order"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_message(args: Any, options: Any, refusal) -> None:
    assert len(refusal(rf.from_lists, *args, **options)) > 20


def test_key_is_called_once_for_each_element_of_many_lists() -> None:
    calls = 0

    def key(element: int) -> str:
        nonlocal calls
        calls += 1
        return f"d{element}"

    lists = [range(n % 7, n % 7 + 10) for n in range(100_000)]
    qrels, run = rf.from_lists(lists, [{n % 10} for n in range(100_000)], key=key)
    assert calls == 1_100_000
    assert run.height == 1_000_000
    assert rf.evaluate(qrels, run, "mrr").count("queries_evaluated") == 100_000


@pytest.mark.parametrize(
    "given",
    [
        ([{"a", "b"}, {"c"}], [{"a"}, {"c"}]),
        ([["a"], frozenset("bc")], {"a"}),
        ({("a", "b"), ("c",)}, {"a"}),
        ({"q": {"a", "b"}}, {"q": {"a"}}),
        ([["a"]], {"a"}, str, [{1.0}]),
    ],
    ids=["sets", "one set", "a set of lists", "dict", "scores"],
)
def test_what_has_no_order_is_no_ranking(given: tuple[Any, ...], refusal) -> None:
    refusal(rf.from_lists, *given)


def test_names_of_queries_have_an_order_too(refusal) -> None:
    refusal(rf.from_lists, [["a"], ["b"]], [{"a"}, {"b"}], queries={"x", "y"})


def test_what_is_ordered_by_nature_stays_a_ranking() -> None:
    lists: Any = [{"b": 0, "a": 0}.keys(), ("c",)]
    _, run = rf.from_lists(lists, {"a", "c"})
    assert run["doc_id"].to_list() == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("ranked", "truth"),
    [
        ([[1.0, 2.0]], [{1}]),
        ([[1, 2]], [{1.0, 2.5}]),
        ([np.array([1.0, 3.0])], [{1: 2}]),
        ({"q": [1, 2]}, {1.0}),
    ],
)
def test_floats_beside_whole_numbers_are_refused(ranked: Any, truth: Any, refusal) -> None:
    refusal(rf.from_lists, ranked, truth)


def test_floats_on_both_sides_are_as_good_as_any_other_elements() -> None:
    qrels, run = rf.from_lists([[1.0, 2, "x"]], [{1.0, 2}])
    assert rf.evaluate(qrels, run, "recall@2")["recall@2"] == 1
    qrels, run = rf.from_lists([[1.0]], [{1}], key=lambda one: str(int(one)))
    assert rf.evaluate(qrels, run, "recall@1")["recall@1"] == 1


@pytest.mark.parametrize(
    "given",
    [({1: ["a"], "1": ["b"]}, {"a"}), ({"1": ["a"]}, {1: {"a"}, "1": {"b"}})],
    ids=["lists", "truths"],
)
def test_keys_that_are_the_same_as_text_are_not_merged(given: Any, refusal) -> None:
    refusal(rf.from_lists, *given)


@pytest.mark.parametrize(
    ("lists", "truth"),
    [
        (None, {"a"}),
        ([["a"]], None),
        ([["a"]], "a"),
    ],
)
def test_what_is_no_list_is_refused(lists: Any, truth: Any, refusal: Any) -> None:
    refusal(rf.from_lists, lists, truth)
