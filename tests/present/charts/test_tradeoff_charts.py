"""Two metrics against each other: dots, intervals, and who is beaten, by hand."""

from __future__ import annotations

from typing import Any

import pytest

import rankframe as rf
from rankframe.present.charts.tradeoff_charts import _names_at
from tests.support.chart_cases import CASE, RUNS, compared, results, rows, said

QRELS = {f"u{n}": {"a": 1, f"d{n}": 1} for n in range(40)}
RUNS_ = {
    "popular": {user: ["a", "b"] for user in QRELS},
    "own": {user: [f"d{n}", "b"] if n % 4 else ["b", "c"] for n, user in enumerate(QRELS)},
    "poor": {user: ["b", "c"] for user in QRELS},
}
ITEMS = ["a", "b", "c", *(f"d{n}" for n in range(40))]
METRICS = ["recall@1", "coverage@1", "gini@1"]


def found() -> dict[str, rf.Result]:
    return {
        name: rf.evaluate(QRELS, run, METRICS, items=ITEMS, no_overlap="zero")
        for name, run in RUNS_.items()
    }


def test_a_dot_a_system_with_its_intervals(message) -> None:
    chart = rf.plot.tradeoff(found())
    dots = {row["system"]: row for row in rows(chart, 0)}
    assert [dot["y"] for dot in dots.values()] == [0.5, 0.375, 0.0]
    assert [dot["x"] for dot in dots.values()] == [1 / 43, 31 / 43, 1 / 43]
    summary = found()["own"].summary.row(0, named=True)
    assert (dots["own"]["y_low"], dots["own"]["y_high"]) == (summary["ci_low"], summary["ci_high"])
    # Intervals without width say nothing; those of coverage need more lists.
    assert dots["popular"]["y_low"] is None
    assert dots["own"]["x_low"] is None
    assert [name for name, dot in dots.items() if dot["beaten"]] == ["poor"]
    message(said(chart))


def test_where_lower_is_better_less_beats() -> None:
    chart = rf.plot.tradeoff(found(), x="gini@1")
    assert {row["system"]: row["beaten"] for row in rows(chart, 0)} == {
        "popular": False, "own": False, "poor": True,
    }  # fmt: skip
    assert chart.to_dict()["title"]["text"] == ["recall@1 against gini@1"]


def test_a_comparison_is_drawn_as_it_is() -> None:
    both = compared(["ndcg@5", "mrr"])
    dots = rows(rf.plot.tradeoff(both, x="ndcg@5"), 0)
    assert [dot["system"] for dot in dots] == list(RUNS)
    for dot in dots:
        alone = rf.evaluate(CASE.qrels, RUNS[dot["system"]], ["mrr", "ndcg@5"], ci=None)
        assert (dot["y"], dot["x"]) == pytest.approx((alone["mrr"], alone["ndcg@5"]))


def test_what_cannot_be_drawn_is_refused(refusal) -> None:
    refusal(rf.plot.tradeoff, {})
    refusal(rf.plot.tradeoff, {"x": 1})
    refusal(rf.plot.tradeoff, results())
    refusal(rf.plot.tradeoff, found(), "recall@2")
    nothing = {"x": rf.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["lag", "coverage@1"],
                                catalogue=["a"])}  # fmt: skip
    empty = {"x": rf.evaluate({"q": {"a": 1}}, {"q": ["b"]}, ["lag", "coverage@1"],
                              catalogue=["a"], no_overlap="zero")}  # fmt: skip
    assert rows(rf.plot.tradeoff(nothing), 0)
    refusal(rf.plot.tradeoff, empty)


def test_names_stand_where_nothing_else_does() -> None:
    def dot(system: str, x: float, y: float) -> dict[str, Any]:
        return {"system": system, "x": x, "y": y}

    ends = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    near = [dot("first", 0.5, 0.5), dot("second", 0.53, 0.53), dot("at the right edge", 0.99, 0.1)]
    places = _names_at(near, ends, (400, 300))
    assert places[0] != places[1]
    assert places[2][0] == -1
    crowd = [dot("a name that is long", 0.5, 0.5)] * 9
    assert len(_names_at(crowd, ends, (400, 300))) == 9
