"""What was counted: the ledger that goes with every result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from rankframe.judge import Judgments
from rankframe.rank import RankedRun

_TOP = 10
POLICY = "policy_"
SCHEMA = {"item": pl.String, "value": pl.Float64, "note": pl.String}


def make_ledger(
    judged: Judgments,
    run: RankedRun,
    *,
    rows: Mapping[str, int],
    evaluated: int,
    without_relevant: int,
    policies: Mapping[str, object],
) -> pl.DataFrame:
    """The ledger: `item`, `value` (a count or a share) and `note` (what it means, or a policy)."""
    missing = int(judged.missing.sum())
    judged_queries = len(judged.queries)
    shared = judged_queries - missing
    shown = np.minimum(judged.retrieved, _TOP).sum()
    judged_in_top = int(((judged.rank > 0) & (judged.rank <= _TOP)).sum())
    counts: list[tuple[str, float | None, str]] = [
        ("qrels_rows", rows["qrels"], "judgments read"),
        ("qrels_queries", judged_queries, "queries with judgments"),
        ("run_rows", rows["run"], "retrieved documents read"),
        ("run_queries", run.queries.height, "queries in the run"),
        ("queries_evaluated", evaluated, "queries in the per-query results"),
        ("queries_missing", missing, "judged, but not in the run"),
        ("queries_unjudged", run.queries.height - shared, "in the run, but not judged: left out"),
        ("queries_without_relevant", without_relevant, "judged, but nothing is relevant"),
        ("judged_retrieved", judged.matched, "judged documents that the run retrieved"),
        (
            f"judged_share_top_{_TOP}",
            judged_in_top / shown if shown else None,
            f"of the documents in the top {_TOP}, how many were judged",
        ),
        ("tied_documents", run.tied, "same score as the document above: placed by the tie rule"),
    ]
    if run.disagreeing is not None:
        counts.append(
            ("rank_score_disagree", run.disagreeing, "queries whose rank column contradicts score")
        )
    settings = [(f"{POLICY}{name}", None, str(value)) for name, value in policies.items()]
    return pl.DataFrame([*counts, *settings], schema=SCHEMA, orient="row")
