"""Compare two versions of the source on every layout: `python -m benchmarks.versions OLD NEW`.

OLD and NEW are checkouts. Both evaluate the same files, in turns, each in a process of its own;
the order of the two alternates from round to round. Prints the CPU seconds of each layout, imports
apart: the median of each version, and the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean, median

from benchmarks.data import make
from benchmarks.layouts import LAYOUTS

HERE = Path(__file__).parent
_SCRIPT = """
import json, sys, time
import rankframe as rf
metrics = ["ndcg@10", "map", "mrr", "precision@10", "recall@10"]
rf.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, metrics)
wall, cpu = time.perf_counter(), time.process_time()
means = rf.evaluate(*sys.argv[1:], metrics).means
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, means]))
"""


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the largest layout")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--data", type=Path, default=HERE / ".data", help="where inputs are kept")
    options = parser.parse_args()
    versions = (options.old, options.new)
    print("| layout | old, CPU s | new, CPU s | new/old by CPU | new/old by wall |")
    print("| --- | --- | --- | --- | --- |")
    ratios = []
    for name in options.layouts:
        files = make(LAYOUTS[name].scaled(options.rows), options.data)
        rounds = []
        for number in range(options.rounds):
            order = versions if number % 2 == 0 else versions[::-1]
            taken = {version: _evaluate(version, files.qrels, files.run) for version in order}
            old, new = (taken[version] for version in versions)
            if old[2] != new[2]:
                sys.exit(f"{name}: the values differ: {old[2]} and {new[2]}")
            rounds.append((old, new))
        cpu = median(new[0] / old[0] for old, new in rounds)
        wall = median(new[1] / old[1] for old, new in rounds)
        ratios.append(cpu)
        seconds = [median(times[side][0] for times in rounds) for side in (0, 1)]
        print(
            f"| {name} | {seconds[0]:.2f} | {seconds[1]:.2f} | {cpu:.3f} | {wall:.3f} |", flush=True
        )
    print(f"\nGeometric mean of the ratios by CPU time: {geometric_mean(ratios):.3f}.")


def _evaluate(version: Path, qrels: Path, run: Path) -> tuple[float, float, dict[str, float]]:
    """Return CPU seconds, wall seconds and the means of one evaluation by a version."""
    source = {**os.environ, "PYTHONPATH": str(version.resolve() / "src")}
    child = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(qrels), str(run)],
        env=source, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return tuple(json.loads(child.stdout))


if __name__ == "__main__":
    main()
