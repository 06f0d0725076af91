"""Numbers in order within their queries, against `sorted`, whatever the lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankframe.kernel.segments import ascending

values = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, -5e-324, 1.7e308, -1.7e308]),
    st.floats(allow_nan=False, allow_infinity=False),
)
queries = st.lists(st.lists(values, min_size=1, max_size=20), min_size=1, max_size=12)


def check(some: list[list[float]]) -> None:
    lengths = np.array([len(one) for one in some], np.int64)
    flat = np.array([value for one in some for value in one])
    given, starts = flat.copy(), np.cumsum(lengths) - lengths
    seen: list[int] = []
    for part in ascending(flat, starts, lengths):
        seen += part.queries.tolist()
        mine = [sorted(some[query]) for query in part.queries.tolist()]
        assert part.lengths.tolist() == [len(one) for one in mine]
        padded = [row[: len(one)] for row, one in zip(part.values.tolist(), mine, strict=True)]
        assert padded == mine
        assert part.repeats == sum(len(one) - len(set(one)) for one in mine)
        at = [(row, place) for row, one in enumerate(mine) for place in range(len(one))]
        again = part.repeated(*(np.array(side) for side in zip(*at, strict=True)))
        assert again.tolist() == [
            mine[row][place : place + 2].count(mine[row][place]) == 2 for row, place in at
        ]
        asked = [(row, value) for row, one in enumerate(mine) for value in (*one, 0.5, -1e9)]
        rows, wanted = (np.array(side) for side in zip(*asked, strict=True))
        for equal in (False, True):
            found = part.before(rows, wanted, equal=equal).tolist()
            assert found == [
                sum(one < value or (equal and one == value) for one in mine[row])
                for row, value in asked
            ]
    assert sorted(seen) == list(range(len(some)))
    assert np.array_equal(flat, given)


@settings(deadline=None)
@given(queries)
def test_each_query_is_sorted_and_counted(some: list[list[float]]) -> None:
    check(some)


@pytest.mark.parametrize(
    "lengths",
    [
        [1], [1, 1], [500], [500, 1, 1, 1], [1] * 30 + [64], [5, 8, 3, 300, 2, 17, 1],
        [2**power for power in range(9)], [2**power - 1 for power in range(1, 9)], [9] * 20,
    ],
    ids=str,
)  # fmt: skip
def test_very_uneven_lengths(lengths: list[int]) -> None:
    random = np.random.default_rng(1)
    check([random.integers(0, 40, length).astype(float).tolist() for length in lengths])


def test_padding_that_makes_some_queries_as_large_as_all() -> None:
    """Two queries padded to 7 take 14 numbers, and 14 there are in all."""
    random = np.random.default_rng(1)
    check([random.random(length).tolist() for length in (4, 7, 1, 1, 1)])
