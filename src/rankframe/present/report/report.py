"""One page to decide by and to send around: what was found, how sure it is, what got worse.

All of it comes from one evaluation of each run. What looks at single documents, and curves, take
the rows of some queries: all where these are few, else a sample that is always the same, and the
queries that are shown. Those rows are read once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack, cast

import polars as pl

from rankframe.analysis import diff
from rankframe.analysis.aligned_systems import open_systems
from rankframe.analysis.compare import compare_systems
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.differences import Setup
from rankframe.analysis.gate import decide_pair
from rankframe.analysis.gate_rules import Demands, read_demands
from rankframe.analysis.systems import Runs, depth_of
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, OutputError, naming_the_run
from rankframe.core.messages import Option, number_of, shown
from rankframe.core.options import (
    CompareOptions,
    Comparing,
    Intervals,
    Progress,
    Report,
    SharedPolicies,
    Storage,
    takes_options,
)
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.lists import Lists
from rankframe.engine.memory import Held, hold
from rankframe.io import inputs as io
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source
from rankframe.io.output_paths import file_place, refuse_inputs
from rankframe.io.outputs import write_file
from rankframe.io.queries import By, Described, slicings
from rankframe.io.remote import Remote
from rankframe.metrics.names import Metric, Metrics, add_inner_metrics, resolve
from rankframe.present.charts.marks import load_altair
from rankframe.present.report import drawings, html, model, sections
from rankframe.present.report.drawings import Rows
from rankframe.present.report.model import Material, Moved, of_all_queries
from rankframe.present.report.sections import MOST_QUERIES, sampled
from rankframe.present.report.summary import summary

_MOST_CHANGES = 4  # systems whose movers are shown
_WORSE, _BETTER = 10, 5
_CURVE_QUERIES = 10_000  # of which curves are drawn, where there are more
_BOUND_QUERIES = 2_000  # of which bounds are found, where curves are of a sample
_STAGES = ("comparing", "changes", "charts", "unjudged documents", "writing")


@takes_options(CompareOptions, SharedPolicies, Comparing, Intervals, Storage)
def report(
    qrels: Source,
    systems: Mapping[str, Source],
    metrics: Metrics | None = None,
    *,
    output: str | os.PathLike[str],
    title: str = "Ranking report",
    baseline: str | None = None,
    rules: str | Path | Mapping[str, Any] | Iterable[str] | None = None,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    slice_order: Mapping[str, Sequence[str]] | None = None,
    query_text: Source | None = None,
    titles: Source | None = None,
    tuning: Tuning | None = None,
    date: str | datetime | None = None,
    command: str | None = None,
    columns: Columns | None = None,
    progress: Report | None = None,
    **options: Unpack[CompareOptions],
) -> Path:
    """Write a report as one HTML file that needs nothing else, not even a network.

    With many queries the page carries a sample of them, draws curves of a sample, and says so.

    Args:
        qrels: the judgments, as in `evaluate`.
        systems: runs by name.
        metrics: as in `evaluate`. Sentences, charts and regressions are about the first of them.
        output: the HTML file, or its address.
        title: the title of the page.
        baseline: the run that others are compared with (default: the first).
        rules: the rules of a gate, as `gate` takes them: the page begins with its verdict.
        queries: attributes of queries, shown of queries that got worse: a table with query_id; a
            column `text`, `query_text`, `query` or `title` has the words of each.
        by: attributes to slice by, as in `evaluate`.
        weight: the attribute with the weight of each query, such as its traffic: regressions are
            then ordered by weighted change. Metrics with average=weighted are averaged by it.
        slice_order: by attribute, its slices in the order to show them; others follow in their own:
            numbers and dates as such, categories of an Enum as declared, texts by alphabet.
        query_text: texts of queries, to be shown: a table with query_id and a text, or a mapping.
        titles: titles of documents, to be shown: a table with doc_id and a text, or a mapping.
        tuning: the result of `rf.tune` for two runs: the page draws the metric over their weights.
            It does so by itself for a run that `fuse` wrote to Parquet from two others on the page.
        date: the date of the report (default: SOURCE_DATE_EPOCH, else now). With the same date, the
            same data give the same page.
        command: how the page says that it was made.
        columns: names in your data, as in `evaluate`.
        progress: a function called with a `Progress` on the way.
    """
    target = _target(output)
    refuse_inputs(target, (qrels, *systems.values(), queries, query_text, titles))
    load_altair()  # says what to install before any work is done
    when = model.date_text(date)
    drawn = {} if tuning is None else drawings.tuned_chart(tuning)
    policies = SharedPolicies.from_options(options)
    demands = None if rules is None else read_demands(rules)
    chosen = _metrics(metrics, demands)
    described = Described.from_sources(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    tables = _held(qrels, systems, described, policies, columns)
    against = baseline if baseline is not None else next(iter(systems), None)
    if demands is not None and len(systems) < 2:
        raise OptionError(
            Option("rules"), " set a run against a baseline: give two runs or more."
        )  # fmt: skip
    request = _Request(
        qrels=qrels, systems=systems,
        other_inputs={"queries": queries, "texts of queries": query_text, "titles": titles},
        metrics=chosen, demands=demands, by=_ways(by, demands),
        slice_order=slice_order or {}, described=described, policies=policies,
        setup=Setup(against, Comparing.from_options(options), Intervals.from_options(options)),
        date=when, command=command, progress=progress, drawn=drawn,
    )  # fmt: skip
    with drawings.unchecked():
        content = _page(title, _gather(tables, request))
    write_file(target, lambda path: path.write_text(content, encoding="utf-8"))
    return target


@dataclass(frozen=True)
class _Request:
    """Hold the inputs and options of a report, checked."""

    # as the user passed them
    qrels: Source
    systems: Mapping[str, Source]
    # other inputs that were read, by their role; None: not passed
    other_inputs: Mapping[str, Source | None]
    metrics: Sequence[Metric]
    demands: Demands | None
    by: Sequence[tuple[str, ...]]
    slice_order: Mapping[str, Sequence[str]]
    described: Described
    policies: SharedPolicies
    setup: Setup
    date: str
    command: str | None = None
    progress: Report | None = None
    # charts that are drawn before anything is evaluated, by what they show
    drawn: Mapping[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        """Return the options of a comparison about queries, as far as it uses them."""
        weighted = any(metric.average == "weighted" for metric in add_inner_metrics(self.metrics))
        gap = any(metric.frame == "gap" for metric in self.metrics)
        if not (self.by or weighted or gap):
            return {}
        weight = self.described.weight if weighted else None
        return {"queries": self.described.queries, "by": list(self.by) or None, "weight": weight}

    @property
    def weights(self) -> dict[str, Any]:
        """Return the options by which averages are weighted, if any is."""
        attributes = self.attributes
        names = ("queries", "weight") if attributes.get("weight") else ()
        return {name: attributes[name] for name in names}


def _metrics(metrics: Metrics | None, demands: Demands | None) -> list[Metric]:
    """Return the metrics to evaluate: the user's, and the metrics of the rules."""
    requested = DEFAULT_METRICS[:-1] if metrics is None else metrics
    chosen = resolve(requested, *RUN_FRAMES, "gap", inner=False)
    if not chosen[0].of_judgments:
        why = "does not look at judgments" if chosen[0].gap is None else "has no values per query"
        raise OptionError(
            f"a report is about its first metric, query by query, and {chosen[0].label!r} {why}: "
            "give one first that does, such as ndcg@10."
        )
    labels = {metric.label for metric in chosen}
    ruled = [] if demands is None else dict.fromkeys(rule.metric for rule in demands.rules)
    more = [name for name in ruled if name not in labels]
    return [*chosen, *(resolve(more, *RUN_FRAMES, "gap", inner=False) if more else [])]


def _ways(by: By | Sequence[By] | None, demands: Demands | None) -> list[tuple[str, ...]]:
    """Return the ways to slice: the user's, and the ways of the rules."""
    ruled = [] if demands is None else [rule.by for rule in demands.rules if rule.by is not None]
    return list(dict.fromkeys([*slicings(by), *ruled]))


def _held(
    qrels: Source,
    systems: Mapping[str, Source],
    described: Described,
    shared: SharedPolicies,
    columns: Columns | None,
) -> Held:
    """Open judgments and runs, and hold small ones in memory."""
    policies = shared.each
    runs: list[InputTable] = []
    for name, source in systems.items():
        with naming_the_run(repr(name)):
            runs.append(io.open_run(source, policies, columns))
    judgments = io.open_judgments(qrels, columns, relevance=policies.relevance)
    io.refuse_absent_columns(columns, judgments, *runs, queries=described.queries)
    return hold(judgments, runs, JudgedMetrics.row_bytes, again=True)


def _gather(tables: Held, request: _Request) -> Material:
    """Evaluate once, and compute everything from that."""

    def begin(stage: str) -> None:
        if request.progress is not None:
            done = _STAGES.index(stage)
            request.progress(Progress(stage, done, len(_STAGES), 0, "steps"))

    setup, policies = request.setup, request.policies.each
    runs = dict(zip(request.systems, tables.rights, strict=True))
    begin("comparing")
    inputs = open_systems(
        {},
        Runs(tables.left, runs, policies, progress=request.progress, again=True),
        list(request.metrics),
        unpaired=setup.comparing.unpaired,
        missing=request.policies.missing,
        **request.attributes,
    )
    depths = () if request.demands is None else request.demands.min_judged
    found, systems = compare_systems(inputs, setup, depths=depths)
    found = in_order(found, request.slice_order)
    begin("changes")
    base = str(setup.baseline)
    candidates = [name for name in runs if name != setup.baseline]
    best = [name for name in model.order_systems(found) if name in candidates][:_MOST_CHANGES]
    values = {
        name: diff.side_by_side(
            found.metrics[0], found.per_query[base], found.per_query[name], request.described
        )
        for name in candidates
        if name in best
    }
    movers = {
        name: (
            diff.movers(frame, _WORSE, worse=True),
            diff.movers(frame.filter(pl.col(diff.BETTER) == "b"), _BETTER),
        )
        for name, frame in values.items()
    }
    moved_queries = [frame[QUERY] for pair in movers.values() for frame in pair]
    rows = _rows(tables, Rows(tables.left, runs, policies.judging), found, moved_queries)
    changes = _changes(found, values, movers, moved_queries, rows, request)
    begin("charts")
    curve_rows = rows.only(rows.sample)
    if rows.sample is not None:
        curve_rows.match()
    drawn = drawings.draw_charts(curve_rows, found, changes, setup.intervals)
    fused = drawings.fusions(request.systems)
    drawn |= drawings.weights_charts(
        fused, curve_rows, found.metrics[0], setup.intervals, request.weights
    )
    begin("unjudged documents")
    few = None if rows.sample is None else sampled(rows.sample, _BOUND_QUERIES)
    bounded = _bounded(curve_rows.only(few), request)
    begin("writing")
    verdicts = {} if request.demands is None else {
        name: decide_pair(systems, (base, name), request.demands, setup.comparing.unpaired)
        for name in candidates
    }  # fmt: skip
    queries = model.queries_of(found)
    if rows.sample is not None and len(rows.sample) >= MOST_QUERIES:
        queries = rows.sample
    queries = sampled(queries, MOST_QUERIES)
    return Material(
        found=found, drawings={**drawn, **request.drawn}, moved=changes,
        texts=request.described.texts(queries), provenance=_made(found, request), bounded=bounded,
        verdicts=verdicts, weight=request.described.weight, sampled=rows.note, queries=queries,
    )  # fmt: skip


def in_order(found: Comparison, orders: Mapping[str, Sequence[str]]) -> Comparison:
    """Sort slices in these orders, by attribute; others follow in their own order."""
    ways = found.systems["by"].drop_nulls().unique(maintain_order=True).to_list()
    for by, names in orders.items():
        if by not in ways:
            raise OptionError(
                Option("slice_order"), f" speaks of {by!r}, by which nothing is sliced.",
                f" There is {', '.join(map(repr, ways))}." if ways else "",
            )  # fmt: skip
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise OptionError(
                Option("slice_order"), f" takes a list of slices for {by!r}, not {shown(names)}."
            )
    if not orders:
        return found
    return replace(
        found, table=_in_order(found.table, orders), systems=_in_order(found.systems, orders)
    )


def _in_order(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    place = pl.lit(0)
    for by, names in orders.items():
        places = {str(name): position for position, name in enumerate(names)}
        there = pl.col("slice").replace_strict(places, default=len(places), return_dtype=pl.Int64)
        place = pl.when(pl.col("by") == by).then(there).otherwise(place)
    block = pl.struct("metric", "by").rle_id()
    return frame.sort(block, place, maintain_order=True)


def _rows(tables: Held, rows: Rows, found: Comparison, moved_queries: Sequence[pl.Series]) -> Rows:
    """Return the rows for curves and lists: all, or only of a sample and the movers."""
    queries = model.queries_of(found)
    if len(queries) <= _CURVE_QUERIES:
        if set(tables.partitions) <= {1}:
            rows.match()
        return rows
    sample = sampled(queries, _CURVE_QUERIES)
    qrels, *runs = rows.read(pl.concat([sample, *moved_queries]).unique())
    return Rows(
        qrels,
        dict(zip(rows.runs, runs, strict=True)),
        # That nothing at all was judged was refused before; of some queries it may be so.
        replace(rows.policies, no_overlap="zero"),
        sample,
        len(queries),
    )


def _changes(
    found: Comparison,
    values: Mapping[str, pl.DataFrame],
    movers: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]],
    moved_queries: Sequence[pl.Series],
    rows: Rows,
    request: _Request,
) -> dict[str, Moved]:
    """Compute what changed from the baseline to each system, with the lists of some queries."""
    if not movers:
        return {}
    base, first, described = str(request.setup.baseline), found.metrics[0], request.described
    lists = Lists.read(
        pl.concat(moved_queries).unique(), rows.qrels,
        {name: rows.runs[name] for name in (base, *movers)}, rows.policies,
    )  # fmt: skip
    whole = of_all_queries(found.systems, metric=first.label)
    means = dict(zip(whole["system"], whole["value"], strict=True))
    depth = depth_of(first)
    changes = {}
    for name, pair in movers.items():
        summary_of = diff.summarise_change(first, means[base], means[name], values[name])
        changes[name] = Moved(*(
            diff.Diff(
                summary_of, values[name], diff.describe_movers(moved, described),
                lists.documents(moved[QUERY], base, name, depth, described), depth,
            )
            for moved in pair
        ))  # fmt: skip
    return changes


def _bounded(rows: Rows, request: _Request) -> Comparison:
    """Compute bounds for unjudged documents, over the same queries."""
    judged = [metric for metric in request.metrics if metric.of_judgments]
    inputs = open_systems(
        {},
        Runs(rows.qrels, rows.runs, rows.policies, again=True),
        judged,
        unpaired=request.setup.comparing.unpaired,
        missing=request.policies.each.missing,
        **replace(request, metrics=judged).weights,
    )
    plain = Setup(request.setup.baseline, Comparing("t", "none"), Intervals(None))
    return compare_systems(inputs, plain, bounds=True)[0]


def _made(found: Comparison, request: _Request) -> model.Made:
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    roles = [("judgments", request.qrels, "qrels", found.names[0], "qrels_rows")]
    runs = request.systems.items()
    roles += [(f"run {name}", run, "run", name, "run_rows") for name, run in runs]
    inputs = [
        model.input_of(role, source, io.describe(source, kind), model.rows_of(found, system, item))
        for role, source, kind, system, item in roles
    ]
    inputs += [
        model.input_of(role, source, io.describe(source, role))
        for role, source in request.other_inputs.items()
        if source is not None
    ]
    values = {name: model.fingerprint_of_values(frame) for name, frame in found.per_query.items()}
    return model.Made(request.date, __version__, tuple(inputs), request.command, values)


def _page(title: str, material: Material) -> str:
    found, facts = material.found, material.provenance
    queries = number_of(len(model.queries_of(found)), "query")
    lead = f"{facts.date}, rankframe {facts.version}. {', '.join(found.names)}: {queries} compared."
    if len(found.names) > 1:
        lead += f" Baseline: {found.baseline}."
    parts = [("summary", "Summary", summary(material))]
    if material.moved:
        parts.append(("changes", "Regressions", sections.changes(material)))
    if found.sliced:
        parts.append(("slices", "Slices", sections.slices(found, material.drawings)))
    if found.table.height:
        parts.append(("comparison", "Comparison", sections.details(found)))
    parts += [
        ("charts", "Charts", drawings.charts(material.drawings)),
        ("queries", "Queries", sections.sample(material)),
        ("unjudged", "Unjudged", sections.unjudged(material)),
        ("data", "Data summary", sections.data_summary(found)),
        ("metrics", "Metrics", sections.definitions(found)),
        ("provenance", "Provenance", sections.provenance(material)),
    ]
    return html.page(title, lead, parts, "Made with rankframe. This page needs no network.")


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    found = file_place(target)
    # An address is as good as a path where it is written and read.
    return cast("Path", found) if isinstance(found, Remote) else target
