"""Charts of fusions: what weights are worth."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core.errors import OptionError
from rankframe.core.messages import listing, number_of
from rankframe.present.charts.canvas import (
    Canvas,
    Chart,
    Look,
    alt,
    chart_of,
    colour,
    in_words,
    layered,
    tip,
)
from rankframe.present.charts.chart_inputs import with_direction
from rankframe.present.charts.registry import chart

__all__ = ["fusion_weights"]


@chart(runs=2, inputs=lambda source: (source.tuned(),))
def fusion_weights(tuning: Tuning, **look: Unpack[Look]) -> Chart:
    """A metric over the weight of the second of two runs, `rf.tune(qrels, runs, "wsum")`: a line
    for each method and norm, with its interval as a band; each run by itself is dashed.
    """
    on = Canvas.of(look)
    if not isinstance(tuning, Tuning):
        raise OptionError("weights are drawn of what rf.tune found: rf.tune(qrels, runs, …).")
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
    x = alt.X("weight:Q", title=f"weight of {second} (the rest is of {first})",
              scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    shown = with_direction(metric)
    y = alt.Y("value:Q", title=shown, scale=alt.Scale(zero=False))
    base = chart_of(points.sort("system", "weight").to_dicts()).encode(x=x, color=colour(names))
    band = base.mark_area(fillOpacity=0.2).encode(
        y=alt.Y("ci_low:Q", title=shown, scale=alt.Scale(zero=False)), y2="ci_high:Q"
    )
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=30)).encode(
        y=y, tooltip=["fusion:N", tip("value:Q", title=metric)]
    )
    alone = chart_of(runs.to_dicts()).mark_rule(strokeWidth=2, strokeDash=[5, 4]).encode(
        y=y,
        color=colour(names),
        tooltip=["system:N", tip("value:Q", title=metric)],
    )  # fmt: skip
    banded = not points["ci_low"].null_count()
    drawn = on.sized(layered(*([band] if banded else []), line, alone))
    subtitle = [f"{in_words(tuning.names)}; {number_of(tuning.per_query.height, 'query')}"]
    subtitle += ["bands: intervals of the means"] if banded else []
    return on.finished(drawn, f"{metric} over the weight of a run", subtitle)
