"""One piece of an evaluation: some queries with all of their judgments and retrieved documents.

Evaluation is independent per query, so any split by query gives the same values, bit for bit: the
whole input at once, pieces that fit in memory, or the partitions of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.columns import DOC, QUERY, WEIGHT
from rankframe.judge import Judgments, prepare_run
from rankframe.keys import Keyed, match
from rankframe.ledger import Additive, Counts
from rankframe.plan import Plan, per_query_values
from rankframe.policies import Policies
from rankframe.rank import RankedRun, rank_run
from rankframe.summary import Sums, sums_of
from rankframe.validate import one_of_each


class Work(Protocol):
    """What is done with every piece of two inputs."""

    @property
    def plan(self) -> Plan:
        """What is computed."""
        ...

    def piece(self, left: pl.DataFrame, right: pl.DataFrame, *, alone: bool = True) -> Piece:
        """Do it for queries whose rows, of both sides, are all here.

        `alone`: no other piece is worked on at the same time, so more than one core may be used.
        """
        ...


@dataclass(frozen=True)
class Job:
    """The evaluation of a run (right) against judgments (left)."""

    plan: Plan
    policies: Policies
    # the largest grade of all pieces together; None: this is the only one
    max_grade: float | None = None
    # query_id and weight, where some metric is averaged by weight
    weighting: pl.DataFrame | None = None

    def piece(self, left: pl.DataFrame, right: pl.DataFrame, *, alone: bool = True) -> Piece:
        """Evaluate a piece."""
        return evaluate_piece(left, right, self, alone=alone)


@dataclass(frozen=True)
class Piece:
    """Values of a piece's queries, their sums, and what was seen."""

    values: pl.DataFrame
    # one a metric
    sums: tuple[Sums, ...]
    counts: Additive
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int
    # the first judged query that the run lacks
    lacking: str | None = None
    # how many evaluated queries have no proper weight, and the first of them
    unweighted: tuple[int, str | None] = (0, None)


def evaluate_piece(
    qrels: pl.DataFrame, run: pl.DataFrame, job: Job, *, alone: bool = True
) -> Piece:
    """Evaluate queries whose rows, of both sides, are all here (see `Work.piece`)."""
    plan, policies = job.plan, job.policies
    rows = (qrels.height, run.height)
    if qrels.is_empty():
        return _unjudged(run, plan)
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
    values = per_query_values(plan, judged)
    if not keep.all():
        values = values.filter(pl.Series(keep))
    weights, unweighted = _weights(values[QUERY], job.weighting)
    return Piece(
        values.select(QUERY, *plan.metric_labels),
        tuple(sums_of(metric, values, weights) for metric in plan.metrics),
        Counts.of(
            judged,
            ranked,
            rows=rows,
            evaluated=values.height,
            without_relevant=int((~has_relevant).sum()),
        ),
        overlap,
        next(iter(judged.queries.filter(pl.Series(judged.missing)).head(1)), None),
        unweighted,
    )


def merged(pieces: Sequence[Piece], *, ordered: bool = False) -> Piece:
    """Pieces of different queries as one: the same as if they had been evaluated together.

    `ordered`: the queries of each come after those of the one before.
    """
    values = pl.concat([piece.values for piece in pieces])
    return Piece(
        values if ordered else values.sort(QUERY),
        tuple(reduce(add, sums) for sums in zip(*(piece.sums for piece in pieces), strict=True)),
        reduce(add, (piece.counts for piece in pieces)),
        sum(piece.overlap for piece in pieces),
        _first(piece.lacking for piece in pieces),
        (
            sum(piece.unweighted[0] for piece in pieces),
            _first(piece.unweighted[1] for piece in pieces),
        ),
    )


def _first(names: Iterable[str | None]) -> str | None:
    return min((name for name in names if name is not None), default=None)


def _weights(
    queries: pl.Series, weighting: pl.DataFrame | None
) -> tuple[NDArray[np.float64] | None, tuple[int, str | None]]:
    """The weight of each query, 0 where it has no proper one; and of these how many, and which."""
    if weighting is None:
        return None, (0, None)
    weight = queries.to_frame().join(weighting, on=QUERY, how="left", maintain_order="left")[WEIGHT]
    proper = (weight.is_finite() & (weight >= 0)).fill_null(value=False)
    improper = queries.filter(~proper)
    first = improper[0] if len(improper) else None
    weights = weight.set(~proper, 0.0).to_numpy()
    return weights, (len(improper), first)


def _unjudged(run: pl.DataFrame, plan: Plan) -> Piece:
    """A piece without judgments: nothing to evaluate, only documents to count."""
    ranked = rank_run(Keyed(run))
    none = plan.no_values()
    sums = tuple(sums_of(metric, none, np.empty(0)) for metric in plan.metrics)
    return Piece(
        none.select(QUERY, *plan.metric_labels), sums, Counts.unjudged(run.height, ranked), 0, None
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
        return prepare_run(
            documents,
            judgments,
            ties=policies.ties,
            tied_rank="tied_rank" in plan.columns,
            k_max=policies.k_max,
            judged_only=policies.judged_only,
        )

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
