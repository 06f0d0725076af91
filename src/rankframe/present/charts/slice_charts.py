"""Charts of slices: values, where they are better or worse than on the whole, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean
from rankframe.core.wording import distinct_texts, number_text, plain_text
from rankframe.engine.result import Result
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    chart_of,
    colour,
    dots,
    in_rows,
    in_words,
    layered,
    named,
    numbered,
    text_in_cells,
    tip,
)
from rankframe.present.charts.chart_inputs import (
    Values,
    better,
    between,
    choose,
    frames_of,
    known_metric,
    with_direction,
)
from rankframe.present.charts.palette import BETTER, WORSE, mixed, text_on
from rankframe.present.charts.registry import chart

__all__ = ["forest", "slice_map", "slices"]

_LABEL = 34  # characters of a slice beside its row
_MOST_SLICES = 60  # of each metric: those with most queries
_ALL = "all queries"


@chart(
    inputs=lambda source: (source.slices(), source.metric),
    example="qrels.parquet bm25.parquet dense.parquet hybrid.parquet "
    "--queries queries.parquet --by locale --by device",
)
def slices(frames: Values, metric: str | None = None, **look: Unpack[Look]) -> Chart:
    """Draw a metric in every slice with its interval: a result or a comparison with slices, or
    `{name: result.slices}`. Of many slices, those with most queries.
    """
    on = Canvas.of(look)
    tables = frames_of(frames, "slices")
    metric, chosen = _chosen(tables, metric)
    order, cut = _largest(chosen)
    chosen = {name: frame.filter(pl.col("slice").is_in(order)) for name, frame in chosen.items()}
    labels = distinct_texts(order, _LABEL)
    renamed = pl.col("slice").replace_strict(labels, return_dtype=pl.String)
    chosen = {name: frame.with_columns(slice=renamed) for name, frame in chosen.items()}
    columns = ["slice", "value", "ci_low", "ci_high", "queries"]
    base = chart_of(named(chosen, columns)).encode(
        y=alt.Y("system:N", title=None, sort=list(tables), axis=None),
        color=colour(list(tables)),
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(x="ci_low:Q", x2="ci_high:Q")
    marks = dots(base).encode(
        x=alt.X("value:Q", title=with_direction(metric), scale=alt.Scale(zero=False)),
        tooltip=["system:N", "slice:N", tip("value:Q"), "queries:Q"],
    )
    usual = 16 * len(tables) * len(order)
    panel = layered(whiskers, marks).properties(
        width=on.wide(), height=max(on.high(usual) / len(order), 8)
    )
    row = alt.Row("slice:N", title=None, sort=list(labels.values()))
    counts = [count for frame in chosen.values() for count in frame["queries"]]
    subtitle = [f"{in_words(list(tables))}; slices of {between(counts)}; lines: intervals", *cut]
    return on.finished(in_rows(panel, row, spacing=4), f"{metric} by slice", subtitle)


def _chosen(
    frames: Mapping[str, pl.DataFrame], metric: str | None
) -> tuple[str, dict[str, pl.DataFrame]]:
    """Return the metric and its rows of each system, with slices by their full names."""
    labels = [label for frame in frames.values() if "metric" in frame.columns
             for label in frame["metric"]]  # fmt: skip
    metric = labels[0] if metric is None and labels else metric
    if metric not in labels:
        hint = "" if not labels else f" {did_you_mean(str(metric), labels)}".rstrip()
        raise OptionError(
            f"there are no slices of {metric!r}: evaluate it with by= and queries=.{hint}"
        )
    return str(metric), {
        name: frame.filter(pl.col("metric") == metric).with_columns(
            slice=pl.concat_str("by", pl.lit(": "), "slice")
        )
        for name, frame in frames.items()
    }


def _largest(frames: Mapping[str, pl.DataFrame]) -> tuple[list[str], list[str]]:
    """Choose the slices to draw, in their order, with a note on those left out."""
    rows = pl.concat([frame.select("slice", "queries") for frame in frames.values()])
    sizes = rows.group_by("slice", maintain_order=True).agg(pl.col("queries").max())
    if sizes.height <= _MOST_SLICES:
        return sizes["slice"].to_list(), []
    kept = sizes.with_row_index().sort("queries", descending=True, maintain_order=True)
    kept = kept.head(_MOST_SLICES).sort("index")
    return kept["slice"].to_list(), [
        f"the {_MOST_SLICES} slices with most queries, of {sizes.height:,}"
    ]


@chart(
    several=True,
    inputs=lambda source: (source.sliced(),),
    example=(
        "qrels.parquet hybrid.parquet -m ndcg@10 -m map -m mrr@10 -m lag "
        "--queries queries.parquet --by locale --by device"
    ),
)
def slice_map(
    values: Result | Comparison | Mapping[str, Result],
    metrics: Sequence[str] | str | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw a heat map of slices: a row per slice, a column per metric (of one system) or per system
    (of one metric), with the values as numbers; blue where a slice is better than all queries are,
    orange where it is worse. A result with slices, a comparison, or several results by name.
    """
    on = Canvas.of(look)
    whole, parts = _summaries(values)
    requested = [metrics] if isinstance(metrics, str) else metrics
    available = list(dict.fromkeys(m for frame in parts.values() for m in frame["metric"]))
    chosen = available if requested is None else list(requested)
    if len(parts) > 1:
        chosen = chosen[:1]
    for metric in chosen:
        _chosen(parts, metric)
    if not chosen:
        raise OptionError("there are no slices to draw: evaluate with by= and queries=.")
    cells = _cells(whole, parts, chosen)
    order, cut = _largest({"": cells})
    labels = distinct_texts(order, _LABEL)
    columns = distinct_texts(cells["column"].unique(maintain_order=True), 24)
    strongest = max((abs(share) for share in cells["share"].drop_nulls()), default=0.0) or 1.0
    rows = [
        _cell(row, labels, columns, on, strongest)
        for row in cells.filter(pl.col("slice").is_in(order)).to_dicts()
    ]
    cell_wide = max(70, *(7 * len(label) for label in columns.values()))
    base = chart_of(rows).encode(
        x=alt.X("column:N", title=None, sort=list(columns.values()),
                axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)),
        y=alt.Y("slice:N", title=None, sort=list(labels.values()),
                axis=alt.Axis(ticks=False, domain=False)),
        tooltip=["slice:N", "column:N", "text:N", "queries:Q", "apart:N"],
    )  # fmt: skip
    rects = base.mark_rect(stroke=on.ground.background, strokeWidth=1).encode(
        color=alt.Color("fill:N", scale=None, legend=None),
    )
    width, height = cell_wide * len(columns), 22 * len(order)
    layers = [rects]
    if on.wide(width) / len(columns) >= 38 and on.high(height) / len(order) >= 12:
        layers.append(text_in_cells(base, fontSize=10))
    title = f"{chosen[0]} by slice" if len(chosen) == 1 else "Metrics by slice"
    subtitle = [
        f"{in_words(list(parts))}; slices of {between(cells['queries'].to_list())}",
        f"blue is better than all queries, orange worse, by up to {strongest:.0%}", *cut,
    ]  # fmt: skip
    if len(chosen) == 1 and better(chosen[0]):
        subtitle.insert(1, better(chosen[0]))
    return on.finished(on.sized(numbered(*layers), width, height), title, subtitle)


def _summaries(values: Any) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """Return the values of all queries and of slices, by system."""
    parts = frames_of(values, "slices")
    if isinstance(values, Comparison):
        rows = values.systems.filter(pl.col("by").is_null())
        return {name: rows.filter(pl.col("system") == name) for name in parts}, parts
    results = values.values() if isinstance(values, Mapping) else [values]
    if not all(isinstance(result, Result) for result in results):
        raise OptionError("a map of slices is drawn of results, whose values it compares with.")
    return dict(zip(parts, (result.summary for result in results), strict=True)), parts


def _cells(
    whole: Mapping[str, pl.DataFrame], parts: Mapping[str, pl.DataFrame], metrics: Sequence[str]
) -> pl.DataFrame:
    """Return values of slices, and by what share each is better than all queries."""
    frames = []
    for name, frame in parts.items():
        for metric in metrics:
            definition = known_metric(metric)
            sign = 1.0 if definition is None or definition.higher_is_better else -1.0
            average = whole[name].filter(pl.col("metric") == metric)["value"].first()
            share = None if not isinstance(average, float) or not average else (
                sign * (pl.col("value") - average) / abs(average)
            )  # fmt: skip
            rows = frame.filter(pl.col("metric") == metric)
            frames.append(
                rows.select(
                    pl.concat_str("by", pl.lit(": "), "slice").alias("slice"),
                    pl.lit(name if len(parts) > 1 else metric).alias("column"),
                    pl.lit(metric).alias("metric"),
                    "value", "queries",
                    pl.lit(None, pl.Float64).alias("share") if share is None
                    else share.alias("share"),
                )
            )  # fmt: skip
    return pl.concat(frames)


def _cell(
    row: Mapping[str, Any],
    labels: Mapping[str, str],
    columns: Mapping[str, str],
    on: Canvas,
    strongest: float,
) -> dict[str, Any]:
    """Return a cell with its colours."""
    share = row["share"] or 0.0
    fill = mixed(on.ground.neutral, BETTER if share > 0 else WORSE, abs(share) / strongest * 0.85)
    value = row["value"]
    return {
        "slice": labels[row["slice"]],
        "column": columns[row["column"]],
        "queries": row["queries"],
        "text": "–" if value is None else number_text(value, known_metric(row["metric"])),
        "apart": "" if row["share"] is None else f"{row['share']:+.1%}",
        "fill": fill,
        "ink": text_on(fill),
    }


@chart(
    several=True,
    inputs=lambda source: (source.compared(),),
    example=(
        "qrels.parquet bm25.parquet dense.parquet hybrid.parquet -m ndcg@10 -m map "
        "--queries queries.parquet --by locale --by device"
    ),
)
def forest(
    comparison: Comparison, metrics: Sequence[str] | str | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw differences with their intervals, by metric and slice: `rf.compare(…, baseline=…,
    by=…)`. To the right of the line the system is larger; hollow dots are not significant.

    metrics: compared metrics (default: all).
    """
    on = Canvas.of(look)
    rows, chosen = _differences(comparison, metrics)
    order, cut = _largest({"": rows})
    rows = rows.filter(pl.col("slice").is_in(order))
    pairs = distinct_texts(rows["pair"].unique(maintain_order=True), 50)
    labels = distinct_texts(order, _LABEL)
    heads = [with_direction(label) for label in chosen]
    if any(comparison.metric(label).definition is None for label in chosen):
        heads = [f"{label} ({better(comparison.metric(label))})" for label in chosen]
    texts = list(distinct_texts(heads, 60).values())
    by_metric = dict(zip(chosen, texts, strict=True))
    data = [
        {"metric": by_metric[row["metric"]], "slice": labels[row["slice"]],
         "system": pairs[row["pair"]], "difference": row["difference"], "low": row["ci_low"],
         "high": row["ci_high"], "zero": 0.0, "queries": row["queries"],
         "significant": "significant" if row["significant"] else "not significant"}
        for row in rows.to_dicts()
    ]  # fmt: skip
    names = list(pairs.values())
    plain = chart_of(data)
    base = plain.encode(
        y=alt.Y("slice:N", title=None, sort=list(labels.values()), axis=alt.Axis(grid=True)),
        **({"yOffset": alt.YOffset("system:N", sort=names)} if len(names) > 1 else {}),
        color=colour(names),
    )
    zero = plain.mark_rule(strokeDash=[4, 3], color=on.ink).encode(
        x=alt.X("zero:Q", aggregate="min")
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    marks = dots(base, 70).encode(
        x=alt.X("difference:Q", title="difference", scale=alt.Scale(zero=True)),
        tooltip=["system:N", "slice:N", tip("difference:Q", "+.4f"),
                 tip("low:Q", "+.4f"), tip("high:Q", "+.4f"),
                 "queries:Q", "significant:N"],
    )  # fmt: skip
    hollow = (
        base.transform_filter("datum.significant != 'significant'")
        .mark_point(filled=True, size=18, opacity=1)
        .encode(x="difference:Q", color=alt.value(on.ground.background))
    )
    usual = max(14 * len(names), 20) * len(order) * len(chosen)
    panel = layered(zero, whiskers, marks, hollow)
    drawn = on.panels(panel, "metric", texts, usual, 16).resolve_scale(x="independent")
    counts = rows["queries"].to_list()
    how = comparison.note("policy_ci")
    subtitle = [f"{in_words(names)}; {between(counts)} a row",
            f"lines: intervals ({how}); hollow: not significant", *cut]  # fmt: skip
    against = comparison.baseline
    title = "Differences" if against is None else f"Differences from {plain_text(against, 30)}"
    return on.finished(drawn, title, subtitle)


def _differences(
    comparison: Comparison, metrics: Sequence[str] | str | None
) -> tuple[pl.DataFrame, list[str]]:
    """Return the differences to draw, and their metrics."""
    if not isinstance(comparison, Comparison):
        raise OptionError("differences are drawn of a comparison: rf.compare(qrels, runs, …).")
    labels = [metric.label for metric in comparison.metrics]
    chosen = choose(metrics, labels, "{} was not compared.")
    few = pl.when(pl.col("small")).then(pl.lit(" (few)")).otherwise(pl.lit(""))
    part = pl.concat_str("by", pl.lit(": "), "slice", few)
    pair = pl.col("system") if comparison.baseline is not None else (
        pl.concat_str("system", pl.lit(" − "), "baseline")
    )  # fmt: skip
    rows = comparison.table.filter(pl.col("metric").is_in(chosen)).with_columns(
        slice=pl.when(pl.col("by").is_null()).then(pl.lit(_ALL)).otherwise(part), pair=pair
    )
    if rows["difference"].count() == 0:
        raise OptionError("nothing was compared: there is no difference to draw.")
    return rows, chosen
