"""The ledger: what was counted, and the policies in force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.options import Order, Policies
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.ledger import (
    LEDGER_SCHEMA,
    RunCounts,
    judged_items,
    make_ledger,
    run_caveats,
)
from rankframe.metrics.names import resolve
from rankframe.stats.exact import Exact
from tests.support.oracles import random_case


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
    counted = counted.filter(~pl.col("item").str.starts_with("caveat_"))
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
        "judged_share_top_10": pytest.approx((2 / 10 + 1 + 0) / 3),
        "length_top_10": (10 + 1) / 2,
        "tied_documents": 9,
        "rank_score_disagree": 1,
    }
    policies = result.ledger.filter(pl.col("item").str.starts_with("policy_"))
    assert dict(policies.select("item", "note").iter_rows()) == {
        "policy_rel": "grade of at least 1",
        "policy_missing": "zero",
        "policy_no_relevant": "zero",
        "policy_ranks": "renumbered",
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


COUNTS = RunCounts(
    left_rows=5,
    right_rows=14,
    evaluated=3,
    qrels_rows=5,
    qrels_queries=3,
    run_queries=3,
    judged_evaluated=3,
    judged_answered=2,
    missing=1,
    without_relevant=1,
    judged_retrieved=3,
    judged_shares=Exact.from_integer(1),
    tied=9,
    disagreeing=1,
)


def counts(**changed: Any) -> RunCounts:
    return replace(COUNTS, **changed)


def ledger_of(counts: RunCounts, **policies: Any) -> pl.DataFrame:
    return make_ledger(
        judged_items(counts, subtopics=None, retrieved=False), policies, Vocabulary()
    )


def of(ledger: pl.DataFrame, item: str) -> float | None:
    return dict(ledger.select("item", "value").iter_rows())[item]


def test_what_was_counted_adds_up_over_pieces() -> None:
    one, other = counts(disagreeing=None, lacking="q7"), counts(absent=2, lacking="q10")
    both = one.merge(other)
    assert both == other.merge(one)
    assert (both.rows, both.disagreeing, both.absent) == ((10, 28), 1, 2)
    assert (both.lacking, both.weightless) == ("q10", None)
    assert of(ledger_of(both), "judged_share_top_10") == 2 / 6


def test_items_that_say_nothing_are_left_out() -> None:
    plain, full = ledger_of(counts(disagreeing=None)), ledger_of(counts(absent=2))
    assert set(full["item"]) - set(plain["item"]) == {
        "rank_score_disagree",
        "queries_without_attributes",
    }
    # of 3 queries in the run, 3 - 1 are judged
    assert of(plain, "queries_unjudged") == 1
    assert of(ledger_of(counts(judged_evaluated=0)), "judged_share_top_10") is None


@pytest.mark.parametrize(
    "policies",
    [{}, {"missing": "skip"}, {"no_relevant": "skip"}, {"k_max": 4}, {"judged_only": True}],
    ids=str,
)
def test_how_much_was_judged_is_the_metric(policies: Any) -> None:
    case = random_case(5, queries=50)
    qrels = {**case.qrels, "q7": {"d1": 0}}
    result = rf.evaluate(qrels, case.run, "judged@10", **policies)
    assert result.count("judged_share_top_10") == result["judged@10"]
    assert result.count("queries_missing") == 4


STARS = {"q1": {"a": 1, "b": 5}, "q2": {"c": 3}}
STARRED = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}


def test_where_every_judged_document_is_relevant_that_is_said() -> None:
    result = rf.evaluate(STARS, STARRED, "mrr")
    (caveat,) = result.caveats
    assert (caveat.code, caveat.value) == ("all_relevant", 3)
    assert "every judged document counts as relevant" in repr(result)


@pytest.mark.parametrize(
    ("qrels", "rel"),
    [
        ({"q1": {"a": 1, "b": 5}, "q2": {"c": 0}}, None),
        ({"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}, None),
        (STARS, 4),
        (STARS, 1),
    ],
    ids=["not all", "one grade", "a level", "all on purpose"],
)
def test_it_is_not_said_where_there_is_nothing_to_choose(qrels: Any, rel: float | None) -> None:
    result = rf.evaluate(qrels, STARRED, "mrr", rel=rel)
    assert not result.caveats
    assert "all" not in result.overview


def test_whether_all_are_relevant_is_seen_over_all_pieces() -> None:
    evaluation = prepare_evaluation(resolve("mrr"), Policies()).with_max_grade(5.0)
    run = pl.DataFrame({"query_id": ["x", "y"], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    for grades, said in (([5.0, 1.0], True), ([5.0, 0.0], False), ([5.0, 5.0], False)):
        qrels = run.select("query_id", "doc_id", relevance=pl.Series(grades))
        one, other = (
            evaluation.evaluate_partition(*(f.filter(query_id=q) for f in (qrels, run))).counts
            for q in ("x", "y")
        )
        caveats = run_caveats(cast("RunCounts", one.merge(other)), Policies())
        assert ("all_relevant" in [caveat.code for caveat in caveats]) is said


def test_policies_follow_the_counts_by_name() -> None:
    ledger = ledger_of(counts(), ties="doc_asc", k_max="the top 5")
    assert ledger.tail(2).rows() == [
        ("policy_ties", None, "doc_asc"),
        ("policy_k_max", None, "the top 5"),
    ]
    assert ledger.schema == pl.Schema(LEDGER_SCHEMA) == make_ledger([], {}, Vocabulary()).schema


def test_what_ordered_the_run_is_said_and_what_was_not_looked_at() -> None:
    ids = {"query": ["q", "q"], "doc": ["a", "b"]}

    def said(order: Order = "columns", **columns: list[float]) -> list[tuple[str, Any, str]]:
        run = pl.DataFrame({**ids, **columns})
        ledger = rf.evaluate({"q": {"a": 1}}, run, "map", order=order).ledger
        return ledger.filter(pl.col("item").str.contains("run_(order|columns)")).rows()

    one, two = [1.0, 2.0], [2.0, 1.0]
    assert said(_score=one) == [("run_order", None, "by '_score', the largest first")]
    assert said(distance=one) == [("run_order", None, "by 'distance', the smallest first")]
    assert said(pos=one, price=two, distance=two) == [
        ("run_order", None, "by 'pos', the smallest first"),
        ("run_columns_unused", 2.0, "not looked at: 'price', 'distance'"),
    ]
    assert said("rows", price=one) == [
        ("run_order", None, "as the rows stand"),
        ("run_columns_unused", 1.0, "not looked at: 'price'"),
    ]


def test_columns_of_the_input_are_named_however_it_is_read(tmp_path: Path, message) -> None:
    run = pl.DataFrame({"qid": ["q", "q"], "doc": ["a", "b"], "prob": [1.0, 2.0], "x": [1, 2]})
    run.write_parquet(tmp_path / "run.parquet")
    expected = rf.evaluate({"q": {"a": 1}}, run, "map").ledger
    for max_memory in (None, "1MB"):
        found = rf.evaluate({"q": {"a": 1}}, tmp_path / "run.parquet", "map", max_memory=max_memory)
        assert_frame_equal(found.ledger, expected)
    compared = rf.compare({"q": {"a": 1}}, {"one": run, "two": run}, "map").ledger
    message(compared.filter(system="two", item="run_order")["note"].to_list())


@pytest.mark.parametrize("max_memory", [None, "1MB"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_queries_whose_ranks_are_numbered_anew_are_counted(
    max_memory: str | None, *, shuffled: bool
) -> None:
    ranks = {"ok": [1, 2, 3], "turned": [3, 2, 1], "gap": [1, 4], "late": [2, 3], "zero": [0, 1],
             "tied": [1, 1, 2], "part": [1, 1.5, 3], "one": [1]}  # fmt: skip
    rows = [(q, f"d{at}", float(r)) for q, of in ranks.items() for at, r in enumerate(of)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "rank"], orient="row")
    run = run.sample(fraction=1, shuffle=True, seed=1) if shuffled else run
    qrels = {query: {"d0": 1} for query in ranks}
    result = rf.evaluate(qrels, run, "map", max_memory=max_memory)
    assert result.count("queries_renumbered") == 5
    assert "5 with ranks numbered anew" in result.overview
    # As the scores say; whatever the ranks are then.
    scored = rf.evaluate(qrels, run.with_columns(score=-pl.col("rank")), "map")
    assert "queries_renumbered" not in scored.ledger["item"]
    agreed = rf.agree(run, run.with_columns(score=-pl.col("rank")), "rbo")
    assert agreed.count("queries_renumbered_a") == 5
    assert "queries_renumbered_b" not in agreed.ledger["item"]


@pytest.mark.parametrize("max_memory", [None, "1MB"])
def test_what_keep_best_dropped_is_counted_for_each_side(max_memory: str | None) -> None:
    qrels = pl.DataFrame(
        [("q", "a", 1), ("q", "a", 2), ("q", "b", 0), ("p", "a", 1)],
        schema=["query_id", "doc_id", "relevance"], orient="row",
    )  # fmt: skip
    run = pl.DataFrame(
        [("q", "a", 1.0), ("q", "x", 3.0), ("q", "x", 2.0), ("q", "a", 0.5), ("o", "a", 1.0),
         ("q", "a", 0.25), ("o", "a", 2.0)],
        schema=["query_id", "doc_id", "score"], orient="row",
    )  # fmt: skip
    result = rf.evaluate(qrels, run, "map", duplicates="keep_best", max_memory=max_memory)
    assert result.count("qrels_duplicates_dropped") == 1
    assert result.count("run_duplicates_dropped") == 4
    assert (result.count("qrels_rows"), result.count("run_rows")) == (4, 7)
    assert "4 duplicate documents dropped" in result.overview
    clean = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map", duplicates="keep_best")
    assert clean.count("run_duplicates_dropped") == clean.count("qrels_duplicates_dropped") == 0
    agreed = rf.agree(qrels, run, "rbo", duplicates="keep_best", k_max=1)
    assert agreed.count("a_duplicates_dropped") == 1
    assert agreed.count("b_duplicates_dropped") == 4
