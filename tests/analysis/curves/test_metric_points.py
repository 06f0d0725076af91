"""Curves whose points are metrics, against evaluations of each metric by itself."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.analysis.curves import curve as curves
from tests.support.curve_cases import CASE, drawn, overlapping
from tests.support.oracles import Case, about, random_case


@pytest.mark.parametrize("options", [{}, {"missing": "skip", "rel": 2}, {"no_relevant": "skip"}])
def test_eleven_points(options: dict[str, Any]) -> None:
    case = random_case(4)
    points = drawn(case, "precision_recall", interpolated=True, **options)
    assert points.columns == ["recall", "precision", "ci_low", "ci_high", "queries"]
    assert points["recall"].to_list() == [tenths / 10 for tenths in range(11)]
    names = [f"iprec(recall={recall})" for recall in points["recall"]]
    summary = rf.evaluate(case.qrels, case.run, names, ci="t", **options).summary
    assert points["precision"].to_list() == summary["value"].to_list()
    whole = rf.evaluate(case.qrels, case.run, "eleven_point", ci=None, **options)
    assert points["precision"].mean() == about(whole["eleven_point"])
    assert points["ci_low"].null_count() == 11
    sure = drawn(case, "precision_recall", interpolated=True, ci="t", **options)
    assert sure.drop("recall").rows() == summary.drop("metric", "std").rows()

    each = drawn(case, "precision_recall", interpolated=True, per_query=True, **options)
    assert each.columns == ["query_id", "recall", "precision"]
    means = each.group_by("query_id", maintain_order=True).agg(pl.col("precision").mean())
    assert means["precision"].to_list() == about(whole.per_query["eleven_point"].to_list())
    assert means["query_id"].to_list() == whole.per_query["query_id"].to_list()


@pytest.mark.parametrize(
    ("metric", "at"),
    [
        ("ndcg", "ndcg@{}"),
        ("ndcg(gain=exp2)", "ndcg(gain=exp2)@{}"),
        ("P", "precision@{}"),
        ("recall-l2", "recall(rel=2)@{}"),
        ("map_cut", "map@{}"),
        ("precision(average=micro)", "precision(average=micro)@{}"),
    ],
)
def test_a_metric_at_k_is_that_metric(metric: str, at: str) -> None:
    case, ks = random_case(5), [1, 2, 5, 30]
    options: dict[str, Any] = {"ties": "doc_asc", "missing": "skip"}
    points = drawn(case, "metric_at_k", metric=metric, ks=reversed(ks), ci="bootstrap", **options)
    assert points.columns == ["k", "value", "ci_low", "ci_high", "queries"]
    assert points["k"].to_list() == ks
    each = drawn(case, "metric_at_k", metric=metric, ks=iter(ks), per_query=True, **options)
    assert each.columns == ["query_id", "k", "value"]
    for k in ks:
        one = rf.evaluate(case.qrels, case.run, at.format(k), **options)
        expected = one.summary.select("value", "ci_low", "ci_high", "queries").row(0)
        assert points.filter(k=k).drop("k").row(0) == expected
        assert each.filter(k=k).select("query_id", "value").rows() == one.per_query.rows()
    assert each["k"].to_list() == ks * (each.height // 4)


def test_cumulative_gain() -> None:
    case = random_case(6)
    points = drawn(case, "cumulative_gain")
    assert points.columns == ["k", "cg", "dcg", "ideal_dcg"]
    assert points["k"].to_list() == list(range(1, 21))
    each = drawn(case, "cumulative_gain", per_query=True)
    for name in ("cg", "dcg", "ideal_dcg"):
        at_k = rf.evaluate(case.qrels, case.run, f"{name}@{','.join(map(str, range(1, 21)))}")
        assert points[name].to_list() == at_k.summary["value"].to_list()
        for k in (1, 20):
            own = each.filter(k=k).select("query_id", name)
            assert own.rows() == at_k.per_query.select("query_id", f"{name}@{k}").rows()


@pytest.mark.parametrize("kind", ["metric_at_k", "cumulative_gain", "precision_recall"])
def test_all_cutoffs_are_evaluated_at_once(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counting(qrels: Any, run: Any, metrics: Any, **options: Any) -> rf.Result:
        asked.append(len(metrics))
        return evaluate(qrels, run, metrics, **options)

    evaluate = curves.evaluate
    monkeypatch.setattr(curves, "evaluate", counting)
    drawn(CASE, kind, interpolated=kind == "precision_recall")
    assert asked == [{"metric_at_k": 20, "cumulative_gain": 60, "precision_recall": 11}[kind]]


@given(overlapping(), st.integers(1, 5))
def test_the_last_k_of_recall_is_where_the_ranks_end(case: Case, k: int) -> None:
    points = drawn(case, "metric_at_k", metric="recall", ks=[k, 1000])
    assert points["value"].is_sorted()
    ends = drawn(case, "precision_recall", per_query=True).group_by("query_id")
    reached = ends.agg(pl.col("recall").last())["recall"].sum()
    assert points["value"][1] * len(case.qrels) == about(reached)
