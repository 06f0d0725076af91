"""Methods over scores, by hand: two runs, three documents. (tests/against has ranx.)"""

from __future__ import annotations

import math

import pytest

import rankframe as rf

# After min_max: a 1, b .5, c 0 in the first, b 1, d 0 in the second.
A = {"q": {"a": 10.0, "b": 6.0, "c": 2.0}}
B = {"q": {"b": 0.9, "d": 0.4}}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("min", {"a": 1.0, "b": 0.5, "c": 0.0, "d": 0.0}),
        ("max", {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}),
        ("med", {"a": 1.0, "b": 0.75, "c": 0.0, "d": 0.0}),
        ("sum", {"a": 1.0, "b": 1.5, "c": 0.0, "d": 0.0}),
        ("anz", {"a": 1.0, "b": 0.75, "c": 0.0, "d": 0.0}),
        ("mnz", {"a": 1.0, "b": 3.0, "c": 0.0, "d": 0.0}),
        ("gmnz(gamma=2)", {"a": 1.0, "b": 6.0, "c": 0.0, "d": 0.0}),
        ("wsum(weights=[.25, 2])", {"a": 0.25, "b": 2.125, "c": 0.0, "d": 0.0}),
        ("wmnz(weights=[.25, 2])", {"a": 0.25, "b": 3.375, "c": 0.0, "d": 0.0}),
        ("mixed(weights=[.25, 2])", {"a": 0.25, "b": math.sqrt(2) * 2.125, "c": 0.0, "d": 0.0}),
    ],
)
def test_by_hand(method: str, expected: dict[str, float]) -> None:
    found = rf.fuse({"a": A, "b": B}, method).collect()
    assert dict(zip(found["doc_id"], found["score"], strict=True)) == expected
    # The best first, equal ones by doc_id descending.
    by = sorted(expected, key=lambda doc: (expected[doc], doc), reverse=True)
    assert found["doc_id"].to_list() == by
    assert found["rank"].to_list() == [1, 2, 3, 4]


def test_scores_as_they_are() -> None:
    found = rf.fuse([A, B], "sum", norm="none").collect()
    assert dict(zip(found["doc_id"], found["score"], strict=True))["b"] == 6.9
