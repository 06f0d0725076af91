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
    assert found.note("policy_test") == "t, hypothesis: equal means"
    assert found.note("policy_seed") == ""
    assert "policy_unpaired" not in items
    message(found.note("policy_folds"))


def test_what_is_doubtful_is_warned_of() -> None:
    qrels, runs = data(4, queries=40)
    few = {**runs, "run0": {q: of for q, of in runs["run0"].items() if q < "q35"}}

    def texts(**options: Any) -> list[str]:
        return [caveat.text for caveat in rf.tune(qrels, few, **FAST, **options).caveats]

    codes = [caveat.code for caveat in rf.tune(qrels, runs, **FAST).caveats]
    assert "few_queries" not in codes
    left = len(qrels) - len(few["run0"])
    said = f"run0: {left / 40:.1%} of the judged queries are not in the run. They are "
    assert said + "scored 0" in texts()
    assert said + "left out for all" in texts(missing="skip")
    drawn = rf.tune(qrels, runs, **FAST, test="randomisation", permutations=100, confidence=0.99)
    assert "600 permutations" in drawn.note("policy_test")


def test_every_document_relevant_is_said() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 2} for n in range(6)}
    run = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    codes = [caveat.code for caveat in rf.tune(qrels, {"x": run, "y": run}, **FAST).caveats]
    assert "all_relevant" in codes
    chosen = rf.tune(qrels, {"x": run, "y": run}, **FAST, rel=2)
    assert "all_relevant" not in [caveat.code for caveat in chosen.caveats]
