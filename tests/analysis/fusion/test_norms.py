"""Norms, by hand; what is equal, short or missing."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.norms import NORMS

A = {"q": {"a": 10.0, "b": 6.0, "c": 2.0}}
B = {"q": {"b": -1.0, "d": -3.0}}
DEVIATION = math.sqrt(32 / 3)


@pytest.mark.parametrize(
    ("norm", "first", "second"),
    [
        ("min_max", [1.0, 0.5, 0.0], [1.0, 0.0]),
        ("min_max_inverted", [0.0, 0.5, 1.0], [0.0, 1.0]),
        ("max", [1.0, 0.6, 0.2], [-1e9, -3e9]),
        ("sum", [8 / 12, 4 / 12, 0.0], [1.0, 0.0]),
        ("zmuv", [4 / DEVIATION, 0.0, -4 / DEVIATION], [1.0, -1.0]),
        ("rank", [1.0, 1 - 1 / 3, 1 - 2 / 3], [1.0, 0.5]),
        ("borda", [1.0, 0.75, 0.5], [1.0, 0.75]),
        ("none", [10.0, 6.0, 2.0], [-1.0, -3.0]),
    ],
)
def test_by_hand(norm: str, first: list[float], second: list[float]) -> None:
    frame = rf.stack({"a": A, "b": B}, norm=norm).collect()
    assert frame["run"].to_list() == ["a", "a", "a", "b", "b"]
    assert frame["normalised"].to_list() == pytest.approx([*first, *second], rel=1e-12)


def test_borda_gives_a_share_of_the_rest_to_what_a_run_lacks() -> None:
    found = rf.fuse({"a": A, "b": B}, "sum", norm="borda").collect()
    scores = dict(zip(found["doc_id"], found["score"], strict=True))
    # Four candidates: what the second lacks gets .5 − 1/8, what the first lacks .5 − 2/8.
    assert scores == {"a": 1.375, "b": 1.75, "c": 0.875, "d": 1.0}


@pytest.mark.parametrize("norm", NORMS)
def test_equal_scores_and_lists_of_one_give_finite_numbers(norm: str) -> None:
    equal = {"q": dict.fromkeys("abc", 0.1), "one": {"x": 0.0}}
    frame = rf.stack([equal, {"q": {"a": 1e300, "b": -1e300}}], norm=norm).collect()
    assert frame["normalised"].is_finite().all()
    if norm == "zmuv":
        assert frame.filter(pl.col("run") == "run 1")["normalised"].to_list() == [0.0] * 4


def test_every_norm_says_what_it_means() -> None:
    for norm in NORMS.values():
        assert norm.summary.endswith(".")
        assert norm.formula
