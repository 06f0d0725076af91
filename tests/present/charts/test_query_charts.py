"""Charts of queries: bars and shares by hand."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import CASE, DRAWN, OTHER, compared, results, rows, said

FRAME = pl.DataFrame({"query_id": list("abcd"), "m": [0.1, 0.7, None, 0.4]})


def test_bars_by_value_with_their_mean(message) -> None:
    chart = rf.plot.per_query(FRAME)
    drawn = rows(chart)
    assert [(r["query_id"], r["value"]) for r in drawn] == [
        ("b", 0.7), ("d", 0.4), ("a", 0.1), ("c", None),
    ]  # fmt: skip
    assert [r["mean"] for r in drawn] == pytest.approx([0.4] * 4)
    message(said(chart))
    given = rows(rf.plot.per_query(FRAME, "m", "given"))
    assert [r["query_id"] for r in given] == list("abcd")


def test_a_panel_for_each_system() -> None:
    chart = DRAWN["per_query"]()
    spec = chart.to_dict()
    means = {name: result["ndcg@5"] for name, result in results().items()}
    assert spec["facet"]["row"]["sort"] == [f"{name}: mean {m:.4f}" for name, m in means.items()]
    assert "higher is better" in said(chart)
    assert rows(rf.plot.per_query(compared())) == rows(chart)


def test_many_bars_are_a_sample_and_it_is_said(message) -> None:
    many = pl.DataFrame({"query_id": [f"q{n}" for n in range(9_000)]}).with_columns(
        m=pl.int_range(9_000) / 9_000
    )
    chart = rf.plot.per_query(many)
    drawn = rows(chart)
    assert len(drawn) == 400
    assert (drawn[0]["query_id"], drawn[-1]["query_id"]) == ("q8999", "q0")
    message(said(chart))


def test_one_query_is_drawn() -> None:
    one = FRAME.head(1)
    assert len(rows(rf.plot.per_query(one))) == 1
    assert "1 query" in said(rf.plot.distribution(one))


def test_an_unknown_order_is_refused(refusal) -> None:
    refusal(rf.plot.per_query, FRAME, "m", "up")


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
    refusal(rf.plot.distribution, frames, "map")
    nothing = pl.DataFrame({"query_id": ["a"], "m": [None]}, schema_overrides={"m": pl.Float64})
    refusal(rf.plot.distribution, nothing)


def frame(values: Sequence[float | None], queries: str = "abcd") -> pl.DataFrame:
    return pl.DataFrame({"query_id": list(queries), "mrr": values})


def test_bars_are_sorted_and_told_apart(message) -> None:
    change = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")
    drawn = rows(rf.plot.differences(change))
    deltas = [row["delta"] for row in drawn]
    assert deltas == sorted(deltas, reverse=True)
    assert len(drawn) == change.per_query.drop_nulls("delta").height
    wins = change.summary["wins"][0]
    assert sum(row["outcome"] == f"better ({wins:,})" for row in drawn) == wins
    message(said(DRAWN["differences"]()))


def test_many_bars_are_a_sample(message) -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(3000)}
    one = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    other = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    chart = rf.plot.differences(rf.diff(qrels, one, other, "mrr"))
    assert len(rows(chart)) == 400
    message(said(chart))


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


def test_dots_by_hand(message) -> None:
    chart = rf.plot.scatter(
        {"old": frame([0.5, 1.0, 0.2, None]), "new": frame([1.0, 0.5, 0.2, 1.0])}
    )
    assert [(r["query_id"], r["x"], r["y"], r["kind"]) for r in rows(chart, 0)] == [
        ("a", 0.5, 1.0, "new better"),
        ("b", 1.0, 0.5, "new worse"),
        ("c", 0.2, 0.2, "the same"),
    ]
    assert [(r["x"], r["y"]) for r in rows(chart, 1)] == [(0, 0), (1, 1)]
    message(said(chart))


def test_where_lower_is_better_below_the_diagonal_is_better(message) -> None:
    lag = {name: frame(v).rename({"mrr": "lag"}) for name, v in
           (("old", [1.0, 2.0, 3.0, 4.0]), ("new", [0.0, 1.0, 3.0, 5.0]))}  # fmt: skip
    chart = rf.plot.scatter(lag)
    assert [r["kind"] for r in rows(chart, 0)] == [
        "new better", "new better", "the same", "new worse",
    ]  # fmt: skip
    message(said(chart))


def test_many_queries_are_counted_in_cells() -> None:
    ids = pl.DataFrame({"query_id": [f"q{n}" for n in range(3_000)]})
    one = ids.with_columns(mrr=pl.int_range(3_000) % 10 / 10)
    chart = rf.plot.scatter({"a": one, "b": one.with_columns(mrr=1 - pl.col("mrr"))})
    cells = rows(chart, 0)
    assert sum(cell["queries"] for cell in cells) == 3_000
    assert len(cells) == 10
    assert "coloured by the number of queries" in said(chart)


def test_two_of_several_systems(refusal) -> None:
    three = {name: frame([0.5, 1.0, 0.2, 0.1]) for name in ("x", "y", "z")}
    refusal(rf.plot.scatter, three)
    assert said(rf.plot.scatter(three, "mrr", ("z", "x"))).startswith("mrr, z and x")
    refusal(rf.plot.scatter, three, "mrr", ("w", "x"))
    assert rows(rf.plot.scatter(compared()), 0)


def test_no_shared_query_is_refused(refusal) -> None:
    apart = {"x": frame([0.5, 1.0, 0.2, 0.1]), "y": frame([0.5, 1.0, 0.2, 0.1], "efgh")}
    refusal(rf.plot.scatter, apart)
