"""Charts of queries: bars, shares, cells and slices by hand."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import CASE, DRAWN, OTHER, results, rows


def test_bars_are_sorted_and_told_apart() -> None:
    change = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")
    drawn = rows(rf.plot.differences(change))
    deltas = [row["delta"] for row in drawn]
    assert deltas == sorted(deltas, reverse=True)
    assert len(drawn) == change.per_query.drop_nulls("delta").height
    wins = change.summary["wins"][0]
    assert sum(row["outcome"] == f"better ({wins:,})" for row in drawn) == wins


def test_many_bars_are_a_sample() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(3000)}
    one = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    other = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    drawn = rows(rf.plot.differences(rf.diff(qrels, one, other, "mrr")))
    assert len(drawn) == 400


def test_shares_of_a_distribution_add_up() -> None:
    drawn = rows(DRAWN["distribution"]())
    for name, result in results().items():
        mine = [row for row in drawn if row["system"] == name]
        assert sum(row["share"] for row in mine) == pytest.approx(1)
        assert sum(row["queries"] for row in mine) == result.per_query["ndcg@5"].count()
    lag = rf.evaluate(CASE.qrels, CASE.run, "lag").per_query
    wide = rows(rf.plot.distribution({"x": lag}, "lag", bins=4))
    assert (wide[0]["from"], wide[-1]["to"]) == (lag["lag"].min(), lag["lag"].max())


def test_the_heat_map_has_a_cell_for_every_rank() -> None:
    drawn = rows(DRAWN["heatmap"]())
    grades = {(row["query_id"], row["rank"]): row["grade"] for row in drawn}
    queries = {query for query, _ in grades}
    assert len(queries) <= 5
    for query, ranking in CASE.rankings().items():
        if query in queries:
            expected = ["unjudged" if g is None else str(g) for g in ranking.grades[:7]]
            assert [grades[query, rank + 1] for rank in range(len(expected))] == expected


def test_slices_carry_their_intervals() -> None:
    chart = DRAWN["slices"]().to_dict()
    drawn = chart["data"]["values"]
    assert {row["slice"] for row in drawn} == {"part: p0", "part: p1", "part: p2"}
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in drawn)


def test_wrong_material_is_refused(refusal) -> None:
    plain = results()
    assert "there are no slices" in refusal(
        rf.plot.slices, {name: result.slices for name, result in plain.items()}, "ndcg@5"
    )
    frames = {name: result.per_query for name, result in plain.items()}
    assert "has no values of 'map'" in refusal(rf.plot.distribution, frames, "map")


def test_queries_without_a_change_to_show_have_no_bar() -> None:
    qrels = {"q1": {"x": 1}, "q2": {"x": 1}, "q3": {"x": 1}}
    first, second = {"x": 1.0}, {"u": 2.0, "x": 1.0}
    change = rf.diff(qrels, {"q1": first, "q2": first}, {"q1": second, "q2": first, "q3": first},
                     "mrr", missing="skip")  # fmt: skip
    drawn = rows(rf.plot.differences(change))
    assert [(r["query_id"], r["delta"], r["outcome"]) for r in drawn] == [
        ("q2", 0.0, "the same (1)"),
        ("q1", -0.5, "worse (1)"),
    ]


def test_bins_by_hand() -> None:
    frame = pl.DataFrame({"query_id": list("abcde"), "m": [0.0, 0.49, 0.5, 1.0, None]})
    drawn = rows(rf.plot.distribution({"x": frame}, "m", bins=2))
    assert [(r["from"], r["to"], r["queries"], r["share"]) for r in drawn] == [
        (0.0, 0.5, 2, 0.5),
        (0.5, 1.0, 2, 0.5),
    ]
    empty = rows(rf.plot.distribution({"x": frame.filter(pl.col("m").is_null())}, "m", bins=1))
    assert [(r["queries"], r["share"]) for r in empty] == [(0, 0)]


def test_a_sample_of_queries_is_always_the_same() -> None:
    judged = rf.judge(CASE.qrels, CASE.run)
    one, other = (rows(rf.plot.heatmap(judged, k=2, most=4)) for _ in range(2))
    assert one == other
    more = {row["query_id"] for row in rows(rf.plot.heatmap(judged, k=2, most=8))}
    assert {row["query_id"] for row in one} < more


def test_long_ids_are_labelled_shortly_and_told_apart() -> None:
    ids = [f"https://example.org/a/long/path/{at}" for at in range(3)]
    judged = rf.judge({i: {"a": 1} for i in ids}, {i: {"a": 1.0} for i in ids})
    found = rows(rf.plot.heatmap(judged))
    assert [row["query_id"] for row in found] == ids
    short = "https://example.org…"
    assert [row["label"] for row in found] == [short, f"{short} (2)", f"{short} (3)"]
