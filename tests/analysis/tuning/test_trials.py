"""Every candidate is tried once, and known to those folds only that did not make it known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import open_runs
from rankframe.analysis.fusion.training import judge_runs
from rankframe.analysis.tuning.evaluator import Evaluator
from rankframe.analysis.tuning.folds import Folds
from rankframe.analysis.tuning.trials import count_hits_without
from rankframe.io.opening import open_table
from tests.analysis.tuning.test_tune import data


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was evaluated, call by call."""
    calls: list[list[str]] = []
    evaluate = Evaluator.evaluate

    def told(self: Evaluator, methods: Any) -> Any:
        calls.append([method.label for method in methods])
        return evaluate(self, methods)

    monkeypatch.setattr(Evaluator, "evaluate", told)
    return calls


def test_all_are_evaluated_together_and_once(counted: list[list[str]]) -> None:
    qrels, runs = data(1)
    rf.tune(qrels, runs, ["rrf", "rrf(k=60)", "wsum"], "map", folds=3, replicates=100)
    assert len(counted) == 1
    assert len(counted[0]) == len(set(counted[0])) == 8 + 11


def test_what_is_trained_is_so_for_each_pair_of_folds(counted: list[list[str]]) -> None:
    qrels, runs = data(1)
    rf.tune(qrels, runs, "mapfuse", "map", folds=4, replicates=100)
    assert counted == [["rrf(k=60)"], ["mapfuse"] * 10]


def test_searches_share_what_they_look_at(counted: list[list[str]]) -> None:
    qrels, runs = data(2, runs=4)
    found = rf.tune(qrels, runs, "wsum", "map", folds=3, budget=20, replicates=100)
    every = [label for call in counted for label in call]
    assert len(every) == len(set(every)) == found.candidates.height + 1
    assert found.candidates.height <= 10 + 4 * 10
    assert found.candidates["folds"].sum() == 3


@pytest.mark.parametrize("unseen", [(), (0,), (0, 2)])
@pytest.mark.parametrize("depth", [None, 3])
def test_the_judgments_of_other_folds(unseen: tuple[int, ...], depth: int | None) -> None:
    qrels, runs = data(3)
    policies = FusionPolicies(depth=depth)
    opened = open_runs(runs, policies)
    queries = pl.Series(sorted(qrels))
    folds = np.arange(len(queries)) % 3
    dealt = Folds(folds, 3, np.ones(len(folds), np.bool_))
    judged = judge_runs(open_table(qrels, "qrels"), opened, policies)
    found = count_hits_without(unseen, judged, queries, dealt)
    left = {q: qrels[q] for q, fold in zip(queries, folds, strict=True) if fold not in unseen}
    expected = judge_runs(open_table(left, "qrels"), opened, policies)
    for ours, run in zip(found, expected, strict=True):
        theirs = run.count()
        assert (ours.queries, ours.map) == (theirs.queries, theirs.map)
        assert ours.table.sort("length", "rank").equals(theirs.table.sort("length", "rank"))
