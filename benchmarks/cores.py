"""Compare one core with all cores: rankframe, DuckDB and the limit on one large input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.data import make
from benchmarks.layouts import Layout
from benchmarks.measure import run_child

LARGE = Layout("large", 300_000, 100, 30)
# DuckDB's fastest query on this layout, and the faster engine of the limit.
_WAYS = {
    OURS: CONTENDERS[OURS][0],
    "DuckDB": "with_duckdb:numbered_lists",
    "limit": "with_polars:join",
}


def measure(folder: Path, scale: int, rounds: int) -> list[dict[str, Any]]:
    """Return wall and CPU seconds by contender and number of cores, the least of some rounds."""
    files = make(replace(LARGE, queries=LARGE.queries // scale), folder)
    for path in (files.qrels, files.run):
        path.read_bytes()
    cores = sorted(os.sched_getaffinity(0))
    taken: dict[tuple[str, int], dict[str, float]] = {}
    for _ in range(rounds):
        for some in (cores[:1], cores):
            for name, way in _WAYS.items():
                with _restricted(some):
                    report = run_child(way, files)
                old = taken.get((name, len(some)), report)
                taken[name, len(some)] = {
                    key: min(report[key], old[key])
                    for key in ("wall", "cpu", "all_wall", "all_cpu", "peak")
                }
    return [
        {"contender": name, "cores": number, **files.facts, **found}
        for (name, number), found in taken.items()
    ]


@contextmanager
def _restricted(cores: list[int]) -> Iterator[None]:
    """Let child processes use only some cores, with as many threads of polars."""
    before, threads = os.sched_getaffinity(0), os.environ.get("POLARS_MAX_THREADS")
    os.sched_setaffinity(0, cores)
    os.environ["POLARS_MAX_THREADS"] = str(len(cores))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        del os.environ["POLARS_MAX_THREADS"]
        if threads is not None:
            os.environ["POLARS_MAX_THREADS"] = threads
