"""Draw values per query: each value, their distribution, and changes between two systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, get_args

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import Diff
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of
from rankframe.core.wording import distinct_texts, plain_text
from rankframe.present.charts import chart_inputs as inputs
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import Values, better, in_words, with_direction
from rankframe.present.charts.marks import across, alt, tip, up
from rankframe.present.charts.palette import BETTER, COLOURS, SAME, WORSE, mixed
from rankframe.present.charts.registry import chart
from rankframe.stats import paired

__all__ = ["differences", "distribution", "per_query", "scatter"]

QueryOrder = Literal["value", "given"]
_MOST_BARS = 400  # about one bar per dot of the width
_MOST_NAMED = 30  # up to this many bars have room for the ids of their queries
_LABEL = 18  # characters of an id below its bar
_MOST_DOTS = 1_500  # with more queries, a scatter plot becomes a grid of counts
_CELLS = 30  # cells of the grid, along each side
_BLACK, _WHITE = "#000000", "#ffffff"


@chart(inputs=lambda source: (source.evaluated(source.metric), source.metric))
def per_query(
    values: Values, metric: str | None = None, order: QueryOrder = "value", **look: Unpack[Look]
) -> Chart:
    """Draw the value of every query as a bar, in a panel per system.

    Takes a result, a comparison, or `{name: result.per_query}`. The mean is a dashed line.

    order: bars by "value", the largest first, or as "given". With many queries,
        only every n-th bar is drawn.

    >>> result = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> rf.plot.per_query(result).to_dict()["title"]["text"]
    ['mrr of every query']
    """
    on = Canvas.from_look(look)
    if order not in get_args(QueryOrder):
        raise OptionError.choice("order", order, get_args(QueryOrder))
    frames, metric = inputs.values_of(values, metric)
    longest, count = max(frame.height for frame in frames.values()), len(frames)
    names = distinct_texts(frames, 60)
    means = {name: inputs.mean_of(frame["value"]) for name, frame in frames.items()}
    rows: list[dict[str, Any]] = []
    for name, frame in frames.items():
        mean, placed = means[name], frame
        if order == "value":
            placed = frame.sort("value", QUERY, descending=[True, False], nulls_last=True)
        chosen = _spread_rows(placed, _MOST_BARS)
        labels = distinct_texts(chosen[QUERY].cast(pl.String), _LABEL)
        system = names[name] if mean is None else f"{names[name]}: mean {mean:.4f}"
        rows += [
            {**row, "system": system, "mean": mean, "label": labels[str(row[QUERY])]}
            for row in chosen.to_dicts()
        ]
    few = longest <= _MOST_NAMED
    width = on.wide(max(min(18 * longest, 640), 200) if few else 560)
    size: dict[str, Any] = {}
    if few and count == 1:
        labels = [row["label"] for row in rows]
        x = across("label:N", "query", sort=labels, labelAngle=-50, ticks=False)
    else:
        x = _places("queries by value" if order == "value" else "queries as given", longest)
        size["width"] = inputs.bar_width(width, min(longest, _MOST_BARS))
    base = marks.chart_of(rows)
    bars = base.mark_bar(color=COLOURS[0], **size).encode(
        x=x,
        y=up("value:Q", with_direction(metric) if count == 1 else metric),
        tooltip=[f"{QUERY}:N", tip("value:Q")],
    )
    line = base.mark_rule(strokeWidth=2, color=COLOURS[1], strokeDash=[6, 3])
    panel = marks.layered(bars, line.encode(y=alt.Y("mean:Q", aggregate="min")))
    systems = list(dict.fromkeys(row["system"] for row in rows)) if count > 1 else [""]
    drawn = on.panels(panel, "system", systems, 130 * count, 30, width, alone=240)
    defined = [mean for mean in means.values() if mean is not None]
    mean_text = f", {defined[0]:.4f}" if count == 1 and defined else ""
    sample = "" if longest <= _MOST_BARS else f"a sample of {_MOST_BARS} of "
    subtitle = [
        f"{in_words(list(frames))}; {sample}{inputs.counted(frames)}",
        "; ".join(filter(None, [f"dashed: the mean{mean_text}", better(metric)])),
    ]
    return on.finished(drawn, f"{metric} of every query", subtitle)


def _spread_rows(frame: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Number rows from 1 in the column `place`, and return at most `limit` evenly spaced rows."""
    return frame.with_row_index("place", offset=1)[inputs.spread(frame.height, limit)]


def _places(title: str, count: int) -> Any:
    """Encode the numbers of bars as horizontal positions, with room for all `count` bars."""
    scale = {"domain": [0.5, count + 0.5], "nice": False}
    return across("place:Q", title, scale=scale, grid=False, tickMinStep=1, format=",d")


@chart(inputs=lambda source: (source.evaluated(source.metric), source.metric))
def distribution(
    values: Values, metric: str | None = None, bins: int = 20, **look: Unpack[Look]
) -> Chart:
    """Draw the distribution of a metric over queries, in a panel per system.

    Takes a result, a comparison, or `{name: result.per_query}`.
    """
    on = Canvas.from_look(look)
    frames, metric = inputs.values_of(values, metric)
    numbers = {name: frame["value"].drop_nulls() for name, frame in frames.items()}
    low, high = inputs.value_range(pl.concat(numbers.values()))
    step = ((high - low) or 1.0) / bins
    rows = []
    for name, column in numbers.items():
        counts = dict(_bins(column, low, step, bins).value_counts().iter_rows())  # allowed: bins
        rows += [
            {
                "system": name,
                "from": low + index * step,
                "to": low + (index + 1) * step,
                "share": counts.get(index, 0) / max(len(column), 1),
                "queries": counts.get(index, 0),
            }
            for index in range(bins)
        ]
    bars = marks.chart_of(rows).mark_bar(binSpacing=1)
    bars = bars.encode(
        x=across("from:Q", with_direction(metric), bin="binned"),
        x2="to:Q",
        y=up("share:Q", "share of queries", format="%", tickCount=4),
        color=marks.colour(list(frames), labelled=False),
        tooltip=["system:N", "from:Q", "to:Q", tip("queries:Q", ",")],
    )
    drawn = on.panels(bars, "system", list(frames), 90 * len(frames), 20)
    subtitle = [f"{in_words(list(frames))}; {inputs.counted(frames)}"]
    return on.finished(drawn, f"Distribution of {metric} over queries", subtitle)


def _bins(column: Any, low: float, step: float, bins: int) -> Any:
    """Return the index of the bin of each value; `column` is a series or an expression."""
    return ((column - low) / step).floor().clip(0, bins - 1).cast(pl.Int64)


@chart(runs=2, inputs=lambda source: (source.difference(), tuple(source.runs)))
def differences(change: Diff, names: tuple[str, str] | None = None, **look: Unpack[Look]) -> Chart:
    """Draw the change of every query between two runs, sorted.

    Takes `rf.diff(qrels, a, b, "ndcg@10")`. A bar up is a higher value in b than in a. With many
    queries, only every n-th bar is drawn.

    names: the names of the runs (default: their names in the diff).
    """
    on = Canvas.from_look(look)
    names, change = names or change.names, change.named("a", "b")
    moved = change.per_query.drop_nulls("delta").sort("delta", QUERY, descending=[True, False])
    total = moved.height
    if not total:
        raise OptionError("no query has a value in both runs: there is no change to draw.")
    moved = _spread_rows(moved, _MOST_BARS)
    texts = {"b": "better", "a": "worse", "same": "the same"}
    kinds = {
        side: f"{text} ({change.per_query.filter(pl.col('better') == side).height:,})"
        for side, text in texts.items()
    }
    rows = moved.select(
        "place", "delta", pl.col("better").replace_strict(kinds).alias("outcome"), QUERY
    )
    metric, *_ = change.summary["metric"]
    bars = marks.chart_of(rows.to_dicts())
    drawn = bars.mark_bar(width=inputs.bar_width(on.wide(), moved.height)).encode(
        x=_places(f"queries by change ({total:,})", total),
        y=up("delta:Q", f"change of {metric}"),
        color=marks.categories("outcome:N", _outcomes(list(kinds.values()))),
        tooltip=[f"{QUERY}:N", tip("delta:Q", "+.4f")],
    )
    a, b = (plain_text(name, 24) for name in names)
    mean = change.summary["difference"][0]
    by = "" if mean is None else f"; on average {mean:+.4f}"
    subtitle = [f"{b} less {a}: {inputs.sampled(moved.height, total)}{by}", better(metric)]
    return on.finished(on.sized(drawn), f"Change of {metric}, query by query", subtitle)


def _outcomes(texts: Sequence[str]) -> dict[str, str]:
    """Map the texts for better, worse and equal to their colours."""
    return dict(zip(texts, (BETTER, WORSE, SAME), strict=True))


@chart(runs=2, inputs=lambda source: (source.evaluated(source.metric), source.metric))
def scatter(
    values: Values,
    metric: str | None = None,
    systems: tuple[str, str] | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the values of every query in two systems against each other.

    Takes a comparison, or two results by name. On the diagonal, both are equal. If there are many
    queries, the chart shows the number of queries per cell of a grid.

    systems: the two systems to draw; the first is on the horizontal axis.

    >>> a = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> b = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, "mrr")
    >>> rf.plot.scatter({"old": a, "new": b}).to_dict()["title"]["subtitle"][0]
    '1 query: new is better in 1, worse in 0, the same in 0'
    """
    on = Canvas.from_look(look)
    frames, metric = inputs.values_of(values, metric)
    a, b = _two_systems(frames, systems)
    joined = frames[a].join(frames[b], on=QUERY, suffix="_b", maintain_order="left").drop_nulls()
    if joined.is_empty():
        raise OptionError(f"no query has a value of {metric!r} in both {a!r} and {b!r}.")
    higher = better(metric) != "lower is better"
    if isinstance(values, Comparison):
        higher = values.metric(metric).higher_is_better
    # Values that differ only by rounding are equal, as in `rf.diff`.
    change = paired.differences(joined["value_b"].to_numpy(), joined["value"].to_numpy())
    gain = pl.Series(change if higher else -change, dtype=pl.Float64)
    short = plain_text(b, 24)
    kinds = [f"{short} better", f"{short} worse", "the same"]
    kind = pl.when(gain > 0).then(pl.lit(kinds[0])).when(gain < 0).then(pl.lit(kinds[1]))
    rows = joined.select(QUERY, x="value", y="value_b", kind=kind.otherwise(pl.lit(kinds[2])))
    wins, losses, ties = (rows.filter(kind=kind).height for kind in kinds)
    low, high = inputs.value_range(pl.concat([rows["x"], rows["y"]]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = {"domain": [low, high], "nice": False}
    axes = {
        "x": across("x:Q", f"{metric} of {plain_text(a, 40)}", scale=scale),
        "y": up("y:Q", f"{metric} of {plain_text(b, 40)}", scale=scale),
    }
    way = f"{'above' if higher else 'below'} the diagonal {short} is better"
    counts = f"{short} is better in {wins:,}, worse in {losses:,}, the same in {ties:,}"
    subtitle = [
        f"{number_of(rows.height, 'query')}: {counts}",
        "; ".join(filter(None, [way, better(metric)])),
    ]
    if rows.height > _MOST_DOTS:
        queries = _cloud(rows, low, high, on)
        subtitle.append("cells are coloured by the number of queries in them")
    else:
        points = marks.chart_of(rows.to_dicts())
        queries = points.mark_point(filled=True, size=34, opacity=0.55, clip=False).encode(
            **axes,
            color=marks.categories("kind:N", _outcomes(kinds)),
            tooltip=[f"{QUERY}:N", tip("x:Q", title=a), tip("y:Q", title=b)],
        )
    drawn = marks.layered(queries, on.diagonal("x", "y", (low, high)).encode(**axes))
    return on.finished(on.sized(drawn, 360, 360), f"{metric}, {a} and {b}", subtitle)


def _two_systems(frames: Mapping[str, Any], systems: Sequence[str] | None) -> tuple[str, str]:
    chosen = list(frames) if systems is None else list(systems)
    if unknown := [name for name in chosen if name not in frames]:
        raise OptionError(f"there is no system {unknown[0]!r}. There are {', '.join(frames)}.")
    if len(chosen) != 2:
        raise OptionError(f"a scatter is of two systems, not {len(chosen)}: pass systems=(a, b).")
    return chosen[0], chosen[1]


def _cloud(points: pl.DataFrame, low: float, high: float, on: Canvas) -> Any:
    """Draw the cells of a grid, coloured by the number of queries in each."""
    step = (high - low) / _CELLS
    cells = points.select(
        across=_bins(pl.col("x"), low, step, _CELLS), up=_bins(pl.col("y"), low, step, _CELLS)
    )
    cells = cells.group_by("across", "up").len("queries").sort("across", "up")
    rows = cells.with_columns(
        x=low + pl.col("across") * step, x2=low + (pl.col("across") + 1) * step,
        y=low + pl.col("up") * step, y2=low + (pl.col("up") + 1) * step,
    )  # fmt: skip
    light = on.theme == "light"
    faint = mixed(_WHITE if light else on.ground.background, COLOURS[0], 0.18)
    strong = mixed(COLOURS[0], _BLACK if light else _WHITE, 0.35)
    legend = alt.Legend(title="queries", orient="bottom", tickCount=4, format=",d")
    scale = alt.Scale(domain=[low, high], nice=False)
    return (
        marks.chart_of(rows.to_dicts())
        .mark_rect()
        .encode(
            x=alt.X("x:Q", scale=scale),
            x2="x2:Q",
            y=alt.Y("y:Q", scale=scale),
            y2="y2:Q",
            color=alt.Color(
                "queries:Q", scale=alt.Scale(type="log", range=[faint, strong]), legend=legend
            ),
            tooltip=[tip("queries:Q", ",")],
        )
    )
