"""One page to send around: what was compared, how sure it is, what moved, and what was counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.base.columns import QUERY, Role
from rankframe.base.errors import OutputError
from rankframe.base.options import Missing, NoRelevant
from rankframe.base.output import write_file
from rankframe.base.progress import Progress, Report
from rankframe.curves.curve import Kind, curve
from rankframe.decisions.align import Unpaired
from rankframe.decisions.change import Diff
from rankframe.decisions.compare import compare
from rankframe.decisions.comparison import Comparison
from rankframe.decisions.diff import diff
from rankframe.frames.judge import judge
from rankframe.frames.rank import Ties
from rankframe.inputs.queries import By
from rankframe.inputs.scan import Columns, Source, scan
from rankframe.inputs.validate import Duplicates
from rankframe.metrics.names import Metric
from rankframe.plot.canvas import load_altair
from rankframe.reporting.page import page
from rankframe.reporting.sections import (
    changes,
    charts,
    counted,
    definitions,
    details,
    headline,
    holes,
    sample,
    slices,
)
from rankframe.stats.tests import Correction, Test

_MOST_CHANGES = 4  # systems whose movers are shown
_MOVERS = 10
_STEPS = 7
_WORDS = ("text", "query_text", "title")  # columns with the words of a query


@dataclass(frozen=True)
class Material:
    """Everything that a report shows."""

    found: Comparison
    # by what they show
    drawings: Mapping[str, Any]
    # by the name of the system that is set against the baseline
    moved: Mapping[str, Diff]
    # the words of queries by their ids, where they are known
    texts: Mapping[str, str]

    @property
    def first(self) -> Metric:
        """The metric that charts and movers are about."""
        return self.found.metrics[0]


def report(
    qrels: Source,
    systems: Mapping[str, Source],
    metrics: str | pl.Expr | Iterable[str | pl.Expr] | None = None,
    *,
    output: str | os.PathLike[str],
    title: str = "Ranking report",
    baseline: str | None = None,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    confidence: float = 0.95,
    seed: int = 0,
    unpaired: Unpaired = "error",
    columns: Columns | None = None,
    rel: float | None = None,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    ties: Ties = "doc_desc",
    duplicates: Duplicates = "error",
    progress: Report | None = None,
) -> Path:
    """Write a report as one HTML file that needs nothing else, not even a network.

    `systems` are runs by name, `baseline` the one that others are set against (default: the first).
    Charts and movers are about the first metric. `queries` may have a column `text`, `query_text`
    or `title` with the words of each query.

    Other options as in `compare`. With many queries the page carries a sample of them and says so.
    """
    target = _target(output)
    load_altair()  # says what to install before any work is done
    opened = {name: _kept(source, "run", columns) for name, source in systems.items()}
    truth, known = _kept(qrels, "qrels", columns), _kept(queries, "queries", columns)
    base = baseline if baseline is not None else next(iter(opened), None)
    tell = _Steps(progress)
    policies: dict[str, Any] = {
        "columns": columns, "rel": rel, "missing": missing, "no_relevant": no_relevant,
        "ties": ties, "duplicates": duplicates,
    }  # fmt: skip
    tell("comparing")
    found = compare(
        truth, opened, metrics, baseline=base, test=test, correction=correction, bounds=True,
        queries=known if by is not None or weight is not None else None, by=by, weight=weight,
        confidence=confidence, seed=seed, unpaired=unpaired, **policies,
    )  # fmt: skip
    first = found.metrics[0]
    chosen: str | pl.Expr = first.label if first.expression is None else first.expression
    moved = {}
    if first.average != "weighted":
        for name in [name for name in opened if name != base][:_MOST_CHANGES]:
            tell(f"changes of {name}")
            moved[name] = diff(
                truth, opened[str(base)], opened[name], chosen, most=_MOVERS, **policies
            )
    tell("curves")
    drawings = _drawings(truth, opened, found, moved, policies)
    tell("writing")
    material = Material(found, drawings, moved, _texts(known, columns))
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


def _drawings(
    qrels: Source,
    systems: Mapping[str, Source],
    found: Comparison,
    moved: Mapping[str, Diff],
    policies: Mapping[str, Any],
) -> dict[str, Any]:
    """The charts by what they show."""
    from rankframe import plot  # noqa: PLC0415 (it needs an extra, which is there by now)

    first = found.metrics[0]
    drawn: dict[str, Any] = {}

    def curves(kind: Kind, **options: Any) -> dict[str, pl.DataFrame]:
        return {
            name: curve(qrels, run, kind, **options, **policies) for name, run in systems.items()
        }

    if (plain := _without_cutoff(first)) is not None:
        shown = curves("metric_at_k", metric=plain, ci="bootstrap")
        drawn[f"{plain} over its cutoffs, with intervals"] = plot.metric_at_k(shown, plain)
    eleven = curves("precision_recall", interpolated=True)
    drawn["Precision at eleven points of recall, mean over queries"] = plot.precision_recall(eleven)
    drawn["ROC of retrieved documents, pooled over queries by score"] = plot.roc(curves("roc"))
    label = first.label
    drawn[f"Distribution of {label} over queries"] = plot.distribution(found.per_query, label)
    for name, change in moved.items():
        drawn[f"Change of {label} by query, {name} against {found.baseline}"] = plot.differences(
            change
        )
    best = _best(found)
    judged = judge(qrels, systems[best], columns=policies["columns"], rel=policies["rel"])
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


def _without_cutoff(metric: Metric) -> str | None:
    """The name of a metric that has a cutoff, without it."""
    definition = metric.definition
    if definition is None or "k" not in definition.parameters:
        return None
    params = ", ".join(f"{k}={v}" for k, v in metric.params.items() if k != "k")
    return f"{definition.name}({params})" if params else definition.name


def _best(found: Comparison) -> str:
    """The system with the best value of the first metric."""
    first = found.metrics[0]
    rows = found.systems.filter(pl.col("metric") == first.label, pl.col("by").is_null())
    return rows.sort(
        "value", descending=first.higher_is_better, nulls_last=True, maintain_order=True
    )["system"][0]


def _texts(queries: Source | None, columns: Columns | None) -> dict[str, str]:
    if queries is None:
        return {}
    scanned = scan(queries, "queries", columns)
    names = [name for name in scanned.raw.collect_schema() if name.lower() in _WORDS]
    if not names:
        return {}
    key = pl.col(scanned.mapping[QUERY]).cast(pl.String)
    frame = scanned.raw.select(key.alias(QUERY), pl.col(names[0]).cast(pl.String)).collect()
    return dict(frame.drop_nulls().iter_rows())  # allowed: what the page may show


def _kept(source: Source | None, role: Role, columns: Columns | None) -> Source | None:
    """A source that can be read more than once: a pipe is read now."""
    piped = hasattr(source, "read") and not isinstance(source, pl.DataFrame | pl.LazyFrame)
    return scan(source, role, columns).raw if piped else source


def _target(output: str | os.PathLike[str]) -> Path:
    target = Path(os.path.expanduser(os.fspath(output)))  # noqa: PTH111 (as elsewhere)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"a report is a web page: {target} should end in .html.")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no such place for a file.")
    return target


class _Steps:
    """Says what is being done, for a progress bar."""

    def __init__(self, progress: Report | None) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, stage: str) -> None:
        if self._progress is not None:
            self._progress(Progress(stage, self._done, _STEPS, 0, "steps"))
        self._done = min(self._done + 1, _STEPS)
