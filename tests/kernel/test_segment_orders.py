"""Orders within queries, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.kernel.segments import inversions, order_by_lead, order_within, rectangles

_queries = st.lists(st.lists(st.integers(0, 20), max_size=12), max_size=8)


def flat(queries: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each query begins, how many rows it has, and all rows."""
    lengths = np.array([len(values) for values in queries], np.int64)
    rows = np.array([value for values in queries for value in values], np.int64)
    return np.cumsum(lengths) - lengths, lengths, rows


def counted(queries: list[list[int]]) -> list[int]:
    return [
        sum(above > value for above in values[:i])
        for values in queries
        for i, value in enumerate(values)
    ]


@given(_queries)
def test_inversions_are_counted_within_each_query(queries: list[list[int]]) -> None:
    starts, lengths, rows = flat(queries)
    assert inversions(rows, starts, lengths).tolist() == counted(queries)


@pytest.mark.parametrize("largest", [3, 1_000, 10**12])
def test_long_queries_are_counted_block_by_block(largest: int) -> None:
    """Up to 128 documents are compared each with each; more are merged from such blocks."""
    rng = np.random.default_rng(largest)
    queries = [
        rng.integers(0, largest, n).tolist() for n in (300, 1, 128, 129, 257, 40, 0, 1_100, 2)
    ]
    starts, lengths, rows = flat(queries)
    assert inversions(rows, starts, lengths).tolist() == counted(queries)


@pytest.mark.parametrize("largest", [2**8 - 2, 2**16 - 2, 2**32 - 2])
def test_values_that_just_fit_leave_room_for_what_short_queries_lack(largest: int) -> None:
    queries = [[largest, 0, 1], [2, 0]]
    starts, lengths, rows = flat(queries)
    assert inversions(rows, starts, lengths).tolist() == counted(queries) == [0, 1, 1, 0, 1]


@given(_queries)
def test_equal_rows_stay_as_they_were(queries: list[list[int]]) -> None:
    starts, lengths, rows = flat(queries)
    code = np.repeat(np.arange(len(lengths)), lengths)
    expected = np.lexsort((rows, rows % 3, code))
    assert order_within(starts, lengths, rows % 3, rows).tolist() == expected.tolist()


def test_numbers_that_leave_no_room_are_sorted_as_well() -> None:
    starts, lengths, rows = flat([[3, 1, 2], [5, 4]])
    large = rows << 60
    assert order_within(starts, lengths, rows % 2, large).tolist() == [2, 1, 0, 4, 3]


def test_the_last_bits_of_a_lead_give_way_to_places() -> None:
    lead = np.array([9, 8, 2, 7, 7, 1 << 60], np.uint64)
    order, unsure = order_by_lead(lead, np.array([0, 3]), np.array([3, 3]))
    assert order.tolist() == [2, 0, 1, 3, 4, 5]  # 9 and 8 differ in the last two bits
    assert unsure.tolist() == [False, True, True, True, True, False]


@given(_queries)
def test_rectangles_hold_every_row_once(queries: list[list[int]]) -> None:
    starts, lengths, rows = flat(queries)
    seen = np.full(len(rows), -1)
    cells = 0
    for some in rectangles(starts, lengths):
        filled = some.filled(rows, 99)
        assert filled.shape == some.shape
        some.put(seen, filled)
        cells += filled.size
    assert seen.tolist() == rows.tolist()
    assert cells <= 2 * len(rows)
