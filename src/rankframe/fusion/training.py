"""What judgments say of runs, for methods that are trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankframe.base.columns import QUERY, RANK
from rankframe.base.errors import OptionError
from rankframe.base.fusion_options import FusionPolicies
from rankframe.base.messages import Option
from rankframe.base.options import Intervals, Policies
from rankframe.base.wording import naming_the_run
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job, judged_plan
from rankframe.evaluation.judge import judge
from rankframe.fusion.names import Method
from rankframe.fusion.trained import Hits
from rankframe.inputs.scanned import Scanned
from rankframe.metrics.names import resolve
from rankframe.stats.exact import exact_sum

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

    def hits(self) -> Hits:
        """Added up: whole numbers and exact sums, which no order of rows changes."""
        mean = 0.0
        if self.precision is not None and self.precision.height:
            mean = float(exact_sum(self.precision["map"].to_numpy())) / self.precision.height
        return _no_hits(mean) if self.rows is None else _hits(self.rows, mean)


def judged_by(
    qrels: Scanned,
    runs: Mapping[str, Scanned],
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
    qrels: Scanned,
    runs: Mapping[str, Scanned],
    policies: FusionPolicies,
    *,
    by_rank: bool = True,
    means: bool = True,
) -> list[Hits]:
    """The same added up: relevant documents by rank, and mean average precision."""
    found = judged_by(qrels, runs, policies, by_rank=by_rank, means=means)
    return [one.hits() for one in found]


def hits_for(
    method: Method, qrels: Scanned | None, runs: Mapping[str, Scanned], policies: FusionPolicies
) -> list[Hits] | None:
    """What a method needs to be told of judgments; None where it is not trained."""
    if not method.trained:
        return None
    assert method.definition is not None  # an expression is not trained
    if qrels is None:
        raise OptionError(
            f"{method.definition.name} is trained on judgments. Pass them with ",
            Option("qrels"),
            ", best of other queries than those that are fused.",
        )
    means = method.definition.name == "mapfuse"
    return hits_of(qrels, runs, policies, by_rank=not means, means=means)


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
        k_max=policies.depth,
    )


def _precision(qrels: Scanned, run: Scanned, policies: FusionPolicies) -> pl.DataFrame:
    plan = judged_plan(resolve("map"))
    job = Job(plan, _frame_policies(policies), intervals=Intervals(None))
    return evaluate_scanned(qrels, run, job).per_query


def _rows(qrels: Scanned, run: Scanned, policies: FusionPolicies) -> pl.DataFrame:
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
        k_max=how.k_max,
    )
    return frame.select(_LOOKED_AT).collect()


def _hits(judged: pl.DataFrame, mean: float) -> Hits:
    lists = judged.group_by(QUERY).agg(pl.col("retrieved").first())["retrieved"]
    lengths, counts = np.unique(lists.to_numpy(), return_counts=True)
    relevant = judged.filter(pl.col("relevant"), pl.col(RANK).is_not_null())
    pairs = np.stack([relevant["retrieved"].to_numpy(), relevant[RANK].to_numpy()])
    of, hits = np.unique(pairs, axis=1, return_counts=True)
    return Hits(
        queries=len(lists),
        lengths=lengths.astype(np.int64),
        lists=counts,
        length=of[0],
        rank=of[1],
        count=hits,
        map=mean,
    )


def _no_hits(mean: float) -> Hits:
    none = np.empty(0, np.int64)
    return Hits(0, none, none, none, none, none, mean)
