"""Candidates: their names, and what is refused before anything is read."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.tuning.candidates import VALUES, list_candidates, make_candidate
from rankframe.analysis.tuning.tune import one_metric
from rankframe.core.errors import RankframeError

RUNS = ["bm25", "dense"]


@pytest.mark.parametrize(
    ("method", "norm", "params", "name"),
    [
        ("isr", None, {}, "isr"),
        ("rrf", None, {"k": 60}, "rrf(k=60)"),
        ("wsum", "zmuv", {"weights": (0.1, 0.9)}, "wsum(weights=[0.1, 0.9])"),
        ("gmnz", "min_max", {"gamma": 0.5}, "gmnz(gamma=0.5)"),
    ],
)
def test_a_name_is_what_fuse_reads(
    method: str, norm: str | None, params: dict[str, Any], name: str
) -> None:
    candidate = make_candidate(METHODS[method], params, norm, RUNS)
    assert (candidate.label, candidate.norm_name) == (name, norm)
    runs = {"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 2.0, "y": 1.0}}}
    assert rf.fuse(runs, name, norm=norm).collect().height == 2


def test_one_metric_with_a_value_for_each_query(refusal) -> None:
    assert one_metric("ndcg@10").label == "ndcg@10"
    assert one_metric(pl.col("rank").min().alias("first")).label == "first"
    refusal(one_metric, "ndcg@1,10")
    refusal(one_metric, "auc(pool=true)")


def test_names_are_read_as_fuse_reads_them() -> None:
    found = list_candidates(
        ["reciprocal_rank_fusion", "combsum"], "min-max", None, RUNS, budget=9, folds=5
    ).listed
    assert [one.label for one in found][-2:] == ["rrf(k=200)", "sum"]
    assert found[-1].norm_name == "min_max"
    (raw,) = list_candidates("sum", ["none"], None, RUNS, budget=9, folds=5).listed
    assert raw.norm is None
    assert raw.norm_name == "none"


def test_a_candidate_is_a_method() -> None:
    found = make_candidate(METHODS["wsum"], {"weights": (0.1, 0.9)}, "zmuv", RUNS)
    assert found.params == {"weights": [0.1, 0.9]}
    assert found.norm is not None
    assert found.norm.name == "zmuv"


def test_values_that_are_tried_ascend() -> None:
    for parameter, values in VALUES.items():
        assert list(values) == sorted(set(values)), parameter


def test_what_is_trained_needs_three_folds(refusal) -> None:
    assert list_candidates("mapfuse", "min_max", None, RUNS, budget=9, folds=3).listed
    refusal(list_candidates, "mapfuse", "min_max", None, RUNS, budget=9, folds=2)


def test_expressions_are_called_by_their_aliases() -> None:
    own, by_rank = pl.col("normalised").sum().alias("own"), pl.col("rank").min()
    found = list_candidates(
        [own, "sum", by_rank], ["max", "sum"], None, RUNS, budget=9, folds=5
    ).listed
    assert [(one.label, one.norm_name) for one in found] == [
        ("sum", "max"), ("sum", "sum"), ("own", "max"), ("own", "sum"), (str(by_rank), None),
    ]  # fmt: skip
    assert found[2].definition.formula == str(own)
    for methods, said in (
        ([own, own], "two methods are called 'own'"),
        (by_rank.alias("rrf"), "two methods are called 'rrf'"),
        ([own, 3], "are names and expressions"),
        (pl.col("nothing").sum(), "has no column 'nothing'"),
    ):
        with pytest.raises(RankframeError) as error:
            list_candidates(methods, "max", None, RUNS, budget=9, folds=5)
        assert said in str(error.value)
