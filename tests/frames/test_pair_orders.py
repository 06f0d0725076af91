"""Pairs of compared documents: every count against a look at each pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.columns import PAIR_FRAME
from tests.support.rankings import Scores, broken, deep, rankings

EITHER = st.one_of(rankings, deep)
COUNTS = ("concordant", "discordant", "tied_in_b", "tied_in_a", "above_in_b", "above_in_both")


def frame_of(a: Scores, b: Scores, **options: Any) -> pl.DataFrame:
    """Of one query, among others that must not touch it."""
    sides = [{"before": {"x": 1.0}, "q": dict(of), "then": {"y": 1.0}} for of in (a, b)]
    return rf.pair(*sides, **options).filter(pl.col("query_id") == "q").collect()


def places(side: Scores, docs: list[str], k: int | None) -> tuple[dict[str, float], dict[str, int]]:
    """Where documents stand by their scores, and in order; those it lacks below all, together."""
    order = broken(side)[:k]
    by_score = {doc: -side[doc] if doc in order else np.inf for doc in docs}
    return by_score, {doc: order.index(doc) if doc in order else 10**6 for doc in docs}


def counted(a: Scores, b: Scores, missing: str, k: int | None) -> dict[str, dict[str, int]]:
    in_a, in_b = {*broken(a)[:k]}, {*broken(b)[:k]}
    docs = sorted(in_a & in_b if missing == "shared" else in_a | in_b)
    (score_a, rank_a), (score_b, rank_b) = (places(side, docs, k) for side in (a, b))
    found = {}
    for x in docs:
        above = [y for y in docs if score_a[y] < score_a[x]]
        found[x] = {
            "concordant": sum(score_b[y] < score_b[x] for y in above),
            "discordant": sum(score_b[y] > score_b[x] for y in above),
            "tied_in_b": sum(score_b[y] == score_b[x] for y in above),
            "tied_in_a": sum(score_a[y] == score_a[x] and score_b[y] < score_b[x] for y in docs),
            "above_in_b": sum(rank_b[y] < rank_b[x] for y in docs),
            "above_in_both": sum(rank_b[y] < rank_b[x] and rank_a[y] < rank_a[x] for y in docs),
        }
    return found


@pytest.mark.parametrize("k", [None, 2, 5])
@pytest.mark.parametrize("missing", ["shared", "bottom"])
@settings(max_examples=8)
@given(a=EITHER, b=EITHER)
def test_every_count_by_a_look_at_each_pair(
    missing: Any, k: int | None, a: Scores, b: Scores
) -> None:
    end = "" if k is None else f"_top{k}"
    frame = frame_of(a, b, missing=missing, cutoffs=[] if k is None else [k])
    expected = counted(a, b, missing, k)
    for row in frame.to_dicts():
        assert row[f"compared{end}"] == (row["doc_id"] in expected)
        of = expected.get(row["doc_id"], dict.fromkeys(COUNTS, 0))
        assert {name: row[f"{name}{end}"] for name in COUNTS} == of


@settings(max_examples=8)
@given(EITHER, EITHER)
def test_ranks_among_the_compared_share_the_mean_of_their_places(a: Scores, b: Scores) -> None:
    frame = frame_of(a, b)
    shared = frame.filter("compared")
    for name, side in (("a", a), ("b", b)):
        scores = [side[doc] for doc in shared["doc_id"]]
        expected = [
            sum(s > score for s in scores) + (sum(s == score for s in scores) + 1) / 2
            for score in scores
        ]
        assert shared[f"mean_rank_{name}"].to_list() == expected
        assert shared[f"distinct_{name}"].sum() == len(set(scores))
        others = frame.filter(~pl.col("compared"))
        assert not others[f"distinct_{name}"].any()
        assert set(others[f"mean_rank_{name}"]) <= {0.0}


@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 2.0**1000])
def test_deviations_are_from_the_mean_of_the_compared_and_never_overflow(scale: float) -> None:
    a, b = {"x": 3 * scale, "y": 1 * scale, "z": 2 * scale}, {"x": 1.0, "y": 2.0, "w": 3.0}
    found = dict(frame_of(a, b).select("doc_id", "deviation_a").iter_rows())
    assert found["z"] is None
    assert found["w"] is None
    # from 2, the mean of 3 and 1; times a power of 2
    assert (found["x"], found["y"]) == (0.5, -0.5)


def test_without_scores_there_are_no_deviations_but_orders() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("xyz"), "rank": [1, 2, 3]})
    found = rf.pair(frame, {"q": {"z": 3.0, "y": 2.0, "x": 1.0}}).collect()
    assert found["deviation_a"].null_count() == found["deviation_b"].null_count() == 3
    assert found["discordant"].to_list() == [0, 1, 2]


def test_nothing_in_common_compares_nothing() -> None:
    found = frame_of({"x": 1.0}, {"y": 1.0}).select(
        *(name for name, column in PAIR_FRAME.columns.items() if column.parameters)
    )
    assert found.select("compared", *COUNTS).unique().rows() == [(False, *[0] * len(COUNTS))]
    assert found["deviation_a"].null_count() == 2
