"""Sums without rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankframe.stats.exact import Exact, exact_products, exact_sum, exact_sums

any_numbers = arrays(
    np.float64, st.integers(0, 60), elements=st.floats(allow_nan=False, allow_infinity=False)
)
shares = arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1))


@given(st.one_of(any_numbers, shares))
def test_the_sum_is_the_exact_one_rounded_once(numbers: np.ndarray) -> None:
    exact = sum((Fraction(x) for x in numbers.tolist()), Fraction())
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    assert float(exact_sum(numbers)) == expected


@given(st.one_of(any_numbers, shares), st.integers(0, 60))
def test_any_split_adds_up_to_the_same(numbers: np.ndarray, at: int) -> None:
    whole = exact_sum(numbers)
    assert exact_sum(numbers[:at]) + exact_sum(numbers[at:]) == whole
    assert exact_sum(numbers[::-1]) == whole


def test_many_numbers_at_once() -> None:
    numbers = np.random.default_rng(3).random(100_000)
    for some in (numbers, numbers * 1e-60, numbers - 0.5, 1e300 * numbers):
        assert float(exact_sum(some)) == math.fsum(some)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([math.inf, 1.0], math.inf), ([-math.inf, 2.0], -math.inf), ([math.inf, -math.inf], math.nan),
     ([math.nan, 1.0], math.nan), ([1e308, 1e308], math.inf), ([-1e308, -1e308], -math.inf)],
)  # fmt: skip
def test_what_is_not_finite_stays_so(numbers: list[float], expected: float) -> None:
    both = exact_sum(np.array(numbers[:1])) + exact_sum(np.array(numbers[1:]))
    for total in (both, exact_sum(np.array(numbers))):
        assert np.array_equal(float(total), expected, equal_nan=True)


def test_nothing_adds_up_to_zero() -> None:
    assert float(exact_sum(np.empty(0))) == 0.0
    assert exact_sum(np.empty(0)) == Exact()


@given(any_numbers.filter(len), st.sets(st.integers(1, 59)))
def test_stretches_add_up_each_for_itself(numbers: np.ndarray, cuts: set[int]) -> None:
    starts = np.array([0, *sorted(at for at in cuts if at < len(numbers))])
    parts = np.split(numbers, starts[1:])
    assert exact_sums(numbers, starts) == [exact_sum(part) for part in parts]


def test_no_stretch_has_no_sum_and_what_is_not_finite_stays_in_its_own() -> None:
    assert exact_sums(np.empty(0), np.empty(0, np.int64)) == []
    numbers = np.array([1.0, math.inf, 2.0, 0.5])
    assert list(map(float, exact_sums(numbers, np.array([0, 1, 2])))) == [1.0, math.inf, 2.5]


# What rounding takes from such a product is a float too.
factors = st.floats(1e-140, 1e140) | st.floats(-1e140, -1e-140) | st.just(0.0)
pairs = st.lists(st.tuples(factors, factors), min_size=1, max_size=20)


@given(pairs)
def test_a_product_and_what_rounding_took_from_it_are_the_exact_product(
    of: list[tuple[float, float]],
) -> None:
    some, other = np.array(of).T
    product, lost = exact_products(some, other)
    assert np.array_equal(product, some * other)
    for x, y, near, rest in zip(some, other, product, lost, strict=True):
        assert Fraction(float(near)) + Fraction(float(rest)) == Fraction(x) * Fraction(y)


def test_products_beyond_the_range_are_infinite_and_say_nothing_else() -> None:
    product, lost = exact_products(np.array([1e200, 2.0, 1e305]), np.array([1e200, 3.0, 1.0]))
    assert product.tolist() == [math.inf, 6.0, 1e305]
    assert lost.tolist() == [0.0, 0.0, 0.0]


@given(any_numbers, st.integers(-(10**20), 10**20))
def test_exact_sums_subtract_and_are_fractions(numbers: np.ndarray, whole: int) -> None:
    total = exact_sum(numbers)
    assert total - total == Exact()
    assert total + Exact.from_integer(whole) - total == Exact.from_integer(whole)
    assert Exact.from_integer(whole).fraction == whole
    assert total.fraction == sum(map(Fraction, numbers.tolist()), Fraction())


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_no_fraction(odd: float) -> None:
    total = exact_sum(np.array([1.0, odd]))
    assert total.fraction is None
    assert math.isnan(float(total - total))
