"""Fuse two runs in one way and time it: `python -m benchmarks.fusion_ways WAY METHOD A B`.

From two Parquet files with text ids to the fused run as a Parquet file, by query and rank. What is
imported or compiled at first use is used once before the clock is started.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.io.memory import available

WEIGHTS = [0.3, 0.7]
METHODS = ("rrf", "wsum")
OURS, IN_MEMORY = "rankframe", "rankframe, in memory"
_MOST_MEMORY = 0.8  # of what is free
_SOME = 1_000  # queries whose scores are added up where those of all would take long
Work = Callable[[Path, Path, Path], None]

_RRF = """
    select query_id, doc_id, 1 / (60 + row_number() over (
        partition by query_id order by score desc, doc_id desc
    )) as part from read_parquet('{path}')
"""
# The scale of each list by a window, or by a group and a join.
_WSUM = """
    select query_id, doc_id, {weight} * (score - min(score) over same) / greatest(
        max(score) over same - min(score) over same, 1e-9
    ) as part from read_parquet('{path}') window same as (partition by query_id)
"""
_WSUM_GROUPED = """
    select query_id, doc_id, {weight} * (score - low) / greatest(high - low, 1e-9) as part
    from read_parquet('{path}') join (
        select query_id, min(score) as low, max(score) as high
        from read_parquet('{path}') group by query_id
    ) using (query_id)
"""
_UNION = "select query_id, doc_id, sum(part) as score from ({a} union all {b}) group by all"
_JOIN = """
    select query_id, doc_id, coalesce(a.part, 0) + coalesce(b.part, 0) as score
    from ({a}) a full outer join ({b}) b using (query_id, doc_id)
"""
# Ranks by a window, then a sort of all rows; or by one sort, and where each query begins in it.
_WINDOW = """
    select query_id, doc_id, row_number() over (
        partition by query_id order by score desc, doc_id desc
    ) as rank, score from ({fused}) order by query_id, rank
"""
_SORT = """
    with ordered as materialized (
        select *, row_number() over () as place
        from (select * from ({fused}) order by query_id, score desc, doc_id desc)
    )
    select query_id, doc_id, place - first + 1 as rank, score
    from ordered join (select query_id, min(place) as first from ordered group by query_id)
    using (query_id) order by place
"""


def sql(way: str, method: str, a: Path, b: Path) -> str:
    """Return the SQL statement of a way of fusion, such as "union all, window, sort"."""
    matched, scaled, ranked = way.split(", ")
    wsum = _WSUM if scaled == "window" else _WSUM_GROUPED
    part = _RRF if method == "rrf" else wsum
    sides = [part.format(path=path, weight=w) for path, w in zip((a, b), WEIGHTS, strict=True)]
    fused = (_UNION if matched == "union all" else _JOIN).format(a=sides[0], b=sides[1])
    return (_WINDOW if ranked == "window" else _SORT).format(fused=fused)


def sql_ways(method: str) -> list[str]:
    """Return all ways in which SQL can compute a method."""
    scales = ("window",) if method == "rrf" else ("window", "group")
    return [
        f"{matched}, {scaled}, {ranked}"
        for matched in ("union all", "full outer join")
        for scaled in scales
        for ranked in ("window", "sort")
    ]


def _rankframe(method: str) -> Work:
    import rankframe as rf

    weights = WEIGHTS if method == "wsum" else None

    def work(a: Path, b: Path, target: Path) -> None:
        rf.fuse({"a": a, "b": b}, method, weights=weights, output=target)

    return work


def _duckdb(way: str, method: str) -> Work:
    import duckdb

    def work(a: Path, b: Path, target: Path) -> None:
        with duckdb.connect() as database:
            statement = sql(way, method, a, b)
            database.execute(f"copy ({statement}) to '{target}' (format parquet)")

    return work


def measured(work: Work, a: Path, b: Path) -> dict[str, Any]:
    """Time a fusion from file to file, after a small one; return seconds and the run's summary."""
    with tempfile.TemporaryDirectory() as folder:
        small = _small(Path(folder))
        work(*small, Path(folder) / "small.parquet")
        target = Path(folder) / "fused.parquet"
        _, taken = timed(lambda: work(a, b, target))
        return taken | told(pl.scan_parquet(target))


def in_memory(method: str, a: Path, b: Path) -> dict[str, Any]:
    """Time a fusion by rankframe from frames to a frame; return seconds and a summary."""
    import rankframe as rf

    weights = WEIGHTS if method == "wsum" else None
    with tempfile.TemporaryDirectory() as folder:
        small = [pl.read_parquet(path) for path in _small(Path(folder))]
    frames = [pl.read_parquet(path) for path in (a, b)]
    rf.fuse(small, method, weights=weights).collect()
    fused, taken = timed(lambda: rf.fuse(frames, method, weights=weights).collect())
    return taken | told(fused.lazy())


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call a function; return its result, and its wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def told(fused: pl.LazyFrame) -> dict[str, Any]:
    """Summarise a fused run by its number of rows and sums of scores, to compare ways."""
    first = pl.col("query_id").unique().bottom_k(_SOME)
    some = fused.filter(
        pl.col("query_id").is_in(fused.select(first).collect().to_series().implode())
    )
    rows, score = fused.select(pl.len(), pl.col("score").sum()).collect().row(0)
    return {"rows": rows, "score": score, "some": some.select("score").sum().collect().item()}


def ranx_measured(a: Path, b: Path) -> dict[str, Any]:
    """Time how ranx loads two runs, fuses them by each method, and writes the fused run. The time
    to fuse is measured with and without compilation.
    """
    import ranx

    # It holds some 10 KB a query: it should fail, not the machine.
    most = int(available() * _MOST_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    hows: dict[str, dict[str, Any]] = {
        "rrf": {"norm": None, "method": "rrf"},
        "wsum": {"norm": "min-max", "method": "wsum", "params": {"weights": WEIGHTS}},
    }

    def load(path: Path) -> Any:
        # Faster than from a frame of pandas, which it groups by a function.
        lists = pl.read_parquet(path).group_by("query_id").agg("doc_id", "score")
        columns = (lists[name].to_list() for name in ("query_id", "doc_id", "score"))
        return ranx.Run(
            {
                q: dict(zip(docs, scores, strict=True))
                for q, docs, scores in zip(*columns, strict=True)
            }
        )

    def write(fused: Any, target: Path) -> None:
        # A third of the time of its own `save`, which asks for every score by query and document.
        lists = fused.to_dict()
        pl.DataFrame(
            {
                "query_id": [query for query, docs in lists.items() for _ in docs],
                "doc_id": [doc for docs in lists.values() for doc in docs],
                "score": [score for docs in lists.values() for score in docs.values()],
            }
        ).write_parquet(target)

    gc.disable()  # it would look through millions of dicts, again and again
    with tempfile.TemporaryDirectory() as folder:
        for run in map(load, _small(Path(folder))):  # what loads is compiled, too
            assert len(run)
    runs, loading = timed(lambda: [load(path) for path in (a, b)])
    found: dict[str, Any] = {"loading": loading}
    for method, how in hows.items():
        # It is compiled anew for ids of other lengths: the second time counts.
        first = timed(lambda how=how: ranx.fuse(runs, **how))[1]
        gc.collect()
        fused, fusing = timed(lambda how=how: ranx.fuse(runs, **how))
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "fused.parquet"
            _, writing = timed(lambda fused=fused, target=target: write(fused, target))
            seen = told(pl.scan_parquet(target))
        found[method] = {"with compiling": first, "fusing": fusing, "writing": writing, **seen}
        # Where memory runs out, it says nothing, and gives empty lists.
        del fused
        gc.collect()
    return found


def _small(folder: Path) -> tuple[Path, Path]:
    paths = folder / "a.parquet", folder / "b.parquet"
    for path in paths:
        pl.DataFrame(
            {"query_id": ["q", "q", "r"], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]}
        ).write_parquet(path)
    return paths


def main() -> None:
    way, method, *paths = sys.argv[1:]
    a, b = map(Path, paths)
    if way == "ranx":
        print(json.dumps(ranx_measured(a, b)))
        return
    if way == IN_MEMORY:
        print(json.dumps(in_memory(method, a, b)))
        return
    work = _rankframe(method) if way == OURS else _duckdb(way, method)
    print(json.dumps(measured(work, a, b)))


if __name__ == "__main__":
    main()
