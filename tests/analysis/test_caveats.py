"""Comparisons, verdicts, diffs and tunings say what misleads, in every place where it is read."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.caveats import CAVEATS

DATA = Path(__file__).parents[2] / "data" / "shop"

RULE = "ndcg@10: no worse than -1%"
FAST: dict[str, Any] = {"replicates": 100}


def run_of(name: str) -> pl.DataFrame:
    return pl.read_parquet(DATA / f"{name}.parquet")


@pytest.fixture(scope="module")
def clicks() -> pl.DataFrame:
    """Clicks on the top 10 of bm25, the more the better a document is: all else is unjudged."""
    shown = run_of("bm25").filter(pl.col("rank") <= 10)
    grades = pl.read_parquet(DATA / "qrels.parquet")
    shown = shown.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")
    chance = shown["relevance"].fill_null(0).replace_strict({0: 0.05, 1: 0.2, 2: 0.45, 3: 0.7})
    clicked = np.random.default_rng(35).random(len(shown)) < chance.to_numpy()
    return shown.select("query_id", "doc_id").with_columns(
        relevance=pl.Series(clicked).cast(pl.Int64)
    )


def codes(found: Any) -> list[str]:
    return [caveat.code for caveat in found.caveats]


# --- judgments that favour one system


def test_a_comparison_by_clicks_of_one_system_cannot_be_misread(clicks: pl.DataFrame) -> None:
    runs = {"bm25": run_of("bm25"), "dense": run_of("dense")}
    with pytest.warns(rf.RankframeWarning, match="judgments favour bm25") as warned:
        found = rf.compare(clicks, runs, "ndcg@10", baseline="bm25", **FAST)
    assert [str(one.message) for one in warned] == [str(caveat) for caveat in found.caveats]
    (row,) = found.table.to_dicts()
    assert row["relative"] == pytest.approx(-0.506, abs=1e-3)
    alone = rf.compare(clicks, runs, "ndcg@10", baseline="bm25", judged_only=True, **FAST)
    assert row["condensed_value"] == pytest.approx(alone.table["value"][0], abs=1e-12)
    assert row["condensed_difference"] == pytest.approx(alone.table["difference"][0], abs=1e-12)
    bounds = rf.compare(clicks, runs, "ndcg@10", baseline="bm25", bounds=True, **FAST)
    for column in ("lower_bound", "upper_bound"):
        assert found.systems[column].equals(bounds.systems[column])
    text = "Over judged documents alone, ndcg@10 of dense is -2.2% against bm25, instead of -50.6%"
    shown = (repr(found), found._repr_html_(), found.to_markdown(), found.to_markdown(details=True))
    for where in (
        *shown,
        found.to_latex().replace("\\%", "%"),
        found.ledger["note"].str.join("").item(),
    ):
        assert text in where
    # dense lacks 30 of the 2,000 queries, of which nothing is known
    shares = rf.evaluate(clicks, runs["dense"], "judged@10", missing="skip")["judged@10"]
    assert shares is not None
    apart = found.ledger.filter(item="caveat_judged_differ")["value"][0]
    assert apart == pytest.approx(1 - shares, abs=1e-12)


def test_a_gate_is_undecided_if_bounds_contain_both_answers(clicks: pl.DataFrame) -> None:
    before = rf.evaluate(clicks, run_of("bm25"), "ndcg@10")
    with pytest.warns(rf.RankframeWarning, match="judgments favour baseline"):
        verdict = rf.gate(clicks, run_of("hybrid"), before, RULE)
    assert (verdict.status, verdict.exit_code) == ("undecided", 2)
    (check,) = verdict.checks.to_dicts()
    assert check["judged_baseline"] == 1
    assert check["lower_bound"] < check["value"] < check["condensed_value"] < check["upper_bound"]
    assert "the change is from -30.5% to +61.6% (-26.2% measured)" in check["reason"]
    for where in (repr(verdict), verdict._repr_html_(), verdict.to_markdown(), verdict.to_junit()):
        assert "judgments favour" in where
    assert json.loads(verdict.to_json())["caveats"][0]["code"] == "judged_differ"
    # by people's judgments it passes
    qrels = DATA / "qrels.parquet"
    assert (
        rf.gate(qrels, run_of("hybrid"), rf.evaluate(qrels, run_of("bm25"), "ndcg@10"), RULE).status
        == "pass"
    )


def test_a_gate_of_stored_results_believes_only_what_judgments_speak_against(
    clicks: pl.DataFrame,
) -> None:
    old, new = (rf.evaluate(clicks, run_of(name), "ndcg@10") for name in ("bm25", "hybrid"))
    for candidate, baseline in ((new, old), (old, new)):
        verdict = rf.gate(None, candidate, baseline, RULE)
        assert (verdict.status, codes(verdict)) == ("undecided", ["judged_differ"])
        assert "the stored run is not at hand" in verdict.checks["reason"][0]
    # worse although judgments favour it
    assert rf.gate(None, old, new, "ndcg@10: better than 90%").status == "fail"
    found = rf.compare(None, {"old": old, "new": new}, baseline="old", **FAST)
    assert codes(found) == ["judged_differ"]
    assert "evaluate the runs with judged_only" in repr(found)


def test_a_bound_that_leaves_one_answer_decides(clicks: pl.DataFrame) -> None:
    before = rf.evaluate(clicks, run_of("bm25"), "ndcg@10")
    verdict = rf.gate(clicks, run_of("hybrid"), before, "ndcg@10: better than 70%")
    assert (verdict.status, codes(verdict)) == ("fail", ["judged_differ"])
    floor = rf.gate(clicks, run_of("hybrid"), before, "ndcg@10: at least 0.3")
    assert floor.status == "pass"


def test_a_diff_and_a_tuning_warn_and_show_condensed_values(clicks: pl.DataFrame) -> None:
    runs = {"bm25": run_of("bm25"), "dense": run_of("dense")}
    change = rf.diff(clicks, runs["bm25"], runs["dense"], names=list(runs))
    assert codes(change)[0] == "judged_differ"
    assert "over judged documents alone: 0.4831 → 0.4725" in repr(change)
    assert change.summary["lower_b"][0] < change.summary["mean_b"][0] < change.summary["upper_b"][0]
    tuned = rf.tune(clicks, runs, "rrf(k=60)", "ndcg@10", **FAST)
    assert codes(tuned)[0] == "judged_differ"
    assert tuned.runs["condensed_value"].to_list() == pytest.approx([0.4831, 0.4725], abs=1e-4)
    assert "dense 0.4725 (bounds 0.2273 to 0.8705)" in repr(tuned)


def test_a_caveat_is_silenced_by_its_code(clicks: pl.DataFrame) -> None:
    runs = {"bm25": run_of("bm25"), "hybrid": run_of("hybrid")}
    assert codes(rf.compare(clicks, runs, "ndcg@10", **FAST)) == ["judged_differ"]
    assert not rf.compare(clicks, runs, "ndcg@10", silence=["judged_differ"], **FAST).caveats
    stored = rf.evaluate(clicks, run_of("dense"), "ndcg@10")
    assert codes(stored) == ["queries_missing"]
    pair = {"a": stored, "b": stored}
    assert codes(rf.compare(None, pair, **FAST)) == ["queries_missing"] * 2
    assert not rf.compare(None, pair, silence=["queries_missing"], **FAST).caveats


def test_the_first_screen_of_a_report_says_it(clicks: pl.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    page, few = tmp_path / "page.html", pl.col("query_id") < "q0060"
    runs = {name: run_of(name).filter(few) for name in ("bm25", "hybrid")}
    rf.report(clicks.filter(few), runs, "ndcg@10", rules=RULE, output=page, **FAST)
    html = page.read_text(encoding="utf-8")
    assert "[judged_differ]" in html
    assert "<b>UNDECIDED" in html or "UNDECIDED" in html


# --- each system's own caveats


def rising(rows: int = 3) -> pl.DataFrame:
    """A run without ranks whose scores are distances, stored best first."""
    distances = pl.col("rank").cast(pl.Float64) / 10
    return run_of("bm25").filter(pl.col("rank") <= rows).with_columns(score=distances).drop("rank")


def test_a_distance_called_score_is_noticed_by_the_order_of_the_rows() -> None:
    qrels, run = DATA / "qrels.parquet", rising()
    with pytest.warns(rf.RankframeWarning, match=r'pass columns=\{"distance": "score"\}'):
        evaluated = rf.evaluate(qrels, run, "ndcg@10")
    assert codes(evaluated) == ["stored_worst_first"]
    found = rf.evaluate(qrels, run.rename({"score": "far"}), columns={"distance": "far"})
    assert not codes(found)
    # the same for metrics of what is retrieved, and for a score that is called a distance
    both = rf.evaluate(qrels, run, ["ndcg@10", "coverage@3"], items=run.select("doc_id").unique())
    assert both.caveats == evaluated.caveats
    turned = run.with_columns(score=-pl.col("score"))
    with pytest.warns(
        rf.RankframeWarning, match="If large numbers are better, the column is a score"
    ):
        rf.evaluate(qrels, turned, "ndcg@10", columns={"distance": "score"})


def test_ranks_that_count_from_the_worst_are_noticed() -> None:
    run = run_of("bm25").filter(pl.col("rank") <= 3).drop("score")
    run = run.with_columns(rank=4 - pl.col("rank"))
    with pytest.warns(rf.RankframeWarning, match="the column is a score: rename it") as warned:
        rf.evaluate(DATA / "qrels.parquet", run, "ndcg@10")
    assert "in 100% of the rows, 'rank' falls from the row before" in str(warned[0].message)


def test_a_run_that_was_cut_off_is_not_taken_for_a_bad_one() -> None:
    qrels, whole = DATA / "qrels.parquet", run_of("hybrid")
    cut = whole.filter(pl.col("rank") <= 3)
    said = "cut: the top 10 have 3.0 documents on average, and those of another system 10.0"
    with pytest.warns(rf.RankframeWarning, match=said):
        rf.compare(qrels, {"whole": whole, "cut": cut}, "ndcg@10", ci=None)
    assert "lengths_differ" in codes(rf.diff(qrels, whole, cut, names=["whole", "cut"]))
    stored = {"whole": rf.evaluate(qrels, whole), "cut": rf.evaluate(qrels, cut)}
    assert "lengths_differ" in codes(rf.compare(None, stored, ci=None))
    some = whole.filter(pl.col("rank") <= 9)
    assert "lengths_differ" not in codes(rf.diff(qrels, whole, some))


@pytest.mark.parametrize("options", [{"order": "score"}, {"silence": "stored_worst_first"}])
def test_scores_that_are_said_to_be_right_are_believed(options: dict[str, Any]) -> None:
    assert not codes(rf.evaluate(DATA / "qrels.parquet", rising(), "ndcg@10", **options))


def test_rows_in_no_order_say_nothing_of_scores() -> None:
    qrels, run = DATA / "qrels.parquet", rising()
    shuffled = run.sample(fraction=1, shuffle=True, seed=1)
    assert not codes(rf.evaluate(qrels, shuffled, "ndcg@10"))
    ranked = run.with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("query_id")
    )
    assert not codes(rf.evaluate(qrels, ranked, "ndcg@10"))
    few = run.head(9)
    assert "stored_worst_first" not in codes(rf.evaluate(qrels, few, "ndcg@10"))


def test_caveats_of_systems_are_named_once() -> None:
    queries = [f"q{n}" for n in range(20)]
    qrels = {query: {"a": 1, "b": 2} for query in queries}
    fine = {query: {"a": 2.0, "b": 1.0} for query in queries}
    tied = {query: {"a": 1.0, "b": 1.0, "c": 1.0} for query in queries}
    found = rf.compare(qrels, {"fine": fine, "tied": tied}, "mrr", baseline="fine", **FAST)
    texts = {caveat.code: caveat.text for caveat in found.caveats}
    assert texts["ties"].startswith("tied: ties: documents")
    # of judgments, so of both
    assert texts["all_relevant"].startswith("every judged document counts as relevant")
    assert codes(found).count("all_relevant") == 1


# --- what tests test

SKEWED = [-0.1] * 9 + [0.9]


def tables(times: int) -> dict[str, pl.DataFrame]:
    """Differences with mean 0, of which nine of ten are losses."""
    changes = SKEWED * times
    base = pl.DataFrame({"query_id": [f"q{n:04}" for n in range(len(changes))], "map": 0.1})
    return {"old": base, "new": base.with_columns(map=0.1 + pl.Series(changes))}


@pytest.mark.parametrize(
    ("test", "hypothesis"),
    [("wilcoxon", "differences symmetric around 0"), ("sign", "as many wins as losses")],
)
def test_a_test_of_the_median_is_not_taken_for_one_of_means(test: Any, hypothesis: str) -> None:
    found = rf.compare(None, tables(10), test=test, ci="t", baseline="old")
    assert found.table["significant"].item()
    assert codes(found) == ["median_test", "test_contradicts_interval"]
    assert f"test: {test}, hypothesis: {hypothesis}" in repr(found)
    assert f"hypothesis: {hypothesis}" in found.to_markdown()
    fewer = {name: table.head(99) for name, table in tables(10).items()}
    assert "median_test" not in codes(rf.compare(None, fewer, test=test, baseline="old"))
    by_mean = rf.compare(None, tables(10), ci="t", baseline="old")
    assert not by_mean.table["significant"].item()
    assert not by_mean.caveats
    assert "test: t, hypothesis: equal means" in repr(by_mean)


def test_tukey_says_what_it_corrected() -> None:
    systems = tables(2)
    found = rf.compare(None, systems, test="tukey", permutations=100)
    said = "p values corrected over pairs by the test, over metrics and slices by their number"
    assert said in repr(found)
    assert "holm" not in repr(found)


# --- the documentation


def test_every_caveat_is_documented_and_has_advice() -> None:
    page = (Path(__file__).parents[2] / "docs" / "caveats.md").read_text(encoding="utf-8")
    for code, info in CAVEATS.items():
        assert f"| `{code}` |" in page
        assert info.advice.endswith((".", "?"))
        assert not info.sentence.endswith(".")
        assert not re.search(r"[A-Z]", info.value[0])


def test_changed_judgments_warn_in_a_history() -> None:
    one = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "mrr")
    other = rf.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, "mrr")
    with pytest.warns(rf.RankframeWarning, match="judgments changed between results"):
        rf.history({"monday": one, "tuesday": other})


@pytest.mark.parametrize("stored", [False, True])
def test_a_call_warns_once_of_each_caveat(tmp_path: Path, *, stored: bool) -> None:
    qrels = {f"q{number}": {"a": 1} for number in range(20)}
    run = {f"q{number}": {"a": 1.0} for number in range(10)}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        rf.evaluate(qrels, run, "ndcg@10", output=tmp_path / "result" if stored else None)
    messages = [warning.message for warning in seen]
    assert [m.code for m in messages if isinstance(m, rf.RankframeWarning)] == ["queries_missing"]


def test_judgments_are_looked_at_within_the_cutoff_of_the_metric() -> None:
    docs = list("abcdefghij")
    qrels = {f"q{n}": dict.fromkeys("abcde", 1) for n in range(20)}
    runs = {"first": dict.fromkeys(qrels, docs), "last": dict.fromkeys(qrels, docs[::-1])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top, whole = (rf.compare(qrels, runs, f"precision@{k}", **FAST) for k in (5, 10))
    assert "judged_differ" in codes(top)
    assert "of the top 5, 100% are judged for first and 0% for last" in repr(top)
    assert "judged_differ" not in codes(whole)
