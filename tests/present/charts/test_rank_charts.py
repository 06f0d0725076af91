"""Charts of documents: cells, lines and bins by hand."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import CASE, DRAWN, FIRST, SECOND, rows, said


def test_the_heat_map_has_a_cell_for_every_rank() -> None:
    drawn = rows(rf.plot.heatmap(rf.judge(CASE.qrels, CASE.run), k=7, limit=5))
    grades = {(row["query_id"], row["rank"]): row["grade"] for row in drawn}
    queries = {query for query, _ in grades}
    assert len(queries) <= 5
    for query, ranking in CASE.rankings().items():
        if query in queries:
            expected = ["unjudged" if g is None else str(g) for g in ranking.grades[:7]]
            assert [grades[query, rank + 1] for rank in range(len(expected))] == expected


def test_cells_have_numbers_where_they_fit() -> None:
    judged = rf.judge(CASE.qrels, CASE.run)
    assert len(rf.plot.heatmap(judged, k=7, limit=5).to_dict()["layer"]) == 2
    assert len(rf.plot.heatmap(judged, k=60, limit=5).to_dict()["layer"]) == 1
    assert len(rf.plot.heatmap(judged, k=7, limit=5, height=40).to_dict()["layer"]) == 1


def test_a_sample_of_queries_is_always_the_same(message) -> None:
    judged = rf.judge(CASE.qrels, CASE.run)
    one, other = (rf.plot.heatmap(judged, k=2, limit=4) for _ in range(2))
    assert rows(one) == rows(other)
    more = {row["query_id"] for row in rows(rf.plot.heatmap(judged, k=2, limit=8))}
    assert {row["query_id"] for row in rows(one)} < more
    message(said(one))


def test_long_ids_are_labelled_shortly_and_told_apart() -> None:
    ids = [f"https://example.org/a/long/path/{at}" for at in range(3)]
    judged = rf.judge({i: {"a": 1} for i in ids}, {i: {"a": 1.0} for i in ids})
    found = rows(rf.plot.heatmap(judged))
    assert [row["query_id"] for row in found] == ids
    short = "https://example.org…"
    assert [row["label"] for row in found] == [short, f"{short} (2)", f"{short} (3)"]


def test_lines_by_hand(message) -> None:
    chart = rf.plot.bump({"first": FIRST, "second": SECOND})
    drawn = rows(chart, 0)
    ranks = {(row["doc"], row["system"]): row["rank"] for row in drawn}
    assert ranks["3", "first"] == 3
    assert ranks["3", "second"] == 2
    moved = {row["doc"]: row["moved"] for row in drawn}
    assert [doc for doc, way in moved.items() if way == "up"] == ["3", "6", "9"]
    assert [doc for doc, way in moved.items() if way == "down"] == ["2", "5", "8"]
    message(said(chart))


def test_documents_that_come_and_go() -> None:
    chart = rf.plot.bump({"a": ["x", "y"], "b": ["z", "x"], "c": ["z", "y"]}, k=2)
    moved = {row["doc"]: row["moved"] for row in rows(chart, 0)}
    assert moved == {"x": "in or out", "y": "the same", "z": "in or out"}
    assert len(rows(chart, 0)) == 6


def test_many_documents_are_cut_and_it_is_said(message) -> None:
    chart = rf.plot.bump({"a": list(range(90)), "b": list(range(90))}, k=90)
    assert len({row["doc"] for row in rows(chart, 0)}) == 50
    message(said(chart))


def test_what_is_no_ranking_is_refused(refusal) -> None:
    refusal(rf.plot.bump, {"a": [1]})
    refusal(rf.plot.bump, {"a": [1, 1], "b": [1]})
    refusal(rf.plot.bump, {"a": [], "b": []})
    nothing = pl.DataFrame(schema={"query_id": pl.String, "retrieved": pl.Int64})
    refusal(rf.plot.heatmap, nothing)
    refusal(rf.plot.calibration, rf.pair({"q": {"a": 1}}, {"q": {"b": 1.0}}))
    refusal(rf.plot.calibration, rf.pair([1], [1]), 0)


def test_bins_hold_as_many_and_equal_scores_share_one(message) -> None:
    qrels = {"q": {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3, "f": 3}}
    run = {"q": {"a": 0.1, "b": 0.3, "c": 0.3, "d": 0.3, "e": 0.8, "f": 1.0, "unjudged": 9.0}}
    chart = rf.plot.calibration(rf.pair(qrels, run), bins=3)
    assert [(r["score"], r["grade"], r["documents"]) for r in rows(chart)] == [
        (pytest.approx(0.25), 0.75, 4),
        (pytest.approx(0.9), 3.0, 2),
    ]
    message(said(chart))
    level = rows(rf.plot.calibration(rf.pair(qrels, run), 3, rel=2))
    assert [r["grade"] for r in level] == [0.25, 1.0]


def test_a_panel_for_each_system() -> None:
    spec = DRAWN["calibration"]().to_dict()
    assert spec["facet"]["row"]["sort"] == ["old", "new"]
    assert spec["resolve"]["scale"]["x"] == "independent"


def test_calibration_of_nothing_is_refused(refusal) -> None:
    refusal(rf.plot.calibration, {})
