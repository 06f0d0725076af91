"""Rows of grades in rank order, with values that textbooks give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf


def values(rows: Any, metrics: Any, total: Any = None) -> dict[str, float | None]:
    return rf.evaluate(*rf.from_relevance(rows, total), metrics).means


def test_the_mean_reciprocal_rank_of_three_lists() -> None:
    assert values([[0, 0, 1], [0, 1, 0], [1, 0, 0]], "mrr")["mrr"] == pytest.approx(11 / 18)


def test_average_precision_as_in_the_textbook() -> None:
    found = values([1, 0, 1, 0, 0, 1, 0, 0, 1, 1], "map")["map"]
    assert found == pytest.approx((1 + 2 / 3 + 3 / 6 + 4 / 9 + 5 / 10) / 5)


def test_the_gain_of_a_well_known_example() -> None:
    found = values([3, 2, 3, 0, 1, 2], ["dcg", "ndcg"])
    assert found["dcg"] == pytest.approx(6.861, abs=1e-3)
    assert found["ndcg"] == pytest.approx(0.9608, abs=1e-4)


def test_relevant_documents_beyond_the_list() -> None:
    assert values([[1, 0], [0, 1, 1]], "recall", total=4)["recall"] == (1 / 4 + 2 / 4) / 2
    assert values([[1, 0], [0, 2, 1]], "recall", total=[1, 4])["recall"] == 0.75
    qrels, run = rf.from_relevance([[0, 2]], total=3)
    assert qrels.rows() == [(0, 1, 0.0), (0, 2, 2.0), (0, 3, 1.0), (0, 4, 1.0)]
    assert run.rows() == [(0, 1, 1), (0, 2, 2)]


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0, 1], [2, 0]]),
        np.array([[0.0, 1.0], [2.0, 0.0]], np.float32),
        ((0, 1), [2, 0]),
        [np.array([0, 1]), [2, 0]],
    ],
)
def test_forms_of_rows(rows: Any) -> None:
    for found, expected in zip(
        rf.from_relevance(rows), rf.from_relevance([[0, 1], [2, 0]]), strict=True
    ):
        assert_frame_equal(found, expected)


def test_a_dict_names_its_queries() -> None:
    qrels, run = rf.from_relevance({"q": [0, 1], 7: [True]})
    assert run.rows() == [("q", 1, 1), ("q", 2, 2), ("7", 1, 1)]
    assert qrels["query_id"].to_list() == ["q", "q", "7"]


@pytest.mark.parametrize("unjudged", [None, float("nan")])
def test_what_was_not_judged_is_in_the_run_alone(unjudged: Any) -> None:
    qrels, run = rf.from_relevance([[unjudged, 1]])
    assert qrels.rows() == [(0, 2, 1.0)]
    assert run.height == 2
    assert values([[unjudged, 1]], ["mrr", "judged@2"]) == {"mrr": 0.5, "judged@2": 0.5}


def test_a_query_that_retrieved_nothing_needs_a_total() -> None:
    assert values([[1], []], "mrr", total=1)["mrr"] == 0.5


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ([[1], []], None),
        ([[1], []], [1, 0]),
        ([], None),
        ([[]], None),
        ([[1, 1], [0]], 1),
        ([[1], [0]], [1, 2, 3]),
        ([[1]], 1.5),
        ([[1]], True),
        ([[1]], "1"),
        ([[1]], -1),
        ([[1], 2], None),
        ({"q": 1}, None),
        ([[1, "high"]], None),
        ([[1, float("inf")]], None),
        ({1, 0}, None),
        ("10", None),
        (7, None),
        (np.zeros((2, 2, 2)), None),
    ],
)
def test_what_is_refused(rows: Any, total: Any, refusal: Callable[..., str]) -> None:
    refusal(rf.from_relevance, rows, total)
