"""Charts of queries: how they change and spread, in which slices, where their documents stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.base.columns import QUERY
from rankframe.base.errors import OptionError
from rankframe.base.messages import number_of
from rankframe.base.wording import distinct_texts
from rankframe.plot.canvas import (
    COLOURS,
    GREY,
    HEIGHT,
    WIDTH,
    chart_of,
    colour,
    in_rows,
    layered,
    load_altair,
    named,
    scale_of,
    shades,
    styled,
)
from rankframe.plot.registry import chart
from rankframe.stats.resample import hash_ids

if TYPE_CHECKING:
    from rankframe.decisions.change import Diff
    from rankframe.plot.canvas import Chart

_MOST_BARS = 400  # about one for each dot across
_UNJUDGED = "#bdbdbd"
_LABEL = 20  # characters of a query's id beside its row


@chart(runs=2, of=lambda given: (given.difference(),))
def differences(change: Diff) -> Chart:
    """Every query's change between two runs, sorted, `rf.diff(qrels, a, b, "ndcg@10")`: a bar up is
    better in b. Of many queries, every so manieth.
    """
    alt = load_altair()
    change = change.named("a", "b")
    moved = change.per_query.drop_nulls("delta").sort(-pl.col("delta"), maintain_order=True)
    total = moved.height
    moved = moved.with_row_index("place", offset=1)
    if total > _MOST_BARS:
        step = total / _MOST_BARS
        moved = moved[[int(at * step) for at in range(_MOST_BARS)]]
    counts = {
        better: change.per_query.filter(pl.col("better") == better).height
        for better in ("b", "a", "same")
    }
    names = {
        "b": f"better ({counts['b']:,})",
        "a": f"worse ({counts['a']:,})",
        "same": f"the same ({counts['same']:,})",
    }
    rows = moved.with_columns(outcome=pl.col("better").replace_strict(names))
    chart = (
        chart_of(rows.select("place", "delta", "outcome", QUERY).to_dicts())
        .mark_bar()
        .encode(
            x=alt.X(
                "place:Q",
                title=f"queries by change ({total:,})",
                axis=alt.Axis(grid=False),
                scale=alt.Scale(domain=[0, total], nice=False),
            ),
            y=alt.Y("delta:Q", title=f"change of {change.summary['metric'][0]}"),
            color=alt.Color(
                "outcome:N",
                legend=alt.Legend(title=None, orient="bottom"),
                scale=alt.Scale(domain=list(names.values()), range=[COLOURS[2], COLOURS[1], GREY]),
            ),
            tooltip=[f"{QUERY}:N", alt.Tooltip("delta:Q", format="+.4f")],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return styled(chart)


@chart(of=lambda given: (given.per_query(), given.metric))
def distribution(values: Mapping[str, pl.DataFrame], metric: str, bins: int = 20) -> Chart:
    """How a metric is distributed over queries, a panel for each system,
    `{name: result.per_query}`.
    """
    alt = load_altair()
    for name, frame in values.items():
        if metric not in frame.columns:
            raise OptionError(f"{name!r} has no values of {metric!r}.")
    numbers = {name: frame[metric].drop_nulls() for name, frame in values.items()}
    every = pl.concat(numbers.values())
    low, high = _range(every)
    width = ((high - low) or 1.0) / bins
    rows = []
    for name, some in numbers.items():
        place = ((some - low) / width).floor().clip(0, bins - 1).cast(pl.Int64)
        counts = dict(place.value_counts().iter_rows())  # allowed: one row a bin
        rows += [
            {
                "system": name,
                "from": low + at * width,
                "to": low + (at + 1) * width,
                "share": counts.get(at, 0) / max(len(some), 1),
                "queries": counts.get(at, 0),
            }
            for at in range(bins)
        ]
    panel = (
        chart_of(rows)
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title=metric),
            x2="to:Q",
            y=alt.Y("share:Q", title="share of queries", axis=alt.Axis(format="%")),
            color=alt.Color("system:N", legend=None, scale=scale_of(list(values))),
            tooltip=["system:N", "from:Q", "to:Q", alt.Tooltip("queries:Q", format=",")],
        )
        .properties(width=WIDTH, height=90)
    )
    return styled(in_rows(panel, alt.Row("system:N", title=None, sort=list(values))))


@chart(of=lambda given: (given.slices(), given.metric))
def slices(frames: Mapping[str, pl.DataFrame], metric: str) -> Chart:
    """A metric in every slice with its interval, `{name: result.slices}`."""
    alt = load_altair()
    columns = ["slice", "value", "ci_low", "ci_high", "queries"]
    chosen = {
        name: frame.filter(pl.col("metric") == metric).with_columns(
            slice=pl.concat_str("by", pl.lit(": "), "slice")
        )
        for name, frame in frames.items()
    }
    if all(frame.is_empty() for frame in chosen.values()):
        raise OptionError(f"there are no slices of {metric!r}: evaluate it with by= and queries=.")
    order = pl.concat([frame["slice"] for frame in chosen.values()]).unique(maintain_order=True)
    order = order.to_list()
    base = chart_of(named(chosen, columns)).encode(
        y=alt.Y("system:N", title=None, sort=list(frames), axis=None),
        color=colour(list(frames)),
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(x="ci_low:Q", x2="ci_high:Q")
    dots = base.mark_point(filled=True, size=60).encode(
        x=alt.X("value:Q", title=metric, scale=alt.Scale(zero=False)),
        tooltip=["system:N", "slice:N", alt.Tooltip("value:Q", format=".4f"), "queries:Q"],
    )
    panel = layered(whiskers, dots).properties(width=WIDTH, height=16 * len(frames))
    return styled(in_rows(panel, alt.Row("slice:N", title=None, sort=order), spacing=4))


@chart(runs=1, of=lambda given: (given.judged(), given.k))
def heatmap(judged: pl.LazyFrame | pl.DataFrame, k: int = 20, most: int = 40) -> Chart:
    """Where the relevant documents stand, `rf.judge(qrels, run)`: a row a query, a column a rank,
    its grade as colour. Of many queries, a sample that is always the same.
    """
    alt = load_altair()
    lists = judged.lazy().group_by(QUERY).agg(pl.col("retrieved").first()).sort(QUERY).collect()
    order = lists.with_columns(_hash=pl.Series(hash_ids(lists[QUERY]))).sort("_hash")
    some = order.head(most).select(QUERY, "retrieved").sort(QUERY)
    graded = (
        judged.lazy()
        .filter(pl.col("rank") <= k, pl.col(QUERY).is_in(some[QUERY].implode()))
        .select(QUERY, pl.col("rank").cast(pl.Int64), "relevance")
        .collect()
    )
    cells = (
        some.with_columns(rank=pl.int_ranges(1, pl.min_horizontal("retrieved", k) + 1))
        .explode("rank", empty_as_null=False, keep_nulls=False)
        .join(graded, on=[QUERY, "rank"], how="left", maintain_order="left")
    )
    cells = cells.with_columns(
        grade=pl.when(pl.col("relevance").is_null())
        .then(pl.lit("unjudged"))
        .otherwise(pl.col("relevance").cast(pl.String).str.strip_suffix(".0"))
    )
    grades = sorted(set(cells["grade"]) - {"unjudged"}, key=float)
    greens = shades(len(grades))
    labels = distinct_texts(some[QUERY], _LABEL)
    label = pl.col(QUERY).replace_strict(labels, return_dtype=pl.String)
    chart = (
        chart_of(cells.select(QUERY, "rank", "grade", label=label).to_dicts())
        .mark_rect()
        .encode(
            x=alt.X("rank:O", title="rank", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "label:N",
                title=f"{some.height:,} of {number_of(lists.height, 'query')}",
                sort=list(labels.values()),
                axis=alt.Axis(titlePadding=12),
            ),
            color=alt.Color(
                "grade:N",
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(domain=["unjudged", *grades], range=[_UNJUDGED, *greens]),
            ),
            tooltip=[f"{QUERY}:N", "rank:O", "grade:N"],
        )
        .properties(width=WIDTH, height=12 * max(some.height, 1))
    )
    return styled(chart)


def _range(numbers: pl.Series) -> tuple[float, float]:
    """The lowest and the highest; from 0 to 1 where these hold all of them."""
    low: Any = numbers.min()
    high: Any = numbers.max()
    if low is None or (low >= 0 and high <= 1):
        return 0.0, 1.0
    return float(low), float(high)
