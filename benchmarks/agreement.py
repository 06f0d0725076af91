"""Compare the speed of `rf.agree` with a loop over scipy and the `rbo` package.

The other ranking is the first one with a fifth of its documents exchanged and its scores disturbed
and rounded, so that there are ties. Loops take minutes: they are timed on the first queries, and
their times scaled up. The `rbo` package wants an older numpy (`pip install --no-deps rbo`); without
it, only scipy is looped over.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from benchmarks.data import make
from benchmarks.layouts import SHAPES, Layout
from benchmarks.measure import run_module

ALL = (
    "overlap@10", "jaccard@10", "average_overlap@10", "rbo", "rbo@10", "rbo_min", "rbo_res", "rbd",
    "rbo(ties=w)", "rbo(ties=a)", "rbo(ties=b)", "kendall_tau", "kendall_tau(variant=c)", "tau_ap",
    "spearman", "pearson", "ndpm", "fcp",
)  # fmt: skip
SETS: dict[str, tuple[str, ...]] = {
    "rbo": ("rbo",),
    "kendall_tau, spearman": ("kendall_tau", "spearman"),
    f"all {len(ALL)} measures": ALL,
}
# How many queries a loop is timed on.
_SAMPLE = {"rec": 2000, "search": 50}


def measure(folder: Path, scale: int) -> list[tuple[str, str, str, float, float]]:
    """Return rows (shape, measures, tool, seconds, peak bytes); 0 bytes if time was scaled up."""
    table = []
    for name in ("rec", "search"):
        queries = SHAPES[name].queries // scale
        layout = replace(SHAPES[name], queries=queries)
        a, b = make(layout, folder).run, _other(layout, folder)
        for what in SETS:
            report = run_module("benchmarks.agreement", "agree", a, b, what)
            table.append((name, what, "rankframe", report["seconds"], report["peak"]))
        for what in LOOPS:
            sample = min(_SAMPLE[name], queries)
            report = run_module("benchmarks.agreement", "loop", a, b, what, str(sample))
            table.append((name, what, "loop*", report["seconds"] * queries / sample, 0.0))
    return table


def _other(layout: Layout, folder: Path) -> Path:
    first = make(replace(layout, order="unordered"), folder).run
    path = first.with_name(f"{first.stem}-other.parquet")
    if not path.exists():
        run_module("benchmarks.agreement", "write", first, path)
    return path


def _write(run: Path, path: Path) -> None:
    key = pl.struct("query_id", "doc_id")
    exchanged = key.hash(1) % 5 == 0
    noise = (key.hash(2) % 1000) / 2000
    pl.scan_parquet(run).with_columns(
        doc_id=pl.when(exchanged).then(pl.col("doc_id") + "x").otherwise("doc_id"),
        score=(pl.col("score") + noise).round(2),
    ).sink_parquet(path)


def _agree(a: str, b: str, what: str) -> float:
    import rankframe as rf

    start = time.perf_counter()
    rf.agree(a, b, SETS[what])
    return time.perf_counter() - start


def _scipy(x: dict[str, float], y: dict[str, float]) -> None:
    from scipy import stats

    shared = [doc for doc in x if doc in y]
    left, right = [x[doc] for doc in shared], [y[doc] for doc in shared]
    stats.kendalltau(left, right)
    stats.spearmanr(left, right)


def _rbo(x: dict[str, float], y: dict[str, float]) -> None:
    rankings = [sorted(side, key=lambda doc: -side[doc]) for side in (x, y)]
    import_module("rbo").RankingSimilarity(*rankings).rbo_ext(p=0.9)


LOOPS: dict[str, Callable[[dict[str, float], dict[str, float]], None]] = {
    "kendall_tau, spearman": _scipy,
    **({"rbo": _rbo} if find_spec("rbo") else {}),
}


def _loop(a: str, b: str, what: str, sample: str) -> float:
    sides = []
    wanted = pl.scan_parquet(a).select("query_id").unique(maintain_order=True).head(int(sample))
    for path in (a, b):
        frame = pl.scan_parquet(path).join(wanted, on="query_id", how="semi").collect()
        nested: dict[str, dict[str, float]] = {}
        for query, doc, score in frame.select("query_id", "doc_id", "score").iter_rows():
            nested.setdefault(query, {})[doc] = score
        sides.append(nested)
    queries = list(sides[0])
    LOOPS[what](sides[0][queries[0]], sides[1][queries[0]])  # imports are not what is measured
    start = time.perf_counter()
    for query in queries:
        LOOPS[what](sides[0][query], sides[1][query])
    return time.perf_counter() - start


def main() -> None:
    task, *arguments = sys.argv[1:]
    seconds = 0.0
    if task == "write":
        _write(*map(Path, arguments))
    else:
        seconds = {"agree": _agree, "loop": _loop}[task](*arguments)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
