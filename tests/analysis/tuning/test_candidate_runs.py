"""Every candidate is tried once, and known to those folds only that did not make it known."""

from __future__ import annotations

from typing import Any

import pytest

import rankframe as rf
from rankframe.analysis.tuning.evaluator import Bench
from tests.analysis.tuning.test_tune import data


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was evaluated, call by call."""
    calls: list[list[str]] = []
    terms = Bench.terms

    def told(self: Bench, fusers: Any) -> Any:
        calls.append([fuser.method.label for fuser in fusers])
        return terms(self, fusers)

    monkeypatch.setattr(Bench, "terms", told)
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
