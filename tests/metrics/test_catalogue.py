"""Over documents: cases to check by hand. Definitions: tests/metrics/test_retrieved.py."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf

RUN = {"u": ["a", "b", "c"], "v": ["a", "d"], "w": ["a"]}
ITEMS = ["a", "b", "c", "e"]


def test_by_hand() -> None:
    names = ["coverage@2", "coverage(count=true)@2", "gini@2", "gini(over=retrieved)@2",
             "entropy@2", "personalisation@2"]  # fmt: skip
    found = rf.evaluate(None, RUN, names, items=ITEMS)
    # a three times, b and d once each; d is not in the catalogue.
    assert found["coverage@2"] == 2 / 4
    assert found["coverage(count=true)@2"] == 3.0
    assert found["gini@2"] == (1 * 1 + 3 * 3) / (4 * 4)
    assert found["gini(over=retrieved)@2"] == (-2 * 1 + 0 * 1 + 2 * 3) / (2 * 5)
    assert found["entropy@2"] == pytest.approx(1.3709505944546687, abs=1e-15)
    # Two of three pairs of lists have a in common, and so has the third: each half of two places.
    assert found["personalisation@2"] == 0.5


def test_entropy_of_few_documents() -> None:
    three_and_one = {"u": ["a"], "v": ["a"], "w": ["a"], "x": ["b"]}
    expected = 3 / 4 * math.log2(4 / 3) + 1 / 4 * math.log2(4)
    assert rf.evaluate(None, three_and_one, "entropy")["entropy"] == pytest.approx(expected)
    assert rf.evaluate(None, {"u": ["a"], "v": ["a"]}, "entropy")["entropy"] == 0


def test_other_catalogues() -> None:
    train = {"x": ["a", "z"]}
    assert rf.evaluate(None, RUN, "coverage", train=train)["coverage"] == 0.5
    assert rf.evaluate(None, RUN, "coverage", train=train, items=ITEMS)["coverage"] == 0.75
    found = rf.evaluate(None, RUN, "coverage", items=ITEMS, catalogue=["a", "b", "y", "z", "q"])
    assert found["coverage"] == 2 / 5
    own = rf.metric((pl.col("retrieved") >= 2).sum(), "twice", frame="documents")
    assert rf.evaluate(None, RUN, own)["twice"] == 1.0


def test_nothing_to_say_is_undefined() -> None:
    assert rf.evaluate(None, {"u": ["a"]}, "personalisation@5")["personalisation@5"] is None
    assert rf.evaluate(None, {"u": ["a"]}, "gini(over=retrieved)")["gini(over=retrieved)"] is None
    below = pl.DataFrame({"query_id": ["u"], "doc_id": ["a"], "rank": [5]})
    assert rf.evaluate(None, below, "entropy@2", ranks="kept")["entropy@2"] is None


def test_one_document_is_as_equal_as_can_be() -> None:
    assert rf.evaluate(None, {"u": ["a"]}, "gini", items=["a"])["gini"] == 0.0


def test_a_cutoff_is_needed(refusal) -> None:
    refusal(rf.evaluate, None, RUN, "personalisation")
