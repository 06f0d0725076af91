"""Documents with equal scores: by rank, best first, worst first."""

from __future__ import annotations

import random
from itertools import permutations, product
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import MissingColumnError, OptionError

METRICS = [
    "precision@3", "recall@3", "hit_rate@2", "mrr", "mrr@2", "map", "map@3", "ndcg@3", "ndcg",
    "dcg@4", "rbp(p=0.8)", "err(max_grade=3)", "bpref", "r_precision",
]  # fmt: skip


def every_order(scores: dict[str, float]) -> list[list[str]]:
    """Return every order of documents that their scores allow."""
    levels = sorted(set(scores.values()), reverse=True)
    groups = [[doc for doc, score in scores.items() if score == level] for level in levels]
    return [
        [doc for group in order for doc in group] for order in product(*map(permutations, groups))
    ]


def case(seed: int) -> tuple[dict[str, int], dict[str, float]]:
    """Draw grades and scores of a query, with many ties."""
    draw = random.Random(seed)
    docs = [f"d{number}" for number in range(6)]
    scores = {doc: float(draw.randint(0, 2)) for doc in docs}
    while any(list(scores.values()).count(level) > 4 for level in (0, 1, 2)):
        scores = {doc: float(draw.randint(0, 2)) for doc in docs}
    grades = {
        doc: draw.choice([0, 0, 1, 3]) for doc in draw.sample([*docs, "e"], draw.randint(2, 6))
    }
    return grades, scores


@pytest.mark.parametrize("options", [{}, {"judged_only": True}, {"k_max": 3}], ids=str)
def test_best_and_worst_are_those_of_all_orders(options: dict[str, Any]) -> None:
    for seed in range(5):
        grades, scores = case(seed)
        orders = every_order(scores)
        runs = {f"q{number}": order for number, order in enumerate(orders)}
        judged = dict.fromkeys(runs, grades)
        values = rf.evaluate(judged, runs, METRICS, no_overlap="zero", **options).per_query
        bounds = {
            order: rf.evaluate(
                {"q": grades}, {"q": scores}, METRICS, ties=order, no_overlap="zero", **options
            ).means
            for order in ("best", "worst")
        }
        for metric in METRICS:
            assert bounds["best"][metric] == pytest.approx(values[metric].max(), abs=1e-12), seed
            assert bounds["worst"][metric] == pytest.approx(values[metric].min(), abs=1e-12), seed


def test_the_rank_of_the_run_breaks_ties() -> None:
    run = pl.DataFrame(
        {
            "query_id": "q",
            "doc_id": list("abcde"),
            "score": [1.0, 1, 1, 2, 0],
            "rank": [4, 2, 3, 1, 5],
        }
    )
    for target, rank in {"d": 1, "b": 2, "c": 3, "a": 4, "e": 5}.items():
        value = rf.evaluate(
            {"q": {target: 1}}, run.sample(fraction=1, shuffle=True, seed=3), "mrr", ties="rank"
        )
        assert value["mrr"] == 1 / rank


def test_order_by_score_or_by_rank_alone() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [2.0, 1.0], "rank": [2, 1]})
    assert rf.evaluate({"q": {"a": 1}}, run, "mrr", order="score")["mrr"] == 1
    assert rf.evaluate({"q": {"a": 1}}, run, "mrr", order="rank")["mrr"] == 0.5
    with pytest.raises(MissingColumnError):
        rf.evaluate({"q": {"a": 1}}, run.drop("rank"), "mrr", order="rank")


def test_the_orders_of_the_examples() -> None:
    grades = {"d1": 1, "d2": 0, "d3": 1, "d4": 0, "d5": 1}
    run = {"q": {"d1": 3.0, "d2": 2.0, "d3": 2.0, "d4": 2.0, "d5": 1.0}}
    expected = {
        ("best", 2): (1, 1, 0.666667, 1), ("worst", 2): (0.5, 1, 0.333333, 0.613147),
        ("best", 10): (0.3, 1, 0.866667, 0.946902), ("worst", 10): (0.3, 1, 0.7, 0.852928),
    }  # fmt: skip
    for (order, k), values in expected.items():
        metrics = [f"precision@{k}", f"mrr@{k}", f"map@{k}", f"ndcg@{k}"]
        result = rf.evaluate({"q": grades}, run, metrics, ties=order)  # pyright: ignore[reportArgumentType]
        assert tuple(result.means.values()) == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(
    ("grades", "bounds"),
    [
        ({"a": 1, "b": 0}, "mrr is between 0.5000 and 1.0000"),
        ({"a": 1}, "mrr is between 0.5000 and 1.0000"),  # b is not judged
        ({"a": 1, "b": 1}, ""),
        ({"b": 0, "c": 1}, ""),
    ],
)
def test_the_ledger_says_between_which_values_the_order_of_ties_decides(
    grades: dict[str, int], bounds: str
) -> None:
    ledger = rf.evaluate({"q": grades}, {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}, "mrr").ledger
    notes = ledger.filter(item="caveat_ties")["note"].to_list()
    assert any("is between" in note for note in notes) == bool(bounds)
    assert not bounds or notes[0].endswith(bounds)


def test_without_judgments_no_grades_order_ties() -> None:
    run = {"q": {"a": 1.0, "b": 1.0}}
    for frame in (rf.retrieved, rf.exposure):
        with pytest.raises(OptionError, match="best"):
            frame(run, ties="best")
