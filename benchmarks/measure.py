"""Run contenders side by side on the same files, alternating, and keep the best of n."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, SLOW
from benchmarks.data import ORDERS, Order, Shape, make

_WARM_UP = Shape("warmup", 50, 10, 3)


@dataclass(frozen=True)
class Measurement:
    """The best of n runs of one contender on one input; `part`: timed on 1/part of the queries."""

    contender: str
    shape: str
    order: str
    wall: float
    cpu: float
    peak: float
    part: int = 1


def compare(
    shapes: Iterable[Shape],
    orders: Iterable[Order] = ORDERS,
    *,
    folder: Path,
    repeat: int,
    contenders: Iterable[str] = tuple(CONTENDERS),
) -> list[Measurement]:
    """Every contender on every shape and order. Values must agree before times count.

    Slow contenders run once, on the shuffled order only.
    """
    names = list(contenders)
    results: list[Measurement] = []
    for shape in shapes:
        for order in orders:
            here = [n for n in names if n not in SLOW or order == "shuffled"]
            runs: dict[str, list[Measurement]] = {name: [] for name in here}
            for round_ in range(repeat):
                for name in here:
                    if name in SLOW and round_:
                        continue
                    try:
                        runs[name].append(_one(name, shape, order, folder))
                    except (RuntimeError, ValueError) as error:
                        if name == "rankframe":
                            raise
                        _say(f"{name} does not count on {shape.name} {order}: {error}")
            results += [min(of, key=lambda m: m.wall) for of in runs.values() if of]
    return results


def _one(name: str, shape: Shape, order: Order, folder: Path) -> Measurement:
    part = SLOW.get(name, 1) if shape.queries >= 10_000 else 1
    cut = replace(shape, queries=shape.queries // part)
    report = run_child(name, *make(cut, order, folder), folder=folder)
    _agree(name, report["values"], cut, order, folder)
    _say(f"{name:14} {shape.name:7} {order:9} {report['wall'] * part:8.2f} s")
    return Measurement(
        name, shape.name, order, report["wall"] * part, report["cpu"] * part, report["peak"], part
    )


def run_child(
    name: str, qrels: Path, run: Path, *, folder: Path, warm_up: bool = True
) -> dict[str, Any]:
    """One run in a process of its own."""
    warm = make(_WARM_UP, "sorted", folder) if warm_up else ()
    return run_module("benchmarks.child", name, *map(str, (qrels, run, *warm)))


def run_module(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module in a process of its own; its last line is JSON."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


_expected: dict[tuple[Shape, Order], dict[str, float]] = {}


def _agree(name: str, values: dict[str, float], shape: Shape, order: Order, folder: Path) -> None:
    if not values:  # the limit computes nothing
        return
    key = (shape, order)
    if key not in _expected:
        ours = run_child("rankframe", *make(shape, order, folder), folder=folder)
        _expected[key] = ours["values"]
    for metric, expected in _expected[key].items():
        if abs(values[metric] - expected) > 1e-9:
            raise ValueError(f"{name} gives {metric} = {values[metric]}, rankframe {expected}")


def timed(command: list[str], repeat: int = 5) -> float:
    """The best wall time of a command, in seconds."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def as_json(results: Iterable[Measurement]) -> list[dict[str, Any]]:
    return [asdict(m) for m in results]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
