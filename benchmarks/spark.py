"""Compare Spark with one process on the same machine and files: `python -m benchmarks.spark`.

Ten documents and three judgments a query, all rows in random order. Every run has processes of its
own; the best of n is kept in spark.json, from which the page is written. Start-up (imports, and the
session of Spark) is apart; what Spark does at its first use is not. Values must agree: those of
Spark with rankframe's to the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.contenders import METRICS, Values, load
from benchmarks.data import make
from benchmarks.layouts import SHAPES
from benchmarks.page import write_page

HERE = Path(__file__).parent
WAYS = {"naive polars": "with_polars:window", "rankframe": "with_rankframe:default"}
ENGINES = (*WAYS, "Spark")
MASTER = "local[2,4]"
_EVERY = 0.2  # seconds from one look at the processes to the next
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    sizes = [1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=sizes, help="retrieved documents")
    parser.add_argument("--repeat", type=int, default=3, help="best of so many (default 3)")
    parser.add_argument("--data", type=Path, default=HERE / ".data", help="where inputs are kept")
    options = parser.parse_args()
    lines = []
    for rows in options.rows:
        shape = replace(SHAPES["rec"], queries=rows // 10)
        *paths, facts = make(shape.ordered("scattered"), options.data)
        for path in paths:  # the first to read should not be the only one to wait for the disk
            path.read_bytes()
        runs = [measured(engine, *paths) for _ in range(options.repeat) for engine in ENGINES]
        compare_values(runs)
        for engine in ENGINES:
            best = min((run for run in runs if run["engine"] == engine), key=lambda r: r["job"])
            lines.append(best | facts | {"values": None})
            print(lines[-1], file=sys.stderr, flush=True)
    text = json.dumps({"cores": os.cpu_count(), "runs": lines}, indent=1)
    (HERE / "spark.json").write_text(text, encoding="utf-8")
    print(write_page(HERE), file=sys.stderr)


def compare_values(runs: list[dict[str, Any]]) -> None:
    expected = next(run["values"] for run in runs if run["engine"] == "rankframe")
    for run in runs:
        allowed = 1e-9 if run["engine"] == "naive polars" else 0.0
        for metric, value in expected.items():
            if abs(run["values"][metric] - value) > allowed:
                raise ValueError(f"{run['engine']} gives {run['values']}, rankframe {expected}")


def measured(engine: str, qrels: Path, run: Path) -> dict[str, Any]:
    """Run one engine in its own process, and sample the memory and time of all its processes."""
    module = [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", "--child"]
    used: Counter[int] = Counter()
    peak = {"peak": 0, "worker": 0, "disk": 0}
    with TemporaryDirectory() as disk:
        child = subprocess.Popen(
            [*module, engine, str(qrels), str(run)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "SPARK_LOCAL_DIRS": disk, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        while child.poll() is None:
            memory = {process: bytes_of(process) for process in family(child.pid)}
            workers = [size for process, size in memory.items() if is_worker(process)]
            now = {"peak": sum(memory.values()), "worker": max(workers, default=0),
                   "disk": bytes_in(Path(disk))}  # fmt: skip
            peak = {name: max(most, now[name]) for name, most in peak.items()}
            used |= Counter({process: ticks(process) for process in memory})
            time.sleep(_EVERY)
    assert child.stdout is not None
    said = json.loads(child.stdout.read().splitlines()[-1])
    # A short run may end before it is looked at, but knows of itself.
    seen = {**peak, "cpu": used.total() / _TICKS}
    return {"engine": engine, **said} | {
        name: max(of, said.get(name, 0)) for name, of in seen.items()
    }


def child(engine: str, qrels: str, run: str) -> None:
    begun = time.perf_counter()
    evaluate = on_spark() if engine == "Spark" else here(engine)
    ready = time.perf_counter()
    values, partitions = evaluate(Path(qrels), Path(run))
    job = time.perf_counter() - ready
    print(json.dumps({
        "start": ready - begun, "job": job, "partitions": partitions,
        "cpu": time.process_time(), "peak": getrusage(RUSAGE_SELF).ru_maxrss * 1024,
        "load": os.getloadavg()[0], "values": values,
    }))  # fmt: skip


def here(engine: str) -> Callable[[Path, Path], tuple[Values, int]]:
    way = load(WAYS[engine])  # imports are not what is measured
    return lambda qrels, run: (way(qrels, run), 1)


def on_spark() -> Callable[[Path, Path], tuple[Values, int]]:
    import rankframe as rf
    from rankframe.spark.session import start_session

    spark = start_session(MASTER)

    def evaluate(qrels: Path, run: Path) -> tuple[Values, int]:
        result = rf.spark.evaluate(qrels, run, METRICS, spark=spark)
        values = {name: value or 0.0 for name, value in result.means.items()}
        return values, result.per_query.rdd.getNumPartitions()

    return evaluate


def family(process: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    try:
        tasks = list(Path(f"/proc/{process}/task").glob("*/children"))
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except (OSError, ValueError):
        return []
    return [process, *(one for child in children for one in family(child))]


def is_worker(process: int) -> bool:
    """Return whether a process is a Python worker of Spark."""
    try:
        return "pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


def bytes_of(process: int) -> int:
    """Return the proportional set size of a process in bytes."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def ticks(process: int) -> int:
    """Return the CPU time of a process in clock ticks."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # gone since
            continue
    return total


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(*sys.argv[2:])
    else:
        main()
