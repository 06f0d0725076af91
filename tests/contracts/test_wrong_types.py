"""Arguments of wrong types are refused with a message that says what to pass."""

# pyright: reportArgumentType=false
from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
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


class Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def gate(**options: Any) -> rf.Verdict:
    given = {"baseline": rf.evaluate(QRELS, OTHER, "map"), "rules": "map: at least 0"} | options
    return rf.gate(QRELS, RUN, **given)


def compared() -> rf.Comparison:
    return rf.compare(QRELS, RUNS, "map", replicates=100)


def tuned() -> rf.Tuning:
    return rf.tune(QRELS, RUNS, "rrf", folds=2, replicates=100)


CASES: dict[str, Callable[[], Any]] = {
    "a result as metrics": lambda: rf.evaluate(QRELS, RUN, rf.evaluate(QRELS, RUN, "map")),
    "queries without dimensions": lambda: rf.diff(QRELS, RUN, OTHER, only=np.array(5)),
    "truth without dimensions": lambda: rf.from_lists([["a"]], np.array(5)),
    "grades without dimensions": lambda: rf.from_relevance(np.array(5)),
    "names without dimensions": lambda: rf.from_responses([{}], queries=np.array(5)),
    "a surrogate in a metric": lambda: rf.calibration(3, by="\ud800"),
    "an output without repr": lambda: rf.evaluate(QRELS, RUN, "map", output=Unwritable()),
    "queries without repr": lambda: rf.diff(QRELS, RUN, OTHER, only=Unwritable()),
    "an expression without repr": lambda: rf.metric(Unwritable()),
    "a norm without repr": lambda: rf.stack(RUNS, norm=Unwritable()),
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
    "metrics without end": lambda: rf.evaluate(QRELS, RUN, itertools.repeat("map")),
    "an array without dimensions": lambda: rf.evaluate(QRELS, RUN, np.array(5)),
    "methods without end": lambda: rf.tune(QRELS, RUNS, itertools.count(), folds=2),
    "an open file of methods": lambda: rf.tune(QRELS, RUNS, sys.stdin, folds=2),
    "a grid without end": lambda: rf.tune(
        QRELS, RUNS, "rrf", grid={"k": itertools.count()}, folds=2
    ),
    "rules without end": lambda: rf.gate(QRELS, RUN, OTHER, rules=itertools.repeat("x")),
    "rules from an open file": lambda: rf.gate(QRELS, RUN, OTHER, rules=io.StringIO("x")),
    "shares without depths": lambda: gate(min_judged=[0.5]),
    "a text of shares": lambda: gate(min_judged="0.5"),
    "a share of a text": lambda: gate(min_judged={"x": 0.5}),
    "directions without end": lambda: gate(lower_is_better=itertools.count()),
    "a direction without dimensions": lambda: gate(lower_is_better=np.array(5)),
    "cutoffs without end": lambda: rf.curve(QRELS, RUN, "metric_at_k", ks=itertools.count()),
    "cutoffs of pairs": lambda: rf.pair(RUN, OTHER, cutoffs=itertools.count(1)),
    "something that cannot be written": lambda: rf.evaluate(QRELS, RUN, "map", rel=Unwritable()),
    "a frame as a choice": lambda: rf.evaluate(
        QRELS, RUN, "map", ties=pl.LazyFrame({"a": [1]}).select("b")
    ),
    "an address with a bracket": lambda: rf.evaluate(QRELS, "http://[", "map"),
    "a store without a bucket": lambda: gate(baseline="s3://"),
    "an output of fuse": lambda: rf.fuse(RUNS, output=5),
    "systems of a report": lambda: rf.report(QRELS, [RUN, OTHER], output="x.html"),
    "a report to a number": lambda: rf.report(QRELS, RUNS, output=5),
    "a title": lambda: rf.report(QRELS, RUNS, output="x.html", title=5),
    "a limit": lambda: tuned().to_markdown(limit="x"),
    "a name": lambda: rf.diff(QRELS, RUN, OTHER).named(pl.col("x"), "y"),
    "a role": lambda: gate().named(baseline=pl.col("x")),
    "a label": lambda: compared().metric("x"),
    "a frame's name": lambda: compared().to_pandas(pl.DataFrame()),
    "a memory limit": lambda: rf.evaluate(QRELS, RUN, "map", max_memory=pl.LazyFrame()),
    "lists without dimensions": lambda: rf.from_lists(np.array(5), [["a"]]),
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


def test_a_ledger_has_no_item_that_is_no_text() -> None:
    found = compared()
    assert (found.count(5), found.note([1])) == (None, "")
    with pytest.raises(KeyError, match="no item"):
        rf.evaluate(QRELS, RUN, "map").count(range(3))


def test_a_threshold_may_be_a_fraction() -> None:
    half = rf.evaluate(QRELS, RUN, "map", rel=Fraction(1, 2))
    assert half.summary.equals(rf.evaluate(QRELS, RUN, "map", rel=0.5).summary)


CHARTS: dict[str, Callable[[], Any]] = {
    "curves": lambda: rf.plot.roc("x"),
    "a list of curves": lambda: rf.plot.precision_recall({"x": [1]}),
    "points": lambda: rf.plot.cumulative_gain({}),
    "a change": lambda: rf.plot.differences(RUN),
    "rankings": lambda: rf.plot.bump([["a"], ["b"]]),
    "judged": lambda: rf.plot.heatmap("x"),
    "another frame": lambda: rf.plot.heatmap(pl.DataFrame({"a": [1]})),
    "pairs": lambda: rf.plot.calibration(pl.DataFrame({"a": [1]})),
    "a history": lambda: rf.plot.history([1]),
    "a theme": lambda: rf.plot.discounts(theme=pl.lit(1)),
}


@pytest.mark.parametrize("case", CHARTS)
def test_a_chart_refuses_a_wrong_type(case: str) -> None:
    pytest.importorskip("altair")
    with pytest.raises(RankframeError) as caught:
        CHARTS[case]()
    assert 20 < len(str(caught.value)) < 600
