"""Folds: even, the same in any order, other ones for another seed."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rankframe.analysis.tuning.folds import (
    FOLDS,
    Folds,
    QueryValues,
    best_of,
    deal,
    goodness,
)
from rankframe.engine.accumulator import Terms
from rankframe.stats.bootstrap import hash_ids

IDS = pl.Series([f"q{number}" for number in range(103)])


@pytest.mark.parametrize("folds", [2, 5, 103])
def test_folds_are_even(folds: int) -> None:
    sizes = np.bincount(deal(hash_ids(IDS), folds, 0), minlength=folds)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


def test_a_query_is_in_the_same_fold_wherever_its_row_is() -> None:
    order = np.random.default_rng(0).permutation(len(IDS))
    there = deal(hash_ids(IDS[order.tolist()]), 5, 3)
    assert deal(hash_ids(IDS), 5, 3)[order].tolist() == there.tolist()


def test_another_seed_deals_otherwise() -> None:
    one, other = (deal(hash_ids(IDS), 5, seed) for seed in (0, 1))
    assert 0.5 < (one != other).mean() < 1


@pytest.mark.parametrize("folds", [1, 0, -2, 2.5, "5", True, None])
def test_what_is_no_number_of_folds_is_refused(folds: object, refusal) -> None:
    refusal(FOLDS.refuse, "folds", folds)


def test_every_fold_needs_a_query(refusal) -> None:
    numbers, complete = np.arange(5), np.array([True] * 4 + [False])
    Folds(numbers, 5, np.ones(5, np.bool_)).refuse_empty()
    refusal(Folds(numbers, 5, complete).refuse_empty)


def terms(values: list[float], defined: list[bool] | None = None) -> Terms:
    found = np.array(values)
    known = np.ones(len(values), np.bool_) if defined is None else np.array(defined)
    return Terms(found, known, found, None)


def split(folds: list[int], complete: list[bool] | None = None) -> Folds:
    known = [True] * len(folds) if complete is None else complete
    return Folds(np.array(folds), max(folds) + 1, np.array(known))


def test_averages_are_those_of_the_other_folds() -> None:
    dealt = split([0, 0, 1, 1])
    one = QueryValues(terms([1.0, 0.0, 0.5, 0.25]))
    assert dealt.averages(one) == [0.375, 0.5, 0.4375]
    assert [dealt.average_in(fold, one) for fold in (0, 1)] == [0.5, 0.375]
    assert dealt.sizes == [2, 2]


def test_queries_that_are_not_complete_do_not_count() -> None:
    dealt = split([0, 0, 1, 1]).limit_to(
        [QueryValues(terms([1, 1, 1, 1], [True, False, True, True]))]
    )
    assert dealt.complete.tolist() == [True, False, True, True]
    assert dealt.averages(QueryValues(terms([1.0, 9.0, 0.5, 0.25]))) == [0.375, 1.0, 1.75 / 3]
    assert dealt.sizes == [1, 2]


def test_what_is_trained_is_chosen_by_what_saw_neither_fold() -> None:
    dealt = split([0, 0, 1, 1])
    within = (terms([9, 9, 0.1, 0.2]), terms([0.3, 0.4, 9, 9]))
    trained = QueryValues(terms([1.0, 0.0, 0.5, 0.25]), within)
    assert dealt.averages(trained) == pytest.approx([0.15, 0.35, 0.4375])


def test_each_fold_has_the_values_of_what_was_chosen_for_it() -> None:
    dealt = split([0, 1, 2, 0])
    some = [QueryValues(terms([1, 2, 3, 4])), QueryValues(terms([10, 20, 30, 40]))]
    joined = dealt.join([some[at].terms for at in (1, 0, 1)])
    assert joined.values.tolist() == [10, 2, 30, 40]
    assert joined.above is joined.values
    assert joined.below is None


def test_sides_of_averages_over_sums_are_joined_too() -> None:
    dealt = split([0, 1])
    ones = np.ones(2, np.bool_)
    some = [
        QueryValues(Terms(np.array([0.5, 0.5]), ones, np.array([1.0, 2.0]), np.array([2.0, 4.0]))),
        QueryValues(
            Terms(np.array([0.1, 0.1]), ones, np.array([1.0, 1.0]), np.array([10.0, 10.0]))
        ),
    ]
    joined = dealt.join([some[1].terms, some[0].terms])
    assert joined.above.tolist() == [1.0, 2.0]
    assert joined.divisor.tolist() == [10.0, 4.0]
    assert dealt.averages(some[0]) == [0.5, 0.5, 0.5]
    assert dealt.averages(some[1]) == [0.1, 0.1, 0.1]


def test_the_first_of_equal_ones_is_the_best() -> None:
    assert best_of([0.2, 0.3, 0.3], higher=True) == 1
    assert best_of([0.2, 0.3, 0.2], higher=False) == 0
    assert best_of([math.nan, 0.1], higher=False) == 1
    assert best_of([math.nan, math.nan], higher=True) == 0
    assert goodness(math.nan, higher=True) == goodness(math.nan, higher=False) == -math.inf


def test_a_fold_of_which_nothing_is_complete_has_no_average() -> None:
    dealt = split([0, 1], [True, False])
    averages = dealt.averages(QueryValues(terms([1.0, 0.5])))
    assert math.isnan(averages[0])
    assert averages[1:] == [1.0, 1.0]
    assert math.isnan(dealt.average_in(1, QueryValues(terms([1.0, 0.5]))))
