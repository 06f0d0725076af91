"""A system is its values per query: those of runs are evaluated here, `stored.py` reads others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.options import Intervals, Policies
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.agree import PAIR_COUNTS
from rankframe.engine.combined import job_for
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.evaluate import evaluate_computed
from rankframe.engine.input_cache import Held, hold
from rankframe.engine.memory import limit_of
from rankframe.engine.plan import PerQuery
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import Attributes, asked_of
from rankframe.metrics.names import Metric, parse

_DEFAULT_DEPTH = 10


@dataclass(frozen=True)
class System:
    """A system's values, one row a query in byte order, and what was counted to get them."""

    computed: PerQuery
    ledger: pl.DataFrame | None = None
    # by depth: the column that says how much of the top k was judged
    judged: Mapping[int, str] = field(default_factory=dict)
    # columns of which one that is not 0 says that the run has the query
    evidence: Sequence[str] = ()
    # what was evaluated, by name, as far as it is known
    inputs: Mapping[str, str] = field(default_factory=dict)
    # what metrics over documents are made of
    over_documents: OverDocuments | None = None

    @property
    def values(self) -> pl.DataFrame:
        """query_id and a column a metric."""
        return self.computed.values

    @property
    def labels(self) -> list[str]:
        """The metrics that it has."""
        return [name for name in self.values.columns if name not in (QUERY, *PAIR_COUNTS)]


@dataclass(frozen=True)
class Runs:
    """Runs by name, the judgments that they are evaluated against, and how."""

    # None: metrics look at what is shown alone
    qrels: Source | None
    sources: Mapping[str, Source]
    policies: Policies
    columns: Columns | None = None
    max_memory: str | int | None = None
    progress: Report | None = None
    # whether they are looked at once more after their evaluation
    again: bool = False


def evaluate_runs(
    runs: Runs,
    metrics: Sequence[Metric],
    *,
    depths: Iterable[int] = (),
    attributes: Attributes | None = None,
) -> tuple[dict[str, System], Held]:
    """Evaluate each run, with the sums that averages over sums need, and with how much of its top
    k was judged: at the cutoff of each metric, and at these depths. Also the inputs, as read.
    """
    limit, policies = limit_of(runs.max_memory), runs.policies
    qrels, beside, judged, evidence = None, [], {}, []
    if runs.qrels is not None:
        grade = policies.relevance
        qrels = open_judgments(runs.qrels, runs.columns, relevance=grade, limit=limit)
        averaged = [metric for metric in metrics if metric.frame != "documents"]
        beside, judged = _judged_beside(averaged, depths)
        evidence = [retrieved_beside(metrics)]
    job = job_for(
        [*metrics, *beside, *evidence],
        policies,
        judgments=qrels is not None,
        columns=runs.columns,
        attributes=None if attributes is None else attributes.weights_alone,
        slices=attributes,
        intervals=Intervals(None),
        limit=limit,
    )
    opened: list[InputTable] = []
    for name, source in runs.sources.items():
        with naming_the_run(repr(name)):
            opened.append(open_run(source, policies, runs.columns, limit=limit))
    sides = [*([] if qrels is None else [qrels]), *opened, *job.others]
    refuse_absent_columns(runs.columns, *sides, queries=asked_of(attributes))
    left = job.left(None) if qrels is None else qrels
    held = hold(left, opened, job.row_bytes, runs.max_memory, again=runs.again)
    found = {}
    for name, run, pieces in zip(runs.sources, held.rights, held.pieces, strict=True):

        def report(done: Progress, name: str = name) -> None:
            if runs.progress is not None:
                runs.progress(replace(done, stage=f"{name}: {done.stage}"))

        with naming_the_run(repr(name)):
            result, computed = evaluate_computed(
                None if qrels is None else held.left, run, job, pieces=pieces, progress=report
            )
        found[name] = System(
            computed, result.ledger, judged, [one.label for one in evidence], result.inputs,
            result.over_documents,
        )  # fmt: skip
    return found, held


def depth_of(metric: Metric) -> int:
    """How deep to look at what was judged, for this metric."""
    return metric.params.get("k") or _DEFAULT_DEPTH


def retrieved_beside(metrics: Sequence[Metric]) -> Metric:
    """How many documents were retrieved, under a label that no other metric has."""
    (found,) = parse("num_retrieved")
    while found.label in {metric.label for metric in metrics}:
        found = replace(found, label=f"{found.label}, beside")
    return found


def _judged_beside(
    metrics: Sequence[Metric], depths: Iterable[int]
) -> tuple[list[Metric], dict[int, str]]:
    """Metrics of how much was judged, and their labels by depth: one that is there is taken."""
    taken = {metric.label for metric in metrics}
    beside: list[Metric] = []
    labels: dict[int, str] = {}
    for depth in sorted({*map(depth_of, metrics), *depths}):
        (judged,) = parse(f"judged@{depth}")
        there = [
            metric.label
            for metric in metrics
            if metric.definition is judged.definition and metric.params == judged.params
        ]
        if not there:
            while judged.label in taken:  # by an expression of someone's own
                judged = replace(judged, label=f"{judged.label}, beside")
            beside.append(judged)
        labels[depth] = there[0] if there else judged.label
    return beside, labels
