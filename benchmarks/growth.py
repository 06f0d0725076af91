"""How rankframe's time grows: with rows, with metrics, with cutoffs; and what starting it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders import BOUNDED
from benchmarks.data import SHAPES, make
from benchmarks.measure import run_child, timed

_CODE = """
import json, sys, time
import rankframe as rf
qrels, run, *metrics = sys.argv[1:]
start = time.perf_counter()
rf.evaluate(qrels, run, metrics)
print(json.dumps(time.perf_counter() - start))
"""
_FIFTY = [
    *(f"ndcg@{k}" for k in range(1, 11)), *(f"precision@{k}" for k in range(1, 11)),
    *(f"recall@{k}" for k in range(1, 11)), *(f"map@{k}" for k in range(1, 11)),
    *(f"mrr@{k}" for k in range(1, 11)),
]  # fmt: skip


def rows(folder: Path, most: int) -> list[tuple[int, str, float, float]]:
    """(rows, how, seconds, peak bytes) for runs of 10 documents a query."""
    table = []
    for queries in (100_000, 1_000_000, 10_000_000):
        if queries * 10 > most:
            break
        paths = make(replace(SHAPES["rec"], queries=queries), "shuffled", folder)
        for how in BOUNDED if queries == 10_000_000 else ["in memory"]:
            report = run_child(how, *paths, folder=folder)
            table.append((queries * 10, how, report["wall"], report["peak"]))
    return table


def metrics(folder: Path, queries: int) -> list[tuple[str, float]]:
    """Seconds for one metric, and for many, on the same files."""
    paths = make(replace(SHAPES["rec"], queries=queries), "shuffled", folder)
    sets = {
        "1 metric (ndcg@10)": ["ndcg@10"],
        "5 metrics": ["ndcg@10", "map", "mrr", "precision@10", "recall@10"],
        "ndcg, precision, recall @1,3,5,10,20": [
            f"{name}@1,3,5,10,20" for name in ("ndcg", "precision", "recall")
        ],
        "50 metrics (5 × 10 cutoffs)": _FIFTY,
    }
    return [(name, _seconds(paths, wanted)) for name, wanted in sets.items()]


def start_up(folder: Path) -> list[tuple[str, float]]:
    """What it costs to start."""
    qrels, run = make(replace(SHAPES["rec"], queries=10), "sorted", folder)
    python = sys.executable
    command = str(Path(python).with_name("rankframe"))
    return [
        ("python -c pass", timed([python, "-c", "pass"])),
        ("import polars", timed([python, "-c", "import polars"])),
        ("import rankframe", timed([python, "-c", "import rankframe"])),
        ("rankframe --help", timed([command, "--help"])),
        ("rankframe evaluate (10 queries)", timed([command, "evaluate", str(qrels), str(run)])),
        ("ranx, first call (10 queries)", _first_call("ranx", qrels, run, folder)),
    ]


def _first_call(name: str, qrels: Path, run: Path, folder: Path) -> float:
    """With imports and just-in-time compilation."""
    return run_child(name, qrels, run, folder=folder, warm_up=False)["wall"]


def _seconds(paths: tuple[Path, Path], wanted: list[str]) -> float:
    command = [sys.executable, "-c", _CODE, *map(str, paths), *wanted]
    return min(
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
