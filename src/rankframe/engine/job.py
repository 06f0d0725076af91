"""The evaluation of one piece: rank, match, judge, and every metric's value for each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, GROUP, JUDGED_FRAME, QUERY
from rankframe.core.errors import MetricParameterError
from rankframe.core.memory_budget import map_ahead
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, Policies
from rankframe.engine.contiguous import workers
from rankframe.engine.ledger import Counts
from rankframe.engine.lookup import Lookup
from rankframe.engine.plan import PerQuery, Plan, compile_plan, per_query_values
from rankframe.engine.tally import tally_values
from rankframe.engine.work import Piece, merged
from rankframe.frames.found import Found, Matched, matched
from rankframe.frames.judged import Judgments
from rankframe.frames.patterns import patterns
from rankframe.frames.subtopics import Groups, needs_ids
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.queries import Attributes, Known
from rankframe.metrics.names import Metric
from rankframe.metrics.subtopic_columns import GROUPED_FRAME

# Judgments that are worked on together; more where queries are looked up in a frame of them.
_BLOCK_ROWS, _KNOWN_BLOCK_ROWS = 1 << 17, 1 << 20


def judged_plan(metrics: Sequence[Metric]) -> Plan:
    """What is computed to evaluate a run."""
    grouped = [metric for metric in metrics if metric.grouped]
    plan = compile_plan([metric for metric in metrics if not metric.grouped], JUDGED_FRAME)
    if not grouped:
        return plan
    return replace(plan, metrics=tuple(metrics), beside=compile_plan(grouped, GROUPED_FRAME))


@dataclass(frozen=True)
class Job:
    """The evaluation of a run (right) against judgments (left), piece by piece."""

    plan: Plan
    policies: Policies
    # the largest grade of all pieces together; None: this is the only one
    max_grade: float | None = None
    # weights and slices of queries
    attributes: Attributes | None = None
    intervals: Intervals = field(default_factory=Intervals)
    # all metrics in order, where gaps between slices are among them
    asked: tuple[Metric, ...] = ()
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (120, 140)

    @property
    def unit(self) -> Any:
        """What documents are part of, for those that hand over pieces of a run as it was read."""
        return self.policies.unit

    @property
    def metrics(self) -> Sequence[Metric]:
        """All that is computed."""
        return self.plan.metrics

    @property
    def others(self) -> list[InputTable]:
        """The inputs that are neither run nor judgments."""
        return []

    def left(self, qrels: InputTable | None) -> InputTable:
        """What lies beside the run: the judgments."""
        assert qrels is not None  # its metrics look at judgments
        return qrels

    def piece(self, left: pl.DataFrame, right: pl.DataFrame) -> Piece:
        """Evaluate queries whose rows, of both sides, are all here (see `Work.piece`)."""
        lookup = self.lookup(part_of(left, "qrels"), part_of(right, "run"))
        whole = merged(evaluate_found(lookup.found(), self))
        assert whole is not None  # there is always one
        return whole

    def lookup(self, qrels: InputTable, run: InputTable, at_once: int | None = None) -> Lookup:
        """Read the judgments; the run is to be looked up in them. `at_once`: as for `Batches`."""
        return Lookup.of(qrels, run, self.policies, self.plan.columns, at_once=at_once)


def evaluate_found(found: Found, job: Job) -> Iterator[Piece]:
    """Evaluate all judged queries, in blocks that fit in the cache, on all cores."""
    refuse_ungrouped(job.plan, found.judgments.groups)
    grades = found.judgments.grades
    if job.max_grade is None and len(grades):
        job = replace(job, max_grade=float(grades.max()))
    none = job.plan.no_values()
    counts = Counts.of_run(found)
    yield Piece(
        none, tally_values(job.plan.metrics, none, Known(np.empty(0)), job.intervals), counts
    )
    rows = _BLOCK_ROWS if job.attributes is None else _KNOWN_BLOCK_ROWS
    blocks = found.judgments.blocks(rows)
    if job.plan.whole_input:
        blocks = [(0, len(found.judgments.starts))]
    with ThreadPoolExecutor(workers()) as pool:
        # Not all at once: their values are held until somebody has written them.
        yield from map_ahead(
            pool, lambda block: _evaluated(matched(found, *block), job), blocks, 2 * workers()
        )


def found_values(found: Found, job: Job) -> PerQuery:
    """What is computed for each query that is averaged, in byte order; nothing is counted."""
    refuse_ungrouped(job.plan, found.judgments.groups)
    parts = [job.plan.no_values()]
    for block in found.judgments.blocks(_BLOCK_ROWS):
        part = matched(found, *block)
        judged = _judged(part, job)
        parts.append(_values(part, judged, job).kept(kept_queries(judged, job.policies)))
    return PerQuery.joined(parts, ordered=False)


def _judged(part: Matched, job: Job) -> Judgments:
    ids = DOC in job.plan.columns
    return Judgments(part, rel=job.policies.rel, max_grade=job.max_grade, settle=ids)


def _evaluated(part: Matched, job: Job) -> Piece:
    plan, policies = job.plan, job.policies
    judged = _judged(part, job)
    relevant = judged.relevant(policies.rel)
    has_relevant = np.logical_or.reduceat(relevant, judged.starts)
    keep = kept_queries(judged, policies)
    computed = _values(part, judged, job).kept(keep)
    known = Known() if job.attributes is None else job.attributes.of(computed.values[QUERY])
    return Piece(
        computed,
        tally_values(plan.metrics, computed, known, job.intervals),
        Counts.of(
            judged,
            evaluated=keep,
            relevant=relevant,
            without_relevant=int((~has_relevant).sum()),
            known=known,
        ),
    )


def _values(part: Matched, judged: Judgments, job: Job) -> PerQuery:
    """What is computed for each query."""
    computed, beside = _judged_values(part, judged, job), job.plan.beside
    if beside is None:
        return computed
    groups = Groups(
        part,
        rel=job.policies.rel,
        max_grade=job.max_grade,
        settle=needs_ids(beside.columns),
        deepest=deepest_of(beside),
    )
    return computed.with_beside(per_query_values(beside, groups), job.plan.labels)


def deepest_of(plan: Plan) -> int | None:
    """How far down lists are looked at; None: to their end."""
    cutoffs = [metric.params.get("k") for metric in plan.metrics]
    known = [k for k in cutoffs if k is not None]
    return max(known) if len(known) == len(cutoffs) else None


def refuse_ungrouped(plan: Plan, groups: object) -> None:
    """Refuse metrics that look at groups, where judgments have none."""
    if plan.beside is not None and groups is None:
        raise MetricParameterError(
            f"{plan.beside.labels[0]!r} looks at groups (subtopics, facts) of judgments, and qrels "
            "has no such column. If it has one, name it: ",
            Option("columns", {"qrels": {GROUP: "…"}}),
            ".",
        )


def _judged_values(part: Matched, judged: Judgments, job: Job) -> PerQuery:
    """Over the judged frame; once for all queries of which everything is the same."""
    if not depends_on_ranks_alone(job.plan):
        return per_query_values(job.plan, judged)
    kinds = patterns(part)
    if kinds.part is part:
        return per_query_values(job.plan, judged)
    few = Judgments(kinds.part, rel=job.policies.rel, max_grade=job.max_grade)
    return per_query_values(job.plan, few).spread(kinds.of, judged.queries)


def depends_on_ranks_alone(plan: Plan) -> bool:
    """Whether all that metrics look at are the ranks and grades of a query's documents."""
    return not plan.whole_input and plan.columns.isdisjoint((QUERY, DOC, "tied_rank"))


def kept_queries(judged: Judgments, policies: Policies) -> NDArray[np.bool_]:
    """Which judged queries are averaged."""
    keep = np.ones(len(judged.queries), np.bool_)
    if policies.missing != "zero":
        keep &= ~judged.missing
    if policies.no_relevant == "skip":
        keep &= np.logical_or.reduceat(judged.relevant(policies.rel), judged.starts)
    return keep
