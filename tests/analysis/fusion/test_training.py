"""What judgments say of runs: counts by rank, whatever is missing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import open_runs
from rankframe.analysis.fusion.training import HIT_SCHEMA, Hits, judge_runs
from rankframe.core.errors import RankframeError
from rankframe.io.opening import open_table
from rankframe.stats.exact import Exact
from tests.support.fusing import QRELS, random_runs

RUNS = {"a": {"q1": {"a": 3.0, "b": 2.0}, "other": {"a": 1.0}}, "b": {"q2": {"c": 1.0}}}
JUDGED = {"q1": {"b": 2, "a": 1, "x": 1}, "q2": {"c": 1}}


def hits_of_first_run(policies: FusionPolicies) -> Hits:
    first, _ = judge_runs(open_table(JUDGED, "qrels"), open_runs(RUNS, policies), policies)
    return first.count()


def test_relevant_documents_by_rank() -> None:
    hits = hits_of_first_run(FusionPolicies())
    assert hits.queries == 2
    assert hits.table.filter(rank=0)["length"].sort().to_list() == [0, 2]
    assert hits.relevant["rank"].tolist() == [1, 2]
    assert hits.relevant["count"].tolist() == [1, 1]
    assert hits.chances().tolist() == [1.0, 1.0]
    assert hits.map == rf.evaluate(JUDGED, RUNS["a"], "map")["map"]


def test_levels_and_depth() -> None:
    hits = hits_of_first_run(FusionPolicies(rel=2, depth=1))
    assert hits.relevant["count"].tolist() == []
    assert hits.table["length"].sort().to_list() == [0, 1]


def test_options_of_judgments_reach_them() -> None:
    pairs = [{"query_id": "q1", "doc_id": "b"}]
    found = rf.fuse(RUNS, "posfuse", qrels=pairs, relevance=1).collect()
    assert found.filter(doc_id="b")["score"].to_list() == [1.0]
    with pytest.raises(RankframeError):
        rf.fuse(RUNS, "posfuse", qrels=pairs)
    level = rf.fuse(RUNS, "posfuse", qrels=JUDGED, rel=2).collect()
    assert level.filter(doc_id="a", query_id="q1")["score"].to_list() == [0.0]


@pytest.mark.parametrize("method", ["posfuse", "mapfuse", "bayesfuse"])
def test_judgments_that_share_nothing_teach_nothing(method: str) -> None:
    strangers = {"elsewhere": {"nothing": 1}}
    found = rf.fuse(RUNS, method, qrels=strangers).collect()
    assert found.height == 4
    assert found["score"].n_unique() == 1


def test_judgments_of_other_queries_will_do() -> None:
    runs = random_runs(1, 2)
    assert rf.fuse(runs, "posfuse", qrels=QRELS).collect()["query_id"].n_unique() > len(QRELS)


def test_chances_and_segments() -> None:
    rows = [(0, 0, 1), (2, 0, 1), (3, 0, 1), (2, 2, 1), (3, 1, 1), (3, 3, 1)]
    hits = Hits(pl.DataFrame(rows, HIT_SCHEMA, orient="row"), Exact(), 3)
    assert hits.chances().tolist() == [0.5, 0.5, 1.0]
    assert hits.in_segments(np.array([2, 4])).tolist() == [2, 1]
    rest = Hits(pl.DataFrame([(3, 0, 2), (3, 3, 1)], HIT_SCHEMA, orient="row"), Exact(), 2)
    assert hits.merge(rest).chances().tolist() == [0.25, 0.25, 2 / 3]
    assert hits.merge(rest).queries == 5
