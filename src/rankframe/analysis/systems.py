"""Systems as values per query: runs are evaluated here, stored values are read in `stored.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.options import Intervals, Policies
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.finish import check
from rankframe.engine.input_cache import Held, hold
from rankframe.engine.memory import limit_of
from rankframe.engine.pair_metrics import PAIR_COUNTS
from rankframe.engine.plan import PerQuery
from rankframe.engine.prepare import prepare_evaluation
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import Attributes, asked_of
from rankframe.metrics.names import Metric, parse

_DEFAULT_DEPTH = 10


@dataclass(frozen=True)
class System:
    """Hold the values of a system, one row a query in byte order, and what was counted for them."""

    computed: PerQuery
    ledger: pl.DataFrame | None = None
    # by depth: the column with the judged share of the top k
    judged: Mapping[int, str] = field(default_factory=dict)
    # columns that are not 0 only if the run has the query
    evidence: Sequence[str] = ()
    # the names of the inputs, if known
    inputs: Mapping[str, str] = field(default_factory=dict)
    # the exposure that metrics over documents are made of
    over_documents: OverDocuments | None = None

    @property
    def values(self) -> pl.DataFrame:
        """Return query_id and a column per metric."""
        return self.computed.values

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics."""
        return [name for name in self.values.columns if name not in (QUERY, *PAIR_COUNTS)]


@dataclass(frozen=True)
class Runs:
    """Name runs, the judgments that they are evaluated against, and how."""

    # None: all metrics look at retrieved documents alone
    qrels: Source | None
    sources: Mapping[str, Source]
    policies: Policies
    columns: Columns | None = None
    max_memory: str | int | None = None
    progress: Report | None = None
    # whether the runs are read again after their evaluation
    again: bool = False


def evaluate_runs(
    runs: Runs,
    metrics: Sequence[Metric],
    *,
    depths: Iterable[int] | None = (),
    attributes: Attributes | None = None,
    requested: Mapping[str, bool] | None = None,
) -> tuple[dict[str, System], Held]:
    """Evaluate each run; return the systems by name, and the inputs as they were read.

    Args:
        runs: the runs, judgments and policies.
        metrics: the metrics that have values.
        depths: ranks down to which the judged share is computed, beside the cutoffs of metrics.
            None computes no judged shares.
        attributes: of queries, for weights and slices.
        requested: columns of queries that were named, and whether they exist (default: the
            columns of the attributes).
    """
    limit, policies = limit_of(runs.max_memory), runs.policies
    qrels, judged, evidence = None, {}, None
    if runs.qrels is not None:
        qrels = open_judgments(runs.qrels, runs.columns, relevance=policies.relevance, limit=limit)
        averaged = [metric for metric in metrics if metric.frame != "documents"]
        if depths is not None:
            judged = {
                depth: _find_or_parse(f"judged@{depth}", metrics)
                for depth in sorted({*map(depth_of, averaged), *depths})
            }
        evidence = _find_or_parse("num_retrieved", metrics)
    evaluated = {
        metric.label: metric
        for metric in (*metrics, *judged.values(), evidence)
        if metric is not None
    }
    evaluation = prepare_evaluation(
        list(evaluated.values()),
        policies,
        judgments=qrels is not None,
        columns=runs.columns,
        attributes=None if attributes is None else attributes.weights_alone,
        slices=attributes,
        intervals=Intervals(None),
        limit=limit,
        summed=False,
    )
    opened: list[InputTable] = []
    for name, source in runs.sources.items():
        with naming_the_run(repr(name)):
            opened.append(open_run(source, policies, runs.columns, limit=limit))
    inputs = [*([] if qrels is None else [qrels]), *opened, *evaluation.others]
    requested = asked_of(attributes) if requested is None else requested
    refuse_absent_columns(runs.columns, *inputs, queries=requested)
    left = evaluation.left(None) if qrels is None else qrels
    tables = hold(left, opened, evaluation.row_bytes, runs.max_memory, again=runs.again)
    systems = {}
    for name, run, partitions in zip(runs.sources, tables.rights, tables.partitions, strict=True):

        def on_progress(done: Progress, name: str = name) -> None:
            if runs.progress is not None:
                runs.progress(replace(done, stage=f"{name}: {done.stage}"))

        with naming_the_run(repr(name)):
            sides = None if qrels is None else tables.left, run
            accumulator = evaluation.evaluate(
                *sides, partitions=partitions, on_progress=on_progress
            )
            check(evaluation, accumulator, sides)
        systems[name] = System(
            accumulator.join(),
            evaluation.ledger(accumulator.counts, sides),
            {depth: metric.label for depth, metric in judged.items()},
            () if evidence is None else (evidence.label,),
            evaluation.inputs(sides),
            evaluation.over_documents(accumulator.counts),
        )
    return systems, tables


def depth_of(metric: Metric) -> int:
    """Return the rank down to which a metric's judged share is looked at."""
    return metric.params.get("k") or _DEFAULT_DEPTH


def _find_or_parse(name: str, metrics: Sequence[Metric]) -> Metric:
    """Return the metric that computes the same, or a new one with a label that no other has."""
    (metric,) = parse(name)
    for other in metrics:
        if other.definition is metric.definition and other.params == metric.params:
            return other
    while metric.label in {other.label for other in metrics}:  # of a user's own expression
        metric = replace(metric, label=f"{metric.label}, beside")
    return metric
