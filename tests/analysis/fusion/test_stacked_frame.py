"""The stacked frame: what each column says."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import STACKED_FRAME
from rankframe.core.errors import OptionError
from tests.support.fusing import random_runs

A = {"q2": {"x": 1.0}, "q1": {"x": 3.0, "y": 2.0, "z": 2.0}}
B = {"q1": {"y": 9.0, "w": 5.0, "x": 1.0}}


def test_the_columns_of_a_small_stack() -> None:
    frame = rf.stack({"b first": B, "a": A}).collect()
    assert frame.schema == STACKED_FRAME.schema
    assert frame.rows() == [
        ("q1", "y", "b first", 1, 9.0, 1.0, 3, 2, 4),
        ("q1", "w", "b first", 2, 5.0, 0.5, 3, 1, 4),
        ("q1", "x", "b first", 3, 1.0, 0.0, 3, 2, 4),
        ("q1", "x", "a", 1, 3.0, 1.0, 3, 2, 4),
        ("q1", "z", "a", 2, 2.0, 0.0, 3, 1, 4),
        ("q1", "y", "a", 3, 2.0, 0.0, 3, 2, 4),
        ("q2", "x", "a", 1, 1.0, 0.0, 1, 1, 1),
    ]


def test_only_what_is_asked_for_is_needed(message) -> None:
    lists = {"q1": ["a", "b"]}
    lazy = rf.stack({"lists": lists, "a": A})
    assert lazy.select("rank", "score").collect()["score"].to_list()[:2] == [None, None]
    with pytest.raises(OptionError) as found:
        lazy.collect()
    message(str(found.value))
    assert rf.stack([lists, A], norm="rank").collect()["normalised"].to_list()[:2] == [1.0, 0.5]


def test_depth_and_ties() -> None:
    frame = rf.stack([A, B], depth=2, ties="doc_asc").collect()
    assert frame["doc_id"].to_list() == ["x", "y", "y", "w", "x"]
    assert frame["length"].to_list() == [2, 2, 2, 2, 1]
    assert frame["candidates"].to_list() == [3, 3, 3, 3, 1]


def test_sums_over_it_are_what_fuse_gives() -> None:
    runs = random_runs(4, 3)
    ours = (
        rf.stack(runs)
        .group_by("query_id", "doc_id")
        .agg(score=pl.col("normalised").sum())
        .collect()
    )
    both = rf.fuse(runs, "sum").collect().join(ours, on=["query_id", "doc_id"], suffix="_ours")
    assert both.height == ours.height
    assert ((both["score"] - both["score_ours"]).abs() < 1e-12).all()
