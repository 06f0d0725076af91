"""Judged queries that runs lack: counted before anything stands in their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.stored import _WITHOUT_A_RUN
from rankframe.analysis.systems import Lack
from rankframe.metrics import names_over
from tests.support.oracles import random_case

QUERIES = [f"q{n:03}" for n in range(100)]
QRELS = {query: {"a": 1, "b": 0} for query in QUERIES}
FAST: dict[str, Any] = {"replicates": 100}


def run(places: range | list[int]) -> dict[str, dict[str, float]]:
    """One that has some of the queries; every fifth query finds nothing that is relevant."""
    return {QUERIES[n]: {"a" if n % 5 else "x": 1.0, "b": 0.5} for n in places}


def stored(places: range | list[int], *metrics: str, **options: Any) -> rf.Result:
    return rf.evaluate(QRELS, run(places), metrics or ["mrr"], **options)


def texts(found: Any) -> list[str]:
    return [caveat.text for caveat in found.caveats]


# --- what is refused


def test_runs_without_a_query_in_common_are_not_compared(refusal) -> None:
    runs = {"old": run(range(50)), "new": run(range(50, 100))}
    refusal(rf.compare, QRELS, runs, "mrr", **FAST)
    found = rf.compare(QRELS, runs, "mrr", missing="zero", **FAST)
    said = "50.0% of the judged queries are not in the run. They are scored 0"
    assert texts(found) == [f"old: {said}", f"new: {said}"]


@pytest.mark.parametrize(("shared", "refused"), [(34, False), (33, True)])
def test_half_of_what_either_has_must_be_shared(shared: int, refused: bool, refusal) -> None:
    # 34 of 68 that either has; 33 of 67
    runs = {"old": run(range(shared)), "new": run(range(34 + shared))}
    if refused:
        runs["new"] = run(range(67))
        refusal(rf.compare, QRELS, runs, "mrr", **FAST)
    else:
        rf.compare(QRELS, runs, "mrr", **FAST)


def test_runs_of_the_same_few_queries_are_compared() -> None:
    runs = {"old": run(range(20)), "new": run(range(20))}
    assert len(rf.compare(QRELS, runs, "mrr", **FAST).caveats) == 2
    rf.compare(None, {"old": stored(range(20)), "new": stored(range(20))}, **FAST)


def test_stored_results_are_refused_where_their_values_show_it(refusal) -> None:
    halves = {"old": stored(range(50)), "new": stored(range(50, 100))}
    # 20 of the 100 find nothing, so these may be what either lacks
    refusal(rf.compare, None, halves, **FAST)
    rf.compare(None, halves, missing="zero", **FAST)
    counts = {
        name: stored(places, "num_retrieved", "num_relevant")
        for name, places in (("old", range(50)), ("new", range(50, 100)))
    }
    refusal(rf.compare, None, counts, **FAST)
    # what a table says of its queries is all that is known
    tables = {name: result.per_query for name, result in halves.items()}
    assert not rf.compare(None, tables, **FAST).caveats


def test_values_that_do_not_depend_on_the_run_show_nothing() -> None:
    halves = {name: stored(places, "num_relevant") for name, places in
              (("old", range(50)), ("new", range(50, 100)))}  # fmt: skip
    found = rf.compare(None, halves, **FAST)
    assert [lack.queries for lack in found.lacks] == [50, 50]


def test_which_metrics_need_a_run_to_be_other_than_0() -> None:
    case = random_case(5, queries=30, missing=True)
    lacking = set(case.qrels) - set(case.run)
    assert lacking
    for name in names_over("judged"):
        label = {"iprec": "iprec@0.1"}.get(name, name)
        try:
            result = rf.evaluate(case.qrels, case.run, label, ci=None)
        except rf.RankframeError:
            continue
        values = result.per_query.filter(pl.col("query_id").is_in(sorted(lacking)))
        without = bool((values[label].fill_null(0) != 0).any())
        assert without == (name in _WITHOUT_A_RUN), name


def test_a_gate_refuses_a_baseline_of_other_queries(refusal) -> None:
    before = stored(range(50), "mrr", "num_retrieved")
    rule = "mrr: no worse than -50%"
    for candidate in ((QRELS, run(range(50, 100))), (None, stored(range(50, 100), "mrr"))):
        refusal(rf.gate, *candidate, before, rule)
        assert rf.gate(*candidate, before, rule, missing="zero").caveats


def test_a_report_refuses_and_warns_as_a_comparison_does(tmp_path: Path, refusal) -> None:
    pytest.importorskip("altair")
    page = tmp_path / "page.html"
    runs = {"old": run(range(50)), "new": run(range(50, 100))}
    refusal(rf.report, QRELS, runs, "mrr", output=page, **FAST)
    rf.report(QRELS, runs | {"new": run(range(90))}, "mrr", output=page, missing="zero", **FAST)
    html = page.read_text(encoding="utf-8")
    assert "old: 50.0% of the judged queries are not in the run." in html


# --- what is said


def test_few_are_said_and_many_are_warned_of() -> None:
    runs = {"old": run(range(100)), "one": run(range(99)), "two": run(range(98))}
    found = rf.compare(QRELS, runs, ["mrr", "lag"], **FAST)
    few = "one lacks 1 of 100 judged queries (1.0%): scored 0, but left out of lag"
    many = "two lacks 2 of 100 judged queries (2.0%): scored 0, but left out of lag"
    assert found.lacks == [
        Lack("one", 1, 100, "scored 0, but left out of lag"),
        Lack("two", 2, 100, "scored 0, but left out of lag"),
    ]
    assert few in found.overview
    assert many in found.overview
    assert [caveat.code for caveat in found.caveats] == ["undefined_differ", "queries_missing"]
    warned = (
        "two: 2.0% of the judged queries are not in the run. They are scored 0, but left out of lag"
    )
    assert texts(found)[-1] == warned
    for shown in (repr(found), found._repr_html_()):
        assert few in shown
        assert many in shown
    assert f" {warned}" in found.to_markdown()
    assert f"Warning: {warned}" in repr(found)
    assert "2.0\\%" in found.to_latex()
    notes = found.ledger.filter(item="queries_missing").select("system", "value", "note").rows()
    said = "judged, but not in the run"
    assert notes == [
        ("old", 0.0, said),
        ("one", 1.0, f"{said}: scored 0, but left out of lag"),
        ("two", 2.0, f"{said}: scored 0, but left out of lag"),
    ]


def test_what_is_left_out_is_not_said_to_score_0(message) -> None:
    runs = {"old": run(range(100)), "two": run(range(98))}
    lag = rf.compare(QRELS, runs, ["lag"], **FAST)
    said = "two: 2.0% of the judged queries are not in the run. They are left out"
    assert texts(lag)[-1] == said
    skipped = rf.compare(QRELS, runs, "mrr", missing="skip", unpaired="skip", **FAST)
    assert texts(skipped) == [said]
    zero = rf.compare(QRELS, runs, ["mrr", "lag"], missing="skip", unpaired="zero", **FAST)
    message(zero.note("queries_unpaired"))


def test_what_only_some_systems_define_is_warned_of() -> None:
    runs = {
        "old": run(range(100)),
        "two": {q: {"x": 1.0} for q in QUERIES[:50]} | run(range(50, 100)),
    }
    found = rf.compare(QRELS, runs, ["mrr", "lag"], **FAST)
    lost = sum(bool(n % 5) for n in range(50))
    (caveat,) = (caveat for caveat in found.caveats if caveat.code == "undefined_differ")
    assert (caveat.code, caveat.value) == ("undefined_differ", lost / 80)


def test_stored_results_say_what_their_ledgers_counted() -> None:
    found = rf.compare(None, {"a": stored(range(100)), "b": stored(range(98))}, **FAST)
    said = "b: 2.0% of the judged queries are not in the run. They are scored 0"
    assert texts(found) == [said]


def test_a_verdict_says_it() -> None:
    before = stored(range(100), "mrr", "lag")
    for places, said, warned in ((99, "1 of 100 judged queries (1.0%)", False),
                                 (97, "3 of 100 judged queries (3.0%)", True)):  # fmt: skip
        verdict = rf.gate(QRELS, run(range(places)), before, "mrr: no worse than -50%")
        told = json.loads(verdict.to_json())
        assert told["counted"]["missing"] == {"candidate": 100 - places}
        assert bool(verdict.caveats) == bool(told["caveats"]) == warned
        assert f"candidate lacks {said}: scored 0" in repr(verdict)
        assert "candidate lacks" in verdict.headline
        assert ("[queries_missing]" in verdict.to_junit()) == warned
    lag = rf.gate(QRELS, run(range(97)), before, "lag: no worse than -50% where both are defined")
    said = "candidate: 3.0% of the judged queries are not in the run. They are left out"
    assert texts(lag) == [said]


def test_a_verdict_does_not_say_that_what_it_leaves_out_scored_0() -> None:
    before, after = (stored(places, "lag", missing="skip") for places in (range(100), range(98)))
    verdict = rf.gate(None, after, before, "lag: at most 9", unpaired="zero")
    assert "2 not on both sides: left out" in verdict.headline


def test_a_diff_says_it() -> None:
    found = rf.diff(QRELS, run(range(98)), run(range(100)), "mrr")
    assert "\n  a lacks 2 of 100 judged queries (2.0%): scored 0\n" in repr(found)
    assert not rf.diff(QRELS, run(range(100)), run(range(100)), "mrr").lacks


# --- how much was judged


FULL = {query: {f"d{n}": 10.0 - n for n in range(10)} for query in QUERIES}
GRADES = {query: {f"d{n}": n % 3 for n in range(10)} for query in QUERIES}
HALF = {query: {f"d{n}": float(n) for n in range(9, -1, -1)} for query in QUERIES[:58]}


def codes(found: Any) -> list[str]:
    return [caveat.code for caveat in found.caveats]


def test_queries_that_a_run_lacks_are_not_taken_for_unjudged() -> None:
    """All that both runs retrieve is judged: judgments favour none."""
    runs = {"full": FULL, "half": HALF}
    before = rf.evaluate(GRADES, FULL, "ndcg@10")
    after = rf.evaluate(GRADES, HALF, "ndcg@10")
    rule = "ndcg@10: no worse than -1%"
    found = {
        "compare": rf.compare(GRADES, runs, "ndcg@10", **FAST),
        "stored": rf.compare(None, {"full": before, "half": after}, **FAST),
        "unpaired": rf.compare(GRADES, runs, "ndcg@10", missing="skip", unpaired="zero", **FAST),
        "diff": rf.diff(GRADES, FULL, HALF),
        "tune": rf.tune(GRADES, runs, "rrf", folds=2, **FAST),
        "gate": rf.gate(GRADES, HALF, before, rule),
        "stored gate": rf.gate(None, after, before, rule),
        "enough judged": rf.gate(GRADES, HALF, before, rule, min_judged={10: 0.9}),
    }
    for name, one in found.items():
        assert codes(one) == ["queries_missing"], name
    # A candidate that lost its answers is worse, not undecided.
    for name in ("gate", "stored gate", "enough judged"):
        assert found[name].status == "fail", name
    few = rf.evaluate(GRADES, {"q000": FULL["q000"]}, "ndcg@10")
    assert codes(few) == ["queries_missing"]


@pytest.mark.slow
def test_a_report_does_not_take_missing_queries_for_unjudged(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    runs = {"full": FULL, "half": HALF}
    page = rf.report(GRADES, runs, "ndcg@10", output=tmp_path / "page.html", **FAST)
    assert "are judged; the rest counts" not in page.read_text(encoding="utf-8")


def test_judged_shares_are_those_of_queries_that_both_runs_have() -> None:
    half_judged = {
        query: scores if n % 2 else {f"x{n}": 1.0 - n / 10 for n in range(10)}
        for n, (query, scores) in enumerate(HALF.items())
    }
    runs = {"full": FULL, "half": half_judged}
    found = rf.compare(GRADES, runs, "ndcg@10", baseline="full", **FAST)
    assert codes(found) == ["judged_differ", "queries_missing"]
    said = found.caveats[0].text
    assert "of the top 10 in the queries that both have, 100% are judged for full and 50%" in said
    assert found.caveats[0].value == 0.5
    # Another system that has fewer queries changes nothing.
    three = {**runs, "few": {query: HALF[query] for query in QUERIES[:55:2]}}
    more = rf.compare(GRADES, three, "ndcg@10", baseline="full", missing="zero", **FAST)
    assert more.caveats[0].value == 0.5
    # A stored result does not say which queries it lacks, only how many.
    stored_pair = {name: rf.evaluate(GRADES, run, "ndcg@10") for name, run in runs.items()}
    assert rf.compare(None, stored_pair, **FAST).caveats[0].value == pytest.approx(0.5)
    labelled = {name: rf.evaluate(GRADES, run, ["ndcg@10", "judged@10"])
                for name, run in runs.items()}  # fmt: skip
    assert rf.compare(None, labelled, **FAST).caveats[0].value == pytest.approx(0.5)
