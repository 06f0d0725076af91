"""One page to send around: what was compared, how sure it is, what moved, and what was counted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import polars as pl

from rankframe.base import options
from rankframe.base.columns import QUERY
from rankframe.base.errors import OutputError
from rankframe.base.options import Comparing, Intervals, SharedPolicies
from rankframe.base.outputs import write_file
from rankframe.base.places import file_place, refuse_inputs
from rankframe.base.progress import Progress, Report
from rankframe.base.remote import Remote
from rankframe.base.storage import StorageOptions, reaching
from rankframe.base.wording import naming_the_run
from rankframe.decisions.compare import compare
from rankframe.decisions.diff import diff
from rankframe.engine.held import hold
from rankframe.evaluation.job import Job
from rankframe.evaluation.lookup import Lookup
from rankframe.inputs.queries import By
from rankframe.inputs.scan import Columns, Scanned, Source, refuse_absent_columns, scan
from rankframe.inputs.units import scan_run
from rankframe.metrics.names import Metrics
from rankframe.plot.canvas import load_altair
from rankframe.reporting.drawings import charts, drawings
from rankframe.reporting.material import Material
from rankframe.reporting.page import page
from rankframe.reporting.queries import changes, sample
from rankframe.reporting.sections import counted, definitions, details, headline, holes, slices

_MOST_CHANGES = 4  # systems whose movers are shown
_MOVERS = 10
_STEPS = 8
_WORDS = ("text", "query_text", "title")  # columns with the words of a query


@reaching
def report(
    qrels: Source,
    systems: Mapping[str, Source],
    metrics: Metrics | None = None,
    *,
    output: str | os.PathLike[str],
    title: str = "Ranking report",
    baseline: str | None = None,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
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
    judged_only: bool = False,
    progress: Report | None = None,
) -> Path:
    """Write a report as one HTML file that needs nothing else, not even a network.

    `systems` are runs by name, `baseline` the one that others are set against (default: the first).
    Charts and movers are about the first metric. `queries` may have a column `text`, `query_text`
    or `title` with the words of each query.

    Other options as in `compare`. With many queries the page carries a sample of them and says so.
    """
    target = _target(output)
    refuse_inputs(target, (qrels, *systems.values(), queries))
    load_altair()  # says what to install before any work is done
    given = SharedPolicies.given(locals())
    runs: list[Scanned] = []
    for name, source in systems.items():
        with naming_the_run(repr(name)):
            runs.append(scan_run(source, given.each, columns))
    judgments = scan(qrels, "qrels", columns, relevance=relevance)
    known = None if queries is None else scan(queries, "queries", columns)
    refuse_absent_columns(columns, judgments, *runs, queries=None if known is None else known.asked)
    # From here on all is open, and its columns are found.
    held = hold(judgments, runs, Job.row_bytes, again=True)
    truth, opened = held.left, dict(zip(systems, held.rights, strict=True))
    base = baseline if baseline is not None else next(iter(opened), None)
    tell = _Steps(progress)
    policies = vars(given.each)
    intervals, comparing = Intervals.given(locals()), Comparing.given(locals())
    tell("reading")
    if set(held.pieces) <= {1}:
        # Whatever is asked of a run below is answered from what is found now.
        for name, run in opened.items():
            with naming_the_run(repr(name)):
                Lookup.of(truth, run, given.each, (), listed=True).found()
    tell("comparing")
    found = compare(
        truth, opened, metrics, baseline=base, bounds=True,
        queries=known if by is not None or weight is not None else None, by=by, weight=weight,
        **vars(comparing), **vars(intervals), **vars(given),
    )  # fmt: skip
    first = found.metrics[0]
    moved = {}
    if first.average != "weighted":
        for name in [name for name in opened if name != base][:_MOST_CHANGES]:
            tell(f"changes of {name}")
            moved[name] = diff(
                truth, opened[str(base)], opened[name], first, most=_MOVERS, **policies
            )
    tell("curves")
    drawn = drawings(truth, opened, found, moved, policies, vars(intervals))
    tell("writing")
    material = Material(found, drawn, moved, {} if known is None else _texts(known))
    write_file(target, lambda path: path.write_text(_page(title, material), encoding="utf-8"))
    return target


def _page(title: str, material: Material) -> str:
    found = material.found
    lead = f"{len(found.names)} system{'s' if len(found.names) > 1 else ''}, {found.caveat}."
    sections = [
        ("summary", "Summary", headline(found)),
        *([("comparison", "Comparison", details(found))] if found.table.height else []),
        ("charts", "Charts", charts(material.drawings)),
        *([("slices", "Slices", slices(found, material.drawings))] if found.sliced else []),
        *([("changes", "Changes", changes(material))] if material.moved else []),
        ("queries", "Queries", sample(material)),
        ("holes", "Unjudged", holes(found)),
        ("counted", "Counted", counted(found)),
        ("metrics", "Metrics", definitions(found)),
    ]
    return page(title, lead, sections, "Made with rankframe. This page needs no network.")


def _texts(queries: Scanned) -> dict[str, str]:
    names = [name for name in queries.raw.collect_schema() if name.lower() in _WORDS]
    if not names:
        return {}
    key = pl.col(queries.mapping[QUERY]).cast(pl.String)
    said = pl.col(names[0]).cast(pl.String).str.replace_all(r"\s+", " ")
    frame = queries.raw.select(key.alias(QUERY), said).collect()
    return dict(frame.drop_nulls().iter_rows())  # allowed: what the page may show


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    found = file_place(target)
    # An address is as good as a path where it is written and read.
    return cast("Path", found) if isinstance(found, Remote) else target


class _Steps:
    """Says what is being done, for a progress bar."""

    def __init__(self, progress: Report | None) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, stage: str) -> None:
        if self._progress is not None:
            self._progress(Progress(stage, self._done, _STEPS, 0, "steps"))
        self._done = min(self._done + 1, _STEPS)
