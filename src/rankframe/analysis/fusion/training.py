"""Judge runs, to train methods on their hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankframe.analysis.fusion.hits import HIT_SCHEMA, Hits
from rankframe.analysis.fusion.names import Method
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.columns import QUERY, RANK
from rankframe.core.options import Policies
from rankframe.core.wording import naming_the_run
from rankframe.engine.lazy_frames import judge
from rankframe.engine.prepare import evaluate_judged
from rankframe.io.input_table import InputTable
from rankframe.metrics.names import resolve
from rankframe.stats.exact import Exact, exact_sum


@dataclass(frozen=True)
class JudgedRun:
    """Hold the documents and precisions that training counts, query by query."""

    # query_id, rank, relevant, retrieved: the judged documents; None: not needed
    documents: pl.DataFrame | None
    # query_id, map: the average precision of every query; None: not needed
    precision: pl.DataFrame | None

    def count(self, queries: pl.Series | None = None) -> Hits:
        """Count the hits, of these queries alone if there are any."""
        documents, precision = (
            frame
            if frame is None or queries is None
            else frame.join(queries.rename(QUERY).to_frame(), on=QUERY, how="semi")
            for frame in (self.documents, self.precision)
        )
        table, total, judged = pl.DataFrame(schema=HIT_SCHEMA), Exact(), 0
        if documents is not None:
            table, judged = _count_by_rank(documents), documents[QUERY].n_unique()
        if precision is not None and precision.height:
            total, judged = exact_sum(precision["map"].to_numpy()), precision.height
        return Hits(table, total, judged)


def columns_needed(method: Method) -> dict[str, bool]:
    """Return whether a trained method learns from ranks, or from mean average precision."""
    means = method.definition.name == "mapfuse"
    return {"by_rank": not means, "means": means}


def judge_runs(
    qrels: InputTable,
    runs: Mapping[str, InputTable],
    policies: FusionPolicies,
    *,
    by_rank: bool = True,
    means: bool = True,
) -> list[JudgedRun]:
    """Judge each run: judged documents by rank, and average precision, whichever is needed.

    Judged queries that a run lacks count as empty lists.
    """
    shared = set(vars(FusionPolicies())) & set(vars(Policies())) - {"k_max"}
    options: dict[str, Any] = {name: getattr(policies, name) for name in shared}
    options["k_max"] = policies.depth
    evaluation = evaluate_judged(
        resolve("map"), Policies(**options, no_overlap="zero"), summed=False
    )
    del options["relevance"]  # the judgments have it already
    judged: list[JudgedRun] = []
    for name, run in runs.items():
        documents = precision = None
        with naming_the_run(repr(name)):
            if by_rank:
                frame = judge(qrels, run, **options)
                documents = frame.select(QUERY, RANK, "relevant", "retrieved").collect()
            if means:
                precision = evaluation.evaluate(qrels, run).join().values
        judged.append(JudgedRun(documents, precision))
    return judged


def _count_by_rank(judged: pl.DataFrame) -> pl.DataFrame:
    lists = judged.group_by(QUERY).agg(length=pl.col("retrieved").first(), rank=pl.lit(0))
    relevant = judged.filter(pl.col("relevant"), pl.col(RANK).is_not_null())
    parts = [lists.select("length", "rank"), relevant.select(length="retrieved", rank=RANK)]
    rows = pl.concat([frame.cast(pl.Int64) for frame in parts])
    return rows.group_by("length", "rank").agg(pl.len().alias("count")).cast(pl.Int64)
