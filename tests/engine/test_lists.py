"""Lists of some queries, side by side."""

from __future__ import annotations

import polars as pl

from rankframe.core.options import Policies
from rankframe.engine.lists import Lists, named_case
from rankframe.io.opening import open_table
from rankframe.io.queries import Described

QRELS = {"q1": {"a": 2}, "q2": {"b": 1}}
RUNS = {
    "old": {"q1": {"a": 3.0, "x": 2.0}, "q2": {"b": 1.0}},
    "new": {"q1": {"x": 3.0, "y": 2.0, "a": 1.0}, "q2": {"b": 1.0}},
    "other": {"q1": {"a": 1.0}},
}


def test_two_of_several_runs_and_only_the_queries_asked_for() -> None:
    runs = {name: open_table(run, "run") for name, run in RUNS.items()}
    lists = Lists.read(pl.Series("query_id", ["q1"]), open_table(QRELS, "qrels"), runs, Policies())
    asked = pl.Series("query_id", ["q1"])
    found = lists.documents(asked, "old", "new", 2, Described.from_sources(titles={"a": "An a"}))
    assert found.rows() == [
        ("q1", "x", None, 2, 1, "up", None),
        ("q1", "y", None, None, 2, "entered", None),
        ("q1", "a", 2.0, 1, 3, "left", "An a"),
    ]
    (same,) = lists.documents(asked, "other", "other", 2, Described()).rows()
    assert same == ("q1", "a", 2.0, 1, 1, "same")


def test_the_first_case_that_holds() -> None:
    frame = pl.DataFrame({"x": [1, 5, None]})
    named = frame.select(named_case({"small": pl.col("x") < 3, "any": pl.col("x") > 0}))
    assert named.to_series().to_list() == ["small", "any", None]
