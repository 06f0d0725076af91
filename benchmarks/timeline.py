"""Show how busy each thread is over the time of one evaluation.

    python -m benchmarks.timeline QRELS RUN [--metrics ndcg@10 map] [--step 50]

A child process evaluates; this process reads from /proc how long each of its threads has run, every
`--step` milliseconds. Each line is one step: how many cores were busy, and what share of the step
each thread ran, the busiest threads first. Lines in between name the phase that has begun.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

_CHILD = """
import sys, threading, time
import rankframe as rf
from rankframe.engine import evaluation, finish, lookup
from rankframe.engine.judged_metrics import JudgedMetrics

def say(phase):
    print(time.monotonic(), phase, flush=True)

def told(owner, name, phase):
    inner = getattr(owner, name)
    def call(*args, **kwargs):
        say(phase)
        try:
            return inner(*args, **kwargs)
        finally:
            say(f"end of {phase}")
    setattr(owner, name, call)

told(lookup, "read_judgments", "reading judgments")
told(lookup, "index_judgments", "indexing judgments")
told(lookup, "read_batches", "reading the run")
told(evaluation, "read_batches", "reading the run")
told(finish, "finish", "summing up")
qrels, run, *metrics = sys.argv[1:]
rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, metrics)
say("start")
rf.evaluate(qrels, run, metrics)
say("done")
"""


def _ran(pid: int) -> dict[str, int]:
    """Return the nanoseconds that each thread of a process has run."""
    ran = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            ran[task.name] = int((task / "schedstat").read_text().split()[0])
        except OSError:  # the thread has ended
            continue
    return ran


def main() -> None:
    """Run one evaluation and print its timeline."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("qrels")
    parser.add_argument("run")
    parser.add_argument("--metrics", nargs="+",
                        default=["ndcg@10", "map", "mrr", "precision@10", "recall@10"])  # fmt: skip
    parser.add_argument("--step", type=int, default=50, help="milliseconds between two readings")
    options = parser.parse_args()
    child = subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore", "-c", _CHILD),
            *(options.qrels, options.run, *options.metrics),
        ],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    steps: list[tuple[float, dict[str, int]]] = []
    said = b""
    while child.poll() is None:
        steps.append((time.monotonic(), _ran(child.pid)))
        said += child.stdout.read() or b""
        time.sleep(options.step / 1000)
    said += child.stdout.read() or b""
    marks = [
        (float(line.split()[0]), line.split(maxsplit=1)[1]) for line in said.decode().splitlines()
    ]
    start, end = marks[0][0], marks[-1][0]
    total: Counter[str] = Counter()
    for (before, old), (after, new) in pairwise(steps):
        while marks and marks[0][0] < after:
            print(f"{marks[0][0] - start:6.2f} {marks.pop(0)[1]}")
        if before < start or after > end:
            continue
        spent = {task: ran - old.get(task, 0) for task, ran in new.items()}
        total.update(spent)
        shares = sorted((s / (after - before) / 1e9 for s in spent.values()), reverse=True)
        bars = " ".join(f"{share:4.0%}" for share in shares if share > 0.02)
        print(f"{after - start:6.2f}   {sum(shares):4.2f} cores: {bars}")
    for when, phase in marks:
        print(f"{when - start:6.2f} {phase}")
    busy = sum(total.values()) / 1e9
    print(f"{end - start:.2f} s, {busy:.2f} s of work: {busy / (end - start):.2f} cores")


if __name__ == "__main__":
    main()
