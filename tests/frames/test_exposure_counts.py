"""Counts of what is shown, by group of queries: they travel, and add up in any order."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest

import rankframe as rf
from rankframe.frames import exposure
from rankframe.frames.exposure import BUCKETS, Exposure
from tests.support.retrieved import shop

SHOP = shop(6)
NAMES = ["coverage@5", "exposure_gap(by=genres)@3"]


def counted(run: object) -> Exposure:
    found = rf.evaluate(None, run, NAMES, items=SHOP.items, queries=SHOP.users, by="segment")
    assert found.over_documents is not None
    return found.over_documents.exposure


def test_counts_travel_and_add_up() -> None:
    whole = counted(SHOP.run)
    first = SHOP.run["query_id"] < "u2"
    one, other = (
        pickle.loads(pickle.dumps(counted(SHOP.run.filter(some)))) for some in (first, ~first)
    )
    for both in (deepcopy(one).merge(other), deepcopy(other).merge(one)):
        assert np.array_equal(both.in_catalogue, whole.in_catalogue)
        assert np.array_equal(both.lists, whole.lists)
        values = both.values["genres"]
        assert np.array_equal(values.counts, whole.values["genres"].counts)
        keys = ["way", "number", "set", "rank"]
        expected = whole.values["genres"].rest.select(0).sort(keys)
        assert values.rest.select(0).sort(keys).equals(expected)
    assert whole.buckets == BUCKETS
    assert whole.lists.sum() == SHOP.run["query_id"].n_unique()
    assert whole.values["genres"].counts[:, :, 0].sum() == whole.lists.sum()


def test_of_too_many_documents_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposure, "_MOST_CELLS", 100)
    assert counted(SHOP.run).buckets == 1
    found = rf.evaluate(None, SHOP.run, NAMES, items=SHOP.items).summary
    assert found["ci_low"].null_count() == 2
    assert found["value"].null_count() == 0
