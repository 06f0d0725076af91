"""Charts of many systems: who differs from whom, how alike rankings are, and values over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.errors import OptionError
from rankframe.core.messages import shown
from rankframe.core.wording import distinct_texts, p_text, plain_text, signed_text
from rankframe.engine.history import HISTORY_SCHEMA
from rankframe.engine.result import Result
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    categories,
    chart_of,
    dots,
    in_words,
    layered,
    numbered,
    scale_of,
    text_in_cells,
    tip,
)
from rankframe.present.charts.chart_inputs import (
    better,
    between,
    choose,
    known_metric,
    with_direction,
)
from rankframe.present.charts.palette import BETTER, COLOURS, WORSE, text_on
from rankframe.present.charts.registry import chart

__all__ = ["agreement", "history", "significance"]

_LABEL = 20  # characters of a name
_CELL = 74  # dots, of a matrix
_NUMBERED = 46.0  # dots across that a difference takes
_MOST_RESULTS = 200  # over time: the last ones


@chart(inputs=lambda source: (source.compared(pairs=True),))
def significance(comparison: Comparison, metric: str | None = None, **look: Unpack[Look]) -> Chart:
    """Draw which systems differ significantly, a matrix of all pairs: `rf.compare(qrels, runs)`
    without a baseline. Each cell is the row's system less the column's.

    metric: a compared metric (default: the first).
    """
    on = Canvas.of(look)
    if not isinstance(comparison, Comparison):
        raise OptionError("this chart is drawn of a comparison: rf.compare(qrels, runs, …).")
    labels = [compared.label for compared in comparison.metrics]
    metric = choose(metric, labels, "{} was not compared.")[0]
    compared = comparison.metric(metric)
    table = comparison.table.filter(pl.col("metric") == metric, pl.col("by").is_null())
    if table.is_empty():
        raise OptionError("nothing was compared: a matrix needs two systems or more.")
    names = distinct_texts(comparison.names, _LABEL)
    colours = {"better": BETTER, "worse": WORSE, "not significant": on.ground.neutral}
    rows = []
    for row in table.to_dicts():
        ways = ((row["system"], row["baseline"], 1), (row["baseline"], row["system"], -1))
        for system, other, sign in ways:
            apart = None if row["difference"] is None else sign * row["difference"]
            kind = "not significant"
            if row["significant"] and apart:
                kind = "better" if (apart > 0) == compared.higher_is_better else "worse"
            mark = "*" if row["significant"] else ""
            rows.append({
                "system": names[system], "other": names[other], "kind": kind,
                "text": signed_text(apart, compared), "p": f"p {p_text(row['p_corrected'])}{mark}",
                "queries": row["queries"], "ink": text_on(colours[kind]),
            })  # fmt: skip
    order, count = list(names.values()), len(names)
    size = on.wide(_CELL * count) / count
    base = chart_of(rows).encode(
        x=alt.X("other:N", title="less this system", sort=order, scale=alt.Scale(domain=order),
                axis=alt.Axis(orient="top", labelAngle=0 if count <= 4 else -40, ticks=False,
                              domain=False)),
        y=alt.Y("system:N", title="this system", sort=order, scale=alt.Scale(domain=order),
                axis=alt.Axis(ticks=False, domain=False, titlePadding=12)),
        tooltip=["system:N", "other:N", "text:N", "p:N", "kind:N", "queries:Q"],
    )  # fmt: skip
    there = {kind: fill for kind, fill in colours.items() if any(r["kind"] == kind for r in rows)}
    cells = base.mark_rect(stroke=on.ground.background, strokeWidth=2).encode(
        color=categories("kind:N", there, "row beside column"),
    )  # fmt: skip
    layers = [cells]
    if size >= _NUMBERED:
        layers += [
            text_in_cells(base, fontSize=11, dy=-6, fontWeight="bold"),
            text_in_cells(base, "p:N", fontSize=9, dy=8),
        ]
    drawn = on.sized(numbered(*layers), _CELL * count, min(46, size) * count)
    test, correction = (comparison.note(f"policy_{item}") for item in ("test", "correction"))
    subtitle = [
        f"{in_words(comparison.names)}; {between(table['queries'].to_list())}",
        f"* {comparison.note('policy_significant')}; test: {test}, correction: {correction}",
        *filter(None, [better(compared)]),
    ]  # fmt: skip
    return on.finished(drawn, f"Who differs in {metric}", subtitle)


@chart(
    takes="rankings",
    several=True,
    inputs=lambda source: (source.agreements(), source.reference),
    example="bm25.parquet dense.parquet hybrid.parquet",
)
def agreement(
    results: Mapping[str, Result] | Result,
    reference: str = "the reference",
    metrics: Sequence[str] | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the agreement of rankings with a reference as bars: `{name: rf.agree(reference, ranking,
    ["kendall_tau", "rbo"])}`.

    reference: what it is called.
    metrics: metrics of the results (default: all).

    >>> alike = rf.agree([1, 2, 3], [1, 3, 2], ["kendall_tau", "spearman"])
    >>> drawn = rf.plot.agreement({"mine": alike}).to_dict()
    >>> [(row["metric"], row["value"]) for row in drawn["data"]["values"]]
    [('kendall_tau', 0.3333333333333333), ('spearman', 0.5)]
    """
    on = Canvas.of(look)
    rankings = results if isinstance(results, Mapping) else {"ranking": results}
    if not rankings or not all(isinstance(result, Result) for result in rankings.values()):
        raise OptionError("agreement is drawn of results by name: {name: rf.agree(a, b)}.")
    labels = list(
        dict.fromkeys(m for result in rankings.values() for m in result.summary["metric"])
    )
    chosen = choose(metrics, labels, "no result has {}.")
    names = distinct_texts([str(name) for name in rankings], _LABEL)
    rows = [
        {"system": names[str(name)], "metric": row["metric"], "value": row["value"],
         "low": row["ci_low"], "high": row["ci_high"], "text": f"{row['value']:.3f}"}
        for name, result in rankings.items()
        for row in result.summary.to_dicts()
        if row["metric"] in chosen and row["value"] is not None
    ]  # fmt: skip
    if not rows:
        raise OptionError("no ranking and the reference have anything to compare: no bar to draw.")
    counts = [result.per_query.height for result in rankings.values()]
    # One query has no interval, and one whose ends are equal says nothing.
    ranged = any(row["low"] is not None and row["low"] < row["high"] for row in rows)
    for row in rows:  # where its number stands: behind the bar and the interval, never on them
        row["edge"] = max(row["value"], 0.0, (row["high"] or 0.0) if ranged else 0.0)
    low, high = _ends([known_metric(metric) for metric in chosen], rows)
    order = list(names.values())
    base = chart_of(rows).encode(
        y=alt.Y("system:N", title=None, sort=order, axis=alt.Axis(ticks=False)),
    )
    bars = base.mark_bar().encode(
        x=alt.X("value:Q", title="agreement",
                scale=alt.Scale(domain=[low, high], nice=False)),
        color=alt.Color("system:N", scale=scale_of(order), legend=None),
        tooltip=["system:N", "metric:N", tip("value:Q")],
    )  # fmt: skip
    layers = [bars]
    if ranged:
        layers.append(base.mark_rule(color=on.ink, strokeWidth=1.5).encode(x="low:Q", x2="high:Q"))
    layers.append(base.mark_text(align="left", dx=5, color=on.ink, fontSize=10).encode(
        x=alt.X("edge:Q"), text="text:N"))  # fmt: skip
    usual = max(20 * len(order), 24) * len(chosen)
    drawn = on.panels(layered(*layers), "metric", chosen, usual, 14)
    below = "; 0 is no relation, −1 the reverse" if low < 0 else ""
    subtitle = [f"{in_words(list(names))} beside {plain_text(reference, 30)}; {between(counts)}",
            f"1 is the same order{below}"]  # fmt: skip
    if ranged:
        subtitle.append("lines: intervals")
    return on.finished(drawn, "Agreement of rankings", subtitle)


def _ends(metrics: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of the axis: 0, or −1 where a metric can go below 0, and 1 or above."""
    values = [row[end] for row in rows for end in ("value", "low", "high") if row[end] is not None]
    bounds = [m.definition.bounds for m in metrics if m is not None and m.definition is not None]
    lowest = min([0.0, *values])
    if lowest < 0 or any(low is not None and low < 0 for low, _ in bounds):
        lowest = min(-1.0, lowest)
    return lowest, max([1.0, *values]) * 1.12


@chart(
    takes="results",
    several=True,
    inputs=lambda source: (source.history(), None, source.margin),
    example="results/monday results/tuesday results/wednesday results/thursday --margin=-1%",
)
def history(
    points: pl.DataFrame,
    metrics: Sequence[str] | str | None = None,
    margin: float | str | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw metrics over stored results, `rf.history([folder, …])`: a panel for each, a line with
    intervals, the first result as the reference.

    margin: how much worse than the first is still good enough, as rules of a gate say it: "-1%" of
        its value, or -0.01. What falls beyond that line is marked.
    """
    on = Canvas.of(look)
    if missing := [column for column in HISTORY_SCHEMA if column not in points.columns]:
        raise OptionError(f"the frame has no column {missing[0]!r}: it is not of rf.history.")
    labels = points["metric"].unique(maintain_order=True).to_list()
    chosen = choose(metrics, labels, "the history has no {}.")
    results = points["result"].unique(maintain_order=True).to_list()
    kept = results[-_MOST_RESULTS:]
    names = distinct_texts(kept, _LABEL)
    rows: list[dict[str, Any]] = []
    for metric in chosen:
        own = points.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
        limit = _limit(own, metric, margin)
        higher = better(metric) != "lower is better"
        for row in own.filter(pl.col("result").is_in(kept)).to_dicts():
            value = row["value"]
            beyond = limit is not None and (value < limit if higher else value > limit)
            rows.append({
                "metric": with_direction(metric), "result": names[row["result"]], "value": value,
                "low": row["ci_low"], "high": row["ci_high"], "limit": limit,
                "date": "" if row["date"] is None else f"{row['date']:%Y-%m-%d %H:%M} UTC",
                "queries": row["queries"], "kind": "beyond the margin" if beyond else "value",
            })  # fmt: skip
    if not rows:
        raise OptionError("there is no value to draw.")
    order, count = list(names.values()), len(chosen)
    width = on.wide(max(min(46 * len(order), 640), 260))
    plain = chart_of(rows)
    base = plain.encode(
        x=alt.X("result:N", title="result", sort=order,
                axis=alt.Axis(labelAngle=-40, labelOverlap="greedy")),
    )  # fmt: skip
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    band = base.mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.5).encode(
        y=alt.Y("low:Q", title=None, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    tips = ["result:N", "date:N", tip("value:Q"), "queries:Q"]
    layers = [band, base.mark_line(color=COLOURS[0], strokeWidth=2).encode(y=y)]
    fill: Any = alt.value(COLOURS[0])
    if margin is not None:
        layers.append(
            plain.mark_rule(color=WORSE, strokeDash=[6, 3], strokeWidth=1.5).encode(
                y=alt.Y("limit:Q", aggregate="min", title=None)
            )
        )
        fill = categories("kind:N", {"value": COLOURS[0], "beyond the margin": WORSE})
    layers.append(dots(base).encode(y=y, color=fill, tooltip=tips))
    heads = [with_direction(metric) for metric in chosen]
    drawn = on.panels(layered(*layers), "metric", heads, 180 * count, 40, width)
    drawn = drawn.resolve_scale(y="independent")
    return on.finished(drawn, "Results over time", _told(points, kept, len(results), margin))


def _told(points: pl.DataFrame, kept: list[str], total: int, margin: Any) -> list[str]:
    """Return the lines below the title of a history."""
    dates = points["date"].drop_nulls()
    first, last = (f"{date:%Y-%m-%d}" for date in (dates.min(), dates.max())) if len(dates) else (
        "", "")  # fmt: skip
    shown_ = f"the last {len(kept)} of {total:,}" if len(kept) < total else f"{total:,}"
    subtitle = [(f"{shown_} {'result' if total == 1 else 'results'}; "
            f"{between(points['queries'].to_list())}; lines: intervals")]  # fmt: skip
    if first:
        subtitle.append(f"written {first}" + (f" to {last}" if last != first else ""))
    if margin is not None:
        subtitle.append(f"dashed: the margin, {margin} from the first result")
    if (points["same_judgments"] == False).any():  # noqa: E712 (null is neither)
        subtitle.append("judgments changed between results: values are no trend")
    return subtitle


def _limit(own: pl.DataFrame, metric: str, margin: float | str | None) -> float | None:
    """Return the value beyond which a result is too much worse than the first one."""
    if margin is None or own.is_empty():
        return None
    text = str(margin).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = float("nan")
    if not number <= 0 or number == float("-inf"):
        raise OptionError(f"margin must be how much worse is allowed, -0.01 or -1%, not "
                          f"{shown(margin)}.")  # fmt: skip
    first = float(own["value"][0])
    apart = abs(first) * number / 100 if text.endswith("%") else number
    return first + apart if better(metric) != "lower is better" else first - apart
