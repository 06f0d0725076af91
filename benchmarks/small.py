"""Measure small inputs: dicts in a loop beside pytrec_eval, and whole processes on small files.

Each round measures both contenders in turn, in this process; the least time of a call counts. Times
are CPU time, which other work on the machine changes little.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import run_command, run_module

METRICS = ["ndcg@10", "map", "mrr", "precision@10", "recall@100"]
THEIRS = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100"}
# Queries, documents and judgments of each; the last is like the development queries of MS MARCO.
SIZES = ((50, 100, 60), (1_000, 100, 60), (6_980, 100, 60), (6_980, 100, 2))
_ROUNDS = 7


def measure() -> dict[str, Any]:
    """Return seconds of CPU by size and contender, and those of whole processes."""
    return {"calls": run_module("benchmarks.small")["calls"], "processes": _processes()}


def main() -> None:
    """Measure the calls, and print them as one line of JSON."""
    print(json.dumps({"calls": [_calls(*size) for size in SIZES]}))


def _calls(queries: int, depth: int, judged: int) -> dict[str, Any]:
    import numpy as np
    import pytrec_eval

    import rankframe as rf

    rng = np.random.default_rng(36)
    names = [f"q{number}" for number in range(queries)]

    def dicts(size: int, values: Callable[[int], Any]) -> dict[str, dict[str, Any]]:
        drawn = (rng.choice(1_000, size, replace=False).tolist() for _ in names)
        return {
            name: dict(zip((f"d{doc}" for doc in docs), values(size).tolist(), strict=True))
            for name, docs in zip(names, drawn, strict=True)
        }

    qrels = dicts(judged, lambda size: rng.choice(4, size, p=(0.5, 0.25, 0.15, 0.1)))
    run = dicts(depth, rng.random)
    ways: dict[str, Callable[[], object]] = {
        "rankframe": lambda: rf.evaluate(qrels, run, METRICS),
        "rankframe, ci=None": lambda: rf.evaluate(qrels, run, METRICS, ci=None),
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run),
    }
    repeat = max(1, 1_000 // queries)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(_ROUNDS):
        for name, call in ways.items():
            start = time.process_time()
            for _ in range(repeat):
                call()
            best[name] = min(best[name], (time.process_time() - start) / repeat)
    return {"queries": queries, "depth": depth, "judged": judged, **best}


def _processes() -> list[tuple[str, float]]:
    """Return the CPU seconds of whole processes, the least of five."""
    command = str(Path(sys.executable).with_name("rankframe"))
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels.txt"), Path(folder, "run.txt")
        queries, documents = range(50), range(1_000)
        qrels.write_text(
            "".join(f"q{q} 0 d{7 * d} {d % 3}\n" for q in queries for d in range(100)), "utf-8"
        )
        run.write_text(
            "".join(f"q{q} Q0 d{d} {d + 1} {1000 - d} a\n" for q in queries for d in documents),
            "utf-8",
        )
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import polars, numpy": [sys.executable, "-c", "import polars, numpy"],
            "import what rf.evaluate needs": [
                sys.executable, "-c", "import rankframe; rankframe.evaluate",
            ],
            "rankframe --help": [command, "--help"],
            "rankframe evaluate, 50 × 1000 documents": [
                command, "evaluate", str(qrels), str(run),
            ],
            "rankframe trec_eval -q -m all_trec, the same files": [
                command, "trec_eval", "-q", "-m", "all_trec", str(qrels), str(run),
            ],
        }  # fmt: skip
        return [
            (name, min(_cpu(arguments) for _ in range(5))) for name, arguments in commands.items()
        ]


def _cpu(command: list[str]) -> float:
    return run_command(command)["all_cpu"]


if __name__ == "__main__":
    main()
