"""What compare and gate share: systems read or evaluated, and put side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.aligned_systems import SystemInputs, open_systems, slices_of
from rankframe.analysis.systems import Runs
from rankframe.core.options import Policies
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.io.queries import Known, read_attributes
from tests.support.compared import ATTRIBUTES, QRELS, QUERIES, RUNS, compared, count


def test_queries_without_attributes_are_counted() -> None:
    found = compared(["map"], queries=ATTRIBUTES.head(30), by="locale")
    assert count(found, "queries_without_attributes") == 10


def test_the_default_metrics_and_own_expressions() -> None:
    assert [m.label for m in compared(None).metrics] == [
        "ndcg@10", "map", "mrr@10", "precision@10", "recall@100",
    ]  # fmt: skip
    own = (pl.col("rank") <= 2).sum().alias("own")
    row = compared(own).table.row(0, named=True)
    values = np.stack([
        rf.evaluate(QRELS, run, own, ci=None).per_query["own"].to_numpy()
        for run in (RUNS["old"], RUNS["new"])
    ])  # fmt: skip
    assert row["value"] == pytest.approx(values[1].mean(), abs=1e-12)
    assert row["wins"] == (values[1] > values[0]).sum()


def opened(
    stored: Any = None,
    runs: Any = None,
    metrics: Any = None,
    unpaired: Any = "error",
    **options: Any,
) -> SystemInputs:
    of = None if runs is None else Runs(QRELS, runs, Policies())
    return open_systems(stored or {}, of, metrics, unpaired=unpaired, **options)


STORED = {name: rf.evaluate(QRELS, RUNS[name], ["map", "mrr"], ci=None) for name in ("old", "new")}


def labels(opening: SystemInputs) -> list[str]:
    return [metric.label for metric in opening.metrics]


def test_stored_values_and_runs_stand_evaluate() -> None:
    opening = opened({"kept": STORED["old"]}, {"new": RUNS["new"]}, ["map"])
    assert opening.names == ["kept", "new"]
    found = opening.evaluate()
    assert list(found.by_name) == ["kept", "new"]
    assert found.queries.to_list() == QUERIES
    for name, of in (("kept", "old"), ("new", "new")):
        assert found.by_name[name].values["map"].equals(STORED[of].per_query["map"])
    assert found.tables is not None
    assert opened(STORED).evaluate().tables is None


def test_metrics_are_those_asked_for_those_stored_or_the_default() -> None:
    assert labels(opened(STORED)) == ["map", "mrr"]
    assert labels(opened(STORED, metrics="mrr")) == ["mrr"]
    assert labels(opened(None, RUNS)) == list(DEFAULT_METRICS[:-1])
    assert labels(opened(None, RUNS, ["ndcg@1,3"])) == ["ndcg@1", "ndcg@3"]


def test_how_much_was_judged_is_known_at_more_depths() -> None:
    opening = opened(None, {"old": RUNS["old"]}, "ndcg@3")
    assert set(opening.evaluate().by_name["old"].judged) == {3}
    assert set(opening.evaluate([7]).by_name["old"].judged) == {3, 7}


def test_all_queries_and_every_slice_of_them() -> None:
    found = opened(STORED, queries=ATTRIBUTES, by="locale", weight=None).evaluate()
    assert [(subset.by, subset.name) for subset in found.subsets] == [
        (None, None), ("locale", "de"), ("locale", "en"), ("locale", "(none)"),
    ]  # fmt: skip
    whole, *slices = (subset.rows.tolist() for subset in found.subsets)
    assert whole == list(range(40)) == sorted(row for rows in slices for row in rows)
    assert found.attributes.weights is None


def test_what_cannot_be_opened_is_refused_before_any_run_is_read(refusal) -> None:
    runs = {"a": "no such file.parquet"}
    assert "Did you mean" in refusal(opened, None, runs, "mapp")
    assert "by= needs queries=" in refusal(opened, None, runs, "map", by="locale")
    assert "no such file" in refusal(opened(None, runs, "map").evaluate)


SOME = pl.Series("query_id", ["a", "b", "c", "d"])
KNOWN_OF_THEM = pl.DataFrame(
    {"query_id": ["d", "a", "b"], "locale": ["de", "en", "de"], "size": [10, 2, 2]}
)


def test_each_query_is_in_one_slice_of_each_way() -> None:
    attributes = read_attributes(KNOWN_OF_THEM, by=["locale", ("locale", "size")])
    assert attributes is not None
    found = slices_of(attributes, attributes.of(SOME))
    assert [(f"{some.by}: {some.name}", some.rows.tolist()) for some in found] == [
        ("locale: de", [1, 3]),
        ("locale: en", [0]),
        ("locale: (none)", [2]),
        ("locale × size: de × 2", [1]),
        ("locale × size: de × 10", [3]),
        ("locale × size: en × 2", [0]),
        ("locale × size: (none) × (none)", [2]),
    ]
    for way in ("locale", "locale × size"):
        rows = np.concatenate([some.rows for some in found if some.by == way])
        assert sorted(rows.tolist()) == [0, 1, 2, 3]


def test_nothing_is_sliced_where_nothing_is_known() -> None:
    assert slices_of(None, Known()) == []
