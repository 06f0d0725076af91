"""What was counted: sums that add up over pieces, and the ledger that goes with every result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankframe.engine.work import Additive
from rankframe.frames.judge import Judgments
from rankframe.frames.rank import RankedRun
from rankframe.inputs.queries import Known

_TOP = 10
POLICY = "policy_"
SCHEMA = {"item": pl.String, "value": pl.Float64, "note": pl.String}


@dataclass(frozen=True)
class Counts(Additive):
    """What was seen in some of the queries."""

    qrels_rows: int
    qrels_queries: int
    run_rows: int
    run_queries: int
    evaluated: int
    missing: int
    without_relevant: int
    judged_retrieved: int
    in_top: int
    judged_in_top: int
    tied: int
    # None: the run does not have both a score and a rank
    disagreeing: int | None
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int = 0
    # evaluated queries that the frame of queries lacks, and those without a proper weight
    absent: int = 0
    unweighted: int = 0
    # a judged query that the run lacks, and one without a proper weight
    lacking: str | None = None
    weightless: str | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Judgments and retrieved documents that were read."""
        return self.qrels_rows, self.run_rows

    @classmethod
    def of(
        cls,
        judged: Judgments,
        run: RankedRun,
        *,
        rows: tuple[int, int],
        evaluated: int,
        without_relevant: int,
        overlap: int,
        known: Known,
    ) -> Counts:
        """What was seen: `rows` are those of qrels and run as read."""
        return cls(
            qrels_rows=rows[0],
            qrels_queries=len(judged.queries),
            run_rows=rows[1],
            run_queries=run.queries.height,
            evaluated=evaluated,
            missing=int(judged.missing.sum()),
            without_relevant=without_relevant,
            judged_retrieved=judged.matched,
            in_top=int(np.minimum(judged.retrieved, _TOP).sum()),
            judged_in_top=int(((judged.rank > 0) & (judged.rank <= _TOP)).sum()),
            tied=run.tied,
            disagreeing=run.disagreeing,
            overlap=overlap,
            absent=known.absent,
            unweighted=known.unweighted,
            lacking=next(iter(judged.queries.filter(pl.Series(judged.missing)).head(1)), None),
            weightless=known.example,
        )

    @classmethod
    def unjudged(cls, rows: int, run: RankedRun) -> Counts:
        """What was seen in queries without any judgment."""
        return cls(0, 0, rows, run.queries.height, 0, 0, 0, 0, 0, 0, run.tied, run.disagreeing)


def make_ledger(counts: Counts, policies: Mapping[str, object]) -> pl.DataFrame:
    """The ledger: `item`, `value` (a count or a share) and `note` (what it means, or a policy)."""
    shared = counts.qrels_queries - counts.missing
    share = counts.judged_in_top / counts.in_top if counts.in_top else None
    items: list[tuple[str, float | None, str]] = [
        ("qrels_rows", counts.qrels_rows, "judgments read"),
        ("qrels_queries", counts.qrels_queries, "queries with judgments"),
        ("run_rows", counts.run_rows, "retrieved documents read"),
        ("run_queries", counts.run_queries, "queries in the run"),
        ("queries_evaluated", counts.evaluated, "queries in the per-query results"),
        ("queries_missing", counts.missing, "judged, but not in the run"),
        ("queries_unjudged", counts.run_queries - shared, "in the run, but not judged: left out"),
        ("queries_without_relevant", counts.without_relevant, "judged, but nothing is relevant"),
        ("judged_retrieved", counts.judged_retrieved, "judged documents that the run retrieved"),
        (
            f"judged_share_top_{_TOP}",
            share,
            f"of the documents in the top {_TOP}, how many were judged",
        ),
        ("tied_documents", counts.tied, "same score as the document above: placed by the tie rule"),
    ]
    if counts.disagreeing is not None:
        items.append(
            ("rank_score_disagree", counts.disagreeing, "queries whose ranks contradict scores")
        )
    if counts.absent:
        note = "evaluated, but not in the frame of queries"
        items.append(("queries_without_attributes", counts.absent, note))
    return described(items, policies)


def described(
    items: Sequence[tuple[str, float | None, str]], policies: Mapping[str, object]
) -> pl.DataFrame:
    """What was counted, then the policies in force, as a frame."""
    settings = [(f"{POLICY}{name}", None, str(value)) for name, value in policies.items()]
    return pl.DataFrame([*items, *settings], schema=SCHEMA, orient="row")
