"""A result of metrics over queries and over documents, in the order in which they are asked for."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.finish import replicates_for_gaps
from rankframe.engine.prepare import evaluate_judged
from rankframe.io.queries import Attributes
from rankframe.metrics.names import resolve

RUN = {"u": ["a", "b"], "v": ["a"], "w": ["c"]}
USERS = {"query_id": ["u", "v", "w"], "kind": ["x", "y", "x"]}


def test_rows_are_in_the_order_that_was_asked_for() -> None:
    names = ["entropy@2", "recall@1", "coverage(count=true)@2", "popularity@2"]
    found = rf.evaluate(
        {"u": {"a": 1}, "v": {"b": 1}}, RUN, names, train={"q": ["a"]},
        queries=pl.DataFrame(USERS), by="kind",
    )  # fmt: skip
    assert found.summary["metric"].to_list() == names
    assert found.slices["metric"].to_list() == names * 2
    assert found.slices["slice"].to_list() == ["x"] * 4 + ["y"] * 4
    count = found.slices.filter(metric="coverage(count=true)@2")
    assert count["value"].to_list() == [3.0, 1.0]
    assert count["queries"].to_list() == [2, 1]
    assert found.per_query.columns == ["query_id", "recall@1", "popularity@2"]


def test_gaps_need_the_replicates_of_their_metrics_in_their_slices() -> None:
    names = ["gap(map, by=b)", "gap(mrr, by=b)", "gap(map, by=a)"]
    slices = tuple((by, ("x", "y")) for by in ("c", "a", "b"))
    attributes = Attributes(pl.DataFrame({"query_id": ["q"]}), slices)
    gaps = resolve(names, "judged", "gap")
    evaluation = evaluate_judged(gaps, Policies(), attributes=attributes)
    assert evaluation.labels == ["map", "mrr"]
    assert replicates_for_gaps(evaluation) == {2: {0, 1}, 1: {0}}
    assert replicates_for_gaps(evaluate_judged(gaps, Policies())) == {}
