"""Sums without rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankframe.exact import Exact, exact_sum

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
