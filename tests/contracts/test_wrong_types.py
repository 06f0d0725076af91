"""Arguments of wrong types are refused with a message that says what to pass."""

# pyright: reportArgumentType=false
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUN = {"q1": {"a": 0.5, "b": 0.7}, "q2": {"c": 0.4, "a": 0.2}}
OTHER = {"q1": {"a": 0.9, "b": 0.7}, "q2": {"c": 0.1, "a": 0.2}}
RUNS = {"x": RUN, "y": OTHER}
ARRAY = np.array([1, 2])

CASES: dict[str, Callable[[], Any]] = {
    "from_relevance of a frame": lambda: rf.from_relevance(pl.DataFrame({"a": [1]})),
    "from_lists with None": lambda: rf.from_lists({"q": None}, {"q": ["a"]}),
    "from_lists with numbers": lambda: rf.from_lists({1: 2}, {1: ["a"]}),
    "from_lists key": lambda: rf.from_lists([["a"]], [["a"]], key=3),
    "from_lists queries": lambda: rf.from_lists([["a"]], [["a"]], queries=True),
    "from_lists scores": lambda: rf.from_lists([["a"]], [["a"]], scores=True),
    "a surrogate in lists": lambda: rf.from_lists([["\ud800"]], [["a"]]),
    "a surrogate in unit": lambda: rf.evaluate(QRELS, RUN, "map", unit={"\ud800": "x"}),
    "a surrogate in units": lambda: rf.evaluate(QRELS, RUN, "map", unit={"a": "\ud800"}),
    "a surrogate in items": lambda: rf.retrieved(RUN, items=["\ud800"]).collect(),
    "a surrogate in a path": lambda: rf.evaluate(QRELS, "\ud800.csv", "map"),
    "a grid": lambda: rf.tune(QRELS, RUNS, metric="ndcg@2", grid=ARRAY, folds=2),
    "history of nothing": lambda: rf.history(None),
    "history by metrics": lambda: rf.history(rf.evaluate(QRELS, RUN, "map"), True),
    "history by order": lambda: rf.history(rf.evaluate(QRELS, RUN, "map"), order=ARRAY),
    "rules": lambda: rf.gate(QRELS, RUN, OTHER, rules={1: "x"}),
    "a baseline": lambda: rf.compare(QRELS, RUNS, "map", baseline=ARRAY),
    "a direction": lambda: rf.compare(QRELS, RUNS, "map", lower_is_better=ARRAY),
    "caveats": lambda: rf.evaluate(QRELS, RUN, "map", silence=True),
    "a caveat": lambda: rf.evaluate(QRELS, RUN, "map", silence=[[]]),
    "levels": lambda: rf.judge(QRELS, RUN, levels=None),
    "a kind of curve": lambda: rf.curve(QRELS, RUN, ARRAY),
    "an average": lambda: rf.metric(pl.col("rank").min(), "m", average=ARRAY),
    "a frame": lambda: rf.metric(pl.col("rank").min(), "m", frame=ARRAY),
    "an example": lambda: rf.example(ARRAY),
    "points": lambda: rf.area_under(None),
    "points to thin": lambda: rf.downsample_curve(None, 10),
    "a depth": lambda: rf.rbo_weight(0.9, None),
    "a weight": lambda: rf.rbo_p("x", 10),
    "columns of responses": lambda: rf.from_responses([], columns=True),
    "distances": lambda: rf.from_topk([[1]], smaller_is_better=ARRAY),
    "a result as a run": lambda: rf.judge(QRELS, rf.evaluate(QRELS, RUN, "map")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_type_is_refused(case: str) -> None:
    with pytest.raises(RankframeError) as caught:
        CASES[case]()
    said = str(caught.value)
    said.encode()
    assert 20 < len(said) < 600


def test_ids_of_more_than_64_bits_are_text(tmp_path: Path) -> None:
    ranking = np.array([2**63, 1], dtype=object)
    assert rf.agree(ranking, ranking, "overlap@2")["overlap@2"] == 1
