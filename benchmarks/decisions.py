"""Measure `rf.compare` on stored values: 1M queries, 5 systems, 10 metrics, 20 slices.

python -m benchmarks.decisions [--queries N] [--tests t wilcoxon …]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import rankframe as rf

SYSTEMS, METRICS, SLICES = 5, 10, 20


def make(queries: int, folder: Path) -> tuple[dict[str, Path], pl.DataFrame]:
    """Write values per query of systems that differ slightly; return paths and an attribute."""
    rng = np.random.default_rng(17)
    ids = pl.int_range(queries, eager=True).cast(pl.String).str.zfill(8).alias("query_id")
    base = rng.beta(2, 2, (METRICS, queries))
    paths = {}
    for system in range(SYSTEMS):
        values = np.clip(base + rng.normal(0.0002 * system, 0.1, base.shape), 0, 1)
        frame = pl.DataFrame([ids, *(pl.Series(f"m{at}", row) for at, row in enumerate(values))])
        paths[f"s{system}"] = folder / f"s{system}.parquet"
        frame.write_parquet(paths[f"s{system}"])
    return paths, pl.DataFrame([ids, pl.Series("part", rng.integers(0, SLICES, queries))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument(
        "--tests", nargs="*", default=["t", "wilcoxon", "sign", "randomisation", "tukey"]
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        systems, attributes = make(asked.queries, Path(folder))
        print("| test | slices | comparisons | s | CPU s | peak GiB |\n|---|---|---|---|---|---|")
        for test in asked.tests:
            for sliced in (False, True) if test != "tukey" else (False,):
                wall, cpu = time.perf_counter(), time.process_time()
                found = rf.compare(
                    None, systems, test=test, baseline=None if test == "tukey" else "s0",
                    queries=attributes if sliced else None, by="part" if sliced else None,
                )  # fmt: skip
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                row = (test, SLICES if sliced else "", f"{found.table.height:,}")
                cells = [*map(str, row), f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.1f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
