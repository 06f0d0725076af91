"""Fusion of two runs beside hand-written SQL and ranx: `python -m benchmarks.fusion FOLDER`.

From two Parquet files with text ids to the fused run as a Parquet file, by reciprocal rank fusion
and by a weighted sum of min-max scores: 1M queries of 10 documents, and 7k of 1000. ranx gets a
fiftieth of the queries: it reads into dicts of Python; what it takes to compile is not counted.
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

SIZES = {"rec": 1_000_000, "search": 7_000}
SHARE = 50  # of the queries that ranx gets, one in so many
WEIGHTS = [0.3, 0.7]
Work = Callable[[Path, Path, Path], None]

_RANKED = """
    select query_id, doc_id, score, row_number() over (
        partition by query_id order by score desc, doc_id desc
    ) as rank from read_parquet('{path}')
"""
_NORMED = """
    select query_id, doc_id, {weight} * (score - min(score) over same) / greatest(
        max(score) over same - min(score) over same, 1e-9
    ) as part from read_parquet('{path}') window same as (partition by query_id)
"""
_FUSED = """
    copy (
        with parts as ({parts}),
        fused as (select query_id, doc_id, sum(part) as score from parts group by all)
        select query_id, doc_id, row_number() over (
            partition by query_id order by score desc, doc_id desc
        ) as rank, score from fused order by query_id, rank
    ) to '{target}' (format parquet)
"""


def measure(folder: Path, queries: dict[str, int] = SIZES) -> list[dict[str, Any]]:
    """Wall and CPU seconds, imports apart, and peak bytes of each way, by shape and method."""
    table = []
    for shape, count in queries.items():
        files = make(replace(SHAPES[shape], queries=count), folder)
        other = _disturbed(files.run)
        for method in ("rrf", "wsum"):
            for way in WAYS:
                few = way == "ranx"
                pair = [_some(path, count) if few else path for path in (files.run, other)]
                report = run_module("benchmarks.fusion", way, method, *pair)
                times = {key: report[key] for key in ("wall", "cpu", "peak")}
                facts = {"shape": shape, "method": method, "way": way, "rows": report["rows"]}
                table.append(facts | times)
                print(json.dumps(table[-1]), file=sys.stderr, flush=True)
    return table


def _rankframe(method: str) -> Work:
    import rankframe as rf

    weights = WEIGHTS if method == "wsum" else None

    def work(a: Path, b: Path, target: Path) -> None:
        rf.fuse({"a": a, "b": b}, method, weights=weights, output=target)

    return work


def _duckdb(method: str, *, join: bool = False) -> Work:
    import duckdb

    def work(a: Path, b: Path, target: Path) -> None:
        sides = []
        for path, weight in zip((a, b), WEIGHTS, strict=True):
            if method == "rrf":
                ranked = _RANKED.format(path=path)
                sides.append(f"select query_id, doc_id, 1 / (60 + rank) as part from ({ranked})")
            else:
                sides.append(_NORMED.format(path=path, weight=weight))
        if join:
            parts = (
                "select query_id, doc_id, coalesce(a.part, 0) + coalesce(b.part, 0) as part "
                f"from ({sides[0]}) a full outer join ({sides[1]}) b using (query_id, doc_id)"
            )
        else:
            parts = " union all ".join(sides)
        with duckdb.connect() as database:
            database.execute(_FUSED.format(parts=parts, target=target))

    return work


def _ranx(method: str) -> Work:
    import ranx

    # The text of pandas 3 is not what it expects.
    types: Any = {"query_id": object, "doc_id": object, "score": float}
    how: dict[str, Any] = {"norm": None, "method": "rrf"}
    if method == "wsum":
        how = {"norm": "min-max", "method": "wsum", "params": {"weights": WEIGHTS}}

    def work(a: Path, b: Path, target: Path) -> None:
        runs = [
            ranx.Run.from_df(
                pl.read_parquet(path).to_pandas().astype(types),
                q_id_col="query_id",
                doc_id_col="doc_id",
            )
            for path in (a, b)
        ]
        fused = ranx.fuse(runs, **how)
        fused.save(str(target), kind="parquet")

    return work


WAYS: dict[str, Callable[[str], Work]] = {
    "rankframe": _rankframe,
    "DuckDB, union all": _duckdb,
    "DuckDB, full outer join": lambda method: _duckdb(method, join=True),
    "ranx": _ranx,
}


def _disturbed(path: Path) -> Path:
    """Another run: documents exchanged, scores disturbed. Made once."""
    made = path.with_name(f"{path.stem}-other.parquet")
    if not made.exists():
        key = pl.struct("query_id", "doc_id")
        exchanged = pl.when(key.hash(1) % 2 == 0).then(pl.col("doc_id") + "x").otherwise("doc_id")
        disturbed = pl.col("score") + (key.hash(2) % 1000) / 2000
        pl.scan_parquet(path).with_columns(doc_id=exchanged, score=disturbed).sink_parquet(made)
    return made


def _some(path: Path, queries: int) -> Path:
    """The rows of some queries, the same ones of every run. Made once.

    ranx wants the same queries in all runs.
    """
    made = path.with_name(f"{path.stem}-some-{queries // SHARE}.parquet")
    if not made.exists():
        kept = pl.col("query_id").hash(3) % SHARE == 0
        pl.scan_parquet(path).filter(kept).sink_parquet(made)
    return made


def main() -> None:
    if len(sys.argv) == 2:
        print(json.dumps(measure(Path(sys.argv[1])), indent=1))
        return
    way, method, *paths = sys.argv[1:]
    a, b = map(Path, paths)
    work = WAYS[way](method)
    with tempfile.TemporaryDirectory() as folder:
        # Parts are imported, and ranx is compiled, when they are first used.
        small = [Path(folder) / "a.parquet", Path(folder) / "b.parquet"]
        for path in small:
            pl.DataFrame(
                {"query_id": ["q", "q", "r"], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]}
            ).write_parquet(path)
        work(small[0], small[1], Path(folder) / "small.parquet")
        target = Path(folder) / "fused.parquet"
        wall, cpu = time.perf_counter(), time.process_time()
        work(a, b, target)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rows = pl.scan_parquet(target).select(pl.len()).collect().item()
    print(json.dumps({"wall": wall, "cpu": cpu, "rows": rows}))


if __name__ == "__main__":
    main()
