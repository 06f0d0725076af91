"""Trained methods, by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf

A = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
B = {"q1": {"b": 2.0, "d": 1.0}}
# Of the first run, rank 1 is relevant in one of two lists, 2 in one, 3 in the one that has it.
QRELS = {"q1": {"a": 1, "c": 1, "b": 0}, "q2": {"b": 1}}


def scores(method: str, query: str = "q1") -> dict[str, float]:
    found = rf.fuse([A, B], method, qrels=QRELS).collect()
    return {doc: score for q, doc, _, score in found.iter_rows() if q == query}


def test_the_chance_of_a_rank() -> None:
    assert scores("posfuse") == {"a": 0.5, "b": 0.5, "c": 1.0, "d": 0.0}


def test_a_window_of_ranks() -> None:
    found = scores("slidefuse(window=1)")
    assert found == pytest.approx({"a": 0.5, "b": 2 / 3, "c": 0.75, "d": 0.0})


def test_segments_of_a_list() -> None:
    # Two segments: ranks 1–2 and 3 of three, 1 and 2 of two.
    first, second = (1 / 2 + 0) / 2, (1 + 1) / 2
    expected = {"a": first, "b": first, "c": second / 2, "d": 0.0}
    assert scores("probfuse(segments=2)") == pytest.approx(expected)


def test_segments_that_double() -> None:
    # Three relevant documents within the first five ranks of two lists, times 1 + min_max.
    chance = 3 / 5 / 2
    expected = {"a": 2 * chance, "b": 1.5 * chance, "c": chance, "d": 0.0}
    assert scores("segfuse") == pytest.approx(expected)


def test_the_last_segment_ends_at_rank_5115() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": [5115, 5116]})
    judged = {"q": {"a": 1, "b": 1}}
    found = rf.fuse([run, run], "segfuse", qrels=judged, ranks="kept", norm="rank").collect()
    # One relevant document in 2,560 ranks, times 1 + 2/5116, in two runs.
    assert found["score"].to_list() == pytest.approx([2 * (1 + 2 / 5116) / 2560, 0.0])


def test_odds() -> None:
    known, least = math.log(0.3 / 0.7), math.log(0.001 / 0.999)
    expected = {"a": known + least, "b": known + least, "c": known + least, "d": 2 * least}
    assert scores("bayesfuse") == pytest.approx(expected)


def test_mean_average_precision_by_rank() -> None:
    mean = ((1 + 2 / 3) / 2 + 1 / 2) / 2
    expected = {"a": mean, "b": mean / 2, "c": mean / 3, "d": 0.0}
    assert scores("mapfuse") == pytest.approx(expected)
