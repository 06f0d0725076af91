"""Charts of one list show what textbooks do."""

from __future__ import annotations

import math

import pytest

import rankframe as rf
from rankframe.present.charts.palette import OTHER, RELEVANT, shades
from tests.support.chart_cases import GRADES, rows, said
from tests.support.chart_cases import RELEVANT as LIST


def test_a_strip_is_relevant_where_the_list_is(message) -> None:
    chart = rf.plot.strip(LIST)
    drawn = rows(chart)
    assert [row["rank"] for row in drawn] == list(range(1, 11))
    assert [row["kind"] == "relevant" for row in drawn] == [one == 1 for one in LIST]
    message(said(chart))
    scale = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert scale == {"domain": ["relevant", "not relevant"], "range": [RELEVANT, OTHER]}


def test_a_strip_takes_levels_and_several_lists(message) -> None:
    chart = rf.plot.strip({"a": GRADES, "b": [None, 2]}, rel=2)
    kinds = {(row["list"], row["rank"]): row["kind"] for row in rows(chart)}
    assert kinds["a", 5] == "not relevant"
    assert kinds["a", 6] == "relevant"
    assert kinds["b", 1] == "unjudged"
    message(said(chart))


def test_grades_are_bars_of_their_shade() -> None:
    chart = rf.plot.grades(GRADES)
    assert [row["value"] for row in rows(chart)] == GRADES
    scale = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert scale == {"domain": ["0", "1", "2", "3"], "range": shades(4)}
    gaps = rows(rf.plot.grades([1, None, 2]))
    assert [row["rank"] for row in gaps] == [1, 3]


def test_precision_at_each_rank_by_hand() -> None:
    chart = rf.plot.precision_at(LIST)
    found, expected = 0, []
    for at, one in enumerate(LIST, start=1):
        found += one
        expected.append(found / at)
    assert [row["value"] for row in rows(chart)] == pytest.approx(expected, rel=1e-12)
    labels = chart.to_dict()["layer"][1]
    assert labels["transform"] == [{"filter": "datum.kind == 'relevant'"}]
    assert "precision (higher is better)" in said(chart)


def test_any_metric_with_a_cutoff_at_each_rank() -> None:
    chart = rf.plot.precision_at([1, 0, 1], "recall")
    assert [row["value"] for row in rows(chart)] == [0.5, 0.5, 1.0]
    assert said(chart).startswith("recall at each rank")
    graded = rows(rf.plot.precision_at(GRADES, "dcg"))
    assert graded[0]["value"] == 3.0
    assert graded[1]["value"] == pytest.approx(3 + 2 / math.log2(3))


def test_the_first_relevant_document_by_hand() -> None:
    chart = rf.plot.reciprocal_rank([0, 0, 1, 1], k=4)
    assert [row["value"] for row in rows(chart, 0)] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert [row["label"] for row in rows(chart, 2)] == ["1/3 = 0.333"]
    assert "the value is 0" in said(rf.plot.reciprocal_rank([0, 0]))
    assert said(rf.plot.reciprocal_rank(k=3)).endswith("ranks 1 to 3")
    far = rf.plot.reciprocal_rank([0] * 30 + [1])
    assert rows(far, 0)[-1]["rank"] == 31


def test_discounts_by_hand() -> None:
    drawn = rows(rf.plot.discounts(3))
    found = {name: [r["value"] for r in drawn if r["system"].startswith(name)]
             for name in ("ndcg", "reciprocal", "rbp", "r_score", "err", "precision")}  # fmt: skip
    expected = {
        "ndcg": [1, 1 / math.log2(3), 1 / 2],
        "reciprocal": [1, 1 / 2, 1 / 3],
        "rbp": [1, 0.8, 0.64],
        "r_score": [1, 2**-0.25, 2**-0.5],
        "err": [1, 1 / 4, 1 / 12],
        "precision": [1, 1, 1],
    }
    for name, weights in expected.items():
        assert found[name] == pytest.approx(weights, rel=1e-12)


def test_long_lists_are_cut_and_it_is_said(message) -> None:
    for draw in (rf.plot.strip, rf.plot.grades, rf.plot.precision_at):
        chart = draw([1, 0] * 50)
        assert max(row["rank"] for row in rows(chart)) <= 60
        message(said(chart))


def test_one_document_is_drawn(message) -> None:
    for draw in (rf.plot.strip, rf.plot.grades, rf.plot.precision_at):
        assert len(rows(draw([1]))) == 1
    message(said(rf.plot.strip([1])))


def test_what_cannot_be_drawn_is_refused(refusal) -> None:
    for draw in (rf.plot.strip, rf.plot.grades, rf.plot.precision_at):
        refusal(draw, [])
    refusal(rf.plot.grades, [None])
    refusal(rf.plot.precision_at, {"a": [1], "b": [0]})
    refusal(rf.plot.discounts, 0)
    refusal(rf.plot.precision_at, [1, 0], "mapp")
