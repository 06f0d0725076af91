"""Write the page of all benchmarks from stored measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.page_comparison import chart, order_name, section

_TITLE = """\
# Benchmarks

`python -m benchmarks` runs the measurements and writes this page. All runs and judgments are
synthetic."""


def write_page(folder: Path) -> Path:
    """Write README.md and chart.svg from results.json and others in the same folder."""
    measured = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    parts = [_TITLE]
    if "comparison" in measured:
        parts += [section(measured["comparison"])]
        chart(measured["comparison"], folder / "chart.svg")
    if "cores" in measured:
        parts += ["\n## One core and all cores\n", _cores(measured["cores"])]
    if "small" in measured:
        parts += ["\n## Small inputs\n", _small(measured["small"])]
    if "rows" in measured:
        parts += ["\n## How the time grows\n", _growth(measured)]
    if "paths" in measured:
        parts += ["\n## Other paths\n", _paths(measured["paths"])]
    if "memory" in measured:
        parts += ["\n## Peak memory under a limit\n", _memory(measured["memory"])]
    if "agreement" in measured:
        parts += ["\n## Comparing two rankings\n", _agreement(measured)]
    if (fusion := folder / "fusion.json").exists():
        parts += ["\n## Fusion\n", _fusion(json.loads(fusion.read_text("utf-8")))]
    if (stored := folder / "retrieved.json").exists():
        retrieved = _retrieved(json.loads(stored.read_text("utf-8")))
        parts += ["\n## Metrics of retrieved documents\n", retrieved]
    if (spark := folder / "spark.json").exists():
        distributed = _spark(json.loads(spark.read_text("utf-8")))
        parts += ["\n## Spark and a single process\n", distributed]
    if "machine" in measured:
        parts += ["\n## The machine\n", _machines(measured["machine"])]
    page = folder / "README.md"
    page.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return page


_CORES = """\
{rows:,} rows and {judgments:,} judgments, contiguous, 100 documents per query. Each contender ran
in its own process, in turn; the least time of all rounds counts, without imports. On one core, the
process is bound to it, and polars has one thread.

| | wall s, 1 core | wall s, {most} cores | speed-up | CPU s, 1 core | CPU s, {most} cores |
|---|---|---|---|---|---|"""


def _cores(measured: list[dict[str, Any]]) -> str:
    most = max(row["cores"] for row in measured)
    lines = [_CORES.format(most=most, **measured[0])]
    for name in dict.fromkeys(row["contender"] for row in measured):
        one, every = (
            next(row for row in measured if (row["contender"], row["cores"]) == (name, number))
            for number in (1, most)
        )
        lines.append(
            f"| {name} | {one['wall']:.2f} | {every['wall']:.2f} "
            f"| {one['wall'] / every['wall']:.2f} | {one['cpu']:.2f} | {every['cpu']:.2f} |"
        )
    return "\n".join(lines)


_SMALL = """\
One call on dicts in memory, with five metrics: the least CPU time of all rounds, in milliseconds.
pytrec_eval computes no intervals.

| queries × documents, judgments | rankframe | rankframe, ci=None | pytrec_eval | ÷ rankframe |
|---|---|---|---|---|"""


def _small(measured: dict[str, Any]) -> str:
    lines = [_SMALL]
    for row in measured["calls"]:
        ours, plain, theirs = (
            row[name] * 1e3 for name in ("rankframe", "rankframe, ci=None", "pytrec_eval")
        )
        lines.append(
            f"| {row['queries']:,} × {row['depth']}, {row['judged']} | {ours:.1f} | {plain:.1f} "
            f"| {theirs:.1f} | {theirs / ours:.2f} |"
        )
    lines += ["", "| whole process | CPU s |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["processes"]]
    return "\n".join(lines)


_MEMORY = """\
`python -m benchmarks.memory_commands`: each command with `max_memory={text}`, in its own process,
on runs and train of {rows:,} rows.

| command | peak ÷ limit | seconds |
|---|---|---|"""


def _memory(measured: dict[str, Any]) -> str:
    lines = [_MEMORY.format(**measured)]
    for row in measured["commands"]:
        share = f"{row['peak'] / row['limit']:.2f}" + (" (refused)" if row["error"] else "")
        lines.append(f"| {row['name']} | {share} | {row['seconds']:.0f} |")
    return "\n".join(lines)


def _growth(measured: dict[str, Any]) -> str:
    lines = [
        "Each query has ten documents; each row of the table was measured once. The rows with the",
        "largest input have equal values, bit for bit.",
        "",
        "| rows | order | | wall s | CPU s | CPU ns per row | peak GiB |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['rows']:,} | {order_name(row['order'])} | {row['how']} "
        f"| {row['wall']:.2f} | {row['cpu']:.2f} "
        f"| {row['cpu'] / row['rows'] * 1e9:.0f} | {row['peak'] / 2**30:.2f} |"
        for row in measured["rows"]
    ]
    lines += ["", "| metrics, on the same files | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["metrics"]]
    lines += ["", "| start-up | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in measured["start"]]
    return "\n".join(lines)


def _paths(measured: list[dict[str, Any]]) -> str:
    lines = [
        "1M queries with ten documents each, contiguous. Each row of the table was measured once,",
        "without imports.",
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
        "`rf.agree` reads two Parquet files. The loop calls scipy or the package `rbo` for each",
        "query, on dicts in memory (*: timed on a sample of the queries and scaled up).",
        "",
        "| rankings | measures | by | seconds | peak GB |",
        "|---|---|---|---|---|",
    ]
    for shape, what, by, seconds, peak in measured["agreement"]:
        memory = f"{peak / 1e9:.1f}" if peak else ""
        lines.append(f"| {shape} | {what} | {by} | {seconds:.1f} | {memory} |")
    return "\n".join(lines)


_SPARK = """\
`python -m benchmarks.spark`: `rf.spark.evaluate` in local mode is compared with `rf.evaluate` and
with naive polars (which computes no intervals), on the same cores and files. Rows are shuffled.
Start-up of the interpreter and of the Spark session is listed separately. Times are the best of
three runs, one after the other, on an idle machine. Memory is the peak of all processes together,
sampled five times per second.

| retrieved + judged | engine | partitions | start s | job s | CPU s | µs per row | peak GB |
|---|---|---|---|---|---|---|---|"""
_SIZING = """
Spark's time per row falls with the number of rows, because the first use of Spark costs about ten
seconds. To size a cluster, use the table below: core-µs per row beyond those of the smallest
input, the largest Python worker, and bytes on disk (shuffle files and values per query).

| total rows | core-µs per further row | rows per partition | largest worker GB | bytes per row |
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


_FUSION = """\
`python -m benchmarks.fusion FOLDER --output benchmarks/fusion.json`. Two runs with text ids are
fused, by reciprocal rank fusion and by a weighted sum of min-max scores. Each measurement reads
files and writes a file in its own process. Times are the minimum of all rounds, in CPU seconds
(wall seconds in brackets), without imports and compilation. DuckDB runs the fastest of 4 or 8
equivalent queries, selected on a tenth of the data. ranx loads and writes its runs through dicts,
which takes a third of the time of its own `save`. "Times" is the time divided by that of
rankframe on the same files.

| queries | depth | method | rankframe | DuckDB | times | ranx | times |
|---|---|---|---|---|---|---|---|"""
_FUSION_ALONE = """
The next table splits the time of ranx into loading, fusing in memory and writing, and compares the
fusing with rankframe from frames to a frame in memory:

| queries | depth | method | ranx loads | ranx writes | ranx fuses | rankframe | times |
|---|---|---|---|---|---|---|---|"""


def _fusion(measured: list[dict[str, Any]]) -> str:
    rows, alone = [], []
    for one in measured:
        depth = {"search": 1000, "rec": 10}[one["shape"]]
        ours, theirs = (_least(one["runs"][name]) for name in ("rankframe", one["sql"]))
        cells = [f"{one['queries']:,}", f"{depth}", one["method"], _cell(ours), _cell(theirs),
                 _times(theirs, ours)]  # fmt: skip
        if ranx := one.get("ranx"):
            file, memory = (_least(ranx["ours"][n]) for n in ("rankframe", "rankframe, in memory"))
            parts = [ranx[part] for part in ("loading", "writing", "fusing")]
            whole: dict[str, float] = {
                unit: sum(part[unit] for part in parts) for unit in ("cpu", "wall")
            }
            few = "" if ranx["queries"] == one["queries"] else f" ({ranx['queries']:,} queries)"
            cells += [_cell(whole) + few, _times(whole, file)]
            some = [f"{ranx['queries']:,}", f"{depth}", one["method"], *map(_cell, parts),
                    _cell(memory), _times(ranx["fusing"], memory)]  # fmt: skip
            alone.append("| " + " | ".join(some) + " |")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([_FUSION, *rows, *([_FUSION_ALONE, *alone] if alone else [])])


_SHOWN = """\
`python -m benchmarks.retrieved FOLDER --output benchmarks/retrieved.json`. Each user gets 20 of
200,000 items, and `train` has five rows per user. Each row of the table is one call in its own
process, from Parquet files, including intervals and imports.

| users | metrics | memory limit | wall s | CPU s | peak GB |
|---|---|---|---|---|---|"""


def _retrieved(measured: list[dict[str, Any]]) -> str:
    rows = [
        f"| {one['users']:,} | {one['metrics']} ({one['asked']}) | {one['max_memory'] or ''} "
        f"| {one['wall']:.1f} | {one['cpu']:.1f} | {one['peak'] / 1e9:.1f} |"
        for one in measured
    ]
    return "\n".join([_SHOWN, *rows])


def _least(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {unit: min(run[unit] for run in runs) for unit in ("cpu", "wall")}


def _cell(taken: dict[str, float]) -> str:
    return f"{taken['cpu']:.1f} ({taken['wall']:.1f})"


def _times(theirs: dict[str, float], ours: dict[str, float]) -> str:
    return f"{theirs['cpu'] / ours['cpu']:.1f} ({theirs['wall'] / ours['wall']:.1f})"


def _machines(of: dict[str, str]) -> str:
    """Describe the machine once if all parts were measured on it, with the same versions."""
    if len(of) > 1 and len(set(of.values())) == 1:
        return next(iter(of.values())) + "."
    return "\n".join(f"- {part}: {text}." for part, text in of.items())
