"""What is best on other folds, by hand and by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankframe.analysis.tuning.choosing import Contender, Split, best_of, goodness
from rankframe.engine.terms import Terms


def terms(values: list[float], defined: list[bool] | None = None) -> Terms:
    found = np.array(values)
    known = np.ones(len(values), np.bool_) if defined is None else np.array(defined)
    return Terms(found, known, found, None)


def split(folds: list[int], complete: list[bool] | None = None) -> Split:
    known = [True] * len(folds) if complete is None else complete
    return Split(np.array(folds), max(folds) + 1, np.array(known))


def test_averages_are_those_of_the_other_folds() -> None:
    dealt = split([0, 0, 1, 1])
    one = Contender(terms([1.0, 0.0, 0.5, 0.25]))
    assert dealt.averages(one) == [0.375, 0.5, 0.4375]
    assert dealt.applied(one) == [0.5, 0.375]
    assert dealt.sizes == [2, 2]


def test_queries_that_are_not_complete_do_not_count() -> None:
    dealt = split([0, 0, 1, 1]).limited([Contender(terms([1, 1, 1, 1], [True, False, True, True]))])
    assert dealt.complete.tolist() == [True, False, True, True]
    assert dealt.averages(Contender(terms([1.0, 9.0, 0.5, 0.25]))) == [0.375, 1.0, 1.75 / 3]
    assert dealt.sizes == [1, 2]


def test_what_is_trained_is_chosen_by_what_saw_neither_fold() -> None:
    dealt = split([0, 0, 1, 1])
    within = (terms([9, 9, 0.1, 0.2]), terms([0.3, 0.4, 9, 9]))
    trained = Contender(terms([1.0, 0.0, 0.5, 0.25]), within)
    assert dealt.averages(trained) == pytest.approx([0.15, 0.35, 0.4375])
    assert len(trained.all_terms) == 3


def test_each_fold_has_the_values_of_what_was_chosen_for_it() -> None:
    dealt = split([0, 1, 2, 0])
    some = [Contender(terms([1, 2, 3, 4])), Contender(terms([10, 20, 30, 40]))]
    joined = dealt.joined([some[at].terms for at in (1, 0, 1)])
    assert joined.values.tolist() == [10, 2, 30, 40]
    assert joined.above is joined.values
    assert joined.below is None


def test_sides_of_averages_over_sums_are_joined_too() -> None:
    dealt = split([0, 1])
    ones = np.ones(2, np.bool_)
    some = [
        Contender(Terms(np.array([0.5, 0.5]), ones, np.array([1.0, 2.0]), np.array([2.0, 4.0]))),
        Contender(Terms(np.array([0.1, 0.1]), ones, np.array([1.0, 1.0]), np.array([10.0, 10.0]))),
    ]
    joined = dealt.joined([some[1].terms, some[0].terms])
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
    averages = dealt.averages(Contender(terms([1.0, 0.5])))
    assert math.isnan(averages[0])
    assert averages[1:] == [1.0, 1.0]
    assert math.isnan(dealt.applied(Contender(terms([1.0, 0.5])))[1])
