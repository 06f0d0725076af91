"""Users' own metrics: what an expression may be, and that its direction holds everywhere."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics.names import Metric, resolve

FIRST = rf.metric(pl.col("rank").min(), "first_rank", higher_is_better=False)
PLAIN = pl.col("rank").min().alias("first_rank")
# The first relevant document of each query moves up in the new run, but for one.
QRELS = {f"q{n:02}": {"a": 1} for n in range(40)}
OLD = {query: {"x": 3.0, "y": 2.0, "a": 1.0} for query in QRELS}
NEW = {query: {"x": 3.0, "a": 2.0 + n % 3, "y": 1.0} for n, query in enumerate(QRELS)}
NEW["q00"] = {"x": 4.0, "y": 3.0, "z": 2.0, "a": 1.0}


class TestOwnExpressions:
    QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1}}  # noqa: RUF012
    RUN = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"x": 1.0}}  # noqa: RUF012

    def evaluate(self, metrics: Any) -> rf.Result:
        return rf.evaluate(self.QRELS, self.RUN, metrics)

    def test_an_expression_is_a_metric_under_its_own_name(self) -> None:
        top = ((pl.col("rank") <= 1) & pl.col("relevant")).any().alias("first is relevant")
        result = self.evaluate(["map", top])
        assert result.per_query["first is relevant"].to_list() == [1, 0]
        assert result["first is relevant"] == 0.5

    def test_an_expression_may_stand_alone(self) -> None:
        assert self.evaluate(pl.col("relevance").max().alias("best grade"))["best grade"] == 1.5

    def test_a_metric_function_gives_what_its_name_gives(self) -> None:
        result = self.evaluate(["ndcg@1", rf.ndcg(k=1).alias("mine")])
        assert result.per_query["mine"].equals(result.per_query["ndcg@1"])

    def test_an_expression_without_columns_is_per_query_too(self) -> None:
        result = self.evaluate(["map", pl.len().alias("judgments"), pl.lit(1).alias("one")])
        assert result.per_query["judgments"].to_list() == [2, 1]
        assert result.per_query["one"].to_list() == [1, 1]

    def test_an_expression_may_use_a_level_of_its_own(self) -> None:
        found = pl.col("found_rel2").max().alias("found at level 2")
        assert self.evaluate(found).per_query["found at level 2"].to_list() == [1, None]

    @pytest.mark.parametrize(
        "expression",
        [
            pl.col("rnk").max().alias("deepest"),
            pl.col("rank").alias("ranks"),
            pl.col("doc_id").first().alias("doc"),
            pl.all().max(),
            pl.col("relevant").any().alias("query_id"),
        ],
    )
    def test_what_gives_no_number_per_query_is_refused(self, expression: pl.Expr, refusal) -> None:
        refusal(self.evaluate, expression)


def test_an_expression_needs_a_name(refusal) -> None:
    refusal(resolve, pl.col("rank").max().alias(""))


@pytest.mark.parametrize(
    ("expression", "options"),
    [
        ("map", {}),
        (pl.all().max(), {}),
        (PLAIN, {"name": ""}),
        (PLAIN, {"name": 3}),
        (PLAIN, {"name": "query_id"}),
        (pl.col("rank", "found").max(), {"name": "x"}),
        (PLAIN, {"higher_is_better": "no"}),
        (PLAIN, {"average": "mean"}),
        (PLAIN, {"average": "micro"}),
    ],
)  # fmt: skip
def test_what_is_no_metric_is_refused(expression: Any, options: dict[str, Any], refusal) -> None:
    refusal(rf.metric, expression, **options)


def test_a_name_replaces_the_expressions_own() -> None:
    assert rf.metric(PLAIN).label == "first_rank"
    assert rf.metric(PLAIN, "mine").label == "mine"
    assert rf.evaluate(QRELS, OLD, rf.metric(PLAIN, "mine")).means == {"mine": 3.0}


def test_a_plain_expression_counts_as_higher_is_better() -> None:
    assert resolve(PLAIN)[0].higher_is_better
    assert not FIRST.higher_is_better


def test_its_average_is_the_one_it_asks_for() -> None:
    total = rf.metric(pl.col("relevant").sum(), "relevant", average="sum")
    weighted = rf.metric(pl.col("rank").min(), "weighed", average="weighted")
    queries = pl.DataFrame({"query_id": [*QRELS], "w": [float(n == 0) for n in range(40)]})
    result = rf.evaluate(QRELS, NEW, [total, weighted], queries=queries, weight="w")
    assert result.means == {"relevant": 40.0, "weighed": 4.0}


def test_evaluate_takes_it_beside_names_and_expressions(refusal) -> None:
    result = rf.evaluate(QRELS, OLD, ["mrr", FIRST, pl.len().alias("judged")])
    assert result.means == {"mrr": pytest.approx(1 / 3), "first_rank": 3.0, "judged": 1.0}
    refusal(rf.evaluate, QRELS, OLD, [FIRST, PLAIN])


def test_agree_takes_one_over_the_pair_frame(refusal) -> None:
    moved = (pl.col("rank_a") - pl.col("rank_b")).abs().max()
    result = rf.agree(OLD, NEW, ["rbo", rf.metric(moved, "furthest", higher_is_better=False)])
    assert result.per_query["furthest"].max() == 2.0
    refusal(rf.agree, OLD, NEW, FIRST)


@pytest.mark.parametrize(
    ("metric", "wins", "losses", "best"), [(FIRST, 39, 1, "new"), (PLAIN, 1, 39, "old")]
)
def test_compare_counts_wins_in_its_direction(
    metric: Metric | pl.Expr, wins: int, losses: int, best: str
) -> None:
    found = rf.compare(QRELS, {"old": OLD, "new": NEW}, metric, baseline="old")
    assert found.table.select("wins", "losses").row(0) == (wins, losses)
    (bold,) = [line for line in found.to_markdown().splitlines() if "**" in line]
    assert bold.startswith(f"| {best} ")


def test_compare_knows_it_among_stored_values(refusal) -> None:
    stored = {
        name: rf.evaluate(QRELS, run, FIRST) for name, run in {"old": OLD, "new": NEW}.items()
    }
    by_name = rf.compare(None, stored, "first_rank", baseline="old")
    assert by_name.table.select("wins", "losses").row(0) == (1, 39)
    found = rf.compare(None, stored, FIRST, baseline="old")
    assert found.table.select("wins", "losses").row(0) == (39, 1)
    refusal(rf.compare, None, stored, PLAIN)
    refusal(rf.evaluate, QRELS, OLD, by_name.metrics)
    assert rf.evaluate(QRELS, OLD, found.metrics)["first_rank"] == 3.0


def test_a_query_that_a_system_lacks_is_undefined_where_lower_is_better() -> None:
    stored = {
        name: rf.evaluate(QRELS, run, FIRST) for name, run in {"old": OLD, "new": NEW}.items()
    }
    fewer = stored | {"new": stored["new"].per_query.head(39)}
    found = rf.compare(None, fewer, FIRST, baseline="old", unpaired="zero")
    assert found.table["undefined"].item() == 1


@pytest.mark.parametrize(("metric", "better"), [(FIRST, "b"), (PLAIN, "a")])
def test_diff_says_which_is_better(metric: Metric | pl.Expr, better: str) -> None:
    change = rf.diff(QRELS, OLD, NEW, metric)
    assert change.per_query.filter(query_id="q01")["better"].item() == better
    assert change.summary["wins"].item() == (39 if better == "b" else 1)


@pytest.mark.parametrize("stored", [False, True])
def test_gate_asks_for_a_change_in_its_direction(*, stored: bool) -> None:
    before, after = (rf.evaluate(QRELS, run, FIRST) for run in (OLD, NEW))
    rules = ["first_rank: better than 0.5", "first_rank: at most 2.5"]

    def gate(run: Any, result: rf.Result, against: rf.Result, **options: Any) -> rf.Verdict:
        sides = (None, result) if stored else (QRELS, run)
        return rf.gate(*sides, against, rules, **options)

    verdict = gate(NEW, after, before, metrics=[FIRST])
    assert verdict.status == "pass"
    change = np.subtract(before.per_query["first_rank"], after.per_query["first_rank"]).mean()
    assert verdict.checks["change"][0] == pytest.approx(change)
    assert gate(OLD, before, after, metrics=FIRST).status == "fail"
    assert gate(NEW, after, before, metrics=PLAIN).checks["status"].to_list() == ["fail", "pass"]


def test_gate_evaluates_only_what_it_knows(refusal) -> None:
    before = rf.evaluate(QRELS, OLD, [FIRST, "mrr"])
    refusal(rf.gate, QRELS, NEW, before, "first_rank: better than 0")
    # one that no rule names is left aside
    assert rf.gate(QRELS, NEW, before, "mrr: better than 0", metrics=FIRST).status == "pass"


def test_a_report_is_about_it_in_its_direction(tmp_path: Path) -> None:
    page = rf.report(QRELS, {"old": OLD, "new": NEW}, FIRST, output=tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "An expression of yours. Lower is better." in text
    assert "Where relevant documents stand in new" in text


def test_it_needs_the_whole_input_if_its_columns_do(refusal) -> None:
    wins = rf.metric(pl.col("pooled_wins_rel2").sum(), "wins")
    assert wins.whole_input
    assert not FIRST.whole_input
    refusal(rf.evaluate, QRELS, OLD, [FIRST, wins], max_memory="1KB")


def test_it_can_be_sent_elsewhere() -> None:
    again = pickle.loads(pickle.dumps(FIRST))
    assert rf.evaluate(QRELS, OLD, again).per_query.equals(rf.evaluate(QRELS, OLD, FIRST).per_query)
    assert not again.higher_is_better
