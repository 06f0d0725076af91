"""Eight at once find what one alone finds: threads, processes, tasks of asyncio. (Forked processes:
tests/core/test_forks.py.)
"""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from tests.support.crowd import CROWD, RUNS, one_of_many


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    """The hash of each run, one after the other."""
    found = dict(map(one_of_many, range(len(RUNS))))
    assert len(set(found.values())) == len(RUNS)
    return found


def test_threads(alone: dict[str, str]) -> None:
    with ThreadPoolExecutor(CROWD) as pool:
        found = list(pool.map(one_of_many, range(CROWD)))
    assert found == [(name, alone[name]) for name, _ in found]


def test_processes_that_are_spawned_after_an_evaluation(alone: dict[str, str]) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(CROWD, mp_context=context) as pool:
        found = list(pool.map(one_of_many, range(CROWD)))
    assert found == [(name, alone[name]) for name, _ in found]


def test_tasks_of_asyncio(alone: dict[str, str]) -> None:
    async def crowd() -> list[tuple[str, str]]:
        waiting = [asyncio.to_thread(one_of_many, number) for number in range(CROWD - 1)]
        # And one in the loop itself, while the others are under way.
        tasks = [asyncio.create_task(one) for one in waiting]
        await asyncio.sleep(0)
        mine = one_of_many(CROWD - 1)
        return [*await asyncio.gather(*tasks), mine]

    found = asyncio.run(crowd())
    assert len(found) == CROWD
    assert found == [(name, alone[name]) for name, _ in found]
