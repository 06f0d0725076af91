"""Write the section that compares rankframe with DuckDB, polars and the limit."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.contenders import OURS
from benchmarks.layouts import is_scattered

Layout = dict[str, Any]
BARE, DUCKDB, POLARS, LIMIT = "rankframe, ci=None", "DuckDB", "naive polars", "limit"

_INTRO = """
## rankframe, DuckDB, polars and the limit

Each contender reads two Parquet files and computes the means of five metrics over the judged
queries (ndcg@10, map, mrr, precision@10, recall@10; ties ordered as in trec_eval). Each contender
ran in its own process on the same files, one after the other in each round. Figures are {rounds}.
All contenders gave the same values, to 1e-9.

- **rankframe**: `rf.evaluate` with its default intervals. **ci=None**: without intervals.
- **DuckDB**: hand-written SQL, without intervals: the fastest of {queries} queries ([sql/](sql)),
  selected for each layout by CPU time on a part of the data.
- **naive polars**: hand-written polars, without intervals: the fastest of {polars} scripts on the
  streaming engine, selected in the same way.
- **limit**: only read both files and join them on query and document, in polars or DuckDB,
  whichever is faster.
- **CPU time** is user and system time of the process on all cores, without imports. *Whole
  process* includes imports, and start and end of the interpreter.

The layouts differ in size and row order. In *rec*, queries have up to 10 documents and 3
judgments; in *search*, 1000 and 300; in *mid* and all others, 100 and 20.

- *contiguous*: the rows of a query are adjacent and in order of score. Run and judgments have
  their queries in different, arbitrary orders.
- *sorted*: queries are in byte order in run and judgments.
- *shuffled*: all rows of run and judgments are in random order.
- The other layouts are contiguous and differ as their names say. Small row groups have 2,000
  rows; one huge query has 5% of all rows.

Ids are unpadded (q917, d4711) unless the name says otherwise. polars wrote the files with its
default options; pyarrow wrote the dictionary-encoded files. Documents are drawn from 5M (20,000
if dictionary-encoded) with skewed popularity. A tenth of the lists are shorter; about 5% of the
rows tie; half of the judgments concern documents in the list; 2% of the judged queries are not in
the run; 5% of the queries in the run are not judged.
"""
_READ = """
A value of "÷ rankframe" above 1 means that rankframe took less CPU time. With several rounds,
brackets contain the lowest and the highest ratio of a round. The layout with shuffled judgments
counts as contiguous, because its run is contiguous."""


def section(comparison: dict[str, Any]) -> str:
    """Return the section on the comparison in Markdown."""
    layouts: list[Layout] = comparison["layouts"]
    rounds = len(layouts[0]["runs"][OURS])
    intro = _INTRO.format(
        rounds=f"medians of {rounds} rounds" if rounds > 1 else "of a single round",
        queries=len(_ways(layouts, DUCKDB)),
        polars=len(_ways(layouts, POLARS)),
    )
    parts = [intro, _extremes(layouts), _ratios(layouts), _READ]
    parts += ["\n![CPU time as a multiple of rankframe's](chart.svg)"]
    parts += ["\n### CPU seconds, without imports\n"]
    parts += ["With several rounds, brackets contain the lowest and highest.\n"]
    parts += [_seconds(layouts, "cpu")]
    parts += ["\n### CPU seconds of the whole process\n", _seconds(layouts, "all_cpu")]
    parts += ["\n### Wall seconds, without imports\n", _seconds(layouts, "wall")]
    parts += ["\n### Wall seconds of the whole process\n", _seconds(layouts, "all_wall")]
    parts += ["\n### Peak memory, GB\n", _memory(layouts)]
    parts += ["\n### Which SQL was fastest\n", _trials(layouts, DUCKDB)]
    parts += ["\nThe fastest polars script, and the engine of the limit:\n", _chosen(layouts)]
    return "\n".join([*parts, "\n### Libraries with loops over queries\n", _fed(comparison["fed"])])


def order_name(name: str) -> str:
    """Name a layout or an order of rows in the terms of the documentation."""
    return name.replace("grouped", "contiguous").replace("scattered", "shuffled")


def _ratio(layout: Layout, above: str, below: str, what: str) -> float:
    return _median(layout, above, what) / _median(layout, below, what)


def _median(layout: Layout, contender: str, what: str) -> float:
    return median(run[what] for run in layout["runs"][contender])


def _extremes(layouts: list[Layout]) -> str:
    """Return sentences on the layouts where rankframe is fastest and slowest beside the others."""
    lines = ["Speed of rankframe in CPU time, intervals included:", ""]
    for other in (DUCKDB, POLARS, LIMIT):
        title = "the limit" if other == LIMIT else other
        by = sorted((_ratio(one, other, OURS, "cpu"), one["layout"]) for one in layouts)
        (worst, where), (best, best_where) = by[0], by[-1]
        slower = sum(ratio < 1 for ratio, _ in by)
        lines.append(
            f"- **{worst:.2f} times the speed of {title} at worst** ({order_name(where)}), "
            f"**{best:.2f} times at best** ({order_name(best_where)}); "
            f"slower on {slower} of {len(by)} layouts."
        )
    return "\n".join([*lines, ""])


def _ratios(layouts: list[Layout]) -> str:
    """Return a table of how rankframe's time compares with DuckDB, polars and the limit."""
    columns = [
        ("DuckDB ÷ rankframe", DUCKDB, OURS, "cpu"),
        ("naive polars ÷ rankframe", POLARS, OURS, "cpu"),
        ("rankframe ÷ limit", OURS, LIMIT, "cpu"),
        ("DuckDB ÷ ci=None", DUCKDB, BARE, "cpu"),
        ("ci=None ÷ limit", BARE, LIMIT, "cpu"),
        ("DuckDB ÷ rankframe, whole process", DUCKDB, OURS, "all_cpu"),
    ]
    rows = [["CPU time", "rows", "judgments", *(title for title, *_ in columns)]]
    for one in layouts:
        figures = [_ratio(one, above, below, what) for _, above, below, what in columns]
        cells = [f"{figures[0]:.2f}{_range(one)}", *(f"{ratio:.2f}" for ratio in figures[1:])]
        sizes = (f"{one[what]:,}" for what in ("rows", "judgments"))
        rows.append([order_name(one["layout"]), *sizes, *cells])
    for title, scattered in (("run contiguous or sorted", False), ("run shuffled", True)):
        some = [one for one in layouts if is_scattered(one["layout"]) == scattered]
        if some:
            means = [geometric_mean(_ratio(one, *of) for one in some) for _, *of in columns]
            name = f"**{title}** (geometric mean of {len(some)})"
            rows.append([name, "", "", *(f"**{mean:.2f}**" for mean in means)])
    return _table(rows)


def _range(layout: Layout) -> str:
    """Return the least and the largest ratio of DuckDB's time to rankframe's in a round."""
    pairs = zip(layout["runs"][DUCKDB], layout["runs"][OURS], strict=True)
    return _spread([theirs["cpu"] / ours["cpu"] for theirs, ours in pairs])


def _spread(figures: list[float]) -> str:
    return f" ({min(figures):.2f}–{max(figures):.2f})" if len(figures) > 1 else ""


def _seconds(layouts: list[Layout], what: str) -> str:
    def cell(runs: list[dict[str, float]]) -> str:
        taken = [run[what] for run in runs]
        return f"{median(taken):.2f}{_spread(taken)}"

    rows = [["layout", *layouts[0]["runs"]]]
    rows += [[order_name(one["layout"]), *map(cell, one["runs"].values())] for one in layouts]
    return _table(rows)


def _memory(layouts: list[Layout]) -> str:
    rows = [["layout", *layouts[0]["runs"]]]
    for one in layouts:
        peaks = [_median(one, contender, "peak") for contender in one["runs"]]
        rows.append([order_name(one["layout"]), *(f"{peak / 1e9:.2f}" for peak in peaks)])
    return _table(rows)


def _trials(layouts: list[Layout], contender: str) -> str:
    """Return a table of the CPU seconds of each way of a contender, the chosen one bold."""
    ways = _ways(layouts, contender)
    rows = [["CPU s on a part", "rows", *(f"[{_name(way)}](sql/{_name(way)}.sql)" for way in ways)]]
    for one in layouts:
        cells = []
        for way in ways:
            taken = one["trials"][contender].get(way)
            text = "over 5 × the best" if taken is None else f"{taken:.2f}"
            cells.append(f"**{text}**" if one["ways"][contender] == way else text)
        rows.append([order_name(one["layout"]), f"{one['trial_rows']:,}", *cells])
    return _table(rows)


def _chosen(layouts: list[Layout]) -> str:
    rows = [["layout", "naive polars", "limit"]]
    for one in layouts:
        limit = one["ways"][LIMIT].partition(":")[0].removeprefix("with_")
        rows.append([order_name(one["layout"]), _name(one["ways"][POLARS]), limit])
    return _table(rows)


def _ways(layouts: list[Layout], contender: str) -> list[str]:
    return list(dict.fromkeys(way for one in layouts for way in one["trials"][contender]))


def _name(way: str) -> str:
    return way.partition(":")[2]


def _fed(small: Layout) -> str:
    text = (
        f"{small['rows']:,} rows and {small['judgments']:,} judgments, contiguous, without ties\n"
        "(ranx defines no order of ties). Times include building the inputs of the libraries, but\n"
        "not the compilation of ranx.\n\n"
    )
    rows = [["contender", "CPU s", "wall s", "wall s, whole process", "peak GB", "÷ rankframe"]]
    for contender in small["runs"]:
        cpu, wall, whole, peak = (
            _median(small, contender, what) for what in ("cpu", "wall", "all_wall", "peak")
        )
        ratio = _ratio(small, contender, OURS, "cpu")
        cells = (cpu, wall, whole, peak / 1e9, ratio)
        rows.append([contender, *(f"{cell:.2f}" for cell in cells)])
    return text + _table(rows)


def _table(rows: list[list[str]]) -> str:
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def chart(comparison: dict[str, Any], target: Path) -> None:
    """Draw each contender's CPU time as a multiple of rankframe's, with a row per layout."""
    import altair as alt
    import polars as pl

    shown = (LIMIT, BARE, DUCKDB, POLARS)
    points = pl.DataFrame(
        {
            "layout": order_name(one["layout"]),
            "contender": contender,
            "ratio": _ratio(one, contender, OURS, "cpu"),
        }
        for one in comparison["layouts"]
        for contender in shown
    )
    colours = ["#9aa0a6", "#8ab4f8", "#d93025", "#f9ab00"]
    marks = (
        alt.Chart(points)
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            x=alt.X("ratio:Q", title="CPU time as a multiple of rankframe's, intervals included")
            .scale(type="log", nice=False, padding=12)
            .axis(values=[0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20], format="~r"),
            y=alt.Y("layout:N", title=None, sort=None).axis(grid=True, labelLimit=200),
            color=alt.Color("contender:N", title=None, sort=list(shown)).scale(
                domain=list(shown), range=colours
            ),
            shape=alt.Shape("contender:N", title=None, sort=list(shown)).scale(domain=list(shown)),
        )
    )
    ours = alt.Chart(alt.InlineData([{"ratio": 1}])).mark_rule(strokeWidth=2).encode(x="ratio:Q")
    (ours + marks).properties(width=560, height=26 * len(comparison["layouts"])).save(target)
