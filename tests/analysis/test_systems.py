"""Evaluated runs: read once, and how much was judged goes beside every metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.systems import Runs, evaluate_runs
from rankframe.core.options import Policies
from rankframe.io import memory as held
from rankframe.metrics.names import resolve
from tests.support.counted import Counted
from tests.support.oracles import random_case

QRELS = random_case(0, queries=35, missing=False).qrels
RUNS = {"old": random_case(1, queries=35).run, "new": random_case(2, queries=35).run}
STORED = rf.evaluate(QRELS, RUNS["old"], "map")
FAST: dict[str, Any] = {"replicates": 100}
Decision = Callable[[Any, Mapping[str, Any]], object]

DECISIONS: dict[str, Decision] = {
    "compare": lambda qrels, runs: rf.compare(qrels, runs, ["ndcg@10", "map"], **FAST).table,
    "compare with bounds": lambda qrels, runs: rf.compare(qrels, runs, bounds=True, **FAST).systems,
    "diff": lambda qrels, runs: rf.diff(qrels, *runs.values()).documents,
    "gate": lambda qrels, runs: rf.gate(qrels, runs["new"], STORED, "map: at least 0").checks,
    "roc": lambda qrels, runs: rf.curve(qrels, runs["new"], "roc"),
}


@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_every_input_is_read_once(decision: Decision) -> None:
    qrels = Counted(QRELS, "qrels")
    runs = {name: Counted(run, "run") for name, run in RUNS.items()}
    found: Any = decision(qrels.frame, {name: run.frame for name, run in runs.items()})
    assert qrels.reads == 1
    assert runs["new"].reads == 1
    assert runs["old"].reads <= 1
    assert found.equals(decision(QRELS, RUNS))


def test_large_judgments_are_not_read_for_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # its first rows, how many there are, and all of it: however many runs
    monkeypatch.setattr(held, "_SMALL", 10)
    qrels = Counted(QRELS, "qrels")
    runs = {f"r{seed}": random_case(seed, queries=35).run for seed in range(1, 6)}
    rf.compare(qrels.frame, runs, **FAST)
    assert qrels.reads == 3


def systems(metrics: Any, depths: tuple[int, ...] = ()) -> Any:
    runs = Runs(QRELS, RUNS, Policies())
    return evaluate_runs(runs, resolve(metrics), depths=depths)[0]


def test_how_much_was_judged_is_known_at_each_cutoff_and_depth() -> None:
    system = systems(["ndcg@3", "map", "recall@3"], (7,))["old"]
    assert system.judged == {depth: f"judged@{depth}" for depth in (3, 7, 10)}
    expected = rf.evaluate(QRELS, RUNS["old"], list(system.judged.values())).per_query
    assert system.values.select(expected.columns).equals(expected)


@pytest.mark.parametrize("label", ["judged@10", "Judged@10", "judged(average=sum)@10"])
def test_a_metric_that_says_it_is_taken(label: str) -> None:
    system = systems(["ndcg@10", label])["new"]
    assert system.judged == {10: label}
    assert system.labels == ["ndcg@10", label, "num_retrieved"]


def test_an_expression_of_that_name_is_not_taken_for_it() -> None:
    own = [pl.lit(-1.0).alias(name) for name in ("judged@10", "judged@10, beside")]
    system = systems(["ndcg@10", *own])["new"]
    assert system.values["judged@10"].unique().to_list() == [-1.0]
    expected = rf.evaluate(QRELS, RUNS["new"], "judged@10").per_query["judged@10"]
    assert system.values[system.judged[10]].equals(expected)
    found = rf.compare(QRELS, RUNS, ["ndcg@10", *own], **FAST)
    assert found.per_query["new"].columns == [
        "query_id",
        "ndcg@10",
        "judged@10",
        "judged@10, beside",
    ]
    plain = rf.compare(QRELS, RUNS, ["ndcg@10"], **FAST).table
    assert found.table.filter(metric="ndcg@10")["judged"].equals(plain["judged"])


def test_a_comparison_of_nothing_is_refused(refusal) -> None:
    for qrels in (None, QRELS):
        refusal(rf.compare, qrels, {})
