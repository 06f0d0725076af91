"""The charts of a report: drawn, and put into the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.curves.area import downsample_curve
from rankframe.analysis.curves.curve import Kind, curve
from rankframe.core.options import JudgedOptions
from rankframe.engine.lazy_frames import judge
from rankframe.io.input_table import InputTable
from rankframe.metrics.names import Metric
from rankframe.present import charts as plot
from rankframe.present.charts.palette import GREY
from rankframe.present.report.model import Moved
from rankframe.present.report.page import figure, section

_INNER = re.compile(r'id="([^"]+)"')
_WIDE = re.compile(r'<svg [^>]*?width="([0-9.]+)"')
_MOST_POINTS = 400  # of a curve
_LETTERS = 13  # pixels, so that they can be read where a drawing is shrunk


def drawings(
    qrels: InputTable,
    systems: Mapping[str, InputTable],
    found: Comparison,
    moved: Mapping[str, Moved],
    policies: Mapping[str, Any],
    intervals: Mapping[str, Any],
    sampled: str = "",
) -> dict[str, Any]:
    """Draw the charts, by what they show.

    sampled: a note on the queries of the curves, where these are not all.
    """
    of_some = f" ({sampled})" if sampled else ""
    first = found.metrics[0]
    drawn: dict[str, Any] = {}

    def curves(kind: Kind, **options: Any) -> dict[str, pl.DataFrame]:
        return {
            name: curve(qrels, run, kind, **options, **policies) for name, run in systems.items()
        }

    if (plain := _without_cutoff(first)) is not None:
        shown = curves("metric_at_k", metric=plain, **intervals)
        drawn[f"{plain} over its cutoffs, with intervals{of_some}"] = plot.metric_at_k(shown, plain)
    eleven = curves("precision_recall", interpolated=True)
    drawn[f"Precision at eleven points of recall, mean over queries{of_some}"] = (
        plot.precision_recall(eleven)
    )
    pooled = f"ROC of retrieved documents, pooled over queries by score{of_some}"
    by_score = {name: _few(points) for name, points in curves("roc").items()}
    drawn[pooled] = plot.roc(by_score)
    label = first.label
    drawn[f"Distribution of {label} over queries"] = plot.distribution(found.per_query, label)
    for name, change in moved.items():
        drawn[f"Change of {label} by query, {name} against {found.baseline}"] = plot.differences(
            change.worse, (str(found.baseline), name)
        )
    best = _best(found)
    taken = {name: policies[name] for name in JudgedOptions.__annotations__}
    judged = judge(qrels, systems[best], **taken)
    drawn[f"Where relevant documents stand in {best}, a sample of queries"] = plot.heatmap(
        judged, most=30
    )
    if found.sliced:
        by_system = {
            name: found.systems.filter(pl.col("system") == name, pl.col("by").is_not_null())
            for name in found.names
        }
        drawn["slices"] = plot.slices(by_system, label)
    return drawn


def unchecked() -> Any:
    """Switch off altair's check of charts against its schema, which takes longer than all else.

    The tests check the charts of a report.
    """
    from altair.utils.schemapi import debug_mode  # noqa: PLC0415 (an optional part)

    return debug_mode(False)  # noqa: FBT003 (altair's)


def _few(points: pl.DataFrame) -> pl.DataFrame:
    """Downsample a curve to as many points as can be told apart on a page."""
    return downsample_curve(points, _MOST_POINTS) if points.height > _MOST_POINTS else points


def charts(drawings: Mapping[str, Any]) -> str:
    """Render the charts that have no section of their own."""
    shown = [
        figure(svg(drawn, f"chart{index}"), what)
        for index, (what, drawn) in enumerate(drawings.items())
        if what != "slices"
    ]
    return section("charts", "Charts", f'<div class="charts">{"".join(shown)}</div>')


def svg(chart: Any, name: str) -> str:
    """Render a chart as SVG, whose greys follow the colours of the page."""
    import vl_convert  # noqa: PLC0415 (an optional part)

    spec = chart.to_dict(validate=False)  # see `unchecked`
    config = spec["config"]
    config["background"] = "transparent"
    for part in ("axis", "legend", "header"):
        sizes = {"labelFontSize": _LETTERS, "titleFontSize": _LETTERS}
        config[part] = {**config.get(part, {}), **sizes}
    drawn = vl_convert.vegalite_to_svg(spec).replace(GREY, "currentColor")
    # Names inside a drawing count on, from drawing to drawing: on one page each needs its own.
    for index, inner in enumerate(dict.fromkeys(_INNER.findall(drawn))):
        drawn = re.sub(rf'(id="|url\(#){re.escape(inner)}(?=["\)])', rf"\1{name}-{index}", drawn)
    wide = _WIDE.search(drawn)
    style = f'<svg style="--wide:{float(wide[1]):g}px" ' if wide else "<svg "
    return drawn.replace("<svg ", style, 1)


def _without_cutoff(metric: Metric) -> str | None:
    """Return the name of a metric without its cutoff; None if it has none."""
    definition = metric.definition
    if definition is None or "k" not in definition.parameters:
        return None
    params = ", ".join(f"{k}={v}" for k, v in metric.params.items() if k != "k")
    return f"{definition.name}({params})" if params else definition.name


def _best(found: Comparison) -> str:
    """Return the system with the best value of the first metric."""
    first = found.metrics[0]
    rows = found.systems.filter(pl.col("metric") == first.label, pl.col("by").is_null())
    return rows.sort(
        "value", descending=first.higher_is_better, nulls_last=True, maintain_order=True
    )["system"][0]
