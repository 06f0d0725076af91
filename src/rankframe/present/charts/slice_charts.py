"""Draw slices: their values, their deviation from all queries, and differences of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.errors import OptionError
from rankframe.core.wording import distinct_texts, number_text, plain_text
from rankframe.engine.result import Result
from rankframe.present.charts import chart_inputs as inputs
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import Values, better, in_words, with_direction
from rankframe.present.charts.marks import across, alt, tip, up
from rankframe.present.charts.palette import BETTER, WORSE, mixed, text_on
from rankframe.present.charts.registry import chart

__all__ = ["forest", "slice_map", "slices"]

_LABEL = 34  # characters of a slice beside its row
_MOST_SLICES = 60  # slices per metric that are drawn: those with the most queries
_SLICE = pl.concat_str("by", pl.lit(": "), "slice")  # the full name of a slice
_WHOLE = pl.col("by").is_null()


@chart(
    inputs=lambda source: (source.sliced([source.metric]), source.metric),
    demo="qrels.parquet bm25.parquet dense.parquet hybrid.parquet "
    "--queries queries.parquet --by locale --by device",
)
def slices(frames: Values, metric: str | None = None, **look: Unpack[Look]) -> Chart:
    """Draw a metric in every slice, with its confidence interval.

    Takes a result or a comparison with slices, or `{name: result.slices}`. If there are too
    many slices to draw, the slices with the most queries are drawn.
    """
    on = Canvas.from_look(look)
    tables = inputs.frames_of(frames, "slices")
    metric = _sliced_metrics(tables, metric)[0]
    named = [
        frame.filter(pl.col("metric") == metric).select(
            "value", "ci_low", "ci_high", "queries", slice=_SLICE, system=pl.lit(name)
        )
        for name, frame in tables.items()
    ]
    points, labels, cut = _largest(pl.concat(named, how="vertical_relaxed"))
    names = list(tables)
    base = marks.chart_of(points.to_dicts()).encode(
        y=up("system:N", sort=names, axis=None), color=marks.colour(names)
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(x="ci_low:Q", x2="ci_high:Q")
    values = marks.dots(base).encode(
        x=across("value:Q", with_direction(metric), scale={"zero": False}),
        tooltip=["system:N", "slice:N", tip("value:Q"), "queries:Q"],
    )
    height = max(on.high(16 * len(names) * len(labels)) / len(labels), 8)
    panel = marks.layered(whiskers, values).properties(width=on.wide(), height=height)
    drawn = marks.in_rows(panel, alt.Row("slice:N", title=None, sort=labels), spacing=4)
    counts = inputs.between(points["queries"].to_list())
    subtitle = [f"{in_words(names)}; slices of {counts}; lines: intervals", *cut]
    return on.finished(drawn, f"{metric} by slice", subtitle)


def _sliced_metrics(
    frames: Mapping[str, pl.DataFrame], metrics: Sequence[str] | str | None
) -> list[str]:
    """Return the metrics to draw; the default is every metric with slices."""
    columns = [frame["metric"] for frame in frames.values() if "metric" in frame.columns]
    available = pl.concat(columns).unique(maintain_order=True).to_list() if columns else []
    refusal = "there are no slices of {}: evaluate it with by= and queries=."
    chosen = inputs.choose(metrics, available, refusal)
    if not chosen:
        raise OptionError("there are no slices to draw: evaluate with by= and queries=.")
    return chosen


def _largest(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Keep the largest slices; return their rows, their short labels, and notes on the rest."""
    sizes = rows.group_by("slice", maintain_order=True).agg(pl.col("queries").max())
    note = []
    if sizes.height > _MOST_SLICES:
        note = [f"the {_MOST_SLICES} slices with most queries, of {sizes.height:,}"]
        kept = sizes.with_row_index().sort("queries", descending=True, maintain_order=True)
        sizes = kept.head(_MOST_SLICES).sort("index")
        rows = rows.filter(pl.col("slice").is_in(sizes["slice"].implode()))
    labels = distinct_texts(sizes["slice"], _LABEL)
    labelled = pl.col("slice").replace_strict(labels, return_dtype=pl.String)
    return rows.with_columns(labelled), list(labels.values()), note


@chart(
    several=True,
    inputs=lambda source: (source.sliced(source.several),),
    demo=(
        "qrels.parquet hybrid.parquet -m ndcg@10 -m map -m mrr@10 -m lag "
        "--queries queries.parquet --by locale --by device"
    ),
)
def slice_map(
    values: Result | Comparison | Mapping[str, Result],
    metrics: Sequence[str] | str | None = None,
    **look: Unpack[Look],
) -> Chart:
    """Draw a heat map of slices, coloured by how each compares with all queries.

    Takes a result with slices, a comparison, or several results by name. A row per slice, a column
    per metric (one system) or per system (several, of one metric). Blue is better than the value
    over all queries, orange is worse.
    """
    on = Canvas.from_look(look)
    whole, parts = _summaries(values)
    chosen = _sliced_metrics(parts, metrics)
    if len(parts) > 1:
        chosen = chosen[:1]
    cells = pl.concat([
        _slice_cells(whole[name], frame, metric, name if len(parts) > 1 else metric)
        for name, frame in parts.items()
        for metric in chosen
    ])  # fmt: skip
    columns = distinct_texts(cells["column"].unique(maintain_order=True), 24)
    strongest = max((abs(share) for share in cells["share"].drop_nulls()), default=0.0) or 1.0
    kept, labels, cut = _largest(cells)
    rows = [_coloured(row, columns, on, strongest) for row in kept.to_dicts()]
    base = marks.chart_of(rows).encode(
        x=across("column:N", sort=list(columns.values()),
                 orient="top", labelAngle=0, ticks=False, domain=False),
        y=up("slice:N", sort=labels, ticks=False, domain=False),
        tooltip=["slice:N", alt.Tooltip("column:N", title="of"),
                 alt.Tooltip("text:N", title="value"), "queries:Q",
                 alt.Tooltip("apart:N", title="better than all queries by")],
    )  # fmt: skip
    rects = base.mark_rect(stroke=on.ground.background, strokeWidth=1)
    layers = [rects.encode(color=alt.Color("fill:N", scale=None, legend=None))]
    cell_width = max(70, *(7 * len(label) for label in columns.values()))
    width, height = cell_width * len(columns), 22 * len(labels)
    if on.wide(width) / len(columns) >= 38 and on.high(height) / len(labels) >= 12:
        layers.append(marks.text_in_cells(base, fontSize=10))
    drawn = on.sized(marks.numbered(*layers), width, height)
    subtitle = [
        f"{in_words(list(parts))}; slices of {inputs.between(cells['queries'].to_list())}",
        better(chosen[0]) if len(chosen) == 1 else "",
        f"blue is better than all queries, orange worse, by up to {strongest:.0%}",
        *cut,
    ]
    title = f"{chosen[0]} by slice" if len(chosen) == 1 else "Metrics by slice"
    return on.finished(drawn, title, subtitle)


def _summaries(values: Any) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """Return the values of all queries and of slices, by system."""
    parts = inputs.frames_of(values, "slices")
    if isinstance(values, Comparison):
        rows = values.systems.filter(_WHOLE)
        return {name: rows.filter(pl.col("system") == name) for name in parts}, parts
    results = inputs.by_name(values, Result, "results with slices, or of a comparison").values()
    return dict(zip(parts, (result.summary for result in results), strict=True)), parts


def _slice_cells(
    whole: pl.DataFrame, parts: pl.DataFrame, metric: str, column: str
) -> pl.DataFrame:
    """Return the value of each slice, and by which share it is better than over all queries."""
    average = whole.filter(pl.col("metric") == metric)["value"].first()
    share = pl.lit(None, pl.Float64)
    if isinstance(average, float) and average:
        sign = -1.0 if better(metric) == "lower is better" else 1.0
        share = sign * (pl.col("value") - average) / abs(average)
    return parts.filter(pl.col("metric") == metric).select(
        "metric", "value", "queries", slice=_SLICE, column=pl.lit(column), share=share
    )


def _coloured(
    row: Mapping[str, Any], columns: Mapping[str, str], on: Canvas, strongest: float
) -> dict[str, Any]:
    """Return the cell of a slice in the heat map: its texts, and its colours by `share`."""
    share, value = row["share"] or 0.0, row["value"]
    fill = mixed(on.ground.neutral, BETTER if share > 0 else WORSE, abs(share) / strongest * 0.85)
    return {
        "slice": row["slice"],
        "column": columns[row["column"]],
        "queries": row["queries"],
        "text": "–" if value is None else number_text(value, inputs.known_metric(row["metric"])),
        "apart": "" if row["share"] is None else f"{row['share']:+.1%}",
        "fill": fill,
        "ink": text_on(fill),
    }


@chart(
    several=True,
    inputs=lambda source: (source.compared(),),
    demo=(
        "qrels.parquet bm25.parquet dense.parquet hybrid.parquet -m ndcg@10 -m map "
        "--queries queries.parquet --by locale --by device"
    ),
)
def forest(
    comparison: Comparison, metrics: Sequence[str] | str | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw differences from the baseline with their confidence intervals, by metric and slice.

    Takes `rf.compare(…, baseline=…, by=…)`. Right of the dashed line, the value is higher than the
    baseline's. Hollow dots are not significant.

    metrics: compared metrics (default: all).
    """
    on = Canvas.from_look(look)
    rows, chosen = _differences(comparison, metrics)
    rows, labels, cut = _largest(rows)
    pairs = distinct_texts(rows["system"].unique(maintain_order=True), 50)
    heads = [with_direction(label) for label in chosen]
    if any(comparison.metric(label).definition is None for label in chosen):
        heads = [f"{label} ({better(comparison.metric(label))})" for label in chosen]
    by_metric = dict(zip(chosen, distinct_texts(heads, 60).values(), strict=True))
    significant = pl.lit("significant")
    rows = rows.with_columns(
        pl.col("metric").replace_strict(by_metric, return_dtype=pl.String),
        pl.col("system").replace_strict(pairs, return_dtype=pl.String),
        significant=pl.when("significant").then(significant).otherwise("not " + significant),
        zero=pl.lit(0.0),
    )
    names = list(pairs.values())
    plain = marks.chart_of(rows.to_dicts())
    base = plain.encode(
        y=up("slice:N", sort=labels, grid=True),
        **({"yOffset": alt.YOffset("system:N", sort=names)} if len(names) > 1 else {}),
        color=marks.colour(names),
    )
    zero = plain.mark_rule(strokeDash=[4, 3], color=on.ink)
    hollow = marks.dots(base.transform_filter("datum.significant != 'significant'"), 18)
    panel = marks.layered(
        zero.encode(x=alt.X("zero:Q", aggregate="min")),
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        marks.dots(base, 70).encode(
            x=across("difference:Q", "difference", scale={"zero": True}),
            tooltip=["system:N", "slice:N",
                     *(tip(f"{name}:Q", "+.4f") for name in ("difference", "low", "high")),
                     "queries:Q", "significant:N"],
        ),
        hollow.encode(x="difference:Q", color=alt.value(on.ground.background)),
    )  # fmt: skip
    usual = max(14 * len(names), 20) * len(labels) * len(chosen)
    drawn = on.panels(panel, "metric", list(by_metric.values()), usual, 16)
    subtitle = [
        f"{in_words(names)}; {inputs.between(rows['queries'].to_list())} a row",
        f"lines: intervals ({comparison.note('policy_ci')}); hollow: not significant",
        *cut,
    ]
    against = comparison.baseline
    title = "Differences" if against is None else f"Differences from {plain_text(against, 30)}"
    return on.finished(drawn.resolve_scale(x="independent"), title, subtitle)


def _differences(
    comparison: Comparison, metrics: Sequence[str] | str | None
) -> tuple[pl.DataFrame, list[str]]:
    """Return the differences to draw, and their metrics."""
    inputs.check_kind(comparison, Comparison, "a comparison, rf.compare(qrels, runs, …)")
    labels = [metric.label for metric in comparison.metrics]
    chosen = inputs.choose(metrics, labels, "{} was not compared.")
    few = pl.when("small").then(pl.lit(" (few)")).otherwise(pl.lit(""))
    pair = pl.concat_str("system", pl.lit(" − "), "baseline")
    rows = comparison.table.filter(pl.col("metric").is_in(chosen)).select(
        "metric", "difference", "queries", "significant", low="ci_low", high="ci_high",
        slice=pl.when(_WHOLE).then(pl.lit("all queries")).otherwise(pl.concat_str(_SLICE, few)),
        system=pair if comparison.baseline is None else pl.col("system"),
    )  # fmt: skip
    if rows["difference"].count() == 0:
        raise OptionError("nothing was compared: there is no difference to draw.")
    return rows, chosen
