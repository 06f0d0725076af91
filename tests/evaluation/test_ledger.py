"""The ledger: what was counted, and the policies in force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.evaluation.ledger import SCHEMA, Counts, described, make_ledger


def test_the_ledger_says_what_was_counted() -> None:
    qrels = pl.DataFrame(
        [("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 0), ("q3", "a", 1), ("q1", "z", 1)],
        schema=["query_id", "doc_id", "relevance"], orient="row",
    )  # fmt: skip
    rows = [("q1", f"x{n}", 0.0, n + 3) for n in range(10)]  # all tied: x9 comes first
    rows += [("q1", "a", 2.0, 2), ("q1", "b", 1.0, 1), ("q2", "a", 5.0, 1), ("q4", "a", 1.0, 1)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score", "rank"], orient="row")
    result = rf.evaluate(qrels, run, "map", rel=1, k_max=11, ties="doc_asc")
    counted = result.ledger.filter(pl.col("value").is_not_null())
    assert dict(counted.select("item", "value").iter_rows()) == {
        "qrels_rows": 5,
        "qrels_queries": 3,
        "run_rows": 14,
        "run_queries": 3,
        "queries_evaluated": 3,
        "queries_missing": 1,
        "queries_unjudged": 1,
        "queries_without_relevant": 1,
        "judged_retrieved": 3,
        "judged_share_top_10": pytest.approx(3 / 11),
        "tied_documents": 9,
        "rank_score_disagree": 1,
    }
    policies = result.ledger.filter(pl.col("item").str.starts_with("policy_"))
    assert dict(policies.select("item", "note").iter_rows()) == {
        "policy_rel": "grade of at least 1",
        "policy_missing": "zero",
        "policy_no_relevant": "zero",
        "policy_ties": "doc_asc",
        "policy_duplicates": "error",
        "policy_k_max": "the top 11",
        "policy_judged_only": "no",
        "policy_ci": "95%, bootstrap, 1,000 replicates, seed 0",
    }
    assert result.ledger["note"].null_count() == 0


def test_ranks_and_scores_are_compared_only_where_there_are_both() -> None:
    assert (
        "rank_score_disagree"
        not in rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").ledger["item"]
    )


def counts(**changed: Any) -> Counts:
    return replace(Counts(5, 3, 14, 3, 3, 1, 1, 3, 10, 2, 9, 1), **changed)


def of(ledger: pl.DataFrame, item: str) -> float | None:
    return dict(ledger.select("item", "value").iter_rows())[item]


def test_what_was_counted_adds_up_over_pieces() -> None:
    one, other = counts(disagreeing=None, lacking="q7"), counts(absent=2, lacking="q10")
    both = one + other
    assert both == other + one
    assert (both.rows, both.disagreeing, both.absent) == ((10, 28), 1, 2)
    assert (both.lacking, both.weightless) == ("q10", None)
    assert of(make_ledger(both, {}), "judged_share_top_10") == 4 / 20


def test_items_that_say_nothing_are_left_out() -> None:
    plain, full = make_ledger(counts(disagreeing=None), {}), make_ledger(counts(absent=2), {})
    assert set(full["item"]) - set(plain["item"]) == {
        "rank_score_disagree",
        "queries_without_attributes",
    }
    # of 3 queries in the run, 3 - 1 are judged
    assert of(plain, "queries_unjudged") == 1
    assert of(make_ledger(counts(in_top=0, judged_in_top=0), {}), "judged_share_top_10") is None


def test_policies_follow_the_counts_by_name() -> None:
    ledger = make_ledger(counts(), {"ties": "doc_asc", "k_max": "the top 5"})
    assert ledger.tail(2).rows() == [
        ("policy_ties", None, "doc_asc"),
        ("policy_k_max", None, "the top 5"),
    ]
    assert ledger.schema == pl.Schema(SCHEMA) == described([], {}).schema
