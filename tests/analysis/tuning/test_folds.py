"""Folds: even, the same in any order, other ones for another seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.analysis.tuning.folds import check_folds, fold_numbers, refuse_more_folds
from rankframe.core.errors import OptionError
from rankframe.stats.bootstrap import hash_ids

IDS = pl.Series([f"q{number}" for number in range(103)])


@pytest.mark.parametrize("folds", [2, 5, 103])
def test_folds_are_even(folds: int) -> None:
    sizes = np.bincount(fold_numbers(hash_ids(IDS), folds, 0), minlength=folds)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


def test_a_query_is_in_the_same_fold_wherever_its_row_is() -> None:
    order = np.random.default_rng(0).permutation(len(IDS))
    there = fold_numbers(hash_ids(IDS[order.tolist()]), 5, 3)
    assert fold_numbers(hash_ids(IDS), 5, 3)[order].tolist() == there.tolist()


def test_another_seed_deals_otherwise() -> None:
    one, other = (fold_numbers(hash_ids(IDS), 5, seed) for seed in (0, 1))
    assert 0.5 < (one != other).mean() < 1


@pytest.mark.parametrize("folds", [1, 0, -2, 2.5, "5", True, None])
def test_what_is_no_number_of_folds_is_refused(folds: object) -> None:
    with pytest.raises(OptionError, match="folds must be a whole number of at least 2"):
        check_folds(folds)


def test_every_fold_needs_a_query() -> None:
    refuse_more_folds(5, 5)
    with pytest.raises(OptionError, match=r"folds=5 is more than there are queries .* 4 queries"):
        refuse_more_folds(5, 4)
