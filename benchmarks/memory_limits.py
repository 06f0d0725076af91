"""Peaks of memory under a limit, with artificial delays: `python -m benchmarks.memory_limits`.

A limit has to hold whoever is slow: reading, working or writing. Each run is a process of its own,
whose peak the kernel counts (`VmHWM`). Delays are put before functions of polars and numpy: what is
measured is the program as it is. Prints a table; fails if a peak is larger than allowed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

ALLOWED = 1.3  # times the limit
LIMITS = {"220 MB": 220_000_000, "0.3 GiB": int(0.3 * 2**30)}
INPUTS = ("shuffled.parquet", "shuffled.trec.gz", "contiguous.parquet", "sorted.parquet")
DELAYS = ("none", "reading", "working", "writing")
_SECONDS = 0.005  # each time


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_limits", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each (default 20)")
    parser.add_argument("--rows", type=int, default=250_000, help="of the inputs")
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=INPUTS, metavar="INPUT")
    parser.add_argument("--delays", nargs="+", choices=DELAYS, default=DELAYS, metavar="DELAY")
    parser.add_argument("--limits", nargs="+", choices=LIMITS, default=tuple(LIMITS))
    parser.add_argument("--cores", nargs="+", type=int, default=(1, 2))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # In another process: a child's peak is never less than what its parent had.
        prepare = [sys.executable, "-m", "benchmarks.memory_limits", "--prepare", folder]
        subprocess.run([*prepare, str(options.rows)], check=True)
        print(f"| input | limit | cores | {' | '.join(options.delays)} |")
        print(f"| --- | --- | --- | {' | '.join('---' for _ in options.delays)} |", flush=True)
        within = True
        for name, limit, cores in product(options.inputs, options.limits, options.cores):
            cells = []
            for delay in options.delays:
                measured = [
                    _measure(Path(folder), name, LIMITS[limit], cores, delay)
                    for _ in range(options.runs)
                ]
                shares = sorted(peak / LIMITS[limit] for peak in measured)
                held = sum(share <= ALLOWED for share in shares)
                within = within and held == len(shares)
                cells.append(f"{shares[0]:.2f}–{shares[-1]:.2f} ({held} of {len(shares)})")
            print(f"| {name} | {limit} | {cores} | {' | '.join(cells)} |", flush=True)
    sys.exit(not within)


def _measure(folder: Path, name: str, limit: int, cores: int, delay: str) -> int:
    """Return the peak of one evaluation, in bytes."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_limits", "--child", str(folder), name,
         str(limit), delay],
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found = json.loads(child.stdout)
    if delay != "none" and not found["delays"]:
        raise RuntimeError(f"{name}: nothing was delayed in {delay}")
    return found["peak"]


def prepare(folder: Path, rows: int) -> None:
    """Write the inputs: ids of 600 bytes, as the test of the limit has them."""
    import polars as pl

    number = pl.int_range(rows)
    run = pl.select(
        query_id=pl.lit("a_query_of_some_length_") + (number // 50).cast(pl.String),
        doc_id=pl.lit("https://example.org/".ljust(600, "x")) + number.cast(pl.String),
        score=(number * 7919 % 1009 / 8),
    )
    judged = run.gather_every(20).select("query_id", "doc_id", relevance=pl.lit(1.0))
    judged.sort("query_id").write_parquet(folder / "qrels.parquet")
    shuffled = run.sample(fraction=1, shuffle=True, seed=1)
    for name, frame in {
        "shuffled": shuffled,
        "contiguous": run.reverse(),
        "sorted": run.sort("query_id"),
    }.items():
        frame.write_parquet(folder / f"{name}.parquet", compression="lz4", row_group_size=1 << 17)
    lines = shuffled.select(
        pl.format("{} Q0 {} 1 {} t", "query_id", "doc_id", pl.col("score").cast(pl.String))
    )
    lines.write_csv(folder / "text", include_header=False, quote_style="never")
    packed = gzip.open(folder / "shuffled.trec.gz", "wb", compresslevel=1)  # noqa: SIM115
    with (folder / "text").open("rb") as text, packed:
        shutil.copyfileobj(text, packed, 1 << 20)


def evaluate(folder: Path, name: str, limit: int, delay: str) -> None:
    """Evaluate with a delay, and print the peak of this process."""
    import rankframe as rf

    count = _slow_down(delay)
    with tempfile.TemporaryDirectory() as output:
        rf.evaluate(
            folder / "qrels.parquet",
            folder / name,
            ["ndcg@10", "mrr"],
            max_memory=limit,
            output=Path(output) / "values",
            silence=["few_judged"],  # what the inputs are like does not matter
        )
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    print(json.dumps({"peak": int(peak[1]) * 1024, "delays": len(count)}))


def _slow_down(what: str) -> list[None]:
    """Put a delay before functions of polars or numpy; return a list that grows with each delay.

    Reading is polars in the main thread; work is numpy, in any.
    """
    import numpy as np
    import polars as pl

    count: list[None] = []
    main = threading.main_thread()

    def delayed(function: Callable[..., Any], when: Callable[[], bool]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            if when():
                count.append(None)
                time.sleep(_SECONDS)
            return function(*args, **kwargs)

        return called

    def reads() -> bool:
        return threading.current_thread() is main

    patches: dict[str, Sequence[tuple[object, str, Callable[[], bool]]]] = {
        "none": (),
        "reading": [(pl.LazyFrame, "collect", reads)],
        "working": [
            # What is done with rows is done in numpy.
            (np, "repeat", lambda: True),
            (np, "flatnonzero", lambda: True),
        ],
        "writing": [
            (pl.DataFrame, "write_parquet", lambda: True),
            (pl.LazyFrame, "sink_parquet", lambda: True),
        ],
    }
    for owner, name, when in patches[what]:
        setattr(owner, name, delayed(getattr(owner, name), when))
    return count


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        prepare(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--child"]:
        evaluate(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
