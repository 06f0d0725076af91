"""Run contenders side by side on the same files, alternating, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmarks.contenders import CONTENDERS, FED, OURS, Values
from benchmarks.data import Files, make
from benchmarks.layouts import SMALL, WARM_UP, Layout

_TRIAL = 10  # ways of a contender are tried on a layout so many times smaller,
_LEAST = 100_000  # but not on fewer rows than this
Report = dict[str, Any]


def compare(layouts: Iterable[Layout], *, folder: Path, rows: int, repeat: int) -> list[Report]:
    """Time each contender on each layout in every round; return reports.

    Values must agree before times count.
    """
    reports = []
    for layout in layouts:
        trial = make(layout.scaled(max(rows // _TRIAL, _LEAST)), folder)
        trials = {
            name: _tried(ways, trial, min(2, repeat))
            for name, ways in CONTENDERS.items()
            if len(ways) > 1
        }
        chosen = {
            name: min(trials[name], key=trials[name].__getitem__) if name in trials else ways[0]
            for name, ways in CONTENDERS.items()
        }
        files = make(layout.scaled(rows), folder)
        report = {"layout": layout.name, "trial_rows": trial.facts["rows"], "trials": trials}
        reports.append(report | _rounds(layout.name, chosen, files, repeat, folder))
    return reports


def compare_fed(*, folder: Path, rows: int, repeat: int) -> Report:
    """Time libraries that are fed by loops, and rankframe, on one small layout."""
    chosen = {name: ways[0] for name, ways in FED.items()} | {OURS: CONTENDERS[OURS][0]}
    files = make(SMALL.scaled(rows), folder)
    return {"layout": SMALL.name, **_rounds(SMALL.name, chosen, files, repeat, folder)}


def _tried(ways: tuple[str, ...], files: Files, rounds: int) -> dict[str, float]:
    """Return the least CPU seconds of each way of a contender; skip ways that are far slower."""
    expected = _expected(files)
    taken: dict[str, float] = {}
    patience = None
    for _ in range(rounds):
        for way in ways:
            try:
                report = run_child(way, files, patience=patience)
            except subprocess.TimeoutExpired:
                continue
            _agree(way, report["values"], expected)
            taken[way] = min(taken.get(way, report["cpu"]), report["cpu"])
            patience = min(patience or 1e9, 5 * report["all_wall"] + 2)
    return taken


def _rounds(
    name: str, chosen: dict[str, str], files: Files, repeat: int, folder: Path
) -> dict[str, Any]:
    for path in (files.qrels, files.run):  # the first to read should not be the one that waits
        path.read_bytes()
    expected = _expected(files)
    runs: dict[str, list[Report]] = {contender: [] for contender in chosen}
    for _ in range(repeat):
        for contender, way in chosen.items():
            small = make(WARM_UP, folder) if contender == "ranx" else None
            report = run_child(way, files, warm_up=small)
            _agree(way, report.pop("values"), expected)
            runs[contender].append(report)
            _say(f"{name:20} {way:32} {report['wall']:8.2f} s {report['cpu']:8.2f} CPU s")
    return {**files.facts, "ways": chosen, "runs": runs}


@cache
def _expected_of(qrels: Path, run: Path) -> Values:
    return run_module("benchmarks.child", "with_rankframe:no intervals", qrels, run)["values"]


def _expected(files: Files) -> Values:
    return _expected_of(files.qrels, files.run)


def _agree(way: str, values: Values, expected: Values) -> None:
    # The limit computes nothing.
    for metric in values:
        if not abs(values[metric] - expected[metric]) <= 1e-9:
            raise ValueError(f"{way} gives {values}, rankframe {expected}")


def run_child(
    way: str, files: Files, *, warm_up: Files | None = None, patience: float | None = None
) -> Report:
    """Run one way in its own process; return seconds with and without imports, peak and values."""
    small = warm_up[:2] if warm_up else ()
    return run_module("benchmarks.child", way, *files[:2], *small, patience=patience)


def run_module(module: str, *arguments: str | Path, patience: float | None = None) -> Report:
    """Run a module in its own process; return the JSON of its last line, time and peak memory."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    report = run_command(command, patience=patience)
    return json.loads(report.pop("output").splitlines()[-1]) | report


def run_command(command: list[str], *, patience: float | None = None) -> Report:
    """Run a command; return its output, its wall and CPU time, and its peak memory."""
    begun = time.perf_counter()
    with TemporaryFile("w+") as said, TemporaryFile("w+") as complaints:
        child = subprocess.Popen(command, stdout=said, stderr=complaints, env=_installed())
        while True:
            done, status, used = os.wait4(child.pid, os.WNOHANG if patience else 0)
            if done:
                break
            if patience and time.perf_counter() - begun > patience:
                child.kill()
                child.wait()
                raise subprocess.TimeoutExpired(command, patience)
            time.sleep(0.02)
        wall = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complaints.seek(0)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{complaints.read()}")
        return {
            "output": said.read(),
            "all_wall": wall,
            "all_cpu": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss * 1024,
        }


def timed(command: list[str], repeat: int = 5) -> float:
    """Return the least wall seconds of a command over some repetitions."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=_installed())
        best = min(best, time.perf_counter() - start)
    return best


def _installed() -> dict[str, str]:
    """Return the environment without PYTHONDONTWRITEBYTECODE, so that Python caches bytecode."""
    return {name: of for name, of in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
