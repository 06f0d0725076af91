"""Reading waits for work, whoever is faster, and nothing waits forever."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

import polars as pl
import pytest

from rankframe.core.threads import MemoryBudget, map_ahead, size_of


def test_reading_waits_until_there_is_room() -> None:
    """No time is measured: the batches are released in an order that the test decides."""
    budget = MemoryBudget(100)
    sizes = [60, 30, 50, 10, 40, 100, 1]
    handed_over: list[Future[int]] = [Future() for _ in sizes]
    used: list[int] = []

    def read() -> None:
        for size, handed in zip(sizes, handed_over, strict=True):
            budget.acquire(size)
            used.append(budget.used)
            handed.set_result(size)

    reader = threading.Thread(target=read)
    reader.start()
    for handed in handed_over:
        size = handed.result()
        assert budget.used <= 100
        budget.release(size)
    reader.join()
    assert budget.used == 0
    assert max(used) <= 100


def test_a_batch_that_is_larger_than_the_budget_passes_alone() -> None:
    budget = MemoryBudget(10)
    budget.acquire(25)
    assert budget.used == 25
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(budget.acquire, 1)
        assert not wait([second], timeout=0.05).done
        budget.release(25)
        second.result()
    assert budget.used == 1


def test_without_a_size_nothing_waits() -> None:
    budget = MemoryBudget()
    for _ in range(3):
        budget.acquire(1 << 40)
    assert budget.used == 3 << 40


def test_what_fails_is_released() -> None:
    budget = MemoryBudget(10)
    budget.acquire(7)
    with pytest.raises(ZeroDivisionError), budget.releasing(7):
        _ = 1 / 0
    assert budget.used == 0


def test_results_are_not_made_long_before_they_are_taken() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number * number

    with ThreadPoolExecutor(4) as pool:
        taken = []
        for result in map_ahead(pool, make, range(50), 3):
            # The one that was taken, those that may wait.
            assert len(made) <= len(taken) + 4
            taken.append(result)
    assert taken == [number * number for number in range(50)]


def test_an_error_ends_the_work() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return 1 // (number - 2)

    with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
        list(map_ahead(pool, make, range(50), 3))
    assert len(made) <= 7


LONG = "x" * 100


@pytest.mark.parametrize(
    ("values", "kind", "size"),
    [
        (["a", "bc"], pl.String, 3 + 2 * 16),
        ([LONG, "bc"], pl.String, 102 + 2 * 16),
        ([b"a", b"bc"], pl.Binary, 3 + 2 * 16),
        ([1.0, 2.0], pl.Float64, 16),
        ([["a", "b"], [], ["c"]], pl.List(pl.String), 3 + 3 * 16),
        ([[1.0, 2.0], [3.0]], pl.List(pl.Float64), 3 * 8),
        ([["a", "b"], ["c", "d"]], pl.Array(pl.String, 2), 4 + 4 * 16),
        ([{"a": "b", "c": 1.0}], pl.Struct({"a": pl.String, "c": pl.Float64}), 1 + 16 + 8),
        ([[{"a": "b"}] * 3], pl.List(pl.Struct({"a": pl.String})), 3 + 3 * 16),
        ([], pl.List(pl.String), 0),
    ],
)
def test_the_size_of_a_table_counts_the_place_of_each_text(
    values: list[object], kind: pl.DataType, size: int
) -> None:
    table = pl.DataFrame({"a": pl.Series(values, dtype=kind)})
    # The offsets of lists.
    slack = 8 * (len(values) + 1) if isinstance(kind, pl.List) else 0
    assert size <= size_of(table) <= size + slack
    twice = pl.concat([table, table])
    assert 2 * size <= size_of(twice) <= 2 * (size + slack)
    assert size_of(twice[len(values) :]) == size_of(table)
