"""The rows of the shown frame; values of whole lists: tests/metrics/test_retrieved.py."""

from __future__ import annotations

import polars as pl

import rankframe as rf

RUN = {"u2": {"a": 1.0, "b": 3.0, "c": 2.0}, "u1": {"a": 1.0}}


def test_by_query_and_rank() -> None:
    frame = rf.retrieved(RUN, k=2).collect()
    assert frame.select("query_id", "doc_id", "rank", "score", "retrieved").rows() == [
        ("u1", "a", 1, 1.0, 1), ("u2", "b", 1, 3.0, 3), ("u2", "c", 2, 2.0, 3),
    ]  # fmt: skip


def test_what_lies_beside() -> None:
    frame = rf.retrieved(
        RUN, {"u2": {"b": 0, "c": 2}}, train={"u2": ["c"]}, reference={"u2": ["c", "z", "b"]}, rel=2
    ).collect()
    assert frame.select("relevance", "relevant", "judged", "seen", "reference_rank").rows() == [
        (None, False, False, False, None),
        (0.0, False, True, False, 3),
        (2.0, True, True, True, 1),
        (None, False, True, False, None),
    ]


def test_cut_and_best_of_duplicates() -> None:
    rows = pl.DataFrame(
        {"query_id": ["u"] * 4, "doc_id": ["a", "b", "a", "c"], "score": [1.0, 2.0, 3.0, 0.5]}
    )
    frame = rf.retrieved(rows, duplicates="keep_best", k_max=2).collect()
    assert frame.select("doc_id", "rank", "retrieved").rows() == [("a", 1, 2), ("b", 2, 2)]
