"""Time other functions of rankframe beside one evaluation: text input, comparison, report.

The further runs of a comparison are the first one with documents exchanged and scores disturbed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.data import make
from benchmarks.layouts import SHAPES
from benchmarks.measure import run_module

METRICS = ["ndcg@10", "map", "mrr", "precision@10", "recall@10"]


def measure(folder: Path, queries: int) -> list[dict[str, Any]]:
    """Return wall and CPU seconds, without imports, and peak bytes of each function."""
    files = make(replace(SHAPES["rec"], queries=queries), folder)
    paths = [str(files.qrels), str(files.run)]
    table = []
    for way in WAYS:
        report = run_module("benchmarks.paths", way, *paths)
        table.append({"way": way} | {key: report[key] for key in ("wall", "cpu", "peak")})
    return table


def _evaluate(qrels: Path, run: Path) -> Callable[[], object]:
    import rankframe as rf

    return lambda: rf.evaluate(qrels, run, METRICS)


def _text(qrels: Path, run: Path) -> Callable[[], object]:
    return _evaluate(*(_written(path, _as_trec) for path in (qrels, run)))


def _compare(qrels: Path, run: Path) -> Callable[[], object]:
    import rankframe as rf

    runs = {"first": run, **{f"other {n}": _written(run, _disturbed, n) for n in (1, 2)}}
    return lambda: rf.compare(qrels, runs, METRICS, baseline="first")


def _report(qrels: Path, run: Path) -> Callable[[], object]:
    import rankframe as rf

    runs = {"first": run, "other": _written(run, _disturbed, 1)}
    page = Path(tempfile.mkdtemp()) / "report.html"
    return lambda: rf.report(qrels, runs, METRICS, output=page)


WAYS: dict[str, Callable[[Path, Path], Callable[[], object]]] = {
    "evaluate": _evaluate,
    "evaluate, TREC text": _text,
    "compare three runs": _compare,
    "report of two runs": _report,
}


def _written(path: Path, write: Callable[..., None], *how: int) -> Path:
    """Derive a file from another with `write`, unless it exists; return its path."""
    ending = "".join(map(str, how))
    made = path.with_name(f"{path.stem}{write.__name__}{ending}" + (".parquet" if how else ".txt"))
    if not made.exists():
        write(path, made, *how)
    return made


def _as_trec(path: Path, made: Path) -> None:
    from rankframe.engine.convert import convert_file

    convert_file(path, made)


def _disturbed(path: Path, made: Path, seed: int) -> None:
    key = pl.struct("query_id", "doc_id")
    pl.scan_parquet(path).with_columns(
        doc_id=pl.when(key.hash(seed) % 5 == 0).then(pl.col("doc_id") + "x").otherwise("doc_id"),
        score=pl.col("score") + (key.hash(seed + 10) % 1000) / 2000,
    ).sink_parquet(made)


def main() -> None:
    way, qrels, run = sys.argv[1:]
    work = WAYS[way](Path(qrels), Path(run))
    # Parts are imported when they are used. Two queries, since one has no interval.
    tiny = {name: {"a": 1, "b": 0} for name in "qr"}
    with tempfile.TemporaryDirectory() as folder:
        import rankframe as rf

        rf.report(tiny, {"x": tiny, "y": tiny}, METRICS, output=Path(folder) / "report.html")
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main()
