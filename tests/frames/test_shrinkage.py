"""How uncertain a number of distinct documents is."""

from __future__ import annotations

import numpy as np
import pytest

import rankframe as rf
from rankframe.frames.exposure import shrinkage


def test_by_hand() -> None:
    """Documents that only one of 32 groups shows, and others that two show."""
    shown = np.zeros((32, 300), np.bool_)
    shown[np.arange(300) % 32, np.arange(300)] = True
    both = shown.copy()
    both[(np.arange(100) + 1) % 32, np.arange(100)] = True
    # Of ten coins, at least one head: 1023 of 1024; at least two: 1013.
    assert shrinkage(shown) == pytest.approx((1023 / 1024) ** 0.5)
    assert shrinkage(both) == pytest.approx(((200 * 1023 - 100 * 1013) / 1024 / 200) ** 0.5)


def test_too_little_says_nothing() -> None:
    shown = np.zeros((32, 300), np.bool_)
    assert shrinkage(shown) is None
    shown[:, :] = True  # everybody shows all
    assert shrinkage(shown) is None
    shown[:, :5] = False
    shown[0, :5] = True
    assert shrinkage(shown) is None
    # The number of documents that one group shows must be three times its error, its root.
    for count, enough in ((8, False), (10, True)):
        shown = np.zeros((32, 300), np.bool_)
        shown[np.arange(count), np.arange(count)] = True
        assert (shrinkage(shown) is not None) == enough


def test_coverage_has_an_interval_where_documents_are_many() -> None:
    """Not where all of them are shown; and a share stays one."""
    rng = np.random.default_rng(1)
    run = {f"u{u}": {f"d{d}": 1.0 for d in rng.integers(0, 1_000, 5)} for u in range(200)}
    many, few = ([f"d{d}" for d in range(n)] for n in (1_000, 20))
    found = rf.evaluate(None, run, ["coverage@5", "coverage(count=true)@5"], items=many).summary
    value, low, high = found.row(0)[1:4]
    assert low < value < high
    assert found.row(1)[1:4] == pytest.approx((1_000 * value, 1_000 * low, 1_000 * high))
    # In 200 lists of 5 of 1,000, coverage varies by 0.010 (by simulation).
    assert 0.010 * 0.6 < (high - low) / 4 < 0.010 * 1.6
    narrow = {user: {f"d{int(doc[1:]) % 20}": 1.0 for doc in docs} for user, docs in run.items()}
    assert rf.evaluate(None, narrow, "coverage@5", items=few).summary.row(0)[1:4] == (1, None, None)
    one = rf.evaluate(None, narrow, "gini@5", items=few).summary.row(0)
    assert one[2] >= 0
