"""Documents of several runs, each once: which rows of which run they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankframe.analysis.fusion.norms import NORMS
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import LoadedRuns, open_runs
from rankframe.analysis.fusion.stack import Stack
from tests.support.fusing import random_runs

RUNS = {
    "a": {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}, "q2": {"x": 1.0}},
    "b": {"q1": {"y": 9.0, "w": 5.0}},
}


def stack_of(runs: Any, **how: Any) -> Stack:
    policies = FusionPolicies(**how)
    held = LoadedRuns(open_runs(runs, policies), policies)
    (block,) = held.blocks()
    return held.stack(block)


def test_each_document_once_with_its_ranks() -> None:
    stack = stack_of(RUNS)
    assert stack.lengths.tolist() == [4, 1]
    ranks = {
        (int(query), doc): (int(a), int(b))
        for query, doc, a, b in zip(
            stack.code,
            stack.docs,
            stack.runs[0].ranks,
            stack.runs[1].ranks,
            strict=True,
        )
    }
    assert ranks == {(0, "x"): (1, 0), (0, "y"): (2, 1), (0, "z"): (3, 0), (0, "w"): (0, 2),
                     (1, "x"): (1, 0)}  # fmt: skip
    assert stack.runs_with.sum() == 6
    assert stack.runs[1].lengths().tolist() == [2, 2, 2, 2, 0]


def test_the_best_first_and_equal_ones_by_id() -> None:
    stack = stack_of(RUNS)
    order, lengths = stack.order(np.zeros(stack.height))
    assert stack.docs.gather(order).to_list() == ["z", "y", "x", "w", "x"]
    assert lengths.tolist() == [4, 1]
    order, lengths = stack.order(np.zeros(stack.height), 2)
    assert stack.docs.gather(order).to_list() == ["z", "y", "x"]
    assert lengths.tolist() == [2, 1]


def test_keys_that_are_equal_by_chance_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = random_runs(3, 4)
    expected = stack_of(runs)

    def few(keys: Any) -> Any:  # rows of a hundred are taken for one
        return np.arange(len(keys)) // 100 * 100

    monkeypatch.setattr("rankframe.kernel.matching.representatives", few)
    found = stack_of(runs)
    assert found.height == expected.height
    ours, theirs = (
        np.sum([run.ranks for run in one.runs], axis=0).astype(np.float64)
        for one in (found, expected)
    )
    assert found.make_run(ours).equals(expected.make_run(theirs))


def test_the_frame_is_in_order_of_documents_and_runs() -> None:
    frame = stack_of(RUNS).frame(["doc_id", "run", "score"])
    assert frame["_document"].is_sorted()
    assert frame.filter(doc_id="y")["run"].to_list() == ["a", "b"]


def test_scores_are_normalised_once() -> None:
    stack = stack_of(RUNS).with_norm(NORMS["min_max"])
    run = stack.runs[0]
    assert run.scores is run.scores
    scores = zip(stack.docs, run.scores.tolist(), strict=True)
    assert list(scores)[:4] == [("x", 1.0), ("z", 0.0), ("y", 0.5), ("w", 0.0)]
