"""What judgments say of runs, for methods that are trained on them."""

from __future__ import annotations

from collections.abc import Mapping

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

_LOOKED_AT = (QUERY, RANK, "relevant", "retrieved")


def hits_of(
    qrels: Scanned,
    runs: Mapping[str, Scanned],
    policies: FusionPolicies,
    *,
    by_rank: bool = True,
    means: bool = True,
) -> list[Hits]:
    """What judgments say of each run: relevant documents by rank, and mean average precision.

    Judged queries that a run lacks count as empty lists. All of it is made of whole numbers and
    exact sums, so that the order of rows changes nothing. `by_rank`, `means`: which is needed.
    """
    found: list[Hits] = []
    for name, run in runs.items():
        with naming_the_run(repr(name)):
            mean = _mean(qrels, run, policies) if means else 0.0
            found.append(_hits(qrels, run, policies, mean) if by_rank else _no_hits(mean))
    return found


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
        k_max=policies.depth,
    )


def _mean(qrels: Scanned, run: Scanned, policies: FusionPolicies) -> float:
    plan = judged_plan(resolve("map"))
    job = Job(plan, _frame_policies(policies), intervals=Intervals(None))
    return evaluate_scanned(qrels, run, job)["map"] or 0.0


def _hits(qrels: Scanned, run: Scanned, policies: FusionPolicies, mean: float) -> Hits:
    how = _frame_policies(policies)
    frame = judge(
        qrels,
        run,
        rel=how.rel,
        ties=how.ties,
        ranks=how.ranks,
        order=how.order,
        duplicates=how.duplicates,
        k_max=how.k_max,
    )
    judged = frame.select(_LOOKED_AT).collect()
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
