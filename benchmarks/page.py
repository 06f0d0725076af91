"""The measurements as a page, from what is stored: the comparison first, then the other parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.page_comparison import chart, section


def write_page(folder: Path) -> Path:
    """Write README.md and chart.svg from results.json and spark.json in the same folder."""
    measured = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    parts = ["# Benchmarks\n\n`python -m benchmarks` measures, and writes this page."]
    if "comparison" in measured:
        parts += [section(measured["comparison"])]
        chart(measured["comparison"], folder / "chart.svg")
    if "rows" in measured:
        parts += ["\n## How the time grows\n", _growth(measured)]
    if "paths" in measured:
        parts += ["\n## Other paths\n", _paths(measured["paths"])]
    if "agreement" in measured:
        parts += ["\n## Two rankings side by side\n", _agreement(measured)]
    if (spark := folder / "spark.json").exists():
        parts += ["\n## Spark beside one process\n", _spark(json.loads(spark.read_text("utf-8")))]
    if "machine" in measured:
        parts += ["\n## The machine\n", _machines(measured["machine"])]
    page = folder / "README.md"
    page.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return page


def _growth(measured: dict[str, Any]) -> str:
    lines = [
        "Ten documents a query; once each. The values of the largest are the same to the bit.",
        "",
        "| rows | order | | wall s | CPU s | CPU ns a row | peak GiB |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['rows']:,} | {row['order']} | {row['how']} | {row['wall']:.2f} | {row['cpu']:.2f} "
        f"| {row['cpu'] / row['rows'] * 1e9:.0f} | {row['peak'] / 2**30:.2f} |"
        for row in measured["rows"]
    ]
    lines += ["", "| on the same files | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["metrics"]]
    lines += ["", "| start-up | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["start"]]
    return "\n".join(lines)


def _paths(measured: list[dict[str, Any]]) -> str:
    lines = [
        "1M queries with ten documents each, grouped; once each, imports apart.",
        "",
        "| path | wall s | CPU s | × one evaluation, CPU | peak GB |",
        "|---|---|---|---|---|",
    ]
    one = measured[0]["cpu"]
    lines += [
        f"| {row['way']} | {row['wall']:.1f} | {row['cpu']:.1f} | {row['cpu'] / one:.1f} "
        f"| {row['peak'] / 1e9:.1f} |"
        for row in measured
    ]
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


def _machines(of: dict[str, str]) -> str:
    """Once for all parts, where they were measured on the same one with the same versions."""
    if len(of) > 1 and len(set(of.values())) == 1:
        return next(iter(of.values())) + "."
    return "\n".join(f"- {part}: {text}." for part, text in of.items())
