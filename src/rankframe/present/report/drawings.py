"""Draw the charts of a report, and render them as HTML.

If a run is a fusion of two other runs in the report, a chart shows the weights of these two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.curves.area import downsample_curve
from rankframe.analysis.fusion.fuse import Recorded, recorded
from rankframe.analysis.fusion.registry import METHODS
from rankframe.analysis.fusion.runs import unscored
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.tune import tune
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, naming_the_run
from rankframe.core.messages import shown
from rankframe.core.options import Intervals, Policies
from rankframe.core.records import record
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.lookup import Lookup
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Source
from rankframe.io.memory import hold
from rankframe.metrics.names import Metric
from rankframe.present import charts as plot
from rankframe.present.charts.chart_source import ChartSource
from rankframe.present.charts.marks import in_words
from rankframe.present.charts.palette import GREY
from rankframe.present.report import html
from rankframe.present.report.model import Moved, of_slices, order_systems

_WIDE = re.compile(r'<svg [^>]*?width="([0-9.]+)"')
_MOST_POINTS = 400  # points of a curve
_LETTERS = 13  # size of letters in pixels: legible even if a chart is shrunk
_FOLDS = 2  # folds of a tuning: the fewest, since the report does not use the choice
_BY_RANK = "rank"  # the norm for runs without scores


@record
class Rows:
    """Hold the judgments and runs that charts are drawn of, for all queries or for a sample."""

    qrels: InputTable
    runs: Mapping[str, InputTable]
    policies: Policies
    # the queries of the sample for curves, None for all; and the number of queries
    sample: pl.Series | None = None
    queries: int = 0

    @property
    def note(self) -> str:
        """Return a note on the sample that curves are drawn of; "" if that is all queries."""
        if self.sample is None:
            return ""
        return f"a sample of {len(self.sample):,} of {self.queries:,} queries"

    def described(self, caption: str) -> str:
        """Return `caption`, followed by a note if the chart shows a sample of the queries."""
        return f"{caption} ({self.note})" if self.note else caption

    def read(self, queries: pl.Series) -> list[InputTable]:
        """Read the rows of `queries` into memory: a table of judgments, then one for each run."""
        tables = []
        for table in (self.qrels, *self.runs.values()):
            with reading(table.name):
                chosen = table.frame.filter(pl.col(QUERY).is_in(queries.implode()))
                frame = chosen.collect(engine="in-memory")
            tables.append(replace(part_of(frame, table.role), in_units=table.in_units))
        return tables

    def only(self, queries: pl.Series | None) -> Rows:
        """Return the rows of `queries`, read into memory; with None, all rows as they are."""
        if queries is None:
            return self
        qrels, *runs = self.read(queries)
        tables = hold(qrels, runs, JudgedMetrics.row_bytes, again=True)
        return replace(
            self, qrels=tables.left, runs=dict(zip(self.runs, tables.rights, strict=True))
        )

    def match(self) -> None:
        """Match all runs with the judgments, so that later calls use the cached matches."""
        for name, run in self.runs.items():
            with naming_the_run(repr(name)):
                Lookup.from_inputs(self.qrels, run, self.policies, (), listed=True).found()


def draw_charts(
    rows: Rows, found: Comparison, moved: Mapping[str, Moved], intervals: Intervals
) -> dict[str, Any]:
    """Draw a report's charts: curves and heat map from `rows`, changes by query from `moved`.

    All other charts are drawn from the comparison `found`.
    """
    first, drawn = found.metrics[0], {}
    label = first.label
    source = ChartSource(rows.qrels, rows.runs, policies=vars(rows.policies))
    if (plain := _without_cutoff(first)) is not None:
        points = source.curves("metric_at_k", metric=plain, **vars(intervals))
        over = rows.described(f"{plain} over its cutoffs, with intervals")
        drawn[over] = plot.metric_at_k(points, plain)
    eleven = rows.described("Precision at eleven points of recall, mean over queries")
    drawn[eleven] = plot.precision_recall(source.curves("precision_recall", interpolated=True))
    pooled = rows.described("ROC of retrieved documents, pooled over queries by score")
    by_score = {n: downsample_curve(p, _MOST_POINTS) for n, p in source.curves("roc").items()}
    if any(points.height for points in by_score.values()):  # none if all documents are relevant
        drawn[pooled] = plot.roc(by_score)
    drawn[f"Distribution of {label} over queries"] = plot.distribution(found.per_query, label)
    for name, change in moved.items():
        drawn[f"Change of {label} by query, {name} against {found.baseline}"] = plot.differences(
            change.worse, (str(found.baseline), name)
        )
    best = order_systems(found)[0]
    judged = replace(source, runs={best: rows.runs[best]}).judged()[best]
    stand = f"Where relevant documents stand in {best}, a sample of queries"
    drawn[stand] = plot.heatmap(judged, limit=30)
    if found.sliced:
        parts = {name: of_slices(found.systems, system=name) for name in found.names}
        drawn["slices"] = plot.slices(parts, label)
    words = found.vocabulary
    return {words.render(what): in_words(chart, words) for what, chart in drawn.items()}


def unchecked() -> Any:
    """Return a context that disables altair's schema validation, the slowest step of drawing.

    The tests check the charts of a report.
    """
    from altair.utils.schemapi import debug_mode  # noqa: PLC0415 (an optional part)

    return debug_mode(False)  # noqa: FBT003 (altair's)


def charts(drawings: Mapping[str, Any]) -> str:
    """Render the section of charts: all of `drawings` except that of slices."""
    shown = [
        html.figure(svg(drawn, f"chart{index}"), what)
        for index, (what, drawn) in enumerate(drawings.items())
        if what != "slices"
    ]
    return html.section("charts", "Charts", f'<div class="charts">{"".join(shown)}</div>')


def svg(chart: Any, name: str) -> str:
    """Render a chart as SVG; its grey text and axes take the text colour of the page."""
    import vl_convert  # noqa: PLC0415 (an optional part)

    from rankframe.present.charts.offline_charts import renumbered  # noqa: PLC0415 (imports altair)

    spec = chart.to_dict(validate=False)  # see `unchecked`
    config = spec["config"]
    config["background"] = "transparent"
    for part in ("axis", "legend", "header"):
        sizes = {"labelFontSize": _LETTERS, "titleFontSize": _LETTERS}
        config[part] = {**config.get(part, {}), **sizes}
    drawn = vl_convert.vegalite_to_svg(spec).replace(GREY, "currentColor")
    drawn = renumbered(drawn, f"{name}-")  # ids must be unique on the page
    wide = _WIDE.search(drawn)
    style = f'<svg style="--wide:{float(wide[1]):g}px" ' if wide else "<svg "
    return drawn.replace("<svg ", style, 1)


def _without_cutoff(metric: Metric) -> str | None:
    """Return the name of a metric without its cutoff; None for a metric without a cutoff."""
    definition = metric.definition
    if definition is None or "k" not in definition.parameters:
        return None
    return definition.write_name({**metric.params, "k": None})


@record
class Fused:
    """Describe a run that is a fusion of two others."""

    name: str
    how: Recorded
    # the two runs, in the order of their weights
    parts: tuple[str, str]

    @property
    def method(self) -> str:
        """Return the method whose weights are drawn: the fusion's own, else a weighted sum."""
        return self.how.name if METHODS[self.how.name].weighted else "wsum"

    def norm(self, runs: Mapping[str, InputTable]) -> str:
        """Return the norm of the fusion, if it has one and all runs have scores."""
        if unscored({name: runs[name] for name in self.parts}):
            return _BY_RANK
        return self.how.norm or ("none" if METHODS[self.how.name].scored else "min_max")

    @property
    def description(self) -> str:
        """Describe how the run was fused."""
        if self.how.weights is None:
            return f"{self.name} is {self.how.label}"
        weights = ", ".join(f"{weight:g}" for weight in self.how.weights)
        return f"{self.name} is {self.how.name} with weights {weights}"


def fusions(systems: Mapping[str, Source]) -> list[Fused]:
    """Find runs that `fuse` wrote from two of the other runs; keep one fusion for each two runs."""
    found: dict[frozenset[str], Fused] = {}
    for name, source in systems.items():
        rest = {other: data for other, data in systems.items() if other != name}
        how = recorded(source)
        parts = None if how is None else how.parts(rest)
        if how is not None and parts is not None and len(parts) == 2:
            found.setdefault(frozenset(parts), Fused(name, how, (parts[0], parts[1])))
    return list(found.values())


def weights_charts(
    systems: Mapping[str, Source], rows: Rows, metric: Metric, intervals: Intervals,
    weighted: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Draw the metric over the weights of two runs, for each fusion; return charts by caption.

    weighted: the options `queries` and `weight`, if the metric is a weighted average.
    """
    drawn: dict[str, Any] = {}
    for fusion in [] if metric.whole_input else fusions(systems):
        first, second = fusion.parts
        try:
            tuned = tune(
                rows.qrels, {name: rows.runs[name] for name in fusion.parts}, fusion.method, metric,
                norms=fusion.norm(rows.runs), folds=_FOLDS, depth=fusion.how.depth, test="t",
                **weighted, **vars(intervals), **vars(rows.policies),
            )  # fmt: skip
        except OptionError:  # too few queries for tuning
            continue
        over = f"{metric.label} over the weight of {second} in a fusion with {first}"
        drawn[rows.described(f"{over}; {fusion.description}")] = plot.fusion_weights(tuned)
    return drawn


def tuned_chart(tuning: object) -> dict[str, Any]:
    """Draw the weights of a tuning under a title with its conclusion."""
    if not isinstance(tuning, Tuning):
        raise OptionError(f"tuning is what rf.tune found, not {shown(tuning)}.")
    return {f"Tuned: {tuning.headline}": plot.fusion_weights(tuning)}
