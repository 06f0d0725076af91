"""Freed memory goes back at once while it is limited, and is kept as before afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import polars as pl
import pytest

import rankframe as rf
from rankframe.core import allocators
from rankframe.core.allocators import freed_at_once, trim

needs_jemalloc = pytest.mark.skipif(
    allocators._mallctl() is None, reason="polars' allocator has no settings here"
)


def decays() -> set[int]:
    """Return how long freed pages are kept, in ms, by any arena."""
    mallctl = allocators._mallctl()
    assert mallctl is not None
    found: set[int] = set()
    for decay in allocators._DECAYS:
        kept = allocators.ctypes.c_ssize_t()
        assert allocators._exchange(mallctl, f"arenas.{decay}".encode(), kept)
        found.add(kept.value)
    return found


@needs_jemalloc
def test_pages_are_kept_as_before_when_the_last_limit_ends() -> None:
    before = decays()
    first, second = freed_at_once(), freed_at_once()
    assert before != {0}
    with first:
        assert decays() == {0}
        second.__enter__()
    assert decays() == {0}
    second.__exit__(None, None, None)
    assert decays() == before


@needs_jemalloc
@pytest.mark.parametrize("limit", [None, "2GB"])
def test_only_a_limit_changes_what_is_kept(limit: str | None) -> None:
    before, seen = decays(), []

    def watched(_: object) -> None:
        seen.append(decays())

    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    rf.evaluate(qrels, run, "map", max_memory=limit, progress=watched)
    assert seen
    assert all(found == (before if limit is None else {0}) for found in seen)
    with pytest.raises(rf.RankframeError):
        rf.evaluate(qrels, {"q": {"x": 1.0}}, "map", max_memory=limit)
    assert decays() == before


# Makes and frees columns by the hundred, and says how much of them stayed.
CHURN = """
import re, sys
from pathlib import Path
import polars as pl
from rankframe.core.allocators import freed_at_once

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

def churn():
    for size in range(400_000, 900_000, 5_000):
        pl.select(pl.int_range(size).reverse()).height

churn()
with freed_at_once():
    before = resident()
    churn()
    print(resident() - before)
"""


@needs_jemalloc
@pytest.mark.slow
def test_nothing_stays_of_what_was_freed() -> None:
    done = subprocess.run([sys.executable, "-c", CHURN], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4 << 20


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(allocators, "_LIBRARY", "no such library")
    allocators._mallctl.cache_clear()
    yield
    allocators._mallctl.cache_clear()


@pytest.mark.usefixtures("no_library")
def test_without_the_allocator_nothing_is_changed() -> None:
    with freed_at_once():
        assert pl.select(pl.int_range(9)).height == 9
    trim()
