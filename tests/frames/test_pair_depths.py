"""Overlap and agreement at every depth, from a table of what each document contributes to it."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from tests.support.rankings import Scores, broken, contributions, deep, rankings

EITHER = st.one_of(rankings, deep)


def column(a: Scores, b: Scores, name: str) -> list[float]:
    """Of one query, among others whose depths must not touch it."""
    sides = [{"before": {"x": 1.0}, "q": dict(of), "then": {"y": 1.0}} for of in (a, b)]
    frame = rf.pair(*sides).filter(pl.col("query_id") == "q").select(name).collect()
    return frame.to_series().to_list()


@given(EITHER, EITHER)
def test_overlap_with_broken_ties(a: Scores, b: Scores) -> None:
    x, y = broken(a), broken(b)
    depths = range(1, len({*x, *y}) + 1)
    shared = [len({*x[:d]} & {*y[:d]}) for d in depths]
    assert column(a, b, "depth") == list(depths)
    assert column(a, b, "overlap") == shared
    agreement = [n / d for n, d in zip(shared, depths, strict=True)]
    assert column(a, b, "agreement") == agreement


def by_contributions(a: Scores, b: Scores, ties: str) -> np.ndarray:
    depths = len({*a, *b})
    depth, zero = np.arange(1, depths + 1), np.zeros(depths)
    in_a, in_b = (contributions(side, ties, depths) for side in (a, b))
    overlap = sum((in_a[doc] * in_b[doc] for doc in a if doc in b), zero)
    if ties == "a":
        return overlap / depth

    def size(side: Scores, found: dict[str, np.ndarray]) -> np.ndarray:
        power = 1 if ties == "w" else 2
        # below its end, a ranking counts as if it went on
        return np.where(depth <= len(side), sum((c**power for c in found.values()), zero), depth)

    sizes = size(a, in_a), size(b, in_b)
    if ties == "w":
        return overlap / ((sizes[0] + sizes[1]) / 2)
    return overlap / np.sqrt(sizes[0]) / np.sqrt(sizes[1])


@pytest.mark.parametrize("ties", ["w", "a", "b"])
@settings(max_examples=8)
@given(a=EITHER, b=EITHER)
def test_agreement_by_contributions(ties: str, a: Scores, b: Scores) -> None:
    expected = by_contributions(a, b, ties).tolist()
    assert column(a, b, f"agreement_{ties}") == pytest.approx(expected, abs=1e-12)


@settings(max_examples=5)
@given(EITHER, EITHER)
def test_without_ties_all_treatments_agree(a: Scores, b: Scores) -> None:
    a, b = ({doc: -float(at) for at, doc in enumerate(broken(side))} for side in (a, b))
    for what in ("agreement", "unseen", "unseen_most"):
        plain = column(a, b, what)
        for ties in ("w", "a", "b"):
            assert column(a, b, f"{what}_{ties}") == pytest.approx(plain, abs=1e-12)


def test_what_a_shorter_ranking_may_still_hold_by_hand() -> None:
    a, b = {"x": 2.0, "y": 1.0}, {"x": 4.0, "v": 3.0, "w": 2.0, "y": 1.0}
    # at depths 3 and 4 the shorter one has gone on by 1 and 2 documents
    for what in ("unseen", "unseen_most"):
        assert column(a, b, what) == pytest.approx([0, 0, 1 / 3, 2 / 4])
        assert column(b, a, what) == column(a, b, what)
    assert column(a, a, "unseen") == [0, 0]


def test_what_may_follow_both_rankings_by_hand() -> None:
    a, b = {"x": 2.0, "y": 1.0}, {"x": 2.0, "z": 1.0}
    # x is shared; below the ends, y and z may follow in the ranking that lacks them
    assert column(a, b, "unseen_most") == pytest.approx([0, 0, 2 / 3])
    assert top_of(a, b, "unseen_most", 1) == pytest.approx([0, 1 / 2, 2 / 3])
    assert top_of(a, b, "unseen_most", 2) == column(a, b, "unseen_most")


def top_of(a: Scores, b: Scores, name: str, k: int) -> list[float]:
    frame = rf.pair({"q": dict(a)}, {"q": dict(b)}, cutoffs=[k])
    return frame.select(f"{name}_top{k}").collect().to_series().to_list()


def test_the_unseen_contribute_in_part_inside_a_tie() -> None:
    a, b = {"x": 2.0}, {"x": 2.0, "v": 1.0, "w": 1.0}
    for what in ("unseen", "unseen_most"):
        assert column(a, b, f"{what}_a") == pytest.approx([0, 1 / 2 / 2, 2 / 3])
        assert column(a, b, what) == pytest.approx([0, 1 / 2, 2 / 3])
        assert column(a, b, f"{what}_w")[:2] == pytest.approx([0, 1 / 2.5])


def test_the_top_of_a_tie_counts_wholly_or_in_part() -> None:
    a, b = {"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 1.0}
    assert column(a, b, "agreement_w") == pytest.approx([1 / 1.5, 1])
    assert column(a, b, "agreement_a") == pytest.approx([1 / 2, 1])
    assert column(a, b, "agreement_b") == pytest.approx([0.5 / math.sqrt(0.5), 1])
