"""One page to decide by and to send around: what was found, how sure it is, what got worse."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack, cast

from rankframe.analysis.differences import Setup
from rankframe.analysis.gate_rules import Demands, read_demands
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core.errors import OptionError, OutputError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import (
    CompareOptions,
    Comparing,
    Intervals,
    SharedPolicies,
    Storage,
    takes_options,
)
from rankframe.core.progress import Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.memory import Held, hold
from rankframe.io.described import Described
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.output_paths import file_place, refuse_inputs
from rankframe.io.outputs import write_file
from rankframe.io.queries import By, slicings
from rankframe.io.remote import Remote
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.present.charts.marks import load_altair
from rankframe.present.report.data import Asked, gather
from rankframe.present.report.drawings import charts, unchecked
from rankframe.present.report.fused import tuned_chart
from rankframe.present.report.model import Material
from rankframe.present.report.page import page
from rankframe.present.report.provenance import said_date
from rankframe.present.report.queries import changes, sample
from rankframe.present.report.sections import (
    data_summary,
    definitions,
    details,
    provenance,
    slices,
    unjudged,
)
from rankframe.present.report.summary import summary


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
    when = said_date(date)
    drawn = {} if tuning is None else tuned_chart(tuning)
    policies = SharedPolicies.from_options(options)
    demands = None if rules is None else read_demands(rules)
    chosen = _metrics(metrics, demands)
    described = Described.of(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    tables = _held(qrels, systems, described, policies, columns)
    against = baseline if baseline is not None else next(iter(systems), None)
    if demands is not None and len(systems) < 2:
        raise OptionError(
            Option("rules"), " set a run against a baseline: give two runs or more."
        )  # fmt: skip
    request = Asked(
        qrels=qrels, systems=systems,
        other_inputs={"queries": queries, "texts of queries": query_text, "titles": titles},
        metrics=chosen, demands=demands, by=_ways(by, demands),
        slice_order=slice_order or {}, described=described, policies=policies,
        setup=Setup(against, Comparing.from_options(options), Intervals.from_options(options)),
        date=when, command=command, progress=progress, drawn=drawn,
    )  # fmt: skip
    with unchecked():
        html = _page(title, gather(tables, request))
    write_file(target, lambda path: path.write_text(html, encoding="utf-8"))
    return target


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
    return [
        *chosen,
        *(
            resolved
            for name in ruled
            if name not in labels
            for resolved in resolve(name, *RUN_FRAMES, "gap", inner=False)
        ),
    ]


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
            runs.append(open_run(source, policies, columns))
    judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    attributes = None if described.queries is None else described.queries.asked
    refuse_absent_columns(columns, judgments, *runs, queries=attributes)
    return hold(judgments, runs, JudgedMetrics.row_bytes, again=True)


def _page(title: str, material: Material) -> str:
    found, facts = material.found, material.provenance
    names = ", ".join(found.names)
    queries = number_of(next(iter(found.per_query.values())).height, "query")
    lead = f"{facts.date}, rankframe {facts.version}. {names}: {queries} compared."
    if len(found.names) > 1:
        lead += f" Baseline: {found.baseline}."
    sections = [
        ("summary", "Summary", summary(material)),
        *([("changes", "Regressions", changes(material))] if material.moved else []),
        *([("slices", "Slices", slices(found, material.drawings))] if found.sliced else []),
        *([("comparison", "Comparison", details(found))] if found.table.height else []),
        ("charts", "Charts", charts(material.drawings)),
        ("queries", "Queries", sample(material)),
        ("unjudged", "Unjudged", unjudged(material)),
        ("data", "Data summary", data_summary(found)),
        ("metrics", "Metrics", definitions(found)),
        ("provenance", "Provenance", provenance(material)),
    ]
    return page(title, lead, sections, "Made with rankframe. This page needs no network.")


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    found = file_place(target)
    # An address is as good as a path where it is written and read.
    return cast("Path", found) if isinstance(found, Remote) else target
