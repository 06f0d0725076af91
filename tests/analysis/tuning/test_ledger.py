"""The ledger: what was counted, and what makes it doubtful."""

from __future__ import annotations

from typing import Any

import rankframe as rf
from tests.analysis.tuning.test_tune import data

FAST: dict[str, Any] = {"methods": "rrf", "metric": "map", "folds": 3, "replicates": 100}


def test_each_run_has_its_counts_and_judgments_theirs(message) -> None:
    qrels, runs = data(4)
    found = rf.tune(qrels, runs, **FAST)
    items = found.ledger["item"].to_list()
    assert items.count("qrels_rows") == 1
    assert found.count("qrels_rows") == sum(map(len, qrels.values()))
    assert found.count("run0_rows") == sum(map(len, runs["run0"].values()))
    assert found.count("run1_queries_missing") == 1
    assert found.note("run0_order")
    assert found.note("policy_test") == "t"
    assert found.note("policy_seed") == ""
    assert "policy_unpaired" not in items
    message(found.note("policy_folds"))


def test_what_is_doubtful_is_warned_of() -> None:
    qrels, runs = data(4, queries=40)
    few = {**runs, "run0": {q: of for q, of in runs["run0"].items() if q < "q35"}}
    assert not any("to tune by" in one for one in rf.tune(qrels, runs, **FAST).warnings)
    left = len(qrels) - len(few["run0"])
    said = f"run0 lacks {left} of 40 judged queries ({left / 40:.1%}): "
    assert said + "scored 0" in rf.tune(qrels, few, **FAST).warnings
    assert said + "left out for all" in rf.tune(qrels, few, **FAST, missing="skip").warnings
    drawn = rf.tune(qrels, runs, **FAST, test="randomisation", permutations=100, confidence=0.99)
    assert any("100 permutations" in one for one in drawn.warnings)


def test_every_document_relevant_is_said() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 2} for n in range(6)}
    run = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    assert rf.tune(qrels, {"x": run, "y": run}, **FAST).every_relevant
    assert not rf.tune(qrels, {"x": run, "y": run}, **FAST, rel=2).every_relevant
