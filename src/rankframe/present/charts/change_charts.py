"""Charts of two systems over the same queries: what changed, and both beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import number_of
from rankframe.core.wording import plain_text
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    categories,
    chart_of,
    layered,
    tip,
)
from rankframe.present.charts.chart_inputs import (
    Values,
    bar_width,
    better,
    sampled,
    spread,
    value_range,
    values_of,
)
from rankframe.present.charts.palette import BETTER, COLOURS, SAME, WORSE, mixed
from rankframe.present.charts.registry import chart
from rankframe.stats.paired import differences as apart_by

__all__ = ["differences", "scatter"]

if TYPE_CHECKING:
    from rankframe.analysis.diff import Diff

_MOST_BARS = 400  # about one for each dot across
_MOST_DOTS = 1_500  # beyond which a scatter is a cloud
_CELLS = 30  # of a cloud, along each side


@chart(runs=2, inputs=lambda source: (source.difference(), tuple(source.runs)))
def differences(change: Diff, names: tuple[str, str] | None = None, **look: Unpack[Look]) -> Chart:
    """Draw every query's change between two runs, sorted, `rf.diff(qrels, a, b, "ndcg@10")`: a bar
    up is better in b, or worse where lower is better. With many queries, only every n-th bar is
    drawn.

    names: what the runs are called (default: as the change calls them).
    """
    on = Canvas.of(look)
    names, change = names or change.names, change.named("a", "b")
    moved = change.per_query.drop_nulls("delta").sort("delta", QUERY, descending=[True, False])
    total = moved.height
    if not total:
        raise OptionError("no query has a value in both runs: there is no change to draw.")
    moved = moved.with_row_index("place", offset=1)[spread(total, _MOST_BARS)]
    counts = {
        side: change.per_query.filter(pl.col("better") == side).height
        for side in ("b", "a", "same")
    }
    kinds = {
        "b": f"better ({counts['b']:,})",
        "a": f"worse ({counts['a']:,})",
        "same": f"the same ({counts['same']:,})",
    }
    rows = moved.with_columns(outcome=pl.col("better").replace_strict(kinds))
    metric, *_ = change.summary["metric"]
    width = on.wide()
    drawn = (
        chart_of(rows.select("place", "delta", "outcome", QUERY).to_dicts())
        .mark_bar(width=bar_width(width, moved.height))
        .encode(
            x=alt.X(
                "place:Q",
                title=f"queries by change ({total:,})",
                axis=alt.Axis(grid=False, tickMinStep=1, format=",d"),
                scale=alt.Scale(domain=[0.5, total + 0.5], nice=False),
            ),
            y=alt.Y("delta:Q", title=f"change of {metric}"),
            color=categories(
                "outcome:N", dict(zip(kinds.values(), (BETTER, WORSE, SAME), strict=True))
            ),
            tooltip=[f"{QUERY}:N", tip("delta:Q", "+.4f")],
        )
    )
    a, b = (plain_text(name, 24) for name in names)
    mean = change.summary["difference"][0]
    by = "" if mean is None else f"; on average {mean:+.4f}"
    subtitle = [
        f"{b} less {a}: {sampled(moved.height, total)}{by}",
        *filter(None, [better(metric)]),
    ]
    return on.finished(on.sized(drawn), f"Change of {metric}, query by query", subtitle)


@chart(runs=2, inputs=lambda source: (source.per_query(), source.metric))
def scatter(
    values: Values,
    metric: str | None = None,
    systems: tuple[str, str] | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw the values of every query in two systems, with the diagonal on which both are equal: a
    comparison, or two results by name. Many queries are counted, cell by cell.

    systems: which two of several, the first across.

    >>> a = rf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "mrr")
    >>> b = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, "mrr")
    >>> rf.plot.scatter({"old": a, "new": b}).to_dict()["title"]["subtitle"][0]
    '1 query: new is better in 1, worse in 0, the same in 0'
    """
    on = Canvas.of(look)
    frames, metric = values_of(values, metric)
    a, b = _two(frames, systems)
    paired = frames[a].join(frames[b], on=QUERY, suffix="_b", maintain_order="left").drop_nulls()
    if paired.is_empty():
        raise OptionError(f"no query has a value of {metric!r} in both {a!r} and {b!r}.")
    higher = _higher(values, metric)
    # What only rounding tells apart is the same, as it is to `rf.diff`.
    apart = apart_by(paired["value_b"].to_numpy(), paired["value"].to_numpy())
    paired = paired.with_columns(apart=pl.Series(apart, dtype=pl.Float64))
    up, down = pl.col("apart") > 0, pl.col("apart") < 0
    above, below = (paired.filter(side).height for side in (up, down))
    wins, losses = (above, below) if higher else (below, above)
    short = plain_text(b, 24)
    ties = paired.height - above - below
    subtitle = [(f"{number_of(paired.height, 'query')}: {short} is better in {wins:,}, "
            f"worse in {losses:,}, the same in {ties:,}")]  # fmt: skip
    low, high = value_range(pl.concat([paired["value"], paired["value_b"]]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = alt.Scale(domain=[low, high], nice=False)
    axes = {
        "x": alt.X("x:Q", title=f"{metric} of {plain_text(a, 40)}", scale=scale),
        "y": alt.Y("y:Q", title=f"{metric} of {plain_text(b, 40)}", scale=scale),
    }
    diagonal = (
        chart_of([{"x": low, "y": low}, {"x": high, "y": high}])
        .mark_line(color=on.ink, strokeDash=[4, 4])
        .encode(**axes)
    )
    way = "above" if higher else "below"
    subtitle.append(f"{way} the diagonal {short} is better" + (
        f"; {better(metric)}" if better(metric) else ""))  # fmt: skip
    if paired.height > _MOST_DOTS:
        marks = _cloud(paired, low, high, on, scale)
        subtitle.append("queries are counted in cells, the stronger the more")
    else:
        kinds = [f"{short} better", f"{short} worse", "the same"]
        first, second = kinds[:2] if higher else kinds[1::-1]
        kind = pl.when(up).then(pl.lit(first)).when(down).then(pl.lit(second))
        rows = paired.select(
            QUERY, x="value", y="value_b", kind=kind.otherwise(pl.lit(kinds[2]))
        ).to_dicts()
        marks = (
            chart_of(rows)
            .mark_point(filled=True, size=34, opacity=0.55, clip=False)
            .encode(
                **axes,
                color=categories(
                    "kind:N", dict(zip(kinds, (BETTER, WORSE, SAME), strict=True))
                ),
                tooltip=[f"{QUERY}:N", tip("x:Q"),
                         tip("y:Q")],
            )
        )  # fmt: skip
    drawn = on.sized(layered(marks, diagonal), 360, 360)
    return on.finished(drawn, f"{metric}, {a} and {b}", subtitle)


def _two(frames: Mapping[str, pl.DataFrame], systems: Sequence[str] | None) -> tuple[str, str]:
    chosen = list(frames) if systems is None else list(systems)
    if unknown := [name for name in chosen if name not in frames]:
        raise OptionError(f"there is no system {unknown[0]!r}. There are {', '.join(frames)}.")
    if len(chosen) != 2:
        raise OptionError(f"a scatter is of two systems, not {len(chosen)}: pass systems=(a, b).")
    return chosen[0], chosen[1]


def _higher(values: Values, metric: str) -> bool:
    """Check whether higher values are better, which is the default."""
    if isinstance(values, Comparison):
        return values.metric(metric).higher_is_better
    return better(metric) != "lower is better"


def _cloud(paired: pl.DataFrame, low: float, high: float, on: Canvas, scale: Any) -> Any:
    """Draw cells, coloured by the number of queries in them."""
    step = (high - low) / _CELLS
    cell = {
        name: ((pl.col(column) - low) / step).floor().clip(0, _CELLS - 1).cast(pl.Int64)
        for name, column in (("across", "value"), ("up", "value_b"))
    }
    cells = paired.select(**cell).group_by("across", "up").len("queries").sort("across", "up")
    rows = cells.with_columns(
        x=low + pl.col("across") * step, x2=low + (pl.col("across") + 1) * step,
        y=low + pl.col("up") * step, y2=low + (pl.col("up") + 1) * step,
    )  # fmt: skip
    faint = mixed(_solid(on.ground.background), COLOURS[0], 0.18)
    strong = mixed(COLOURS[0], "#000000" if on.theme == "light" else "#ffffff", 0.35)
    return (
        chart_of(rows.to_dicts())
        .mark_rect()
        .encode(
            x=alt.X("x:Q", scale=scale),
            x2="x2:Q",
            y=alt.Y("y:Q", scale=scale),
            y2="y2:Q",
            color=alt.Color(
                "queries:Q", scale=alt.Scale(type="log", range=[faint, strong]),
                legend=alt.Legend(title="queries", orient="bottom", tickCount=4, format=",d"),
            ),
            tooltip=[tip("queries:Q", ",")],
        )
    )  # fmt: skip


def _solid(colour: str) -> str:
    return "#ffffff" if colour == "white" else colour
