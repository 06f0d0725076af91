"""How often documents are shown: counts that add up, and what is made of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import rankframe as rf
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.engine.result import Result
from rankframe.metrics.names import resolve
from tests.support.shown import shop

SHOP = shop(5)
NAMES = ["coverage@5", "gini@5", "entropy@5", "entropy"]


def counted(run: Any) -> OverDocuments:
    found: Result = rf.evaluate(None, run, NAMES, items=SHOP.items)
    assert found.over_documents is not None
    return found.over_documents


WHOLE = counted(SHOP.run)
METRICS = resolve(NAMES, "documents")


def test_counts_of_different_queries_add_up_and_travel() -> None:
    first = SHOP.run["query_id"] < "u2"
    parts = [counted(SHOP.run.filter(some)).shows for some in (first, ~first)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    both = OverDocuments(sent[0] + sent[1], WHOLE.catalogue)
    assert both.of(METRICS, groups=True) == WHOLE.of(METRICS, groups=True)


def test_an_interval_is_about_the_value() -> None:
    coverage, *others = WHOLE.of(METRICS, groups=True)
    assert coverage.bounds(0.95) is None  # all documents are shown
    for one in others:
        low, high = one.bounds(0.95) or pytest.fail("there is none")
        assert one.value is not None
        assert low <= one.value <= high
    assert all(one.bounds(0.95) is None for one in WHOLE.of(METRICS))


def test_the_error_is_that_of_a_mean_where_it_is_one() -> None:
    # Of equal groups, leaving out each in turn gives the usual standard error of a mean.
    groups = np.array([1.0, 4.0, 2.0, 7.0])
    without = tuple((groups.sum() - groups) / 3)
    one = Aggregate(float(groups.mean()), 40, without, (10,) * 4)
    assert one.error == pytest.approx(groups.std(ddof=1) / 2, abs=1e-12)
    assert one.less(one).value == 0.0
    assert one.less(one).p_value == 1.0
    assert one.less(Aggregate(None, 0)).value is None


def test_few_lists_have_no_interval() -> None:
    found = rf.evaluate(None, {"u": ["a"], "v": ["b"]}, "entropy")
    assert found.summary.select("value", "ci_low", "ci_high").row(0) == (1.0, None, None)
