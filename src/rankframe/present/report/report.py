"""Write the report: one page with results, their uncertainty, and regressions.

All numbers come from one evaluation of each run. Curves, and lists of documents, use the rows of
some queries: of all queries if these are few; else of a deterministic sample, and of the movers.
These rows are read once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack, cast

import polars as pl

from rankframe.analysis import diff
from rankframe.analysis.compare import SystemInputs, check_mapping, compare_systems
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.differences import Setup
from rankframe.analysis.gate import decide_pair
from rankframe.analysis.gate_rules import Demands, read_demands
from rankframe.analysis.systems import Runs, depth_of
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, OutputError, in_vocabulary, naming_the_run
from rankframe.core.messages import Option, number_of, shown
from rankframe.core.options import (
    TEXT,
    CompareOptions,
    Comparing,
    Intervals,
    Policies,
    Progress,
    Report,
    SharedPolicies,
    Storage,
    takes_options,
)
from rankframe.core.table import Table
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.ledger import FINGERPRINT
from rankframe.engine.lists import Lists
from rankframe.io import inputs as io
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source
from rankframe.io.memory import Held, hold
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
_CURVE_QUERIES = 10_000  # sample size for curves
_BOUND_QUERIES = 2_000  # sample size for bounds, if curves use a sample
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
    """Write a report as one self-contained HTML file, which needs no network.

    With many queries, the table of queries and the curves use a sample; the page states where.

    Args:
        qrels: the judgments, as in `evaluate`.
        systems: runs by name.
        metrics: as in `evaluate`. Sentences, charts and regressions are about the first of them.
        output: the HTML file, or its address.
        title: the title of the page.
        baseline: the run that others are compared with (default: the first).
        rules: rules of a gate, as in `gate`. The page begins with the verdict of the gate.
        queries: attributes of queries, shown for queries that got worse: a table with query_id. A
            column `text`, `query_text`, `query` or `title` is shown as the text of the query.
        by: attributes to slice by, as in `evaluate`.
        weight: the attribute with the weight of each query, such as its traffic. Regressions are
            then ordered by weighted change, and metrics with average=weighted use the weight.
        slice_order: the order of the slices of an attribute, by attribute. Other slices follow in
            their usual order: numbers and dates ascending, categories of an Enum as declared, texts
            alphabetically.
        query_text: texts of queries to show: a table with query_id and a text, or a mapping.
        titles: titles of documents to show: a table with doc_id and a text, or a mapping.
        tuning: the result of `rf.tune` for two runs. The page then draws the metric over their
            weights. It always does so if `fuse` wrote one of the runs to Parquet from two other
            runs of the page.
        date: the date of the report (default: SOURCE_DATE_EPOCH, else now). With the same date, the
            same data give the same page.
        command: the command that is shown in the provenance of the page.
        columns: names in your data, as in `evaluate`.
        progress: a function called with a `Progress` on the way.
    """
    check_mapping(systems)
    TEXT.refuse("title", title)
    target = _target(output)
    refuse_inputs(target, (qrels, *systems.values(), queries, query_text, titles))
    load_altair()  # fails before any work is done if altair is not installed
    when = model.date_text(date)
    drawn = {} if tuning is None else drawings.tuned_chart(tuning)
    shared = SharedPolicies.from_options(options)
    demands = None if rules is None else read_demands(rules)
    requested = _metrics(metrics, demands)
    ways = _ways(by, demands)
    described = Described.from_sources(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    tables = _held(qrels, systems, described, shared.each, columns)
    if demands is not None and len(systems) < 2:
        raise OptionError(
            Option("rules"), " set a run against a baseline: give two runs or more."
        )  # fmt: skip
    base = str(baseline if baseline is not None else next(iter(systems), None))
    setup = Setup(base, Comparing.from_options(options), Intervals.from_options(options))

    def begin(stage: str) -> None:
        if progress is not None:
            progress(Progress(stage, _STAGES.index(stage), len(_STAGES), 0, "steps"))

    with drawings.unchecked():
        begin("comparing")
        runs = dict(zip(systems, tables.rights, strict=True))
        attributes = _attributes(requested, ways, described)
        inputs = SystemInputs(
            {},
            Runs(tables.left, runs, shared.each, progress=progress, again=True),
            requested,
            unpaired=setup.comparing.unpaired,
            missing=shared.missing,
            **attributes,
        )
        depths = () if demands is None else demands.min_judged
        found, aligned = compare_systems(inputs, setup, depths=depths)
        found = in_order(found, {} if slice_order is None else slice_order)
        begin("changes")
        values, movers = _movers(found, base, described)
        moved_queries = [frame[QUERY] for pair in movers.values() for frame in pair]
        rows = _rows(tables, Rows(tables.left, runs, shared.each.judging), found, moved_queries)
        changes = _changes(found, base, values, movers, rows, described)
        begin("charts")
        curve_rows = rows.only(rows.sample)
        if rows.sample is not None:
            curve_rows.match()
        drawn = {
            **drawings.draw_charts(curve_rows, found, changes, setup.intervals),
            **drawings.weights_charts(systems, curve_rows, found.metrics[0], setup.intervals,
                                      _weights(attributes)),
            **drawn,
        }  # fmt: skip
        begin("unjudged documents")
        few = None if rows.sample is None else sampled(rows.sample, _BOUND_QUERIES)
        judged = [metric for metric in requested if metric.of_judgments]
        weights = _weights(_attributes(judged, ways, described))
        bounded = _bounded(curve_rows.only(few), judged, setup, weights)
        begin("writing")
        verdicts = {} if demands is None else {
            name: decide_pair(aligned, (base, name), demands, setup.comparing.unpaired)
            for name in runs if name != base
        }  # fmt: skip
        other_inputs = {"queries": queries, "texts of queries": query_text, "titles": titles}
        texts = described.texts(sampled(model.queries_of(found), MOST_QUERIES))
        content = _page(title, Material(
            found=found, drawings=drawn, moved=changes, texts=texts,
            facts=_facts(found, when, command),
            inputs=_inputs(found, qrels, systems, other_inputs), bounded=bounded,
            verdicts=verdicts, weight=described.weight, sampled=rows.note,
        ))  # fmt: skip
    write_file(target, lambda path: path.write_text(content, encoding="utf-8"))
    return target


def _metrics(metrics: Metrics | None, demands: Demands | None) -> list[Metric]:
    """Return the metrics to evaluate: the user's, and the metrics of the rules."""
    requested = DEFAULT_METRICS[:-1] if metrics is None else metrics
    chosen = resolve(requested, *RUN_FRAMES, "gap", inner=False)
    if not chosen[0].of_judgments:
        why = "does not use judgments" if chosen[0].gap is None else "has no values per query"
        raise OptionError(
            f"a report shows its first metric query by query, but {chosen[0].label!r} {why}. "
            "Name another metric first, such as ndcg@10."
        )
    labels = {metric.label for metric in chosen}
    ruled = [] if demands is None else dict.fromkeys(rule.metric for rule in demands.rules)
    more = [name for name in ruled if name not in labels]
    return [*chosen, *(resolve(more, *RUN_FRAMES, "gap", inner=False) if more else [])]


def _ways(by: By | Sequence[By] | None, demands: Demands | None) -> list[tuple[str, ...]]:
    """Return the ways to slice: the user's, and the ways of the rules."""
    ruled = [] if demands is None else [rule.by for rule in demands.rules if rule.by is not None]
    return list(dict.fromkeys([*slicings(by), *ruled]))


def _attributes(
    metrics: Sequence[Metric], ways: Sequence[tuple[str, ...]], described: Described
) -> dict[str, Any]:
    """Return the query options of a comparison (`queries`, `by`, `weight`) that metrics use."""
    weighted = any(metric.average == "weighted" for metric in add_inner_metrics(metrics))
    if not (ways or weighted or any(metric.frame == "gap" for metric in metrics)):
        return {}
    weight = described.weight if weighted else None
    return {"queries": described.queries, "by": list(ways) or None, "weight": weight}


def _weights(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for weighted averages; an empty dict without weights."""
    names = ("queries", "weight") if attributes.get("weight") else ()
    return {name: attributes[name] for name in names}


def _held(
    qrels: Source,
    systems: Mapping[str, Source],
    described: Described,
    policies: Policies,
    columns: Columns | None,
) -> Held:
    """Open judgments and runs, and hold small ones in memory."""
    if not systems:
        raise OptionError("a report takes one run or more, not 0.")
    runs: list[InputTable] = []
    for name, source in systems.items():
        with naming_the_run(repr(name)):
            runs.append(io.open_run(source, policies, columns))
    judgments = io.open_judgments(qrels, columns, relevance=policies.relevance)
    io.refuse_absent_columns(columns, judgments, *runs, queries=described.queries)
    with in_vocabulary(judgments.vocabulary):
        return hold(judgments, runs, JudgedMetrics.row_bytes, again=True)


def in_order(found: Comparison, orders: Mapping[str, Sequence[str]]) -> Comparison:
    """Sort slices by `orders` (attribute → its slices in order); other slices follow."""
    if not isinstance(orders, Mapping):
        problem = f" maps attributes to lists of slices, and is {shown(orders)}."
        raise OptionError(Option("slice_order"), problem)
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
    """Return what curves and lists are drawn from: all queries, or a sample and the movers."""
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
        # The sample may have no judged document, although the whole input has some.
        replace(rows.policies, no_overlap="zero"),
        sample,
        len(queries),
    )


def _movers(
    found: Comparison, base: str, described: Described
) -> tuple[dict[str, pl.DataFrame], dict[str, tuple[pl.DataFrame, pl.DataFrame]]]:
    """Return, for each of the best systems, values by query beside the baseline's, and movers."""
    best = [name for name in model.order_systems(found) if name != base][:_MOST_CHANGES]
    values = {
        name: diff.side_by_side(
            found.metrics[0], found.per_query[base], found.per_query[name], described
        )
        for name in found.names
        if name in best
    }
    movers = {
        name: (
            diff.movers(frame, _WORSE, worse=True),
            diff.movers(frame.filter(pl.col(diff.BETTER) == "b"), _BETTER),
        )
        for name, frame in values.items()
    }
    return values, movers


def _changes(
    found: Comparison,
    base: str,
    values: Mapping[str, pl.DataFrame],
    movers: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]],
    rows: Rows,
    described: Described,
) -> dict[str, Moved]:
    """Compute what changed from the baseline to each system, with the lists of some queries."""
    if not movers:
        return {}
    first = found.metrics[0]
    lists = Lists.read(
        pl.concat([frame[QUERY] for pair in movers.values() for frame in pair]).unique(),
        rows.qrels,
        {name: rows.runs[name] for name in (base, *movers)},
        rows.policies,
    )
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
                vocabulary=found.vocabulary,
            )
            for moved in pair
        ))  # fmt: skip
    return changes


def _bounded(
    rows: Rows, metrics: Sequence[Metric], setup: Setup, weights: Mapping[str, Any]
) -> Comparison:
    """Compare the runs with bounds for unjudged documents, over the queries of `rows`."""
    inputs = SystemInputs(
        {},
        Runs(rows.qrels, rows.runs, rows.policies, again=True),
        metrics,
        unpaired=setup.comparing.unpaired,
        missing=rows.policies.missing,
        **weights,
    )
    plain = Setup(setup.baseline, Comparing("t", "none"), Intervals(None))
    return compare_systems(inputs, plain, bounds=True)[0]


def _facts(found: Comparison, date: str, command: str | None) -> dict[str, str]:
    """Return the date, versions and command of the page, and fingerprints of the inputs."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    facts = {"made": date, "with": f"rankframe {__version__}"}
    if command is not None:
        facts["command"] = command
    if len(notes := found.ledger.filter(item=FINGERPRINT)["note"]):
        facts["judgments, whatever their order"] = notes[0]
    marks = {name: model.fingerprint_of_values(frame) for name, frame in found.per_query.items()}
    return facts | {f"values of {name}": mark for name, mark in marks.items()}


def _inputs(
    found: Comparison,
    qrels: Source,
    systems: Mapping[str, Source],
    other_inputs: Mapping[str, Source | None],
) -> Table:
    """Return a row for each input of the page."""
    roles = [("judgments", qrels, "qrels", found.names[0], "qrels_rows")]
    roles += [(f"run {name}", run, "run", name, "run_rows") for name, run in systems.items()]
    rows = [
        model.input_row(role, source, io.describe(source, kind), model.rows_of(found, system, item))
        for role, source, kind, system, item in roles
    ]
    rows += [
        model.input_row(role, source, io.describe(source, role))
        for role, source in other_inputs.items()
        if source is not None
    ]
    return Table.from_texts(["what", "name"], ["rows", "size"], rows, more_words=["SHA-256"])


def _page(title: str, material: Material) -> str:
    found, facts = material.found, material.facts
    queries = number_of(len(model.queries_of(found)), "query")
    compared = material.word(f"{queries} compared")
    lead = f"{facts['made']}, {facts['with']}. {', '.join(found.names)}: {compared}."
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
        ("queries", material.word("Queries"), sections.sample(material)),
        ("unjudged", "Unjudged", sections.unjudged(material)),
        ("data", "Data summary", sections.data_summary(found)),
        ("metrics", "Metrics", sections.definitions(found)),
        ("provenance", "Provenance", sections.provenance(material)),
    ]
    return html.page(title, lead, parts, "Made with rankframe. This page needs no network.")


def _target(output: str | os.PathLike[str]) -> Path:
    if not isinstance(output, str | os.PathLike):
        raise OutputError(f"a report is written to a path, not to {shown(output)}.")
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    found = file_place(target)
    # An address is as good as a path where it is written and read.
    return cast("Path", found) if isinstance(found, Remote) else target
