"""Check metrics of retrieved and relevant documents by hand; definitions: test_retrieved.py."""

from __future__ import annotations

import math

import pytest

import rankframe as rf

TRAIN = {"u": ["a"], "v": ["a"], "w": ["b"], "x": ["d"]}


def test_by_hand() -> None:
    run, items = {"u": ["a", "b", "c"], "v": ["c"]}, ["a", "b", "c", "d"]
    names = ["serendipity@3", "epc@2", "efd@2"]
    found = rf.evaluate({"u": {"b": 1, "c": 2, "a": 0}}, run, names, train=TRAIN, items=items)
    # b stands second, as by its popularity; c, that nobody has, third of four.
    assert found["serendipity@3"] == pytest.approx((0 + 2 / 4) / 3, abs=1e-15)
    second = 1 / math.log2(3)
    assert found["epc@2"] == pytest.approx(second * 3 / 4 / (1 + second), abs=1e-15)
    assert found["efd@2"] == pytest.approx(second * 2 / (1 + second), abs=1e-15)
    # v has no judgments: nobody can say.
    assert found.per_query["epc@2"].null_count() == 1


def test_a_level_of_its_own() -> None:
    qrels = {"u": {"b": 1, "c": 2}}
    found = rf.evaluate(qrels, {"u": ["b", "c"]}, ["epc@2", "epc(rel=2)@2"], train=TRAIN)
    second = 1 / math.log2(3)
    assert found["epc@2"] == pytest.approx((3 / 4 + second) / (1 + second), abs=1e-15)
    assert found["epc(rel=2)@2"] == pytest.approx(second / (1 + second), abs=1e-15)
