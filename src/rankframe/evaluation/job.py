"""The evaluation of one piece: rank, match, judge, and every metric's value for each query."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.keys import Keyed, match
from rankframe.base.columns import DOC, JUDGED_FRAME, QUERY
from rankframe.base.options import Intervals, Policies
from rankframe.engine.plan import Plan, compile_plan, per_query_values
from rankframe.engine.tally import tally_values
from rankframe.engine.work import Piece
from rankframe.evaluation.ledger import Counts
from rankframe.frames.judge import Judgments, prepare_run
from rankframe.frames.rank import RankedRun, rank_run
from rankframe.inputs.queries import Attributes, Known
from rankframe.inputs.validate import one_of_each
from rankframe.metrics.names import Metric


def judged_plan(metrics: Sequence[Metric]) -> Plan:
    """What is computed to evaluate a run."""
    return compile_plan(metrics, JUDGED_FRAME)


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
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (120, 140)

    def piece(self, left: pl.DataFrame, right: pl.DataFrame, *, alone: bool = True) -> Piece:
        """Evaluate a piece."""
        return evaluate_piece(left, right, self, alone=alone)


def evaluate_piece(
    qrels: pl.DataFrame, run: pl.DataFrame, job: Job, *, alone: bool = True
) -> Piece:
    """Evaluate queries whose rows, of both sides, are all here (see `Work.piece`)."""
    plan, policies = job.plan, job.policies
    rows = (qrels.height, run.height)
    if qrels.is_empty():
        return _unjudged(run, job)
    judgments, ranked, pairs, overlap = _ranked_and_matched(qrels, run, plan, policies, alone=alone)
    judged = Judgments(
        judgments,
        ranked,
        pairs,
        rel=policies.rel,
        max_grade=job.max_grade,
        settle=DOC in plan.columns,
    )
    has_relevant = np.logical_or.reduceat(judged.relevant(policies.rel), judged.starts)
    keep = _kept(judged, has_relevant, policies)
    computed = per_query_values(plan, judged).kept(keep)
    known = Known() if job.attributes is None else job.attributes.of(computed.values[QUERY])
    return Piece(
        computed,
        tally_values(plan.metrics, computed, known, job.intervals),
        Counts.of(
            judged,
            ranked,
            rows=rows,
            evaluated=computed.height,
            without_relevant=int((~has_relevant).sum()),
            overlap=overlap,
            known=known,
        ),
    )


def _unjudged(run: pl.DataFrame, job: Job) -> Piece:
    """A piece without judgments: nothing to evaluate, only documents to count."""
    ranked = rank_run(one_of_each(Keyed(run), "run", job.policies.duplicates))
    none = job.plan.no_values()
    return Piece(
        none,
        tally_values(job.plan.metrics, none, Known(np.empty(0)), job.intervals),
        Counts.unjudged(run.height, ranked),
    )


def _ranked_and_matched(
    qrels: pl.DataFrame, run: pl.DataFrame, plan: Plan, policies: Policies, *, alone: bool
) -> tuple[Keyed, RankedRun, tuple[NDArray[np.int64], NDArray[np.int64]], int]:
    """The two costly steps, side by side where cores are free: neither needs the other, and both
    release the GIL.
    """
    judgments, documents = Keyed(qrels), Keyed(run)
    if policies.duplicates == "keep_best":
        judgments = one_of_each(judgments, "qrels", policies.duplicates)
        documents = one_of_each(documents, "run", policies.duplicates)

    def ranked_run() -> RankedRun:
        tied_rank = "tied_rank" in plan.columns
        return prepare_run(documents, judgments, policies, tied_rank=tied_rank)

    with ThreadPoolExecutor(1) as beside:
        ranking = beside.submit(ranked_run) if alone and not policies.judged_only else None
        if policies.duplicates == "error":
            one_of_each(judgments, "qrels", policies.duplicates)
            one_of_each(documents, "run", policies.duplicates)
        pairs = match(documents, judgments)
        ranked = ranked_run() if ranking is None else ranking.result()
    overlap = len(pairs[0])
    if ranked.table is not documents:
        pairs = match(ranked.table, judgments)
    return judgments, ranked, pairs, overlap


def _kept(
    judged: Judgments, has_relevant: NDArray[np.bool_], policies: Policies
) -> NDArray[np.bool_]:
    """Which judged queries are averaged."""
    keep = np.ones(len(judged.queries), np.bool_)
    if policies.missing != "zero":
        keep &= ~judged.missing
    if policies.no_relevant == "skip":
        keep &= has_relevant
    return keep
