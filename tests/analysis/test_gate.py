"""The gate: non-inferiority, floors, slices, and when it cannot decide."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from tests.support.oracles import random_case


def values(numbers: np.ndarray, metric: str = "map", **more: object) -> pl.DataFrame:
    """Stored values of queries q0000, q0001, …"""
    ids = [f"q{n:04}" for n in range(len(numbers))]
    return pl.DataFrame({"query_id": ids, metric: numbers, **more})


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Before and after, of 400 queries: a little better on average."""
    rng = np.random.default_rng(5)
    before = rng.beta(2, 2, 400)
    return before, np.clip(before + rng.normal(0.01, 0.05, 400), 0, 1)


def check(before: np.ndarray, after: np.ndarray, rule: str, **options: object) -> dict:
    metric = rule.split(":", maxsplit=1)[0]
    verdict = rf.gate(None, values(after, metric), values(before, metric), rule, **options)  # pyright: ignore[reportArgumentType]
    (row,) = verdict.checks.to_dicts()
    assert verdict.exit_code == {"pass": 0, "fail": 1, "undecided": 2}[row["status"]]
    return row


def test_an_absolute_margin_is_a_one_sided_paired_t_test(pair) -> None:
    before, after = pair
    row = check(before, after, "map: no worse than -0.005 at 95%")
    expected: Any = stats.ttest_1samp(after - before, -0.005, alternative="greater")
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
    plain: Any = stats.ttest_1samp(after - before, 0, alternative="greater")
    low = plain.confidence_interval(0.95).low
    assert row["bound"] == pytest.approx(low, rel=1e-12)
    assert row["change"] == pytest.approx((after - before).mean(), rel=1e-12)
    assert row["status"] == "pass"


def test_a_relative_margin_is_of_the_baseline(pair) -> None:
    before, after = pair
    row = check(before, after, "map: no worse than -0.5%")
    ratio = after.mean() / before.mean()
    assert row["change"] == pytest.approx(ratio - 1, rel=1e-12)
    apart = (after - ratio * before) / before.mean()
    error = apart.std(ddof=1) / math.sqrt(len(before))
    assert row["bound"] == pytest.approx(
        ratio - 1 - stats.t.ppf(0.95, len(before) - 1) * error, rel=1e-9
    )


@pytest.mark.parametrize("margin", [-0.02, -0.001, 0.004, 0.02])
@pytest.mark.parametrize("kind", ["no worse than", "better than"])
def test_it_passes_if_the_bound_reaches_the_margin(pair, margin: float, kind: str) -> None:
    if kind == "no worse than" and margin > 0:
        return
    row = check(pair[0], pair[1], f"map: {kind} {margin}")
    assert row["status"] == ("pass" if row["bound"] >= margin else "fail")
    assert (row["p_value"] <= 0.05) == (row["status"] == "pass")
    if row["status"] == "fail":
        assert f"asked for {kind} {margin:+.4f}" in row["reason"]


def test_a_change_for_the_worse_is_negative_where_lower_is_better(pair) -> None:
    before, after = pair
    row = check(before, after, "lag: no worse than -1%")
    assert row["change"] == pytest.approx(1 - after.mean() / before.mean(), rel=1e-9)
    assert row["change"] < 0
    assert row["status"] == "fail"


def test_nothing_changed_is_no_worse(pair) -> None:
    row = check(pair[0], pair[0], "map: no worse than 0%")
    assert (row["status"], row["change"], row["bound"]) == ("pass", 0.0, 0.0)
    assert check(pair[0], pair[0], "map: better than 0%")["status"] == "fail"


@pytest.mark.parametrize(
    ("rule", "status"),
    [("map: at least 0.4", "pass"), ("map: at least 0.9", "fail"), ("map: at most 0.9", "pass"),
     ("map: at most 0.1", "fail")],
)  # fmt: skip
def test_floors_and_ceilings_look_at_the_value(pair, rule: str, status: str) -> None:
    assert check(pair[0], pair[1], rule)["status"] == status


def test_too_few_queries_are_not_decided(pair) -> None:
    before, after = (side[:20] for side in pair)
    row = check(before, after, "map: no worse than -1%")
    assert (row["status"], row["reason"]) == ("undecided", "20 queries, fewer than 30")
    assert check(before, after, "map: no worse than -50%", min_queries=20)["status"] == "pass"


def test_a_percentage_of_nothing_is_not_decided() -> None:
    row = check(np.zeros(40), np.ones(40), "map: no worse than -1%")
    assert row["status"] == "undecided"
    assert "the baseline is 0" in row["reason"]


def test_too_few_judgments_are_not_decided() -> None:
    case = random_case(1, queries=60, missing=False)
    before = rf.evaluate(case.qrels, case.run, ["map", "judged@10"])
    share = before["judged@10"]
    assert share is not None
    for candidate in ((case.qrels, case.run), (None, before)):
        enough = rf.gate(*candidate, before, "map: no worse than 0%", min_judged={10: share - 0.01})
        assert enough.status == "pass"
        less = rf.gate(*candidate, before, "map: no worse than 0%", min_judged={10: share + 0.01})
        assert less.exit_code == 2
        assert f"{share:.1%} of the top 10 judged" in less.checks["reason"][0]


def test_judgments_must_be_known_to_be_asked_for(pair, refusal) -> None:
    refusal(
        rf.gate, None, values(pair[1]), values(pair[0]), "map: at least 0", min_judged={10: 0.5}
    )


def test_rules_per_slice_look_at_each(pair) -> None:
    before, after = pair
    attributes = values(before).select(
        "query_id", locale=pl.Series(["de"] * 200 + ["en"] * 190 + ["fr"] * 10)
    )
    after = after.copy()
    after[:200] -= 0.1
    verdict = rf.gate(
        None, values(after), values(before), "map: no worse than -1% per locale", queries=attributes
    )
    rows = {row["slice"]: row for row in verdict.checks.to_dicts()}
    assert {name: row["status"] for name, row in rows.items()} == {
        "de": "fail", "en": "pass", "fr": "skipped",
    }  # fmt: skip
    assert verdict.exit_code == 1
    alone = check(before[200:390], after[200:390], "map: no worse than -1%")
    assert rows["en"]["bound"] == pytest.approx(alone["bound"], rel=1e-12)


def test_a_rule_whose_slices_are_all_too_small_is_not_decided(pair) -> None:
    attributes = values(pair[0]).select("query_id", part=pl.int_range(pl.len()) % 100)
    verdict = rf.gate(
        None, values(pair[1]), values(pair[0]), "map: no worse than -1% per part",
        queries=attributes,
    )  # fmt: skip
    assert set(verdict.checks["status"]) == {"skipped"}
    assert verdict.status == "undecided"


def test_one_failure_outweighs_what_is_undecided(pair) -> None:
    before, after = (values(side, lag=pl.Series([None] * 400, dtype=pl.Float64)) for side in pair)
    rules = ["map: at least 0.99", "lag: no worse than -1%"]
    verdict = rf.gate(None, after, before, rules)
    assert verdict.checks["status"].to_list() == ["fail", "undecided"]
    assert verdict.status == "fail"
    assert rf.gate(None, after, before, rules[1]).status == "undecided"


def test_a_run_is_evaluated_and_paired_with_the_stored_baseline(tmp_path: Path, refusal) -> None:
    case, other = (random_case(seed, queries=80, missing=False) for seed in (3, 4))
    before = rf.evaluate(case.qrels, case.run, ["ndcg@10", "map"])
    before.write(tmp_path / "base")
    after = rf.evaluate(case.qrels, other.run, ["ndcg@10", "map"])
    rules = ["ndcg@10: no worse than -50%", "map: no worse than -1%"]
    live = rf.gate(case.qrels, other.run, tmp_path / "base", rules)
    stored = rf.gate(None, after, before, rules)
    assert live.checks.equals(stored.checks)
    per_query = rf.gate(case.qrels, other.run, tmp_path / "base" / "per_query.parquet", rules)
    assert per_query.checks.equals(stored.checks)
    refusal(rf.gate, case.qrels, other.run, before, rules, no_relevant="skip")


def test_queries_on_one_side_only_are_never_dropped_unsaid(pair, refusal) -> None:
    before, after = values(pair[0]), values(pair[1])[:390]
    refusal(rf.gate, None, after, before, "map: at least 0")
    skipped = rf.gate(None, after, before, "map: at least 0", unpaired="skip")
    assert "390 queries, 10 not on both sides: left out" in skipped.headline
    zero = rf.gate(None, after, before, "map: at least 0", unpaired="zero")
    assert zero.checks["value"][0] == pytest.approx(pair[1][:390].sum() / 400)


def test_weighted_metrics_are_evaluated_and_compared() -> None:
    case = random_case(2, queries=60, missing=False)
    weights = pl.DataFrame({"query_id": list(case.qrels), "w": range(1, len(case.qrels) + 1)})
    rule = "ndcg(average=weighted)@5: no worse than -1%"
    options: Any = {"queries": weights, "weight": "w"}
    before = rf.evaluate(case.qrels, case.run, "ndcg(average=weighted)@5", **options)
    verdict = rf.gate(case.qrels, case.run, before, rule, **options)
    assert verdict.status == "pass"
    assert verdict.checks["value"][0] == before["ndcg(average=weighted)@5"]


def test_metrics_that_the_baseline_lacks_are_refused(pair, refusal) -> None:
    refusal(rf.gate, None, values(pair[0]), values(pair[0]), "mop: at least 0")
    case = random_case(1)
    before = rf.evaluate(case.qrels, case.run, "map")
    refusal(rf.gate, case.qrels, case.run, before, "mrr: at least 0")


def test_json_and_junit_say_the_same(pair) -> None:
    before, after = pair
    rules = ["map: no worse than -5%", "map: at least 0.99"]
    verdict = rf.gate(None, values(after), values(before), rules)
    told = json.loads(verdict.to_json())
    assert (told["status"], told["exit_code"]) == ("fail", 1)
    assert [row["status"] for row in told["checks"]] == ["pass", "fail"]
    suite = ElementTree.fromstring(verdict.to_junit().split("\n", 1)[1])
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == rules
    failure = cases[1].find("failure")
    assert failure is not None
    assert "is not at least 0.99" in (failure.get("message") or "")


def test_junit_survives_hostile_names(pair) -> None:
    slices = values(pair[0]).select("query_id", part=pl.lit('<&"\x00\x1b]]>'))
    verdict = rf.gate(
        None, values(pair[1]), values(pair[0]), "map: at least 0 per part", queries=slices
    )
    suite = ElementTree.fromstring(verdict.to_junit().split("\n", 1)[1])
    (case,) = suite.findall("testcase")
    assert case.get("name") == 'map: at least 0 per part [part: <&"��]]>]'


@pytest.mark.parametrize("differing", [0, 9, 10])
def test_a_pass_that_rests_on_few_queries_says_so(differing: int) -> None:
    before = np.linspace(0, 1, 400)
    after = before.copy()
    after[:differing] += 0.01
    row = check(before, after, "map: no worse than -1%")
    assert (row["status"], row["differing"]) == ("pass", differing)
    few = f"{differing} of 400 queries differ, too few to trust the bound"
    assert row["reason"] == (few if differing < 10 else "")


# --- queries that are undefined for one side only


def lost(pair, rows: slice, side: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lags of 60 queries before and after, the one undefined in some of them."""
    both = [pl.Series(side[:60] + 1) for side in pair]
    places = range(60)[rows]
    both[side] = both[side].scatter(list(places), None)
    return values(both[1].to_numpy(), "lag").with_columns(lag=both[1]), values(
        both[0].to_numpy(), "lag"
    ).with_columns(lag=both[0])


def test_answers_that_one_side_lost_leave_a_rule_undecided(pair, message) -> None:
    rule = "lag: no worse than -10%"
    verdict = rf.gate(None, *lost(pair, slice(0, 25)), rule)
    assert (verdict.status, verdict.exit_code) == ("undecided", 2)
    (row,) = verdict.checks.to_dicts()
    message(row["reason"])
    assert (row["undefined_candidate"], row["undefined_baseline"], row["queries"]) == (25, 0, 35)
    message(verdict.headline)
    gained = rf.gate(None, *lost(pair, slice(58, 60), side=0), rule)
    assert gained.checks["undefined_baseline"].to_list() == [2]
    assert "undefined for the baseline alone in 2 ('q0058', 'q0059')" in gained.checks["reason"][0]
    assert gained.exit_code == 2
    ceiling = rf.gate(None, *lost(pair, slice(0, 25)), "lag: at most 10")
    assert ceiling.exit_code == 2


def test_a_rule_may_say_that_they_do_not_matter(pair, message) -> None:
    rule = "lag: no worse than -10% at 95% where both are defined"
    verdict = rf.gate(None, *lost(pair, slice(0, 25)), rule)
    message(verdict.headline)
    assert "undefined for the candidate alone in 25" in verdict.checks["reason"][0]
    both = rf.gate(
        None, *lost(pair, slice(0, 25)), [rule, "lag: at most 10 where both are defined"]
    )
    message(both.headline)


def test_few_of_them_are_named_and_no_more(pair) -> None:
    ids = {"query_id": [f"q{n:04}" for n in range(400)]}
    before = pl.DataFrame({**ids, "lag": pair[0] + 1})
    for count, status in ((4, "pass"), (5, "undecided")):
        after = before.with_columns(lag=pl.Series(pair[0] + 1).scatter(range(count), None))
        (row,) = rf.gate(None, after, before, "lag: no worse than -1%").checks.to_dicts()
        assert row["status"] == status
        assert f"undefined for the candidate alone in {count} ('q0000'" in row["reason"]


def test_what_is_undefined_on_both_sides_is_no_loss(pair, message) -> None:
    after, before = lost(pair, slice(0, 20))
    before = before.with_columns(lag=pl.when(after["lag"].is_not_null()).then(pl.col("lag")))
    verdict = rf.gate(None, after, before, "lag: no worse than -10%")
    message(verdict.headline)


def test_a_slice_that_lost_its_answers_is_not_skipped(pair) -> None:
    after, before = lost(pair, slice(0, 25))
    slices = before.select("query_id", locale=pl.lit("de"))
    verdict = rf.gate(None, after, before, "lag: no worse than -10% per locale", queries=slices,
                      min_queries=40)  # fmt: skip
    assert verdict.checks["status"].to_list() == ["undecided"]


# --- columns of somebody's own


@pytest.mark.parametrize("in_file", [False, True])
def test_a_column_is_not_decided_on_until_its_direction_is_said(pair, refusal, in_file) -> None:
    before, after = (values(side + 5, "latency") for side in pair)
    rule = "latency: no worse than -0.01%"
    refusal(rf.gate, None, after, before, rule)
    for way, status in (("lower_is_better", "fail"), ("higher_is_better", "pass")):
        rules: Any = {"rules": [rule], way: ["latency"]} if in_file else rule
        options: Any = {} if in_file else {way: ["latency"]}
        assert rf.gate(None, after, before, rules, **options).status == status
    # a floor needs no direction
    assert rf.gate(None, after, before, "latency: at most 100").status == "pass"


def test_repr_says_why(pair) -> None:
    verdict = rf.gate(None, values(pair[1]), values(pair[0]), "map: at least 0.99")
    assert repr(verdict).splitlines() == [
        "rankframe gate: FAIL: 1 failed (400 queries)",
        f"  fail       map: at least 0.99: {pair[1].mean():.4f} is not at least 0.99",
    ]


def test_a_rule_by_slice_needs_attributes(pair, refusal) -> None:
    both = values(pair[1]), values(pair[0])
    refusal(rf.gate, None, *both, "map: no worse than -1% per locale")


def test_a_rule_that_finds_nothing_to_check_is_not_decided(message) -> None:
    # nothing is relevant, and such queries are left out: no query is left
    qrels, run = {"q1": {"a": 0}}, {"q1": {"a": 1.0}}
    before = rf.evaluate(qrels, run, "map", no_relevant="skip")
    known = pl.DataFrame({"query_id": ["q1"], "locale": ["de"]})
    verdict = rf.gate(
        qrels, run, before, "map: at least 0 per locale", queries=known, no_relevant="skip"
    )
    assert (verdict.status, verdict.exit_code) == ("undecided", 2)
    message(verdict.headline)
    message(verdict.checks["reason"].to_list())
    assert json.loads(verdict.to_json())["exit_code"] == 2
    assert 'errors="1"' in verdict.to_junit()
