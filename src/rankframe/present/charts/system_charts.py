"""Draw several systems: weights of fusions, significance, agreement, and values over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core.errors import OptionError
from rankframe.core.messages import listing, number_of, shown
from rankframe.core.wording import distinct_texts, p_text, plain_text, signed_text
from rankframe.engine.history import HISTORY_SCHEMA
from rankframe.engine.result import Result
from rankframe.present.charts import chart_inputs as inputs
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.marks import across, alt, tip, up
from rankframe.present.charts.palette import BETTER, COLOURS, WORSE, text_on
from rankframe.present.charts.registry import chart

__all__ = ["agreement", "fusion_weights", "history", "significance"]

_LABEL = 20  # characters of a name
_CELL = 74  # width of a cell of a matrix, in dots
_NUMBERED = 46.0  # width of a difference as a number, in dots
_MOST_RESULTS = 200  # results of a history that are drawn: the last ones


@chart(runs=2, inputs=lambda source: (source.tuned(),))
def fusion_weights(tuning: Tuning, **look: Unpack[Look]) -> Chart:
    """Draw a metric over the weight of the second of two runs in their fusion.

    Takes `rf.tune(qrels, runs, "wsum")`. Each method and norm has a line, with its interval as a
    band. A dashed line is the value of a single run.
    """
    on = Canvas.from_look(look)
    inputs.check_kind(tuning, Tuning, "rf.tune(qrels, runs, …)")
    if len(tuning.names) != 2:
        raise OptionError(
            f"weights are drawn of two runs, and {len(tuning.names)} were tuned: "
            f"{listing(tuning.names)}."
        )
    share = pl.col("weights").list.get(1) / pl.col("weights").list.sum()
    name = pl.concat_str("method", "norm", separator=", ", ignore_nulls=True)
    points = tuning.candidates.drop_nulls("weights").select(
        "value", "ci_low", "ci_high", "fusion", system=name, weight=share
    )
    if points.is_empty():
        raise OptionError("no method that was tuned has weights: tune wsum, for instance.")
    runs = tuning.runs.select("value", system=pl.col("run") + " by itself")
    names = [*points["system"].unique(maintain_order=True).sort(), *runs["system"]]
    metric = tuning.metric.label
    first, second = tuning.names
    title, near = inputs.with_direction(metric), {"zero": False}
    y, value = up("value:Q", title, scale=near), tip("value:Q", title=metric)
    base = marks.chart_of(points.sort("system", "weight").to_dicts()).encode(
        x=across("weight:Q", f"weight of {second} (the rest is of {first})",
                 scale={"domain": [0, 1]}),
        color=marks.colour(names),
    )  # fmt: skip
    layers = [
        base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=30)).encode(
            y=y, tooltip=["fusion:N", value]
        ),
        marks.chart_of(runs.to_dicts()).mark_rule(strokeWidth=2, strokeDash=[5, 4]).encode(
            y=y, color=marks.colour(names), tooltip=["system:N", value]
        ),
    ]  # fmt: skip
    subtitle = [f"{inputs.in_words(tuning.names)}; {number_of(tuning.per_query.height, 'query')}"]
    if not points["ci_low"].null_count():
        band = base.mark_area(fillOpacity=0.2)
        layers.insert(0, band.encode(y=up("ci_low:Q", title, scale=near), y2="ci_high:Q"))
        subtitle.append("bands: intervals of the means")
    drawn = on.sized(marks.layered(*layers))
    return on.finished(drawn, f"{metric} over the weight of a run", subtitle)


@chart(inputs=lambda source: (source.compared(pairs=True),))
def significance(comparison: Comparison, metric: str | None = None, **look: Unpack[Look]) -> Chart:
    """Draw which systems differ significantly, as a matrix of all pairs.

    Takes `rf.compare(qrels, runs)` without a baseline. Each cell is the value of the row's system
    minus the value of the column's system.

    metric: a compared metric (default: the first).
    """
    on = Canvas.from_look(look)
    inputs.check_kind(comparison, Comparison, "a comparison, rf.compare(qrels, runs, …)")
    labels = [compared.label for compared in comparison.metrics]
    metric = inputs.choose(metric, labels, "{} was not compared.")[0]
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
    plain: dict[str, Any] = {"sort": order, "scale": {"domain": order}, "ticks": False}
    base = marks.chart_of(rows).encode(
        x=across("other:N", "less this system", orient="top", labelAngle=0 if count <= 4 else -40,
                 domain=False, **plain),
        y=up("system:N", "this system", domain=False, titlePadding=12, **plain),
        tooltip=["system:N", alt.Tooltip("other:N", title="less"),
                 alt.Tooltip("text:N", title="difference"), "p:N",
                 alt.Tooltip("kind:N", title="outcome"), "queries:Q"],
    )  # fmt: skip
    there = {kind: fill for kind, fill in colours.items() if any(r["kind"] == kind for r in rows)}
    cells = base.mark_rect(stroke=on.ground.background, strokeWidth=2)
    layers = [cells.encode(color=marks.categories("kind:N", there, "row beside column"))]
    if size >= _NUMBERED:
        layers += [
            marks.text_in_cells(base, fontSize=11, dy=-6, fontWeight="bold"),
            marks.text_in_cells(base, "p:N", fontSize=9, dy=8),
        ]
    drawn = on.sized(marks.numbered(*layers), _CELL * count, min(46, size) * count)
    test, correction = (comparison.note(f"policy_{item}") for item in ("test", "correction"))
    subtitle = [
        f"{inputs.in_words(comparison.names)}; {inputs.between(table['queries'].to_list())}",
        f"* {comparison.note('policy_significant')}; test: {test}, correction: {correction}",
        inputs.better(compared),
    ]
    return on.finished(drawn, f"Who differs in {metric}", subtitle)


@chart(
    takes="rankings",
    several=True,
    inputs=lambda source: (source.agreements(), source.reference),
    demo="bm25.parquet dense.parquet hybrid.parquet",
)
def agreement(
    results: Mapping[str, Result] | Result,
    reference: str = "the reference",
    metrics: Sequence[str] | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw how much each ranking agrees with a reference, as bars.

    Takes `{name: rf.agree(reference, ranking, ["kendall_tau", "rbo"])}`.

    reference: the name of the reference.
    metrics: metrics of the results (default: all).

    >>> alike = rf.agree([1, 2, 3], [1, 3, 2], ["kendall_tau", "spearman"])
    >>> drawn = rf.plot.agreement({"mine": alike}).to_dict()
    >>> [(row["metric"], row["value"]) for row in drawn["data"]["values"]]
    [('kendall_tau', 0.3333333333333333), ('spearman', 0.5)]
    """
    on = Canvas.from_look(look)
    rankings = inputs.by_name(results, Result, "results by name, {name: rf.agree(a, b)}")
    labels = list(dict.fromkeys(m for r in rankings.values() for m in r.summary["metric"]))
    chosen = inputs.choose(metrics, labels, "no result has {}.")
    names = distinct_texts(rankings, _LABEL)
    rows = [
        {"system": names[name], "metric": row["metric"], "value": row["value"],
         "low": row["ci_low"], "high": row["ci_high"], "text": f"{row['value']:.3f}"}
        for name, result in rankings.items()
        for row in result.summary.to_dicts()
        if row["metric"] in chosen and row["value"] is not None
    ]  # fmt: skip
    if not rows:
        raise OptionError("no ranking and the reference have anything to compare: no bar to draw.")
    counts = [result.per_query.height for result in rankings.values()]
    # A single query has no interval. An interval whose ends are equal is left out.
    ranged = any(row["low"] is not None and row["low"] < row["high"] for row in rows)
    for row in rows:  # the number is placed beyond both the bar and the interval
        row["edge"] = max(row["value"], 0.0, (row["high"] or 0.0) if ranged else 0.0)
    low, high = _ends([inputs.known_metric(metric) for metric in chosen], rows)
    order = list(names.values())
    base = marks.chart_of(rows).encode(y=up("system:N", sort=order, ticks=False))
    layers = [
        base.mark_bar().encode(
            x=across("value:Q", "agreement", scale={"domain": [low, high], "nice": False}),
            color=marks.colour(order, labelled=False),
            tooltip=["system:N", "metric:N", tip("value:Q")],
        )
    ]
    if ranged:
        layers.append(base.mark_rule(color=on.ink, strokeWidth=1.5).encode(x="low:Q", x2="high:Q"))
    numbers = base.mark_text(align="left", dx=5, color=on.ink, fontSize=10)
    layers.append(numbers.encode(x=alt.X("edge:Q"), text="text:N"))
    usual = max(20 * len(order), 24) * len(chosen)
    drawn = on.panels(marks.layered(*layers), "metric", chosen, usual, 14)
    below = "; 0 is no relation, −1 the reverse" if low < 0 else ""
    compared = f"{inputs.in_words(list(names))} beside {plain_text(reference, 30)}"
    subtitle = [
        f"{compared}; {inputs.between(counts)}",
        f"1 is the same order{below}",
        "lines: intervals" if ranged else "",
    ]
    return on.finished(drawn, "Agreement of rankings", subtitle)


def _ends(metrics: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the ends of the axis: from 0, or −1 if values can be negative, to at least 1.12."""
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
    demo="results/monday results/tuesday results/wednesday results/thursday --margin=-1%",
)
def history(
    points: pl.DataFrame,
    metrics: Sequence[str] | str | None = None,
    margin: float | str | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw metrics of stored results over time, with confidence intervals.

    Takes `rf.history([folder, …])`. A panel per metric; the first result is the reference.

    margin: the largest tolerated drop from the first result, written as in a gate rule: "-1%" of
        its value, or -0.01. The chart marks results with a larger drop.
    """
    on = Canvas.from_look(look)
    if missing := [column for column in HISTORY_SCHEMA if column not in points.columns]:
        raise OptionError(f"the frame has no column {missing[0]!r}: it is not of rf.history.")
    labels = points["metric"].unique(maintain_order=True).to_list()
    chosen = inputs.choose(metrics, labels, "the history has no {}.")
    results = points["result"].unique(maintain_order=True).to_list()
    kept = results[-_MOST_RESULTS:]
    names = distinct_texts(kept, _LABEL)
    heads = {metric: inputs.with_direction(metric) for metric in chosen}
    rows: list[dict[str, Any]] = []
    for metric in chosen:
        own = points.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
        limit = _limit(own, metric, margin)
        higher = inputs.better(metric) != "lower is better"
        for row in own.filter(pl.col("result").is_in(kept)).to_dicts():
            value = row["value"]
            beyond = limit is not None and (value < limit if higher else value > limit)
            rows.append({
                "metric": heads[metric], "result": names[row["result"]], "value": value,
                "low": row["ci_low"], "high": row["ci_high"], "limit": limit,
                "date": "" if row["date"] is None else f"{row['date']:%Y-%m-%d %H:%M} UTC",
                "queries": row["queries"], "kind": "beyond the margin" if beyond else "value",
            })  # fmt: skip
    if not rows:
        raise OptionError("there is no value to draw.")
    order, count = list(names.values()), len(chosen)
    width = on.wide(max(min(46 * len(order), 640), 260))
    plain = marks.chart_of(rows)
    base = plain.encode(
        x=across("result:N", "result", sort=order, labelAngle=-40, labelOverlap="greedy")
    )
    y = up("value:Q", scale={"zero": False})
    band = base.mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.5)
    layers = [
        band.encode(y=up("low:Q", scale={"zero": False}), y2="high:Q"),
        base.mark_line(color=COLOURS[0], strokeWidth=2).encode(y=y),
    ]
    fill: Any = alt.value(COLOURS[0])
    if margin is not None:
        limits = plain.mark_rule(color=WORSE, strokeDash=[6, 3], strokeWidth=1.5)
        layers.append(limits.encode(y=up("limit:Q", aggregate="min")))
        fill = marks.categories("kind:N", {"value": COLOURS[0], "beyond the margin": WORSE})
    tips = ["result:N", "date:N", tip("value:Q"), "queries:Q"]
    layers.append(marks.dots(base).encode(y=y, color=fill, tooltip=tips))
    panels = list(heads.values())
    drawn = on.panels(marks.layered(*layers), "metric", panels, 180 * count, 40, width)
    subtitle = _summarise_history(points, kept, len(results), margin)
    return on.finished(drawn.resolve_scale(y="independent"), "Results over time", subtitle)


def _summarise_history(points: pl.DataFrame, kept: list[str], total: int, margin: Any) -> list[str]:
    """Return the lines below the title of a history."""
    last = f"the last {len(kept)} of " if len(kept) < total else ""
    queries = inputs.between(points["queries"].to_list())
    subtitle = [f"{last}{number_of(total, 'result')}; {queries}; lines: intervals"]
    dates = [f"{date:%Y-%m-%d}" for date in points["date"].drop_nulls().sort()]
    if dates:
        subtitle.append(f"written {' to '.join(dict.fromkeys((dates[0], dates[-1])))}")
    if margin is not None:
        subtitle.append(f"dashed: the margin, {margin} from the first result")
    if (points["same_judgments"] == False).any():  # noqa: E712 (null is neither)
        subtitle.append("judgments changed between results: the values do not show a trend")
    return subtitle


def _limit(own: pl.DataFrame, metric: str, margin: float | str | None) -> float | None:
    """Return the value beyond which a result is worse than the first one by more than `margin`."""
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
    return first + apart if inputs.better(metric) != "lower is better" else first - apart
