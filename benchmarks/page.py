"""The measurements as a page: ratios first, absolute times with the machine's description."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

_LIBRARIES = ("polars", "numpy", "duckdb", "pytrec-eval-terrier", "ranx", "ir-measures")
_INTRO = """# Benchmarks

`python -m benchmarks` makes seeded inputs, runs each contender in a process of its own on the same
Parquet files, alternating, keeps the best of n, and writes this page (`--quick` for a small one).
Five metrics (ndcg@10, map, mrr, precision@10, recall@10), end to end from files to means, imports
and just-in-time warm-up apart. All contenders gave the same values, to 1e-9, before their times
counted.

- **limit**: read both files and inner-join them on the two string keys, nothing else.
- Shapes: rec is 1M queries × 10 documents (3 judgments each), mid 100k × 100 (20), search 7k × 1000
  (300). Orders: sorted by score; shuffled within each query; scattered over the whole file.
- Slow contenders run once, on the shuffled order; * marks those timed on a part of the queries,
  their times scaled up.
"""


def write_page(folder: Path) -> Path:
    """Write README.md and chart.svg from results.json in the same folder."""
    measured = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    results = pl.DataFrame(measured["results"])
    parts = [_INTRO, "## Time, as a multiple of the limit\n", _ratios(results, "limit")]
    parts += ["\n![Time as a multiple of the limit](chart.svg)\n"]
    parts += ["\n## How many times faster rankframe is\n", _ratios(results, "rankframe")]
    parts += ["\n## Seconds, CPU seconds and peak memory\n", _absolute(results)]
    parts += ["\n## How the time grows\n", _growth(measured)]
    parts += ["\n## Two rankings side by side\n", _agreement(measured)]
    if (spark := folder / "spark.json").exists():
        parts += ["\n## Spark beside one process\n", _spark(json.loads(spark.read_text("utf-8")))]
    parts += ["\n## The machine\n", _machine()]
    page = folder / "README.md"
    page.write_text("\n".join(parts) + "\n", encoding="utf-8")
    _chart(results, folder / "chart.svg")
    return page


def _ratios(results: pl.DataFrame, base: str) -> str:
    against = results.filter(pl.col("contender") == base).select("shape", "order", base="wall")
    ratios = results.filter(pl.col("contender") != base).join(against, on=["shape", "order"])
    ratios = ratios.with_columns(ratio=pl.col("wall") / pl.col("base"))
    return _pivot(ratios, pl.format("{}×{}", pl.col("ratio").round(1), _star()))


def _absolute(results: pl.DataFrame) -> str:
    cell = pl.format(
        "{} / {} / {} GB{}",
        pl.col("wall").round(2),
        pl.col("cpu").round(1),
        (pl.col("peak") / 1e9).round(1),
        _star(),
    )
    return _pivot(results, cell)


def _star() -> pl.Expr:
    return pl.when(pl.col("part") > 1).then(pl.lit("*")).otherwise(pl.lit(""))


def _pivot(results: pl.DataFrame, cell: pl.Expr) -> str:
    table = results.select(
        "contender", input=pl.format("{} {}", "shape", "order"), cell=cell
    ).pivot("contender", index="input", values="cell")
    rows = [table.columns, ["---"] * table.width, *table.fill_null("").rows()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _growth(measured: dict[str, Any]) -> str:
    lines = ["| rows | | seconds | ns a row | peak GiB |", "|---|---|---|---|---|"]
    for rows, how, seconds, peak in measured["rows"]:
        each = seconds / rows * 1e9
        lines.append(f"| {rows:,} | {how} | {seconds:.2f} | {each:.0f} | {peak / 2**30:.2f} |")
    lines += ["", "| on the same files | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["metrics"]]
    lines += ["", "| start-up | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["start"]]
    return "\n".join(lines)


def _agreement(measured: dict[str, Any]) -> str:
    lines = [
        "`rf.agree` from two Parquet files, beside a loop over the queries with scipy or the `rbo`",
        "package on dicts in memory (*: timed on a sample of the queries and scaled up).",
        "",
        "| rankings | measures | by | seconds | peak GB |",
        "|---|---|---|---|---|",
    ]
    for shape, what, by, seconds, peak in measured["agreement"]:
        memory = f"{peak / 1e9:.1f}" if peak else ""
        lines.append(f"| {shape} | {what} | {by} | {seconds:.1f} | {memory} |")
    return "\n".join(lines)


_SPARK = """`python -m benchmarks.spark`: `rf.spark.evaluate` in local mode, on the cores and files
of `rf.evaluate` and of naive polars (which draws no intervals). All rows are in random order.
Start-up, of the interpreter and of Spark's session, is apart; the best of three runs, one after
the other on an idle machine. Memory is the peak of all processes together, looked at five times a
second.

| retrieved + judged | engine | partitions | start s | job s | CPU s | µs a row | peak GB |
|---|---|---|---|---|---|---|---|"""
_SIZING = """
Per row, Spark's time falls until its first use, some ten seconds, no longer shows. What a cluster
is sized by: core-µs that each row takes beyond those of the smallest input, the largest Python
worker, and what was on disk (shuffled rows, and values per query).

| rows in all | core-µs a further row | rows a partition | largest worker GB | disk bytes a row |
|---|---|---|---|---|"""


def _spark(measured: dict[str, Any]) -> str:
    runs = [run | {"both": run["rows"] + run["judgments"]} for run in measured["runs"]]
    table = [
        f"| {run['rows']:,} + {run['judgments']:,} | {run['engine']} | {run['partitions']} "
        f"| {run['start']:.1f} | {run['job']:.1f} | {run['cpu']:.0f} "
        f"| {run['job'] / run['both'] * 1e6:.2f} | {run['peak'] / 1e9:.1f} |"
        for run in runs
    ]
    first = next(run for run in runs if run["engine"] == "Spark")

    def further(run: dict[str, Any]) -> str:
        more = run["both"] - first["both"]
        return f"{(run['job'] - first['job']) * measured['cores'] / more * 1e6:.1f}" if more else ""

    sizing = [
        f"| {run['both']:,} | {further(run)} | {run['both'] / run['partitions']:,.0f} "
        f"| {run['worker'] / 1e9:.2f} | {run['disk'] / run['both']:.0f} |"
        for run in runs
        if run["engine"] == "Spark"
    ]
    return "\n".join([_SPARK, *table, _SIZING, *sizing])


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, "
        f"Python {platform.python_version()}, {versions}."
    )


def _chart(results: pl.DataFrame, target: Path) -> None:
    import altair as alt

    base = results.filter(pl.col("contender") == "limit").select("shape", "order", base="wall")
    ratios = results.join(base, on=["shape", "order"]).with_columns(
        ratio=pl.col("wall") / pl.col("base"), input=pl.format("{} {}", "shape", "order")
    )
    order = ratios["contender"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(ratios)
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X("ratio:Q", title="time as a multiple of the limit").scale(type="log"),
            y=alt.Y("input:N", title=None, sort=None),
            color=alt.Color("contender:N", sort=order, title=None),
            shape=alt.Shape("contender:N", sort=order, legend=None),
        )
        .properties(width=560, height=260)
    )
    chart.save(target)
