"""Judged documents stand where a sort of all documents puts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import LoadedRuns, open_runs
from rankframe.analysis.tuning.evaluator import JudgedBlock
from rankframe.engine.lookup import read_judgments
from rankframe.io.opening import open_table

QRELS = {"q1": {"a": 1, "c": 0, "gone": 1}, "q2": {"b": 2, "x": 1}, "q3": {"a": 1}}
RUNS: dict[str, Any] = {
    "one": {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}},
    "other": {"q1": {"d": 3.0, "c": 2.0}, "q2": {"b": 2.0, "c": 2.0}},
}


@pytest.fixture
def held() -> LoadedRuns:
    policies = FusionPolicies()
    return LoadedRuns(open_runs(RUNS, policies), policies)


def block(held: LoadedRuns) -> JudgedBlock:
    qrels = open_table(QRELS, "qrels")
    return JudgedBlock(held.stack(np.arange(2)), read_judgments(qrels, qrels.frame, "error"))


def ranks(found: JudgedBlock, scores: list[float]) -> dict[tuple[str, str], int]:
    places = found.rank(np.array(scores))
    stack = found.stack
    named = [(stack.queries[int(stack.code[row])], stack.docs[int(row)]) for row in found.rows]
    return dict(zip(named, places.rank.tolist(), strict=True))


def test_judged_documents_are_found(held: LoadedRuns) -> None:
    found = block(held)
    stack = found.stack
    assert sorted(stack.docs[int(row)] for row in found.rows) == ["a", "b", "c"]
    assert len(found.judged) == len(found.rows) == 3


def test_equal_ones_stand_by_their_ids(held: LoadedRuns) -> None:
    found = block(held)
    stack = found.stack
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.integers(0, 3, stack.height).astype(np.float64)
        run = stack.make_run(scores)
        expected = {(q, d): r for q, d, r, _ in run.rows()}
        there = ranks(found, scores.tolist())
        assert there == {key: expected[key] for key in there}


def test_where_nothing_is_judged_nothing_stands(held: LoadedRuns) -> None:
    qrels = open_table({"q1": {"gone": 1}, "q2": {"gone": 1}}, "qrels")
    found = JudgedBlock(held.stack(np.arange(2)), read_judgments(qrels, qrels.frame, "error"))
    assert ranks(found, [0.0] * found.stack.height) == {}


def test_queries_without_judgments_change_nothing() -> None:
    few = {f"q{n}": {"a": 1} for n in range(6)}
    some = {q: {"a": float(n % 3), "b": 1.0} for n, q in enumerate(few)}
    more = {**some, "other": {"a": 1.0}, "0": {"z": 1.0}}
    options: Any = {"methods": "wsum", "metric": "mrr", "folds": 2, "replicates": 100}
    one = rf.tune(few, {"x": some, "y": some}, **options)
    two = rf.tune(few, {"x": more, "y": more}, **options)
    assert one.candidates.equals(two.candidates)
    assert isinstance(two.per_query, pl.DataFrame)
    assert two.per_query.equals(one.per_query)
