"""Errors of values out of fold: drawn by a seed, with candidates that may be the best."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rankframe.analysis.tuning.choice import _residuals, draw_errors
from rankframe.analysis.tuning.folds import Folds
from rankframe.core.options import Intervals
from rankframe.engine.accumulator import Terms
from rankframe.stats.bootstrap import hash_ids

QUERIES = 2_000
FOLDS = Folds(np.arange(QUERIES) % 3, 3, np.ones(QUERIES, np.bool_))


def terms(values: np.ndarray) -> Terms:
    return Terms(values, np.ones(len(values), np.bool_), values, None)


@pytest.mark.parametrize(("errors", "doubtful"), [(0.5, True), (1.9, True), (2.1, False)])
def test_what_is_behind_by_twice_its_error_is_worse(errors: float, doubtful: bool) -> None:
    """Of 2,000 queries, the root of 2 ln ln 2000 is 2.01."""
    noise = np.where(np.arange(QUERIES) % 2, 0.1, -0.1)
    behind = errors * 0.1 / math.sqrt(QUERIES)
    options = [terms(np.full(QUERIES, 0.5)), terms(0.5 - behind + noise)]
    _, deficits = _residuals(options, FOLDS, higher=True)
    assert deficits.tolist() == pytest.approx([0.0, 0.0 if doubtful else behind])


def test_another_seed_draws_otherwise() -> None:
    values = np.random.default_rng(1).random((2, QUERIES))
    hashes = hash_ids(pl.Series([f"q{n}" for n in range(QUERIES)]))
    drawn = [
        draw_errors([*map(terms, values)], [[0, 1]] * 3, FOLDS, hashes,
                    Intervals(replicates=100, seed=seed), higher=True).tolist()
        for seed in (0, 0, 1)
    ]  # fmt: skip
    assert drawn[0] == drawn[1]
    assert not set(drawn[0]) & set(drawn[2])
