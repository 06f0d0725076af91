"""Objects with many rows do not refer to themselves: they are freed as soon as they are unused.

In a cycle, rows of one partition after the other stay in memory until the garbage collector comes,
whatever the limit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import rankframe as rf

QRELS = {f"q{number}": {"a": 2, "b": 1, "c": 0} for number in range(9)}
A = {f"q{number}": {"a": 3.0, "b": 2.0, "x": 2.0, "c": 1.0} for number in range(9)}
B = {f"q{number}": {"x": 3.0, "c": 2.0, "a": 1.0} for number in range(1, 10)}
TRAIN = {f"q{number}": ["a", "y"] for number in range(5)}
COMMANDS: dict[str, Callable[[], Any]] = {
    "evaluate": lambda: rf.evaluate(QRELS, A),
    "retrieved": lambda: rf.evaluate(QRELS, A, ["ndcg@10", "novelty@2"], train=TRAIN),
    "agree": lambda: rf.agree(A, B, ["rbo", "kendall_tau", "overlap@2"]),
    "compare": lambda: rf.compare(QRELS, {"a": A, "b": B}, "ndcg@10", baseline="a"),
    "diff": lambda: rf.diff(QRELS, A, B, "ndcg@10"),
    "fuse": lambda: rf.fuse({"a": A, "b": B}, "rrf"),
    "judge": lambda: rf.judge(QRELS, A).collect(),
    "pair": lambda: rf.pair(A, B).collect(),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_held_is_freed_without_the_garbage_collector(name: str) -> None:
    COMMANDS[name]()  # imports and caches
    gc.collect()
    gc.disable()
    try:
        COMMANDS[name]()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = {type(item) for item in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    ours = [kind.__qualname__ for kind in kinds if kind.__module__.startswith("rankframe")]
    assert ours == []
