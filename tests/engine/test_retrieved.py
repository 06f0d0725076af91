"""Reading a run for what it shows, whatever the order of its rows."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.retrieved import RetrievedMetrics, each_chunk
from rankframe.frames.items import Catalogue
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve

NOTHING = Catalogue.of(None, None, None)


def retrieved(*names: str) -> RetrievedMetrics:
    metrics = resolve(list(names), "shown", "documents")
    return RetrievedMetrics.from_metrics(metrics, Policies(), NOTHING, given=())


def test_it_looks_no_deeper_than_metrics_do() -> None:
    made = retrieved("entropy@5", "coverage(count=true)@3", "entropy@3")
    assert made.cutoffs == [3, 5]
    assert made.deepest == 5
    assert made.needed == set()
    assert retrieved("entropy", "entropy@3").cutoffs == [3, None]
    assert retrieved("entropy", "entropy@3").deepest is None


def test_queries_that_come_again_are_brought_together() -> None:
    class Seen:
        def __init__(self) -> None:
            self.chunks: list[int] = []

        def take(self, chunk: object) -> bool:
            self.chunks.append(len(chunk.starts))  # type: ignore[attr-defined]
            return True

        def repeats(self) -> bool:
            return sum(self.chunks) > 2

    rows = pl.DataFrame({"query_id": ["u", "v", "u"], "doc_id": ["a", "a", "b"], "rank": [1, 1, 2]})
    found = each_chunk(open_table(rows, "run", order="columns"), Seen)
    assert sum(found.chunks) == 2


def test_duplicates_are_said_of_the_whole_run() -> None:
    rows = pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["a", "b", "a"], "rank": [1, 2, 3]})
    with pytest.raises(rf.RankframeError, match="rows 1 and 3"):
        rf.evaluate(None, rows, "entropy")
