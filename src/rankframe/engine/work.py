"""One piece of an evaluation: some queries with all of their judgments and retrieved documents.

Evaluation is independent per query, so any split by query gives the same values, bit for bit: the
whole input at once, pieces that fit in memory, or the partitions of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.keys import Keyed, match
from rankframe.arrays.segments import segment_starts
from rankframe.base.columns import DOC, QUERY
from rankframe.base.options import Intervals, Policies
from rankframe.engine.plan import Plan, per_query_values
from rankframe.evaluation.ledger import Additive, Counts
from rankframe.evaluation.summary import Tally, Terms, tally
from rankframe.frames.judge import Judgments, prepare_run
from rankframe.frames.rank import RankedRun, rank_run
from rankframe.inputs.queries import Attributes, Known
from rankframe.inputs.validate import one_of_each
from rankframe.metrics.names import Metric
from rankframe.stats.resample import hash_ids

# The queries that a summary speaks of: all of them, or (way of slicing, number of the slice).
SliceKey: TypeAlias = tuple[int, int]
WHOLE: Final[SliceKey] = (-1, -1)
Tallies: TypeAlias = dict[SliceKey, Tally]


class Work(Protocol):
    """What is done with every piece of two inputs."""

    @property
    def plan(self) -> Plan:
        """What is computed."""
        ...

    @property
    def intervals(self) -> Intervals:
        """Which intervals its averages get."""
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
    # weights and slices of queries
    attributes: Attributes | None = None
    intervals: Intervals = field(default_factory=Intervals)
    # whether values come with the sums that micro averages need
    with_parts: bool = False

    def piece(self, left: pl.DataFrame, right: pl.DataFrame, *, alone: bool = True) -> Piece:
        """Evaluate a piece."""
        return evaluate_piece(left, right, self, alone=alone)


@dataclass(frozen=True)
class Piece:
    """Values of a piece's queries, what their summaries are made of, and what was seen."""

    values: pl.DataFrame
    tallies: Tallies
    counts: Additive
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int
    # the first judged query that the run lacks
    lacking: str | None = None
    # how many evaluated queries have no proper weight, and the first of them
    unweighted: tuple[int, str | None] = (0, None)
    # evaluated queries that the frame of queries lacks
    absent: int = 0

    def __add__(self, other: Piece) -> Piece:
        """Both as one, but for the values, which are those of the first."""
        tallies = {
            key: self.tallies[key] + other.tallies[key]
            if key in self.tallies and key in other.tallies
            else (self.tallies if key in self.tallies else other.tallies)[key]
            for key in {**self.tallies, **other.tallies}
        }
        examples = self.unweighted[1], other.unweighted[1]
        return Piece(
            self.values,
            tallies,
            self.counts + other.counts,
            self.overlap + other.overlap,
            _first([self.lacking, other.lacking]),
            (self.unweighted[0] + other.unweighted[0], _first(examples)),
            self.absent + other.absent,
        )


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
    values = per_query_values(plan, judged)
    if not keep.all():
        values = values.filter(pl.Series(keep))
    known = Known() if job.attributes is None else job.attributes.of(values[QUERY])
    return Piece(
        values if job.with_parts else values.select(QUERY, *plan.metric_labels),
        tally_values(plan.metrics, values, known, job.intervals),
        Counts.of(
            judged,
            ranked,
            rows=rows,
            evaluated=values.height,
            without_relevant=int((~has_relevant).sum()),
        ),
        overlap,
        next(iter(judged.queries.filter(pl.Series(judged.missing)).head(1)), None),
        (known.unweighted, known.example),
        known.absent,
    )


def tally_values(
    metrics: Sequence[Metric], values: pl.DataFrame, known: Known, intervals: Intervals
) -> Tallies:
    """What the summaries of all queries and of every slice are made of."""
    terms = [Terms.of(metric, values, known.weights) for metric in metrics]
    hashes = hash_ids(values[QUERY]) if intervals.ci == "bootstrap" else None
    tallies: Tallies = {WHOLE: tally(metrics, terms, intervals=intervals, hashes=hashes)[0]}
    for way, numbers in enumerate(known.slices):
        order = np.argsort(numbers, kind="stable")
        starts = segment_starts(numbers[order])
        parts = tally(
            metrics,
            [some.taken(order) for some in terms],
            starts,
            intervals=intervals,
            hashes=None if hashes is None else hashes[order],
        )
        of = numbers[order][starts].tolist()
        tallies |= {(way, number): part for number, part in zip(of, parts, strict=True)}
    return tallies


def merged(pieces: Iterable[Piece], *, ordered: bool = False) -> Piece:
    """Pieces of different queries as one: the same as if they had been evaluated together.

    `ordered`: the queries of each come after those of the one before.
    """
    # What adds up is added as it comes: only the values of all pieces are held.
    values: list[pl.DataFrame] = []
    whole: Piece | None = None
    for piece in pieces:
        values.append(piece.values)
        whole = piece if whole is None else whole + piece
    assert whole is not None  # no input is empty
    together = pl.concat(values)
    return replace(whole, values=together if ordered else together.sort(QUERY))


def _first(names: Iterable[str | None]) -> str | None:
    return min((name for name in names if name is not None), default=None)


def _unjudged(run: pl.DataFrame, job: Job) -> Piece:
    """A piece without judgments: nothing to evaluate, only documents to count."""
    ranked = rank_run(one_of_each(Keyed(run), "run", job.policies.duplicates))
    none, plan = job.plan.no_values(), job.plan
    return Piece(
        none if job.with_parts else none.select(QUERY, *plan.metric_labels),
        tally_values(plan.metrics, none, Known(np.empty(0)), job.intervals),
        Counts.unjudged(run.height, ranked),
        0,
        None,
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
