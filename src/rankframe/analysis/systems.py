"""Evaluate runs as systems: values per query, and which judged queries each run lacks.

Stored values are read as systems in `stored.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, naming_the_run
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Intervals, Policies, Progress, Report
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import check
from rankframe.engine.ledger import POLICY
from rankframe.engine.memory import Held, hold, limit_of
from rankframe.engine.pair_metrics import PAIR_COUNTS
from rankframe.engine.plan import PerQuery
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import Attributes
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

    def entry(self, item: str) -> tuple[float | None, str]:
        """Return a value of the ledger and its note; None and "" if it is not there."""
        rows = [] if self.ledger is None else self.ledger.filter(item=item).rows()  # allowed: one
        return rows[0][1:] if rows else (None, "")

    @cached_property
    def filled(self) -> int:
        """Count the values that stand for queries that the run lacks."""
        return (
            int(self.entry(MISSING)[0] or 0) if self.entry(f"{POLICY}missing")[1] == "zero" else 0
        )


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
    queries: InputTable | None = None,
) -> tuple[dict[str, System], Held]:
    """Evaluate each run; return the systems by name, and the inputs as they were read.

    Args:
        runs: the runs, judgments and policies.
        metrics: the metrics that have values.
        depths: ranks down to which the judged share is computed, beside the cutoffs of metrics.
            None computes no judged shares.
        attributes: of queries, for weights and slices.
        queries: the frame of queries, if it was opened for more than the attributes.
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
    refuse_absent_columns(runs.columns, *inputs, queries=queries or attributes)
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


# Judged queries that a run lacks -----------------------------------------------------------------

MISSING = "queries_missing"
# Above this share of the queries, missing ones are warned of.
MANY = 0.01
# The share that both systems must have of the queries that either has.
_LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Lack:
    """Count the judged queries that a system's run lacks, and tell what became of them."""

    system: str
    queries: int
    judged: int
    done: str

    @property
    def many(self) -> bool:
        """Tell whether they are so many that they move the averages."""
        return self.queries > MANY * self.judged

    def __str__(self) -> str:
        share = self.queries / max(self.judged, 1)
        return (
            f"{self.system} lacks {self.queries:,} of {number_of(self.judged, 'judged query')} "
            f"({share:.1%}): {self.done}"
        )


def lacks(systems: Mapping[str, System], metrics: Sequence[Metric]) -> list[Lack]:
    """Return what each system's run lacks, if its ledger counted any."""
    found = []
    for name, system in systems.items():
        if count := int(system.entry(MISSING)[0] or 0):
            done = "left out"
            if system.filled:
                values = system.values.filter(pl.Series(_may_lack(system)))
                done = describe_filled(
                    metrics, [m.label for m in metrics if values[m.label].is_null().all()]
                )
            found.append(Lack(name, count, int(system.entry("qrels_queries")[0] or 0), done))
    return found


def describe_filled(metrics: Sequence[Metric], left_out: Sequence[str]) -> str:
    """Describe what became of missing queries, where some metrics leave them out."""
    if len(left_out) == len(metrics):
        return "left out"
    return f"scored 0{', left out of ' if left_out else ''}{', '.join(left_out)}"


def refuse_unshared(systems: Mapping[str, System]) -> None:
    """Refuse systems that share less than half of the queries that either has.

    Their values would be compared with what was filled in for missing queries.
    """
    for (name, system), (other_name, other) in combinations(systems.items(), 2):
        if not system.values[QUERY].equals(other.values[QUERY]):
            continue  # `unpaired` decides
        total = len(system.values)
        shared, exact = _most_shared(system, other)
        either = 2 * total - system.filled - other.filled - shared
        if shared < _LEAST_SHARED * either:
            raise OptionError(
                f"{name!r} and {other_name!r} share {'' if exact else 'at most '}{shared:,} of "
                f"{number_of(either, 'judged query')} that either has ({name!r} lacks "
                f"{system.filled:,}, {other_name!r} {other.filled:,} of {total:,}), and what a run "
                "lacks scores 0. Are these runs of the same queries? Pass ",
                Option("missing", "zero"),
                " to compare them all the same.",
            )


def _may_lack(system: System) -> NDArray[np.bool_]:
    """Mark the queries that the run lacks, or that a stored result may lack."""
    lacking = np.zeros(len(system.values), np.bool_)
    if not system.filled:
        return lacking
    if system.evidence:
        present = [pl.col(label).fill_null(0) != 0 for label in system.evidence]
        lacking = ~system.values.select(pl.any_horizontal(present)).to_series().to_numpy()
    # Where fewer have no evidence than are missing, the values cannot tell.
    return lacking if lacking.sum() >= system.filled else ~np.zeros_like(lacking)


def _most_shared(system_a: System, system_b: System) -> tuple[int, bool]:
    """Return how many queries both have at most, and whether that is exact.

    Queries that a system has for sure count, and as many of the doubtful ones as there may be.
    """
    a, b = _may_lack(system_a), _may_lack(system_b)
    # how many of its doubtful queries each system has
    has_a, has_b = int(a.sum()) - system_a.filled, int(b.sum()) - system_b.filled
    only_a, only_b = min(has_a, int((a & ~b).sum())), min(has_b, int((b & ~a).sum()))
    shared = int((~a & ~b).sum()) + only_a + only_b + min(has_a - only_a, has_b - only_b)
    return shared, has_a == has_b == 0
