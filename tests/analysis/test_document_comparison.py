"""Metrics without values per query, and of retrieved documents, where something is decided."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.retrieved import shop

SHOP = shop(7)
# Every fifth place goes to one document.
OTHER = SHOP.run.with_columns(
    pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("d9")).otherwise("doc_id").alias("doc_id")
).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
RUNS = {"old": SHOP.run, "new": OTHER}
BESIDE: Any = {"train": SHOP.train, "items": SHOP.items}
NAMES = ["novelty@5", "gini@5", "ndcg@10", "coverage@5"]


def compared(qrels: Any = SHOP.qrels, names: Any = NAMES, **options: Any) -> rf.Comparison:
    options = {"no_overlap": "zero", **BESIDE, **options}
    return rf.compare(qrels, RUNS, names, baseline="old", **options)


def test_values_are_those_of_each_alone() -> None:
    found = compared(queries=SHOP.users, by="segment")
    alone = {name: rf.evaluate(SHOP.qrels, run, NAMES, no_overlap="zero", **BESIDE,
                               queries=SHOP.users, by="segment")
             for name, run in RUNS.items()}  # fmt: skip
    assert found.table["metric"].unique(maintain_order=True).to_list() == NAMES
    for row in found.table.filter(pl.col("by").is_null()).to_dicts():
        assert row["baseline_value"] == alone["old"][row["metric"]]
        assert row["value"] == alone["new"][row["metric"]]
    gini = found.table.filter(metric="gini@5")
    assert gini["wins"].null_count() == gini.height
    whole = gini.row(0, named=True)
    assert whole["significant"]
    assert whole["ci_low"] < whole["difference"] < whole["ci_high"]
    sliced = gini.filter(slice="new").row(0, named=True)
    own = alone["new"].slices.filter(slice="new", metric="gini@5")["value"][0]
    assert (sliced["value"], sliced["p_value"]) == (own, None)


def test_equal_systems_do_not_differ() -> None:
    found = rf.compare(None, {"a": SHOP.run, "b": SHOP.run}, ["gini@5"], **BESIDE)
    row = found.table.row(0, named=True)
    assert (row["difference"], row["p_value"], row["significant"]) == (0.0, 1.0, False)


def test_without_judgments_and_in_text() -> None:
    found = compared(None, ["coverage@5", "popularity@5"])
    assert "coverage@5" in str(found)
    assert "gini@5" in compared(None, ["gini@5", "novelty@5"]).to_markdown()


def test_stored_results_do_not_keep_counts(tmp_path: Path, refusal) -> None:
    before = rf.evaluate(SHOP.qrels, SHOP.run, NAMES, no_overlap="zero", **BESIDE)
    before.write(tmp_path / "old")
    options: Any = {"no_overlap": "zero", **BESIDE}
    rules = ["novelty@5: no worse than -50%", "coverage@5: at least 0.5", "gini@5: at most 0.01"]
    verdict = rf.gate(SHOP.qrels, OTHER, tmp_path / "old", rules, **options)
    assert verdict.checks["status"].to_list() == ["pass", "pass", "fail"]
    refusal(rf.gate, SHOP.qrels, OTHER, tmp_path / "old", "gini@5: no worse than -1%", **options)
    refusal(rf.compare, None, {"a": tmp_path / "old", "b": before}, ["gini@5"])


def test_a_diff_takes_metrics_of_each_query(refusal) -> None:
    change = rf.diff(SHOP.qrels, SHOP.run, OTHER, "popularity@5", train=SHOP.train)
    assert change.summary["wins"][0] + change.summary["losses"][0] > 0
    refusal(rf.diff, SHOP.qrels, SHOP.run, OTHER, "gini@5", train=SHOP.train)


def test_a_report_has_metrics_over_documents(tmp_path: Path, refusal) -> None:
    page = rf.report(
        SHOP.qrels, RUNS, ["ndcg@10", *NAMES[:2]], output=tmp_path / "page.html",
        no_overlap="zero", **BESIDE,
    )  # fmt: skip
    assert "gini@5" in page.read_text(encoding="utf-8")
    refusal(rf.report, SHOP.qrels, RUNS, ["gini@5"], output=tmp_path / "no.html", **BESIDE)


# --- Gaps between slices.

GROUPS = [*["x"] * 80, *["y"] * 60, *["z"] * 40, *["few"] * 20, *[None] * 5]
IDS = [f"q{at}" for at in range(len(GROUPS))]
USERS = pl.DataFrame({"query_id": IDS, "group": GROUPS, "weight": 1.0})
JUDGED = pl.DataFrame({"query_id": IDS, "doc_id": "a", "relevance": 1})
GAP, MEAN = "gap(mrr, by=group)", "gap(mrr, by=group, kind=mean)"


def ranked(seed: int, favoured: float = 0.0) -> pl.DataFrame:
    """Six documents a query; a relevant one gains where its query is in x."""
    scores = np.random.default_rng(seed).random((len(IDS), 6))
    scores[np.array(GROUPS) == "x", 0] += favoured
    return pl.DataFrame({"query_id": np.repeat(IDS, 6), "doc_id": list("abcdef") * len(IDS),
                         "score": scores.ravel()})  # fmt: skip


FAIR, UNFAIR, OTHERWISE = ranked(1), ranked(1, 0.6), ranked(2)
SIDES = {"unfair": UNFAIR, "fair": FAIR, "other": OTHERWISE, "again": UNFAIR}


def gaps(systems: Any = SIDES, names: Any = (GAP, MEAN), **options: Any) -> rf.Comparison:
    return rf.compare(JUDGED, systems, names, queries=USERS, **options)


def test_gaps_are_those_of_each_alone() -> None:
    found = gaps(baseline="unfair")
    assert found.systems["metric"].unique(maintain_order=True).to_list() == [GAP, MEAN]
    for name, run in SIDES.items():
        alone = rf.evaluate(JUDGED, run, [GAP, MEAN], queries=USERS)
        for label in (GAP, MEAN):
            own = found.systems.filter(system=name, metric=label).row(0, named=True)
            assert own["value"] == alone[label]
            interval = alone.summary.filter(metric=label).select("ci_low", "ci_high").row(0)
            assert (own["ci_low"], own["ci_high"]) == pytest.approx(interval, abs=1e-9)
            assert (own["queries"], own["small"]) == (180, False)
    means: list[Any] = [
        found.per_query["fair"].join(USERS, on="query_id").filter(group=one)["mrr"].mean()
        for one in "xyz"
    ]
    pairs = [abs(one - other) for one, other in combinations(means, 2)]
    rows = found.table.filter(system="fair")
    assert rows["value"].to_list() == pytest.approx([max(pairs), sum(pairs) / 3], abs=1e-12)
    assert rows["difference"].to_list() == (rows["value"] - rows["baseline_value"]).to_list()
    item = found.ledger.filter(item="gap_slices_left_out")
    assert item["value"].item() == 4
    assert "'few', '(none)'" in item["note"].item()


def test_smaller_gaps_are_better_and_the_same_run_is_no_other() -> None:
    found = gaps(baseline="unfair").table.filter(metric=GAP)
    closed, other, again = found.to_dicts()
    for row in (closed, other):
        assert row["significant"]
        assert row["ci_low"] < row["difference"] < row["ci_high"] < 0
    assert (again["difference"], again["p_value"], again["significant"]) == (0, 1, False)
    assert (again["ci_low"], again["ci_high"]) == (0, 0)
    # Runs that share their queries' errors are told apart better than those that do not.
    assert closed["ci_high"] - closed["ci_low"] < other["ci_high"] - other["ci_low"]
    assert found["wins"].null_count() == 3
    marked = gaps(baseline="unfair").to_markdown()
    assert f"**{closed['value']:.4f}**<sup>" in marked or f"**{other['value']:.4f}**<sup>" in marked


def test_only_what_is_asked_for_is_tested() -> None:
    """A gap's own metric, and its slices, would be further tests to correct for."""
    alone = gaps(names=GAP, baseline="unfair").table
    assert (alone.height, alone["metric"].unique().to_list()) == (3, [GAP])
    both = gaps(names=["mrr", GAP], baseline="unfair", by="group").table
    assert both.filter(pl.col("by").is_null())["metric"].to_list() == ["mrr"] * 3 + [GAP] * 3
    assert set(both.filter(by="group")["metric"]) == {"mrr"}
    same = ["difference", "ci_low", "ci_high", "p_value"]
    assert both.filter(metric=GAP).select(same).equals(alone.select(same))


def test_by_the_errors_of_the_slices_where_these_are_clear() -> None:
    """Of two slices that are far apart in both runs: a paired t interval by hand."""
    two = USERS.filter(pl.col("group").is_in(["x", "y"]))
    stored = two.with_columns(mrr=pl.col("group").replace_strict({"x": 5.0, "y": 0.0}))
    rng = np.random.default_rng(8)
    before = stored.with_columns(pl.col("mrr") + pl.Series(rng.random(140)))
    after = before.with_columns(pl.col("mrr") * 1.1 + pl.Series(rng.random(140)) / 4)
    systems = {"a": before.drop("group", "weight"), "b": after.drop("group", "weight")}
    row = rf.compare(None, systems, GAP, queries=two).table.row(0, named=True)
    apart = [
        (after.filter(group=g)["mrr"] - before.filter(group=g)["mrr"]).to_numpy() for g in "xy"
    ]
    assert row["difference"] == pytest.approx(apart[0].mean() - apart[1].mean(), abs=1e-12)
    error = np.sqrt(sum(some.var(ddof=1) / len(some) for some in apart))
    half = 2.0010 * error  # Student's t of 59 degrees
    bounds = row["difference"] - half, row["difference"] + half
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(bounds, abs=0.1 * half)


def test_the_same_bits_however_rows_lie() -> None:
    found = gaps(baseline="unfair")
    shuffled = {name: run.sample(fraction=1, shuffle=True, seed=3) for name, run in SIDES.items()}
    some: list[dict[str, Any]] = [{}, {"max_memory": "400MiB"}]
    for options in some:
        other = rf.compare(
            JUDGED.reverse(), shuffled, [GAP, MEAN], queries=USERS.reverse(), baseline="unfair",
            **options,
        )  # fmt: skip
        assert_frame_equal(other.table, found.table, check_exact=True)
        assert_frame_equal(other.systems, found.systems, check_exact=True)


@pytest.mark.parametrize("name", ["mrr(average=geometric)", "recall(average=micro)@3",
                                  "ndcg(average=weighted)@3"])  # fmt: skip
def test_of_averages_of_any_kind(name: str) -> None:
    weight = "weight" if "weighted" in name else None
    label = f"gap({name}, by=group)"
    row = gaps(names=label, baseline="unfair", weight=weight).table.row(0, named=True)
    assert row["baseline_value"] == pytest.approx(
        rf.evaluate(JUDGED, UNFAIR, label, queries=USERS, weight=weight)[label], abs=1e-12
    )
    assert row["ci_low"] < row["difference"] < row["ci_high"]


def test_of_what_is_shown() -> None:
    runs = {"old": SHOP.run, "new": OTHER}
    options: Any = {"queries": SHOP.users, "no_overlap": "zero", **BESIDE}
    label = "gap(novelty@4, by=segment)"
    found = rf.compare(SHOP.qrels, runs, label, baseline="old", **options).table.row(0, named=True)
    assert found["value"] == rf.evaluate(SHOP.qrels, OTHER, label, **options)[label]
    assert found["p_value"] is not None


def test_whatever_the_test_and_the_interval() -> None:
    plain = gaps(names=GAP).table
    for test in ("wilcoxon", "randomisation", "tukey"):
        other = gaps(names=GAP, test=test, permutations=100).table
        times = 6 if test == "tukey" else 1  # which corrects over pairs by itself
        expected = [min(p * times, 1) for p in plain["p_value"]]
        assert other["p_value"].to_list() == pytest.approx(expected)
    for ci in ("t", None):
        none = gaps(names=GAP, ci=ci)
        assert none.table["ci_low"].null_count() == none.table.height
        assert none.systems["ci_low"].null_count() == 4
        assert none.table["p_value"].to_list() == plain["p_value"].to_list()
    bounded = gaps(names=GAP, bounds=True).systems
    assert bounded["lower_bound"].null_count() == 4


def test_slices_that_a_run_does_not_have_are_left_out() -> None:
    lacking = FAIR.join(USERS.filter(group="y"), on="query_id", how="anti")
    found = gaps({"all": FAIR, "some": lacking}, GAP, missing="skip", unpaired="skip")
    assert found.systems["queries"].to_list() == [120, 120]
    zeros = gaps({"all": FAIR, "some": lacking}, GAP, missing="zero").systems
    assert zeros["queries"].to_list() == [180, 180]
    assert zeros["value"][1] > zeros["value"][0]


def test_a_gate_decides_on_gaps(tmp_path: Path) -> None:
    rf.evaluate(JUDGED, UNFAIR, "mrr").write(tmp_path / "old")
    asked = ("no worse than -5%", "better than 0.01", "at most 0.1", "no worse than -0.02")
    rules = [f"{GAP}: {rule}" for rule in asked]
    for run, statuses in (
        (FAIR, ["pass", "pass", "pass", "pass"]), (UNFAIR, ["pass", "fail", "fail", "pass"])
    ):  # fmt: skip
        verdict = rf.gate(JUDGED, run, tmp_path / "old", rules, queries=USERS)
        assert verdict.checks["status"].to_list() == statuses
    assert "0 of 180 queries differ" in verdict.checks["reason"][0]
    first = rf.gate(JUDGED, FAIR, tmp_path / "old", rules, queries=USERS).checks.to_dicts()[1]
    assert first["bound"] < first["change"] == first["baseline_value"] - first["value"]
    assert first["p_value"] < 0.05
    # Stored results on both sides are enough: they keep values per query.
    both = rf.gate(None, rf.evaluate(JUDGED, FAIR, "mrr"), tmp_path / "old", rules, queries=USERS)
    assert both.checks["bound"].to_list()[1] == first["bound"]


def test_a_gate_says_why_it_does_not_decide(refusal) -> None:
    fair = rf.evaluate(JUDGED, FAIR, "mrr")
    checks = rf.gate(JUDGED, UNFAIR, fair, f"{GAP}: no worse than -5%", queries=USERS).checks
    assert checks["status"].item() == "undecided"
    assert "the baseline's gap may be 0" in checks["reason"].item()
    one = USERS.with_columns(group=pl.lit("x"))
    checks = rf.gate(JUDGED, UNFAIR, fair, f"{GAP}: at most 1", queries=one).checks
    assert checks["status"].item() == "undecided"
    assert "needs at least two slices" in checks["reason"].item()
    demanding = rf.gate(JUDGED, UNFAIR, fair, f"{GAP}: at most 1", queries=USERS, min_queries=900)
    assert demanding.checks["status"].item() == "undecided"
    assert "205 queries, fewer than 900" in demanding.checks["reason"].item()
    # What decides comes first, then what limits it: one query is undefined for one side.
    lacking = pl.when(pl.col("query_id") != "q0").then("mrr").alias("mrr")
    unfair = rf.evaluate(JUDGED, UNFAIR, "mrr").per_query.with_columns(lacking)
    limited = rf.gate(None, unfair, fair.per_query, f"{GAP}: at most 0.1", queries=USERS).checks
    assert limited["status"].item() == "fail"
    first, then = limited["reason"].item().split("; ")
    assert first.endswith("is not at most 0.1")
    assert then.startswith("of 205 queries")
    refusal(rf.gate, JUDGED, FAIR, fair, f"{GAP}: at most 1 per group", queries=USERS)
    refusal(rf.gate, JUDGED, FAIR, fair, f"{GAP}: at most 1")
    refusal(rf.gate, JUDGED, FAIR, fair, "gap(map, by=group): at most 1", queries=USERS)
    refusal(rf.compare, JUDGED, SIDES, GAP, queries=one)


def test_a_report_shows_gaps(tmp_path: Path, refusal) -> None:
    runs = {"unfair": UNFAIR, "fair": FAIR}
    page = rf.report(
        JUDGED, runs, ["mrr", MEAN], output=tmp_path / "page.html", queries=USERS,
        rules=[f"{GAP}: at most 0.2"],
    ).read_text(encoding="utf-8")  # fmt: skip
    assert "How far the averages of mrr over slices by group are apart" in page
    assert "the mean difference of two" in page
    refusal(rf.report, JUDGED, runs, [GAP, "mrr"], output=tmp_path / "no.html", queries=USERS)


def test_differences_between_many_slices_are_not_tested(message) -> None:
    ids = [f"q{at}" for at in range(30 * 11)]
    many = pl.DataFrame({"query_id": ids, "group": [at % 11 for at in range(len(ids))]})
    rng = np.random.default_rng(5)
    sides = {name: pl.DataFrame({"query_id": ids, "mrr": rng.random(len(ids))}) for name in "ab"}
    found = rf.compare(None, sides, [GAP, MEAN], queries=many)
    assert found.table["p_value"].is_null().to_list() == [False, True]
    assert found.table["ci_low"].is_null().to_list() == [False, True]
    assert found.systems["ci_low"].null_count() == 0
    note = found.ledger.filter(item="gap_untested")["note"].item()
    message(note)
    verdict = rf.gate(None, sides["a"], sides["b"], f"{MEAN}: no worse than -0.1", queries=many)
    assert verdict.status == "undecided"
    assert "with 11 slices" in verdict.checks["reason"].item()
    assert (
        rf.gate(None, sides["a"], sides["b"], f"{MEAN}: at most 1", queries=many).status == "pass"
    )
