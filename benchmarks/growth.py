"""Measure how rankframe's time grows with rows, metrics and cutoffs, and its start-up time."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.data import Files, make
from benchmarks.layouts import SHAPES, Order
from benchmarks.measure import run_child, timed

_CODE = """
import json, sys, time
import rankframe as rf
qrels, run, *metrics = sys.argv[1:]
start = time.perf_counter()
rf.evaluate(qrels, run, metrics)
print(json.dumps(time.perf_counter() - start))
"""
_ORDERS: tuple[Order, ...] = ("grouped", "sorted", "scattered")
_FIFTY = [
    *(f"ndcg@{k}" for k in range(1, 11)), *(f"precision@{k}" for k in range(1, 11)),
    *(f"recall@{k}" for k in range(1, 11)), *(f"map@{k}" for k in range(1, 11)),
    *(f"mrr@{k}" for k in range(1, 11)),
]  # fmt: skip


def rows(folder: Path, most: int) -> list[dict[str, Any]]:
    """Measure runs of growing size: wall and CPU seconds and peak bytes. The largest is in three
    row orders, whose values must have the same bits.
    """
    table: list[dict[str, Any]] = []
    for queries in (100_000, 1_000_000, 10_000_000):
        if queries * 10 > most:
            break
        largest = queries == 10_000_000
        for order in _ORDERS if largest else _ORDERS[:1]:
            files = _files(queries, folder, order)
            for how in ("in memory", "within 3 GiB") if order == "grouped" else ("within 3 GiB",):
                report = run_child(f"with_rankframe:{how}", files)
                row = {key: report[key] for key in ("wall", "cpu", "peak", "values")}
                table.append({"rows": files.facts["rows"], "order": order, "how": how} | row)
        latest = [row for row in table if row["rows"] == table[-1]["rows"]]
        if any(row["values"] != latest[0]["values"] for row in latest):
            raise ValueError("the order of rows changes values")
    return table


def metrics(folder: Path, queries: int) -> list[tuple[str, float]]:
    """Return the seconds of an evaluation by one metric, and by many, of the same files."""
    files = _files(queries, folder)
    sets = {
        "1 metric (ndcg@10)": ["ndcg@10"],
        "5 metrics": ["ndcg@10", "map", "mrr", "precision@10", "recall@10"],
        "ndcg, precision, recall @1,3,5,10,20": [
            f"{name}@1,3,5,10,20" for name in ("ndcg", "precision", "recall")
        ],
        "50 metrics (5 × 10 cutoffs)": _FIFTY,
    }
    return [(name, _seconds(files, wanted)) for name, wanted in sets.items()]


def start_up(folder: Path) -> list[tuple[str, float]]:
    """Return the seconds that imports, `--help` and small evaluations take."""
    files = _files(10, folder)
    python = sys.executable
    command = str(Path(python).with_name("rankframe"))
    return [
        ("python -c pass", timed([python, "-c", "pass"])),
        ("import polars", timed([python, "-c", "import polars"])),
        ("import rankframe", timed([python, "-c", "import rankframe"])),
        ("rankframe --help", timed([command, "--help"])),
        (
            "rankframe evaluate (10 queries)",
            timed([command, "evaluate", str(files.qrels), str(files.run)]),
        ),
        # With just-in-time compilation.
        ("ranx, first call (10 queries)", run_child("with_ranx:frames", files)["all_wall"]),
    ]


def _files(queries: int, folder: Path, order: Order = "grouped") -> Files:
    """Make judgments and a run with ten documents per query, in a row order."""
    return make(replace(SHAPES["rec"], queries=queries, order=order, judged_order=order), folder)


def _seconds(files: Files, wanted: list[str]) -> float:
    command = [sys.executable, "-c", _CODE, str(files.qrels), str(files.run), *wanted]
    return min(
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
