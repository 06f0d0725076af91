"""Two rankings side by side: inputs, policies, ledger, bits, and bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.options import Intervals, PairPolicies
from rankframe.engine.finish import evaluate_inputs
from rankframe.engine.pair_evaluation import PairEvaluation
from rankframe.io.inputs import open_ranking
from rankframe.metrics import REGISTRY, names_over
from tests.support.rankings import two_rankings

SHOP = Path(__file__).parents[2] / "data" / "shop"
BM25, DENSE, QRELS = (SHOP / f"{name}.parquet" for name in ("bm25", "dense", "qrels"))
EVERYTHING = [
    *names_over("pair"), *(f"{n}@3" for n in names_over("pair") if "k" in REGISTRY[n].parameters),
    "rbo(ties=w)", "rbo(ties=a)", "rbo(ties=b)", "rbo_min(ties=b)", "rbo_res(ties=b)",
    "kendall_tau(variant=a)", "kendall_tau(variant=c)", "fcp(ties=ignore)",
    "ndpm(average=micro)",
]  # fmt: skip


def in_pieces(a: object, b: object, pieces: int, **policies: object) -> rf.Result:
    evaluation = PairEvaluation.from_metrics(EVERYTHING, PairPolicies(**policies), Intervals())  # pyright: ignore[reportArgumentType]
    sides = open_ranking(a, "a"), open_ranking(b, "b")
    return evaluate_inputs(evaluation, *sides, partitions=pieces)


def assert_same(one: rf.Result, other: rf.Result) -> None:
    for name in ("per_query", "summary", "ledger"):
        assert getattr(one, name).equals(getattr(other, name)), name


@settings(max_examples=5)
@given(st.integers(2, 40), st.integers(0, 10**6))
def test_any_number_of_pieces_and_any_row_order_give_the_same_bits(pieces: int, seed: int) -> None:
    a, b = two_rankings()
    whole = rf.agree(a, b, EVERYTHING)
    a, b = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (a, b))
    assert_same(whole, rf.agree(a, b, EVERYTHING))
    assert_same(whole, in_pieces(a, b, pieces))


@pytest.mark.parametrize(
    "policies", [{"missing": "bottom"}, {"k_max": 3}, {"unmatched_queries": "skip"}]
)
def test_policies_hold_in_pieces(policies: dict[str, object]) -> None:
    a, b = two_rankings()
    whole = rf.agree(a, b, EVERYTHING, **policies)  # pyright: ignore[reportArgumentType]
    assert_same(whole, in_pieces(a, b, 9, **policies))


def test_values_go_to_an_output(tmp_path: Path) -> None:
    metrics, sides = ["rbo", "kendall_tau@10"], two_rankings()
    whole = rf.agree(*sides, metrics)
    limited = rf.agree(*sides, metrics, max_memory="50kB", output=tmp_path / "pieces")
    assert_same(whole, limited)
    assert_same(whole, rf.agree(*sides, metrics, output=tmp_path / "whole"))
    assert_same(whole, rf.Result.read(tmp_path / "pieces"))


def test_a_ranking_agrees_with_itself() -> None:
    a, _ = two_rankings()
    best = {"rbd": 0.0, "ndpm": 0.0, "rbo_min": None, "rbo_res": None}
    result = rf.agree(a, a, [*names_over("pair"), "rbo(ties=a)", "rbo(ties=b)", "rbo(ties=w)"])
    for name, value in result.means.items():
        expected = best.get(name, 1.0)
        if expected is not None and name != "rbo(ties=a)":
            assert value == pytest.approx(expected, abs=1e-12), name
    # The orders of the ties are averaged over on each side for itself.
    assert 0.5 < (result["rbo(ties=a)"] or 0) < 1


def test_what_swapping_the_sides_changes() -> None:
    a, b = two_rankings()
    symmetric = [n for n in names_over("pair") if n not in ("tau_ap", "ndpm", "fcp")]
    symmetric += ["rbo(ties=a)", "rbo(ties=b)", "rbo(ties=w)"]
    one, other = rf.agree(a, b, symmetric).per_query, rf.agree(b, a, symmetric).per_query
    for name in symmetric:
        difference = (one[name] - other[name]).abs().max()
        assert isinstance(difference, float)
        assert difference < 1e-12, name
        assert one[name].is_null().equals(other[name].is_null())
    assert one["n_a"].equals(other["n_b"].alias("n_a"))


def test_the_ledger_counts_both_sides() -> None:
    a = {"q1": {"x": 2.0, "y": 2.0}, "q2": {"x": 1.0}}
    b = {"q1": {"y": 1.0}, "q3": {"z": 1.0}}
    result = rf.agree(a, b, ["rbo", "kendall_tau"])
    assert result.per_query.select("n_a", "n_b", "n_shared").rows() == [
        (2, 1, 1), (1, 0, 0), (0, 1, 0),
    ]  # fmt: skip
    for item, expected in {
        "a_rows": 3, "b_rows": 2, "queries_compared": 3, "queries_shared": 1, "queries_only_a": 1,
        "queries_only_b": 1, "documents_shared": 1, "share_shared": 0.25, "tied_documents_a": 1,
    }.items():  # fmt: skip
        assert result.count(item) == expected, item
    assert result.per_query["rbo"].to_list()[1:] == [0.0, 0.0]
    assert result["kendall_tau"] is None
    assert "3 queries compared, 1 only in the first ranking" in repr(result)
    assert rf.agree(a, b, "rbo", unmatched_queries="skip").per_query["query_id"].to_list() == ["q1"]


def test_judgments_may_be_a_side() -> None:
    result = rf.agree(QRELS, BM25, ["fcp", "ndpm", "spearman"])
    assert 0.5 < (result["fcp"] or 0) < 1
    graded = pl.read_parquet(QRELS).rename({"relevance": "score"})
    expected = rf.agree(graded, BM25, ["fcp", "ndpm", "spearman"])
    assert result.per_query.equals(expected.per_query)
    assert result.summary.equals(expected.summary)
    differs = result.ledger.join(expected.ledger, on=["item", "note"], how="anti")
    assert differs.rows() == [("a_order", None, "by 'relevance', the largest first")]


def test_columns_may_differ_by_side() -> None:
    a = pl.DataFrame({"user": ["u"], "item": ["i"], "score": [1.0]})
    b = pl.DataFrame({"session": ["u"], "sku": ["i"], "position": [1]})
    names = {"b": {"query_id": "session"}}
    assert rf.agree(a, b, "overlap@1", columns=names)["overlap@1"] == 1.0


def test_ranks_without_scores_are_enough() -> None:
    a = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("xyz"), "rank": [1, 2, 3]})
    b = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("xzy"), "position": [1, 2, 3]})
    result = rf.agree(a, b, ["kendall_tau", "pearson", "rbo"])
    assert result["kendall_tau"] == pytest.approx(1 / 3)
    assert result["pearson"] is None


def test_rankings_without_a_common_query_are_refused(refusal) -> None:
    refusal(rf.agree, {"q1": {"x": 1}}, {"1": {"x": 1}})
    refusal(rf.agree, {"q": {"x": float("nan")}}, {"q": {"x": 1}})
    refusal(rf.agree, {}, {}, unmatched_queries="drop")
    refusal(rf.agree, {"q": {}}, {"q": {"x": 1}})


@pytest.mark.parametrize("scale", [1e-320, 1e-160, 1e160, 1.7e308])
def test_pearson_of_very_small_and_very_large_scores(scale: float) -> None:
    scores = {"x": scale, "y": -scale, "z": scale / 2}
    result = rf.agree({"q": scores}, {"q": {"x": 1.0, "y": -1.0, "z": 0.5}}, "pearson")
    assert result["pearson"] == pytest.approx(1.0, abs=1e-3 if scale < 1e-300 else 1e-12)


def test_the_same_order_is_exactly_1() -> None:
    a = {"q": {f"d{i}": float(i // 2) for i in range(21)}}
    for metric in ("kendall_tau", "spearman", "pearson"):
        assert rf.agree(a, a, metric)[metric] == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": None},
        {"metrics": pl.col("rank_a").mean().alias("n_a")},
        {"metrics": pl.col("compared_top0").sum().alias("x")},
        {"k_max": True},
        {"columns": {"a": {"query_id": "zz"}}},
        {"columns": {"run": {}}},
        {"a": {None: {"x": 1.0}}},
        {"a": {"\ud800": {"x": 1.0}}},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict, refusal) -> None:
    given = {"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 1.0}}, "metrics": "rbo", **options}
    refusal(rf.agree, **given)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    a, b = two_rankings()
    assert_same(rf.agree(a, b, k_max=3), rf.agree(a, b, k_max=np.int64(3)))  # pyright: ignore[reportArgumentType]
