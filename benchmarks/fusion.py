"""Compare fusion of two runs with SQL and ranx: `python -m benchmarks.fusion FOLDER`.

Reciprocal rank fusion, and a weighted sum of min-max scores, of 1M queries with 10 documents in
each run, and of 7k with 1000. All ways to say it in SQL are tried on a tenth, and the fastest is
measured. ranx reads into dicts of Python, which takes minutes: it has its time (`--minutes`), its
loading, compiling, fusing and writing are counted apart, and what it took is kept in FOLDER. Where
it does not finish, or runs out of memory, it gets a tenth of the queries, the output says so, and
it is set against rankframe on the same files: nothing is scaled. From file to file, as DuckDB and
rankframe are measured, it loads, fuses and writes, and does not compile; what it takes to fuse
alone is set against rankframe between frames in memory. `--share 10` tries everything on a tenth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.data import make
from benchmarks.fusion_ways import IN_MEMORY, METHODS, OURS, sql_ways
from benchmarks.layouts import SHAPES
from benchmarks.measure import run_module

SIZES = {"rec": 1_000_000, "search": 7_000}
_TENTH = 10
_WAYS = "benchmarks.fusion_ways"
Pair = tuple[Path, Path]
Report = dict[str, Any]


def measure(
    folder: Path, shapes: list[str], *, share: int, repeat: int, minutes: float
) -> list[Report]:
    """Return a report for each shape and method: seconds of each tool per round, and ratios."""
    reports = []
    for shape in shapes:
        queries = SIZES[shape] // share
        pair, fewer = _pair(shape, queries, folder), _pair(shape, queries // _TENTH, folder)
        ranx, of = _ranx(pair, folder, minutes), pair
        if ranx is None:
            ranx, of = _ranx(fewer, folder, minutes), fewer
        for method in METHODS:
            found = _beside_sql(method, pair, fewer, repeat)
            report = {"shape": shape, "queries": queries, "method": method, **found}
            if ranx is not None:
                ours = _rounds([OURS, IN_MEMORY], method, of, repeat)
                there = queries if of == pair else queries // _TENTH
                report["ranx"] = _beside_ranx(ranx, method, ours, there)
            reports.append(report)
            print(_said(report), file=sys.stderr, flush=True)
    return reports


def _beside_sql(method: str, pair: Pair, fewer: Pair, repeat: int) -> Report:
    """Time rankframe and the fastest SQL in turn; return seconds and the ratio of both."""
    tried = {
        way: min(run["cpu"] for run in runs)
        for way, runs in _rounds(sql_ways(method), method, fewer, 2).items()
    }
    way = min(tried, key=tried.__getitem__)
    runs = _rounds([OURS, way], method, pair, repeat)
    _agree(method, {name: some[0] for name, some in runs.items()})
    times = {unit: _best(runs[way], unit) / _best(runs[OURS], unit) for unit in ("cpu", "wall")}
    return {"sql": way, "tried": tried, "runs": runs, "duckdb_times": times}


def _beside_ranx(ranx: Report, method: str, ours: dict[str, list[Report]], queries: int) -> Report:
    """Return how many times as long as rankframe ranx took, in memory and from file to file."""
    fused = ranx[method]
    _agree(method, {OURS: ours[OURS][0], "ranx": fused})
    times: dict[str, float] = {}
    for unit in ("cpu", "wall"):
        alone = fused["fusing"][unit]
        whole = ranx["loading"][unit] + alone + fused["writing"][unit]
        times[f"fuse {unit}"] = alone / _best(ours[IN_MEMORY], unit)
        times[f"whole {unit}"] = whole / _best(ours[OURS], unit)
    return {"queries": queries, "loading": ranx["loading"], **fused, "times": times, "ours": ours}


def _rounds(ways: list[str], method: str, pair: Pair, repeat: int) -> dict[str, list[Report]]:
    runs: dict[str, list[Report]] = {way: [] for way in ways}
    for _ in range(repeat):
        for way in ways:
            runs[way].append(run_module(_WAYS, way, method, *pair))
    return runs


def _best(runs: list[Report], unit: str) -> float:
    return min(run[unit] for run in runs)


def _agree(method: str, found: dict[str, Report]) -> None:
    """Refuse timings if the fused runs differ in their number of rows or their scores."""
    (first, ours), *others = found.items()
    for name, other in others:
        for what in ("rows", "score", "some"):
            if abs(other[what] - ours[what]) > 1e-6 * abs(ours[what]):
                raise ValueError(f"{method}: {first} has {ours}, {name} {other}")


def _ranx(pair: Pair, folder: Path, minutes: float) -> Report | None:
    """Return what ranx took, measured once and stored; None if it did not finish in time."""
    versions = (f"{name} {version(name)}" for name in ("ranx", "numba"))
    key = " ".join(["to a file", pair[0].name, *versions])
    kept = folder / "fusion-ranx.json"
    known: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    found = known.get(key)
    if found is None or found.get("minutes", minutes) < minutes:
        try:
            found = run_module(_WAYS, "ranx", "both", *pair, patience=minutes * 60)
        except subprocess.TimeoutExpired:
            found = {"unfinished": f"in {minutes:g} minutes", "minutes": minutes}
        except RuntimeError as error:
            if "MemoryError" not in str(error):
                raise
            found = {"unfinished": "in the memory that there is"}
        kept.write_text(json.dumps({**known, key: found}, indent=1), encoding="utf-8")
    if "unfinished" in found:
        said = f"ranx did not finish {pair[0].name} {found['unfinished']}"
        print(said, file=sys.stderr, flush=True)
        return None
    return found


def _pair(shape: str, queries: int, folder: Path) -> Pair:
    """Return two runs; the second has some documents exchanged and scores disturbed."""
    path = make(replace(SHAPES[shape], queries=queries), folder).run
    made = path.with_name(f"{path.stem}-other.parquet")
    if not made.exists():
        key = pl.struct("query_id", "doc_id")
        exchanged = pl.when(key.hash(1) % 2 == 0).then(pl.col("doc_id") + "x").otherwise("doc_id")
        disturbed = pl.col("score") + (key.hash(2) % 1000) / 2000
        pl.scan_parquet(path).with_columns(doc_id=exchanged, score=disturbed).sink_parquet(made)
    return path, made


def _said(report: Report) -> str:
    """Format a report as a few lines of text."""
    ours, theirs = (report["runs"][name] for name in (OURS, report["sql"]))
    times = report["duckdb_times"]
    lines = [f"{report['shape']}, {report['queries']:,} queries, {report['method']}"]
    for name, runs in ((OURS, ours), (f"DuckDB ({report['sql']})", theirs)):
        lines.append(f"  {name}: {_best(runs, 'cpu'):.2f} CPU s, {_best(runs, 'wall'):.2f} s")
    lines.append(f"  DuckDB takes {times['cpu']:.2f} times the CPU, {times['wall']:.2f} the time")
    if "ranx" not in report:
        return "\n".join([*lines, "  ranx did not finish a tenth of this either"])
    ranx = report["ranx"]
    few = "" if ranx["queries"] == report["queries"] else f" of {ranx['queries']:,} queries only"
    fusing, loading, ratio = ranx["fusing"], ranx["loading"], ranx["times"]
    lines.append(
        f"  ranx{few}: fuses in {fusing['cpu']:.2f} CPU s, {fusing['wall']:.2f} s, after loading "
        f"for {loading['cpu']:.1f} CPU s. On the same files: {ratio['fuse cpu']:.1f} times "
        f"the CPU ({ratio['fuse wall']:.1f} the time) of rankframe to fuse alone, "
        f"{ratio['whole cpu']:.0f} times ({ratio['whole wall']:.0f}) from file to file"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for inputs, and for what ranx took")
    parser.add_argument("--shape", choices=list(SIZES), action="append", help="else all")
    parser.add_argument("--share", type=int, default=1, help="one query in so many")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=20, help="for ranx, a shape")
    parser.add_argument("--output", type=Path, help="a JSON file for all numbers")
    given = parser.parse_args()
    shapes = given.shape or list(SIZES)
    found = measure(
        given.folder, shapes, share=given.share, repeat=given.repeat, minutes=given.minutes
    )
    text = json.dumps(found, indent=1)
    if given.output is not None:
        given.output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
