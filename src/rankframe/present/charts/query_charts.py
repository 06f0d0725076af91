"""Charts of queries: the value of each, and how they spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, get_args

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.wording import distinct_texts
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    chart_of,
    in_words,
    layered,
    scale_of,
    tip,
)
from rankframe.present.charts.chart_inputs import (
    Values,
    bar_width,
    better,
    counted,
    mean_of,
    spread,
    value_range,
    values_of,
    with_direction,
)
from rankframe.present.charts.palette import COLOURS
from rankframe.present.charts.registry import chart

__all__ = ["distribution", "per_query"]

QueryOrder = Literal["value", "given"]
_MOST_BARS = 400  # about one for each dot across
_MOST_NAMED = 30  # bars that have room for the ids of their queries
_LABEL = 18  # characters of an id below its bar


@chart(inputs=lambda source: (source.per_query(), source.metric))
def per_query(
    values: Values, metric: str | None = None, order: QueryOrder = "value", **look: Unpack[Look]
) -> Chart:
    """Draw the value of every query as a bar, with the mean as a line; a panel per system: a
    result, a comparison, or `{name: result.per_query}`.

    order: bars by "value", the largest first, or as "given". With many queries,
        only every n-th bar is drawn.

    >>> result = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> rf.plot.per_query(result).to_dict()["title"]["text"]
    ['mrr of every query']
    """
    on = Canvas.of(look)
    if order not in get_args(QueryOrder):
        raise OptionError.choice("order", order, get_args(QueryOrder))
    frames, metric = values_of(values, metric)
    longest = max(frame.height for frame in frames.values())
    names = distinct_texts(frames, 60)
    rows: list[dict[str, Any]] = []
    for name, frame in frames.items():
        mean = mean_of(frame["value"])
        sorted_ = frame.sort("value", QUERY, descending=[True, False], nulls_last=True)
        placed = (sorted_ if order == "value" else frame).with_row_index("place", offset=1)
        chosen = placed[spread(placed.height, _MOST_BARS)]
        labels = distinct_texts(chosen[QUERY].cast(pl.String), _LABEL)
        system = names[name] if mean is None else f"{names[name]}: mean {mean:.4f}"
        rows += [
            {**row, "system": system, "mean": mean, "label": labels[str(row[QUERY])]}
            for row in chosen.to_dicts()
        ]
    few, count = longest <= _MOST_NAMED, len(frames)
    width = on.wide(max(min(18 * longest, 640), 200) if few else 560)
    if few and count == 1:
        ids = [row["label"] for row in rows]
        x = alt.X("label:N", sort=ids, title="query", axis=alt.Axis(labelAngle=-50, ticks=False))
        size: dict[str, Any] = {}
    else:
        x = alt.X(
            "place:Q", title="queries by value" if order == "value" else "queries as given",
            scale=alt.Scale(domain=[0.5, longest + 0.5], nice=False),
            axis=alt.Axis(grid=False, tickMinStep=1, format=",d"),
        )  # fmt: skip
        size = {"width": bar_width(width, min(longest, _MOST_BARS))}
    base = chart_of(rows)
    bars = base.mark_bar(color=COLOURS[0], **size).encode(
        x=x,
        y=alt.Y("value:Q", title=with_direction(metric) if count == 1 else metric),
        tooltip=[f"{QUERY}:N", tip("value:Q")],
    )
    line = base.mark_rule(strokeWidth=2, color=COLOURS[1], strokeDash=[6, 3]).encode(
        y=alt.Y("mean:Q", aggregate="min")
    )
    panel = layered(bars, line)
    if count > 1:
        systems = list(dict.fromkeys(row["system"] for row in rows))
        panel = on.panels(panel, "system", systems, 130 * count, 30, width)
    else:
        panel = panel.properties(width=width, height=max(on.high(240), 30))
    subtitle = [f"{in_words(list(frames))}; {_sample_of(frames)}", _mean_said(rows, metric, count)]
    return on.finished(panel, f"{metric} of every query", subtitle)


def _mean_said(rows: Sequence[Mapping[str, Any]], metric: str, count: int) -> str:
    way = better(metric)
    mean = next((row["mean"] for row in rows if row["mean"] is not None), None)
    shown = "" if count > 1 or mean is None else f", {mean:.4f}"
    return f"dashed: the mean{shown}{'; ' if way else ''}{way}"


def _sample_of(frames: Mapping[str, pl.DataFrame]) -> str:
    """Say how many queries there are, and how many of them have a bar."""
    longest = max(frame.height for frame in frames.values())
    subtitle = counted(frames)
    return subtitle if longest <= _MOST_BARS else f"a sample of {_MOST_BARS} of {subtitle}"


@chart(inputs=lambda source: (source.per_query(), source.metric))
def distribution(
    values: Values, metric: str | None = None, bins: int = 20, **look: Unpack[Look]
) -> Chart:
    """Draw the distribution of a metric over queries, a panel per system: a result, a comparison,
    or `{name: result.per_query}`.
    """
    on = Canvas.of(look)
    frames, metric = values_of(values, metric)
    numbers = {name: frame["value"].drop_nulls() for name, frame in frames.items()}
    low, high = value_range(pl.concat(numbers.values()))
    step = ((high - low) or 1.0) / bins
    rows = []
    for name, column in numbers.items():
        place = ((column - low) / step).floor().clip(0, bins - 1).cast(pl.Int64)
        counts = dict(place.value_counts().iter_rows())  # allowed: one row a bin
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
    panel = (
        chart_of(rows)
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title=with_direction(metric)),
            x2="to:Q",
            y=alt.Y("share:Q", title="share of queries", axis=alt.Axis(format="%", tickCount=4)),
            color=alt.Color("system:N", legend=None, scale=scale_of(list(frames))),
            tooltip=["system:N", "from:Q", "to:Q", tip("queries:Q", ",")],
        )
    )
    drawn = on.panels(panel, "system", list(frames), 90 * len(frames), 20)
    subtitle = [f"{in_words(list(frames))}; {counted(frames)}"]
    return on.finished(drawn, f"Distribution of {metric} over queries", subtitle)
