"""Prepare training: judge runs, and count their relevant documents by rank for methods to learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.arrays import Floats, Ints
from rankframe.core.columns import QUERY, RANK
from rankframe.core.errors import naming_the_run
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.lazy_frames import judge
from rankframe.io.input_table import InputTable
from rankframe.metrics.names import resolve
from rankframe.stats.exact import Exact, exact_sum

HIT_SCHEMA: dict[str, Any] = {"length": pl.Int64, "rank": pl.Int64, "count": pl.Int64}


@record
class Hits:
    """Hold counts of the lists and relevant documents of a run, in whole numbers and exact sums.

    The counts do not depend on the order of rows, and counts of different queries add up.
    """

    # length, rank, count: the number of relevant documents at this rank of lists with this length;
    # at rank 0, the number of lists
    table: pl.DataFrame
    # the sum of average precision over queries
    precision: Exact
    # the number of judged queries, including queries that the run lacks
    queries: int

    def merge(self, other: Hits) -> Hits:
        """Return the sums of both counts, which must be of different queries."""
        table = pl.concat([self.table, other.table]).group_by("length", "rank").sum()
        return Hits(table, self.precision + other.precision, self.queries + other.queries)

    @property
    def map(self) -> float:
        """Return the mean average precision."""
        return float(self.precision) / self.queries if self.queries else 0.0

    @cached_property
    def relevant(self) -> dict[str, Ints]:
        """Return the rows of `table` about documents as arrays, ordered by length and rank."""
        rows = self.table.filter(pl.col("rank") > 0).sort("length", "rank")
        return {name: rows[name].to_numpy() for name in HIT_SCHEMA}

    def in_segments(self, ends: Ints) -> Ints:
        """Count relevant documents in segments of ranks that end at `ends`, not beyond the last."""
        segment = np.searchsorted(ends, self.relevant["rank"])
        inside = segment < len(ends)
        counts = self.relevant["count"][inside]
        return np.bincount(segment[inside], counts, minlength=len(ends)).astype(np.int64)

    def chances(self) -> Floats:
        """Return for each rank the share of lists reaching it with a relevant document there.

        Ranks go from 1 to the length of the longest list.
        """
        lists = self.table.filter(pl.col("rank") == 0)
        counts = np.bincount(lists["length"].to_numpy(), lists["count"].to_numpy(), minlength=1)
        reaching = np.cumsum(counts.astype(np.int64)[::-1])[::-1][1:]
        ranks = np.arange(1, len(reaching) + 1)
        return self.in_segments(ranks) / reaching


@record
class JudgedRun:
    """Hold the ranks of relevant documents and the average precision of a run, query by query."""

    # query_id; if the method needs them, length (of the list), ranks (of relevant documents), map
    table: pl.DataFrame

    def count(self, queries: pl.Series | None = None) -> Hits:
        """Return the `Hits` of the run in all queries, or only in `queries`."""
        table, hits, precision = self.table, pl.DataFrame(schema=HIT_SCHEMA), Exact()
        if queries is not None:
            table = table.filter(pl.col(QUERY).is_in(queries.implode()))
        if "ranks" in table.columns:
            hits = _count_by_rank(table)
        if "map" in table.columns:
            precision = exact_sum(table["map"].to_numpy())
        return Hits(hits, precision, table.height)


def judge_runs(
    qrels: InputTable,
    runs: Mapping[str, InputTable],
    policies: FusionPolicies,
    method: str | None = None,
) -> list[JudgedRun]:
    """Judge each run: judged documents by rank, and average precision.

    With the name of a method, columns that the method does not learn from are left out. Judged
    queries that a run lacks count as empty lists.
    """
    # The judgments already have the column of grades.
    options = {**vars(policies), "k_max": policies.depth, "relevance": None}
    del options["depth"]
    evaluation = prepare_evaluation(
        resolve("map"), Policies(**options, no_overlap="zero"), summed=False
    )
    judged: list[JudgedRun] = []
    for name, whole in runs.items():
        run, parts = _cut_kept_ranks(whole, policies), []
        with naming_the_run(repr(name)):
            if method != "mapfuse":
                ranks = pl.col(RANK).filter("relevant").drop_nulls()
                lists = judge(qrels, run, **options).group_by(QUERY)
                parts.append(lists.agg(length=pl.first("retrieved"), ranks=ranks).collect())
            if method in (None, "mapfuse"):
                parts.append(evaluation.evaluate(qrels, run).join().select(QUERY, "map"))
        judged.append(JudgedRun(pl.concat(parts, how="align")))
    return judged


def _cut_kept_ranks(run: InputTable, policies: FusionPolicies) -> InputTable:
    """Drop the rows of a run that fusion would drop, so that lists have the same lengths."""
    frame = run.frame
    kept = policies.cut_kept_ranks(frame)
    if kept is frame:
        return run
    mapping = {name: name for name in run.mapping}
    return replace(run, raw=kept, mapping=mapping, lists=None, seekable=False, distance=False)


def _count_by_rank(judged: pl.DataFrame) -> pl.DataFrame:
    lists = judged.select("length", rank=pl.lit(0))
    relevant = judged.select("length", rank="ranks").explode("rank").drop_nulls()
    rows = pl.concat([frame.cast(pl.Int64) for frame in (lists, relevant)])
    return rows.group_by("length", "rank").agg(pl.len().alias("count")).cast(pl.Int64)
