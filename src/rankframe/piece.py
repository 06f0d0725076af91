"""One piece of an evaluation: some queries with all of their judgments and retrieved documents.

Evaluation is independent per query, so any split by query gives the same values, bit for bit: the
whole input at once, pieces that fit in memory, or the partitions of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.columns import DOC, QUERY
from rankframe.judge import Judgments, prepare_run
from rankframe.keys import Keyed, match
from rankframe.ledger import Counts
from rankframe.plan import Plan, per_query_values
from rankframe.policies import Policies
from rankframe.rank import RankedRun, rank_run
from rankframe.validate import one_of_each


@dataclass(frozen=True)
class Piece:
    """Values of a piece's queries (with the sums that micro averages need), and what was seen."""

    values: pl.DataFrame
    counts: Counts
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int
    # the first judged query that the run lacks
    lacking: str | None


def evaluate_piece(
    qrels: pl.DataFrame,
    run: pl.DataFrame,
    plan: Plan,
    policies: Policies,
    *,
    max_grade: float | None = None,
    alone: bool = True,
) -> Piece:
    """Evaluate queries whose rows, of both sides, are all here.

    `max_grade` is the largest grade of all pieces together, where this is not the only one.
    `alone`: no other piece is evaluated at the same time, so more than one core may be used.
    """
    rows = (qrels.height, run.height)
    if qrels.is_empty():
        return _unjudged(run, plan)
    judgments, ranked, pairs, overlap = _ranked_and_matched(qrels, run, plan, policies, alone=alone)
    judged = Judgments(
        judgments,
        ranked,
        pairs,
        rel=policies.rel,
        max_grade=max_grade,
        settle=DOC in plan.columns,
    )
    has_relevant = np.logical_or.reduceat(judged.relevant(policies.rel), judged.starts)
    keep = _kept(judged, has_relevant, policies)
    values = per_query_values(plan, judged)
    if not keep.all():
        values = values.filter(pl.Series(keep))
    return Piece(
        values,
        Counts.of(
            judged,
            ranked,
            rows=rows,
            evaluated=values.height,
            without_relevant=int((~has_relevant).sum()),
        ),
        overlap,
        next(iter(judged.queries.filter(pl.Series(judged.missing)).head(1)), None),
    )


def merged(pieces: Sequence[Piece], *, ordered: bool = False) -> Piece:
    """Pieces of different queries as one: the same as if they had been evaluated together.

    `ordered`: the queries of each come after those of the one before.
    """
    values = pl.concat([piece.values for piece in pieces])
    lacking = [piece.lacking for piece in pieces if piece.lacking is not None]
    return Piece(
        values if ordered else values.sort(QUERY),
        reduce(add, (piece.counts for piece in pieces)),
        sum(piece.overlap for piece in pieces),
        min(lacking, default=None),
    )


def _unjudged(run: pl.DataFrame, plan: Plan) -> Piece:
    """A piece without judgments: nothing to evaluate, only documents to count."""
    ranked = rank_run(Keyed(run))
    return Piece(plan.no_values(), Counts.unjudged(run.height, ranked), 0, None)


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
