"""`rf.spark.evaluate` beside `rf.evaluate` on one machine: `python -m benchmarks.spark FOLDER SIZE`

SIZE, or several, is a number of queries, each with ten retrieved documents. Time, start-up apart,
and the peak of memory of all processes together; the values must be the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.data import Shape, make

METRICS = ["ndcg@10", "map", "mrr@10", "precision@10", "recall@10"]
MASTER = "local[2,4]"


def main(folder: str, *sizes: str) -> None:
    print("| run rows | engine | partitions | start s | job s | peak GB | load |")
    print("|---|---|---|---|---|---|---|")
    for size in map(int, sizes):
        qrels, run = make(Shape("rec", size, 10, 3), "sorted", Path(folder))
        found = [measured(engine, str(qrels), str(run)) for engine in ("rankframe", "spark")]
        assert found[0]["means"] == found[1]["means"], found
        for line in found:
            print(
                f"| {size * 10:,} | {line['engine']} | {line['partitions']} | {line['start']:.1f} "
                f"| {line['job']:.1f} | {line['peak'] / 1e9:.1f} | {line['load']:.1f} |",
                flush=True,
            )


def measured(engine: str, qrels: str, run: str) -> dict[str, Any]:
    """Run an engine in processes of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", "--child", engine]
    child = subprocess.Popen(
        [*command, qrels, run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(map(memory, family(child.pid))))
        time.sleep(0.2)
    assert child.stdout is not None
    return {**json.loads(child.stdout.read().splitlines()[-1]), "peak": peak}


def child(engine: str, qrels: str, run: str) -> None:
    begun = time.perf_counter()
    evaluate, partitions = {"rankframe": here, "spark": on_spark}[engine]()
    ready = time.perf_counter()
    means = evaluate(qrels, run)
    done = time.perf_counter()
    line = {"engine": engine, "partitions": partitions(), "start": ready - begun}
    print(json.dumps(line | {"job": done - ready, "means": means, "load": os.getloadavg()[0]}))


def here() -> tuple[Callable[..., dict[str, float | None]], Callable[[], int]]:
    import rankframe as rf

    return lambda qrels, run: rf.evaluate(qrels, run, METRICS).means, lambda: 1


def on_spark() -> tuple[Callable[..., dict[str, float | None]], Callable[[], int]]:
    import rankframe as rf
    from rankframe.spark_inputs import start_session

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1"}
    spark = start_session(MASTER)
    results: list[rf.spark.SparkResult] = []

    def evaluate(qrels: str, run: str) -> dict[str, float | None]:
        results.append(rf.spark.evaluate(qrels, run, METRICS, spark=spark))
        return results[0].means

    def partitions() -> int:
        return results[0].per_query.rdd.getNumPartitions()

    return evaluate, partitions


def family(process: int) -> list[int]:
    """A process and all that it started."""
    try:
        tasks = list(Path(f"/proc/{process}/task").glob("*/children"))
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except (OSError, ValueError):
        return []
    return [process, *(one for child in children for one in family(child))]


def memory(process: int) -> int:
    """Bytes of a process, those that it shares in parts."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
