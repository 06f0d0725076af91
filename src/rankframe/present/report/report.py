"""One page to decide by and to send around: what was found, how sure it is, what got worse."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from rankframe.analysis.contrast import Setup
from rankframe.analysis.gate_rules import Demands, read_demands
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.core import options
from rankframe.core.errors import OptionError, OutputError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Comparing, Intervals, SharedPolicies
from rankframe.core.progress import Report, check_progress
from rankframe.core.wording import naming_the_run
from rankframe.engine.combined import RUN_FRAMES
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.engine.input_cache import Held, hold
from rankframe.engine.job import Job
from rankframe.io.described import Described
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.output_paths import file_place, refuse_inputs
from rankframe.io.outputs import write_file
from rankframe.io.queries import By, slicings
from rankframe.io.remote import Remote
from rankframe.io.storage import StorageOptions, reaching
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.present.charts.canvas import load_altair
from rankframe.present.report.data import Asked, gather
from rankframe.present.report.drawings import charts, unchecked
from rankframe.present.report.first_screen import summary
from rankframe.present.report.fused import tuned_chart
from rankframe.present.report.model import Material
from rankframe.present.report.page import page
from rankframe.present.report.provenance import said_date
from rankframe.present.report.queries import changes, sample
from rankframe.present.report.sections import counted, definitions, details, holes, origin, slices


@reaching
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
    test: options.Test = "t",
    correction: options.Correction = "holm",
    unpaired: options.Unpaired = "error",
    permutations: int = 10_000,
    ci: options.Method | None = "bootstrap",
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
    columns: Columns | None = None,
    storage_options: StorageOptions | None = None,
    rel: float | None = None,
    relevance: float | None = None,
    missing: options.MissingAmong = "zero_if_few",
    no_relevant: options.NoRelevant = "zero",
    no_overlap: options.NoOverlap = "error",
    order: options.Order = "columns",
    ranks: options.Ranks = "renumbered",
    ties: options.Ties = "doc_desc",
    duplicates: options.Duplicates = "error",
    k_max: int | None = None,
    unit: options.Unit = None,
    gaps: options.Gaps = "closed",
    train: options.Table = None,
    exclude_seen: bool = False,
    items: options.Table = None,
    catalogue: options.Table = None,
    base: options.Table = None,
    judged_only: bool = False,
    progress: Report | None = None,
) -> Path:
    """Write a report as one HTML file that needs nothing else, not even a network.

    `systems` are runs by name, `baseline` the one that others are set against (default: the first).
    Sentences, charts and movers are about the first metric.

    rules: what a gate would ask for, as `gate` takes it: the page begins with its verdict.
    queries: a table with query_id and attributes, which are shown of queries that got worse; a
        column `text`, `query_text`, `query` or `title` has the words of each.
    weight: its column with the weight of each query, such as its traffic: regressions are then
        ordered by weighted change. Metrics with average=weighted are averaged by it.
    slice_order: by attribute, its slices in the order to show them; others follow in their own:
        numbers and dates as such, categories of an Enum as declared, texts by alphabet.
    query_text, titles: texts of queries and titles of documents, to be shown: a table with query_id
        (or doc_id) and a text, or a mapping.
    tuning: what `rf.tune` found of two runs: the page draws the metric over their weights. Of a run
        that `fuse` wrote to Parquet, of two others on the page, it does so by itself.
    date: what the page says of when it was made (default: SOURCE_DATE_EPOCH, else now). With the
        same date, the same data give the same page.
    command: what the page says of how it was made.

    Other options as in `compare`. With many queries the page carries a sample of them, draws curves
    of a sample, and says so.
    """
    check_progress(progress)
    target = _target(output)
    refuse_inputs(target, (qrels, *systems.values(), queries, query_text, titles))
    load_altair()  # says what to install before any work is done
    when = said_date(date)
    drawn = {} if tuning is None else tuned_chart(tuning)
    given = SharedPolicies.given(locals())
    demands = None if rules is None else read_demands(rules)
    chosen = _metrics(metrics, demands)
    told = Described.of(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    held = _held(qrels, systems, told, given, columns)
    against = baseline if baseline is not None else next(iter(systems), None)
    if demands is not None and len(systems) < 2:
        raise OptionError(
            Option("rules"), " set a run against a baseline: give two runs or more."
        )  # fmt: skip
    asked = Asked(
        qrels=qrels, systems=systems,
        beside={"queries": queries, "texts of queries": query_text, "titles": titles},
        metrics=chosen, demands=demands, by=_ways(by, demands),
        slice_order=slice_order or {}, told=told, policies=given,
        setup=Setup(against, Comparing.given(locals()), Intervals.given(locals())),
        date=when, command=command, progress=progress, drawn=drawn,
    )  # fmt: skip
    with unchecked():
        html = _page(title, gather(held, asked))
    write_file(target, lambda path: path.write_text(html, encoding="utf-8"))
    return target


def _metrics(metrics: Metrics | None, demands: Demands | None) -> list[Metric]:
    """Those asked for, and those that rules speak of."""
    given = DEFAULT_METRICS[:-1] if metrics is None else metrics
    chosen = resolve(given, *RUN_FRAMES, "gap", inner=False)
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
            one
            for name in ruled
            if name not in labels
            for one in resolve(name, *RUN_FRAMES, "gap", inner=False)
        ),
    ]


def _ways(by: By | Sequence[By] | None, demands: Demands | None) -> list[tuple[str, ...]]:
    """The ways to slice: those asked for, and those that rules speak of."""
    ruled = [] if demands is None else [rule.by for rule in demands.rules if rule.by is not None]
    return list(dict.fromkeys([*slicings(by), *ruled]))


def _held(
    qrels: Source,
    systems: Mapping[str, Source],
    told: Described,
    given: SharedPolicies,
    columns: Columns | None,
) -> Held:
    """All that is evaluated, opened and its columns found; what is small is held."""
    policies = given.each
    runs: list[InputTable] = []
    for name, source in systems.items():
        with naming_the_run(repr(name)):
            runs.append(open_run(source, policies, columns))
    judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    asked = None if told.queries is None else told.queries.asked
    refuse_absent_columns(columns, judgments, *runs, queries=asked)
    return hold(judgments, runs, Job.row_bytes, again=True)


def _page(title: str, material: Material) -> str:
    found, made = material.found, material.made
    names = ", ".join(found.names)
    queries = number_of(next(iter(found.per_query.values())).height, "query")
    lead = f"{made.date}, rankframe {made.version}. {names}: {queries} compared."
    if len(found.names) > 1:
        lead += f" Baseline: {found.baseline}."
    sections = [
        ("summary", "Summary", summary(material)),
        *([("changes", "Regressions", changes(material))] if material.moved else []),
        *([("slices", "Slices", slices(found, material.drawings))] if found.sliced else []),
        *([("comparison", "Comparison", details(found))] if found.table.height else []),
        ("charts", "Charts", charts(material.drawings)),
        ("queries", "Queries", sample(material)),
        ("holes", "Unjudged", holes(material)),
        ("counted", "Counted", counted(found)),
        ("metrics", "Metrics", definitions(found)),
        ("origin", "Origin", origin(material)),
    ]
    return page(title, lead, sections, "Made with rankframe. This page needs no network.")


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    found = file_place(target)
    # An address is as good as a path where it is written and read.
    return cast("Path", found) if isinstance(found, Remote) else target
