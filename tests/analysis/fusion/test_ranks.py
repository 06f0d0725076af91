"""Methods over ranks, by hand."""

from __future__ import annotations

import math

import pytest

import rankframe as rf

A = {"q": {"a": 10.0, "b": 6.0, "c": 2.0}}
B = {"q": {"b": 0.9, "d": 0.4}}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("rrf", {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 63, "d": 1 / 62}),
        ("rrf(k=0)", {"a": 1.0, "b": 1.5, "c": 1 / 3, "d": 0.5}),
        ("rbc(phi=0.5)", {"a": 0.5, "b": 0.75, "c": 0.125, "d": 0.25}),
        ("isr", {"a": 1.0, "b": 2.5, "c": 1 / 9, "d": 0.25}),
        ("log_isr", {"a": 0.0, "b": math.log(2) * 1.25, "c": 0.0, "d": 0.0}),
        ("logn_isr(sigma=1)", {"a": math.log(2), "b": math.log(3) * 1.25,
                               "c": math.log(2) / 9, "d": math.log(2) / 4}),
        # Four candidates: 4, 3, 2 points and 1 for d; 4 and 3, and 1.5 for those that b lacks.
        ("bordafuse", {"a": 5.5, "b": 7.0, "c": 3.5, "d": 4.0}),
        ("w_bordafuse(weights=[1, 2])", {"a": 7.0, "b": 11.0, "c": 5.0, "d": 7.0}),
    ],
)  # fmt: skip
def test_by_hand(method: str, expected: dict[str, float]) -> None:
    found = rf.fuse({"a": A, "b": B}, method).collect()
    scores = dict(zip(found["doc_id"], found["score"], strict=True))
    assert scores == pytest.approx(expected, rel=1e-15)
    by = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)
    assert found["doc_id"].to_list() == by


def test_ranks_that_are_kept_count_with_their_gaps() -> None:
    runs = [{"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2, 5_000_000]} for _ in "ab"]
    found = rf.fuse(runs, "rrf(k=0)", ranks="kept").collect()
    assert found["score"].to_list() == [1.0, 2 / 5_000_000]
    assert rf.fuse(runs, "rrf(k=0)", ranks="kept", depth=10).collect()["doc_id"].to_list() == ["a"]
    assert rf.fuse(runs, "rrf(k=0)").collect()["score"].to_list() == [2.0, 1.0]
