"""Charts of queries: bars and shares by hand."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import CASE, DRAWN, compared, results, rows, said

FRAME = pl.DataFrame({"query_id": list("abcd"), "m": [0.1, 0.7, None, 0.4]})


def test_bars_by_value_with_their_mean() -> None:
    chart = rf.plot.per_query(FRAME)
    drawn = rows(chart)
    assert [(r["query_id"], r["value"]) for r in drawn] == [
        ("b", 0.7), ("d", 0.4), ("a", 0.1), ("c", None),
    ]  # fmt: skip
    assert [r["mean"] for r in drawn] == pytest.approx([0.4] * 4)
    assert said(chart) == "m of every query run; 3 queries, 1 undefined dashed: the mean, 0.4000"
    given = rows(rf.plot.per_query(FRAME, "m", "given"))
    assert [r["query_id"] for r in given] == list("abcd")


def test_a_panel_for_each_system() -> None:
    chart = DRAWN["per_query"]()
    spec = chart.to_dict()
    means = {name: result["ndcg@5"] for name, result in results().items()}
    assert spec["facet"]["row"]["sort"] == [f"{name}: mean {m:.4f}" for name, m in means.items()]
    assert "higher is better" in said(chart)
    assert rows(rf.plot.per_query(compared())) == rows(chart)


def test_many_bars_are_a_sample_and_it_is_said() -> None:
    many = pl.DataFrame({"query_id": [f"q{n}" for n in range(9_000)]}).with_columns(
        m=pl.int_range(9_000) / 9_000
    )
    chart = rf.plot.per_query(many)
    drawn = rows(chart)
    assert len(drawn) == 400
    assert (drawn[0]["query_id"], drawn[-1]["query_id"]) == ("q8999", "q0")
    assert "a sample of 400 of 9,000 queries" in said(chart)


def test_one_query_is_drawn() -> None:
    one = FRAME.head(1)
    assert len(rows(rf.plot.per_query(one))) == 1
    assert "1 query" in said(rf.plot.distribution(one))


def test_an_unknown_order_is_refused(refusal) -> None:
    assert "order='up' is not one of" in refusal(rf.plot.per_query, FRAME, "m", "up")


def test_shares_of_a_distribution_add_up() -> None:
    drawn = rows(DRAWN["distribution"]())
    for name, result in results().items():
        mine = [row for row in drawn if row["system"] == name]
        assert sum(row["share"] for row in mine) == pytest.approx(1)
        assert sum(row["queries"] for row in mine) == result.per_query["ndcg@5"].count()
    lag = rf.evaluate(CASE.qrels, CASE.run, "lag").per_query
    chart = rf.plot.distribution({"x": lag}, "lag", bins=4)
    wide = rows(chart)
    assert (wide[0]["from"], wide[-1]["to"]) == (lag["lag"].min(), lag["lag"].max())
    assert chart.to_dict()["spec"]["encoding"]["x"]["title"] == "lag (lower is better)"


def test_bins_by_hand() -> None:
    frame = pl.DataFrame({"query_id": list("abcde"), "m": [0.0, 0.49, 0.5, 1.0, None]})
    drawn = rows(rf.plot.distribution({"x": frame}, "m", bins=2))
    assert [(r["from"], r["to"], r["queries"], r["share"]) for r in drawn] == [
        (0.0, 0.5, 2, 0.5),
        (0.5, 1.0, 2, 0.5),
    ]


def test_wrong_material_is_refused(refusal) -> None:
    frames = {name: result.per_query for name, result in results().items()}
    assert "has no values of 'map'" in refusal(rf.plot.distribution, frames, "map")
    nothing = pl.DataFrame({"query_id": ["a"], "m": [None]}, schema_overrides={"m": pl.Float64})
    assert "no query with a value" in refusal(rf.plot.distribution, nothing)
