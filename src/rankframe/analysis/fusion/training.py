"""What judgments say of runs, for methods that are trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankframe.analysis.fusion.names import Method
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.trained import Hits
from rankframe.core.columns import QUERY, RANK
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, Policies
from rankframe.core.wording import naming_the_run
from rankframe.engine.evaluate import evaluate_scanned
from rankframe.engine.job import Job, judged_plan
from rankframe.engine.judge import judge
from rankframe.io.input_table import InputTable
from rankframe.metrics.names import resolve
from rankframe.stats.exact import Exact, exact_sum

# What is counted of a run, by length of the list and rank.
COUNTED: dict[str, Any] = {"length": pl.Int64, "rank": pl.Int64, "count": pl.Int64}
_LOOKED_AT = (QUERY, RANK, "relevant", "retrieved")


@dataclass(frozen=True)
class Judged:
    """What judgments say of a run, query by query."""

    # query_id, rank, relevant, retrieved: the judged rows; None: not asked for
    rows: pl.DataFrame | None
    # query_id, map: the average precision of every query; None: not asked for
    precision: pl.DataFrame | None

    def of(self, queries: pl.Series) -> Judged:
        """Of some of the queries."""
        some = queries.rename(QUERY).to_frame()
        return Judged(
            *(
                None if frame is None else frame.join(some, on=QUERY, how="semi")
                for frame in (self.rows, self.precision)
            )
        )

    def counts(self) -> Counts:
        """Added up over these queries."""
        total, queries = Exact(), 0
        if self.precision is not None and self.precision.height:
            total, queries = exact_sum(self.precision["map"].to_numpy()), self.precision.height
        return Counts(None if self.rows is None else _counted(self.rows), total, queries)

    def hits(self) -> Hits:
        """The same, as trained methods take it."""
        return self.counts().hits()


@dataclass(frozen=True)
class Counts:
    """What judgments say of a run: whole numbers and exact sums, which no order of rows changes and
    which add up over queries.
    """

    # length, rank, count: relevant documents at a rank of lists of a length; at rank 0, the lists;
    # None: not asked for
    table: pl.DataFrame | None
    # of average precision, and of how many queries
    precision: Exact
    queries: int

    @classmethod
    def of_none(cls, queries: int) -> Counts:
        """Of a run that lacks all of so many queries."""
        lists = {"length": [0], "rank": [0], "count": [queries]}
        return cls(pl.DataFrame(lists, COUNTED), Exact(), queries)

    def hits(self) -> Hits:
        """As trained methods take it."""
        mean = float(self.precision) / self.queries if self.queries else 0.0
        if self.table is None:
            return _no_hits(mean)
        table = self.table.sort("length", "rank")
        lists, hits = (table.filter(rank) for rank in (pl.col("rank") == 0, pl.col("rank") > 0))
        return Hits(
            queries=int(lists["count"].sum()),
            lengths=lists["length"].to_numpy(),
            lists=lists["count"].to_numpy(),
            length=hits["length"].to_numpy(),
            rank=hits["rank"].to_numpy(),
            count=hits["count"].to_numpy(),
            map=mean,
        )


def judged_by(
    qrels: InputTable,
    runs: Mapping[str, InputTable],
    policies: FusionPolicies,
    *,
    by_rank: bool = True,
    means: bool = True,
) -> list[Judged]:
    """What judgments say of each run: judged rows, and average precision; which of them is needed.

    Judged queries that a run lacks count as empty lists.
    """
    found: list[Judged] = []
    for name, run in runs.items():
        with naming_the_run(repr(name)):
            rows = _rows(qrels, run, policies) if by_rank else None
            found.append(Judged(rows, _precision(qrels, run, policies) if means else None))
    return found


def hits_of(
    qrels: InputTable,
    runs: Mapping[str, InputTable],
    policies: FusionPolicies,
    *,
    by_rank: bool = True,
    means: bool = True,
) -> list[Hits]:
    """The same added up: relevant documents by rank, and mean average precision."""
    found = judged_by(qrels, runs, policies, by_rank=by_rank, means=means)
    return [one.hits() for one in found]


def hits_for(
    method: Method,
    qrels: InputTable | None,
    runs: Mapping[str, InputTable],
    policies: FusionPolicies,
) -> list[Hits] | None:
    """What a method needs to be told of judgments; None where it is not trained."""
    check_judged(method, given=qrels is not None)
    if qrels is None:
        return None
    return hits_of(qrels, runs, policies, **needed(method))


def needed(method: Method) -> dict[str, bool]:
    """What a trained method looks at: hits by rank, or mean average precision."""
    assert method.definition is not None  # an expression is not trained
    means = method.definition.name == "mapfuse"
    return {"by_rank": not means, "means": means}


def check_judged(method: Method, *, given: bool) -> None:
    """Refuse judgments where nothing is trained, and their lack where something is."""
    if given and not method.trained:
        raise OptionError(
            Option("qrels"), f" is for methods that are trained, and {method.label} is not."
        )
    if method.trained and not given:
        assert method.definition is not None  # an expression is not trained
        raise OptionError(
            f"{method.definition.name} is trained on judgments. Pass them with ",
            Option("qrels"),
            ", best of other queries than those that are fused.",
        )


def _frame_policies(policies: FusionPolicies) -> Policies:
    """Those by which a run is evaluated."""
    return Policies(
        rel=policies.rel,
        relevance=policies.relevance,
        no_overlap="zero",
        order=policies.order,
        ranks=policies.ranks,
        ties=policies.ties,
        duplicates=policies.duplicates,
        unit=policies.unit,
        gaps=policies.gaps,
        k_max=policies.depth,
    )


def _precision(qrels: InputTable, run: InputTable, policies: FusionPolicies) -> pl.DataFrame:
    plan = judged_plan(resolve("map"))
    job = Job(plan, _frame_policies(policies), intervals=Intervals(None))
    return evaluate_scanned(qrels, run, job).per_query


def _rows(qrels: InputTable, run: InputTable, policies: FusionPolicies) -> pl.DataFrame:
    how = _frame_policies(policies)
    frame = judge(
        qrels,
        run,
        rel=how.rel,
        ties=how.ties,
        ranks=how.ranks,
        order=how.order,
        duplicates=how.duplicates,
        unit=how.unit,
        gaps=how.gaps,
        k_max=how.k_max,
    )
    return frame.select(_LOOKED_AT).collect()


def _counted(judged: pl.DataFrame) -> pl.DataFrame:
    """Lists and relevant documents, by length and rank."""
    lists = judged.group_by(QUERY).agg(length=pl.col("retrieved").first(), rank=pl.lit(0))
    relevant = judged.filter(pl.col("relevant"), pl.col(RANK).is_not_null())
    rows = [lists.select("length", "rank"), relevant.select(length="retrieved", rank=RANK)]
    every = pl.concat([one.cast(pl.Int64) for one in rows])
    return every.group_by("length", "rank").agg(pl.len().alias("count")).cast(pl.Int64)


def _no_hits(mean: float) -> Hits:
    none = np.empty(0, np.int64)
    return Hits(0, none, none, none, none, none, mean)
