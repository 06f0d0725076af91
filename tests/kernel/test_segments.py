"""The numpy primitives, against the plain Python that they replace."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.kernel.segments import (
    descending_bits,
    position,
    ranges,
    running_count,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)

_floats = st.floats(allow_nan=False, allow_infinity=False)
# Queries with their rows in order, as [(flag, …), (flag, …), …].
_segments = st.lists(st.lists(st.booleans(), min_size=1), max_size=8)


def _table(segments: list[list[bool]]) -> tuple[np.ndarray, np.ndarray]:
    code = np.repeat(np.arange(len(segments)), [len(one) for one in segments])
    return code, np.array(list(itertools.chain.from_iterable(segments)), np.bool_)


@pytest.mark.parametrize(
    "highest", [(1,), (5, 7), (2**31, 2**32), (2**40, 2**40), (2**62, 3, 2**30), (2**63 - 1,)]
)
def test_sort_order_sorts_by_all_keys_also_where_they_exceed_64_bits(highest: tuple[int]) -> None:
    random = np.random.default_rng(1)
    keys = [random.integers(0, top, 500, endpoint=True) for top in highest]
    keys = [np.where(random.random(500) < 0.5, key, key // 2**20) for key in keys]
    rows = sort_order(*keys)
    assert sorted(rows) == list(range(500))
    by_row = list(zip(*(key.tolist() for key in keys), strict=True))
    assert [by_row[row] for row in rows] == sorted(by_row)


@given(st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)), min_size=1))
def test_sort_order_agrees_with_sorted(rows: list[tuple[int, int]]) -> None:
    first, second = (np.array(key, np.uint64) for key in zip(*rows, strict=True))
    assert [rows[at] for at in sort_order(first, second)] == sorted(rows)


def test_sort_order_takes_a_key_of_full_width() -> None:
    key = np.array([2**64 - 1, 0, 2**63], np.uint64)
    assert sort_order(np.zeros(3, np.int64), key).tolist() == [1, 2, 0]


def test_sort_order_of_nothing_is_nothing() -> None:
    empty = np.empty(0, np.int64)
    assert sort_order(empty, empty).tolist() == []


@given(_segments)
def test_running_count_starts_again_with_every_query(segments: list[list[bool]]) -> None:
    code, flags = _table(segments)
    expected = [count for one in segments for count in itertools.accumulate(map(int, one))]
    assert running_count(flags, segment_starts(code)).tolist() == expected


@given(_segments)
def test_position_counts_from_0_in_every_query(segments: list[list[bool]]) -> None:
    code, _ = _table(segments)
    expected = [place for one in segments for place in range(len(one))]
    assert position(segment_starts(code), len(code)).tolist() == expected


@given(_segments)
def test_starts_lengths_and_spread_describe_the_queries(segments: list[list[bool]]) -> None:
    code, _ = _table(segments)
    starts = segment_starts(code)
    lengths = segment_lengths(starts, len(code))
    assert lengths.tolist() == [len(one) for one in segments]
    assert spread(np.arange(len(segments)), starts, len(code)).tolist() == code.tolist()


@given(st.lists(_floats, min_size=1))
def test_descending_bits_sort_as_the_floats_sort_descending(values: list[float]) -> None:
    bits = descending_bits(np.array(values))
    assert bits.dtype == np.uint64
    by_bits = [value for _, value in sorted(zip(bits.tolist(), values, strict=True))]
    assert by_bits == sorted(values, reverse=True)


@given(_floats, _floats)
def test_descending_bits_are_equal_exactly_where_the_floats_are(one: float, two: float) -> None:
    first, second = descending_bits(np.array([one, two])).tolist()
    assert (first == second) == (one == two)
    assert (first < second) == (one > two)


def test_descending_bits_tell_neighbours_apart_and_zeros_not() -> None:
    values = np.array([1.0, np.nextafter(1.0, 0), 5e-324, 0.0, -0.0, -5e-324, -1.0])
    bits = descending_bits(values).tolist()
    assert bits[3] == bits[4]
    assert bits == sorted(bits)
    assert len(set(bits)) == 6


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=12))
def test_ranges_follow_each_other(some: list[tuple[int, int]]) -> None:
    firsts, lengths = (np.array([one[side] for one in some], np.int64) for side in (0, 1))
    expected = [number for first, length in some for number in range(first, first + length)]
    assert ranges(firsts, lengths).tolist() == expected
