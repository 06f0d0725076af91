"""Charts of two systems: bars and dots by hand."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import rankframe as rf
from tests.support.chart_cases import CASE, DRAWN, OTHER, compared, rows, said


def frame(values: Sequence[float | None], queries: str = "abcd") -> pl.DataFrame:
    return pl.DataFrame({"query_id": list(queries), "mrr": values})


def test_bars_are_sorted_and_told_apart() -> None:
    change = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")
    drawn = rows(rf.plot.differences(change))
    deltas = [row["delta"] for row in drawn]
    assert deltas == sorted(deltas, reverse=True)
    assert len(drawn) == change.per_query.drop_nulls("delta").height
    wins = change.summary["wins"][0]
    assert sum(row["outcome"] == f"better ({wins:,})" for row in drawn) == wins
    assert said(DRAWN["differences"]()).startswith(
        f"Change of ndcg@5, query by query new less old: {len(drawn)} queries; on average "
    )


def test_many_bars_are_a_sample() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(3000)}
    one = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    other = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    chart = rf.plot.differences(rf.diff(qrels, one, other, "mrr"))
    assert len(rows(chart)) == 400
    assert "a sample of 400 of 3,000 queries" in said(chart)


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


def test_dots_by_hand() -> None:
    chart = rf.plot.scatter(
        {"old": frame([0.5, 1.0, 0.2, None]), "new": frame([1.0, 0.5, 0.2, 1.0])}
    )
    assert [(r["query_id"], r["x"], r["y"], r["kind"]) for r in rows(chart, 0)] == [
        ("a", 0.5, 1.0, "new better"),
        ("b", 1.0, 0.5, "new worse"),
        ("c", 0.2, 0.2, "the same"),
    ]
    assert [(r["x"], r["y"]) for r in rows(chart, 1)] == [(0, 0), (1, 1)]
    assert said(chart) == (
        "mrr, old and new 3 queries: new is better in 1, worse in 1, the same in 1 "
        "above the diagonal new is better; higher is better"
    )


def test_where_lower_is_better_below_the_diagonal_is_better() -> None:
    lag = {name: frame(v).rename({"mrr": "lag"}) for name, v in
           (("old", [1.0, 2.0, 3.0, 4.0]), ("new", [0.0, 1.0, 3.0, 5.0]))}  # fmt: skip
    chart = rf.plot.scatter(lag)
    assert [r["kind"] for r in rows(chart, 0)] == [
        "new better", "new better", "the same", "new worse",
    ]  # fmt: skip
    assert "below the diagonal new is better; lower is better" in said(chart)


def test_many_queries_are_counted_in_cells() -> None:
    ids = pl.DataFrame({"query_id": [f"q{n}" for n in range(3_000)]})
    one = ids.with_columns(mrr=pl.int_range(3_000) % 10 / 10)
    chart = rf.plot.scatter({"a": one, "b": one.with_columns(mrr=1 - pl.col("mrr"))})
    cells = rows(chart, 0)
    assert sum(cell["queries"] for cell in cells) == 3_000
    assert len(cells) == 10
    assert "counted in cells" in said(chart)


def test_two_of_several_systems(refusal) -> None:
    three = {name: frame([0.5, 1.0, 0.2, 0.1]) for name in ("x", "y", "z")}
    assert "of two systems, not 3" in refusal(rf.plot.scatter, three)
    assert said(rf.plot.scatter(three, "mrr", ("z", "x"))).startswith("mrr, z and x")
    assert "no system 'w'" in refusal(rf.plot.scatter, three, "mrr", ("w", "x"))
    assert rows(rf.plot.scatter(compared()), 0)


def test_no_shared_query_is_refused(refusal) -> None:
    apart = {"x": frame([0.5, 1.0, 0.2, 0.1]), "y": frame([0.5, 1.0, 0.2, 0.1], "efgh")}
    assert refusal(rf.plot.scatter, apart) == ("no query has a value of 'mrr' in both 'x' and 'y'.")
