"""Unjudged documents are holes in the judgments: fill them, and see what values depend on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from rankframe.arrays.keys import Keyed, match
from rankframe.base.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.base.errors import OptionError
from rankframe.base.options import Intervals, Policies, Ties, is_count
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job, judged_plan
from rankframe.frames.rank import rank_run
from rankframe.inputs.queries import Attributes
from rankframe.inputs.scan import scan
from rankframe.inputs.validate import one_of_each
from rankframe.metrics.names import Metric


def fill_holes(
    qrels: pl.DataFrame,
    run: pl.DataFrame,
    *,
    grade: float,
    k: int | None,
    ties: Ties = "doc_desc",
) -> pl.DataFrame:
    """The judgments, and one of `grade` for every unjudged document in the run's top k.

    Both frames as they are loaded: ids as strings, numbers as Float64. `k=None` fills the whole
    list. A query without any judgment stays without. Judgments come first, as given, then what was
    filled, in the order of the run.

    >>> qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [2.0]})
    >>> run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("xay"), "score": [3.0, 2.0, 1.0]})
    >>> fill_holes(qrels, run, grade=0, k=2).rows()
    [('q', 'a', 2.0), ('q', 'x', 0.0)]
    """
    if k is not None and not is_count(k):
        raise OptionError(f"k must be a whole number of at least 1, or None, not {k!r}.")
    if not math.isfinite(grade):
        raise OptionError(f"grade must be a finite number, not {grade!r}.")
    judgments = one_of_each(Keyed(qrels), "qrels", "error")
    documents = one_of_each(Keyed(run), "run", "error")
    holes = _find(judgments, documents, k, Policies(ties=ties, no_overlap="zero"))
    return _filled(judgments, holes, k, grade)


def hole_bounds(
    qrels: pl.DataFrame,
    run: pl.DataFrame,
    metrics: Sequence[Metric],
    *,
    policies: Policies | None = None,
    weighting: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """What each metric would be, had every unjudged document been judged: metric, if_nonrelevant,
    if_relevant.

    A metric's holes are the unjudged documents in its own cutoff (without one, in the whole list)
    and not below `k_max`. They are filled with grade 0, and with the largest grade of the
    judgments: at least 1, and at least the `rel` of the policies and of the metric.

    These are values under two assumptions, not limits. The second is not always the larger one, nor
    above the value as evaluated: relevant documents that are found late also lengthen the ideal
    ranking and raise R, as for nDCG and MAP. The first may differ from the value as evaluated:
    bpref, infAP and others leave unjudged documents aside. Where `no_relevant="skip"`, the second
    may be averaged over more queries. With a `rel` of 0 or less, grade 0 is relevant too.

    With `judged_only` the run has no unjudged documents, so both are the value as evaluated.

    `weighting` has query_id and weight, for metrics that are averaged by weight.

    >>> from rankframe.metrics.names import resolve
    >>> qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [2.0]})
    >>> run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("xay"), "score": [3.0, 2.0, 1.0]})
    >>> hole_bounds(qrels, run, resolve(["precision@2", "recall@1"])).rows()
    [('precision@2', 0.5, 1.0), ('recall@1', 0.0, 0.5)]
    """
    policies = policies or Policies()
    judgments = one_of_each(Keyed(qrels), "qrels", policies.duplicates)
    documents = one_of_each(Keyed(run), "run", policies.duplicates)
    top = judgments.frame.select(pl.col(RELEVANCE).max()).item()
    cutoffs = [min(metric.params.get("k"), policies.k_max, key=_depth) for metric in metrics]
    deepest = max(cutoffs, key=_depth, default=None)
    holes = _find(judgments, documents, deepest, policies)
    known = None if weighting is None else Attributes(weighting)

    def values(grades: Sequence[float]) -> list[float | None]:
        # Metrics that assume the same share an evaluation.
        groups: dict[tuple[int | None, float], list[Metric]] = {}
        for metric, cutoff, grade in zip(metrics, cutoffs, grades, strict=True):
            groups.setdefault((cutoff, grade), []).append(metric)
        found: dict[str, float | None] = {}
        for (cutoff, grade), some in groups.items():
            job = Job(judged_plan(some), policies, attributes=known, intervals=Intervals(None))
            after = scan(_filled(judgments, holes, cutoff, grade), "qrels")
            found |= evaluate_scanned(after, scan(documents.frame, "run"), job).means
        return [found[metric.label] for metric in metrics]

    return pl.DataFrame(
        {
            "metric": [metric.label for metric in metrics],
            "if_nonrelevant": values([0.0] * len(metrics)),
            "if_relevant": values([_relevant_grade(metric, policies, top) for metric in metrics]),
        },
        schema={"metric": pl.String, "if_nonrelevant": pl.Float64, "if_relevant": pl.Float64},
    )


def _find(qrels: Keyed, run: Keyed, k: int | None, policies: Policies) -> pl.DataFrame:
    """query_id, doc_id and rank of the unjudged documents in the top k of judged queries."""
    rank = rank_run(run, ties=policies.ties).rank
    hole = np.ones(len(rank), np.bool_) if k is None else rank <= k
    judged, _ = match(run, qrels)
    hole[judged] = False
    # Once filled, run and judgments would overlap: evaluation is to refuse them as they are.
    refused = policies.no_overlap == "error" and not len(judged)
    if refused or policies.judged_only:
        hole[:] = False
    found = run.frame.select(QUERY, DOC, pl.Series(RANK, rank)).filter(pl.Series(hole))
    queries = Keyed(qrels.frame.select(pl.col(QUERY).unique()))
    rows, _ = match(Keyed(found.select(QUERY)), queries)
    return found[rows]


def _filled(qrels: Keyed, holes: pl.DataFrame, k: int | None, grade: float) -> pl.DataFrame:
    some = holes if k is None else holes.filter(pl.col(RANK) <= k)
    added = some.select(QUERY, DOC, pl.lit(grade, pl.Float64).alias(RELEVANCE))
    return pl.concat([qrels.frame.select(QUERY, DOC, RELEVANCE), added])


def _relevant_grade(metric: Metric, policies: Policies, top: float) -> float:
    levels = (policies.rel, metric.params.get("rel"), metric.params.get("min_grade"))
    # No grade reaches an infinite level.
    return max(top, 1.0, *(float(r) for r in levels if r is not None and math.isfinite(r)))


def _depth(k: int | None) -> float:
    return math.inf if k is None else k
