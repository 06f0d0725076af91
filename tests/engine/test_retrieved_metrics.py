"""Reading a run for what it shows, whatever the order of its rows."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.retrieved_metrics import RetrievedMetrics
from rankframe.frames.catalogue import Catalogue
from rankframe.metrics.names import resolve

NOTHING = Catalogue.from_inputs(None, None, None)


def retrieved(*names: str) -> RetrievedMetrics:
    metrics = resolve(list(names), "retrieved", "documents")
    return RetrievedMetrics.from_metrics(metrics, Policies(), NOTHING, inputs=())


def test_it_looks_no_deeper_than_metrics_do() -> None:
    made = retrieved("entropy@5", "coverage(count=true)@3", "entropy@3")
    assert made.cutoffs == [3, 5]
    assert made.deepest == 5
    assert made.needed == set()
    assert retrieved("entropy", "entropy@3").cutoffs == [3, None]
    assert retrieved("entropy", "entropy@3").deepest is None


def test_duplicates_are_said_of_the_whole_run(refusal) -> None:
    rows = pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["a", "b", "a"], "rank": [1, 2, 3]})
    refusal(rf.evaluate, None, rows, "entropy")
