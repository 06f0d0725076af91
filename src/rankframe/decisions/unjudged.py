"""Unjudged documents are holes in the judgments: what values depend on how they would be judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankframe.arrays.keys import Keyed, match
from rankframe.base.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.base.options import Intervals, Policies
from rankframe.decisions.comparison import HOLE_COLUMNS
from rankframe.decisions.extremes import LEAST, MOST, extremes
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job, judged_plan
from rankframe.frames.rank import rank_run
from rankframe.inputs.queries import Attributes
from rankframe.inputs.scan import part_of, scan
from rankframe.inputs.validate import one_of_each
from rankframe.metrics.names import Metric


def hole_bounds(
    qrels: pl.DataFrame,
    run: pl.DataFrame,
    metrics: Sequence[Metric],
    *,
    policies: Policies | None = None,
    weighting: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """What each metric could be, had every unjudged document been judged: metric, lower_bound,
    upper_bound, if_none_relevant, if_all_relevant.

    A metric's holes are the unjudged documents in its own cutoff (without one, in the whole list)
    and not below `k_max`. A hole may have any grade that occurs, from 0 up to the largest: at least
    1, and at least the `rel` of the policies and the level of the metric.

    The bounds are the least and the largest value that holes can give: they are reached, and the
    value as evaluated is between them. Where a metric is monotone they are reached by holes that
    are all non-relevant, and all relevant; for average precision and nDCG other grades are found.
    They are null for metrics of which this is not known, for averages over sums ("micro"), where
    grade 0 is relevant, where queries without a relevant document are skipped, where the largest
    grade would be a new one to a metric that scales by it, and for nDCG of more than 50 grades.

    The other two are values under two assumptions, whatever the metric, and no bounds: bpref and
    infAP leave unjudged documents aside, and what is found late also raises R.

    With `judged_only` the run has no unjudged documents, so all are the value as evaluated.

    `weighting` has query_id and weight, for metrics that are averaged by weight.

    >>> from rankframe.metrics.names import resolve
    >>> qrels = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [2.0]})
    >>> run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("axy"), "score": [3.0, 2.0, 1.0]})
    >>> hole_bounds(qrels, run, resolve(["precision@2", "map", "lag"])).rows()
    [('precision@2', 0.5, 1.0, 0.5, 1.0), ('map', 0.8333333333333333, 1.0, 1.0, 1.0), \
('lag', None, None, 0.0, 0.0)]
    """
    policies = policies or Policies()
    judgments = one_of_each(Keyed(qrels), "qrels", policies.duplicates)
    documents = one_of_each(Keyed(run), "run", policies.duplicates)
    filling = _Filling(
        judgments.frame.select(QUERY, DOC, RELEVANCE),
        documents.frame,
        _lists(judgments, documents, policies),
        policies,
        None if weighting is None else Attributes(weighting),
    )
    none = filling.values([(metric, 0.0) for metric in metrics])
    every = filling.values([(metric, filling.relevant_grade(metric)) for metric in metrics])
    rows = [
        (one.label, *filling.bounds(one, none[one.label], every[one.label]), none[one.label],
         every[one.label])
        for one in metrics
    ]  # fmt: skip
    schema = {"metric": pl.String, **dict.fromkeys(HOLE_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


@dataclass(frozen=True)
class _Filling:
    """Judgments, a run, and its holes."""

    qrels: pl.DataFrame
    run: pl.DataFrame
    # query_id, doc_id, rank and relevance (null: a hole) of judged queries
    lists: pl.DataFrame
    policies: Policies
    weights: Attributes | None

    def values(self, assumed: Sequence[tuple[Metric, float]]) -> dict[str, float | None]:
        """By label, with all holes in each metric's cutoff of one grade."""
        # Metrics that assume the same share an evaluation.
        groups: dict[tuple[int | None, float], list[Metric]] = {}
        for metric, grade in assumed:
            groups.setdefault((self.cutoff(metric), grade), []).append(metric)
        found: dict[str, float | None] = {}
        for (cutoff, grade), some in groups.items():
            holes = self.lists.filter(pl.col(RELEVANCE).is_null())
            holes = holes if cutoff is None else holes.filter(pl.col(RANK) <= cutoff)
            found |= self._evaluated(some, holes.with_columns(pl.lit(grade).alias(RELEVANCE)))
        return found

    def bounds(
        self, metric: Metric, none: float | None, every: float | None
    ) -> tuple[float | None, float | None]:
        """The least and the largest value; nothing where they are not known."""
        if not self._may_be_known(metric) or metric.definition is None:
            return None, None
        if metric.definition.monotone:
            return none, every
        holes = extremes(
            metric, self.lists, self.qrels, self.cutoff(metric), self.relevant_grade(metric),
            self.policies.rel,
        )  # fmt: skip
        if holes is None:
            return None, None
        least, most = (
            self._evaluated([metric], holes.rename({which: RELEVANCE}))[metric.label]
            for which in (LEAST, MOST)
        )
        return least, most

    def _may_be_known(self, metric: Metric) -> bool:
        """Whether what holds for each query holds for the average, and 0 is the least grade."""
        own = metric.params.get("rel")
        level = self.policies.rel if own is None else own
        scaled = metric.definition is not None and "max_grade" in metric.definition.parameters
        return (
            metric.average != "micro"
            and self.policies.no_relevant == "zero"
            and (level is None or level > 0)
            and not (scaled and self.relevant_grade(metric) > self._top)
        )

    def relevant_grade(self, metric: Metric) -> float:
        """The largest grade there is, or that is needed to be relevant."""
        levels = (self.policies.rel, metric.params.get("rel"), metric.params.get("min_grade"))
        # No grade reaches an infinite level.
        return max(
            self._top, 1.0, *(float(r) for r in levels if r is not None and math.isfinite(r))
        )

    def cutoff(self, metric: Metric) -> int | None:
        """How deep its holes lie."""
        depths = (metric.params.get("k"), self.policies.k_max)
        return min((k for k in depths if k is not None), default=None)

    @property
    def _top(self) -> float:
        return self.qrels.select(pl.col(RELEVANCE).max()).item()

    def _evaluated(self, metrics: Sequence[Metric], holes: pl.DataFrame) -> dict[str, float | None]:
        job = Job(
            judged_plan(metrics), self.policies, attributes=self.weights, intervals=Intervals(None)
        )
        after = pl.concat([self.qrels, holes.select(QUERY, DOC, RELEVANCE)])
        return dict(evaluate_scanned(scan(after, "qrels"), part_of(self.run, "run"), job).means)


def _lists(qrels: Keyed, run: Keyed, policies: Policies) -> pl.DataFrame:
    """query_id, doc_id, rank and relevance (null: a hole) of what the run has for judged queries,
    down to `k_max`.
    """
    rank = rank_run(run, ties=policies.ties, ranks=policies.ranks).rank
    rows, judged = match(run, qrels)
    grade = np.full(len(rank), np.nan)
    grade[rows] = qrels.frame[RELEVANCE].to_numpy()[judged]
    hole = np.isnan(grade)
    # Once filled, run and judgments would overlap: evaluation is to refuse them as they are.
    refused = policies.no_overlap == "error" and not len(judged)
    found = run.frame.select(
        QUERY, DOC, pl.Series(RANK, rank), pl.Series(RELEVANCE, grade).fill_nan(None)
    )
    if refused or policies.judged_only:
        found = found.filter(~pl.Series(hole))
    if policies.k_max is not None:
        found = found.filter(pl.col(RANK) <= policies.k_max)
    return found.join(qrels.frame.select(pl.col(QUERY).unique()), on=QUERY, how="semi").sort(
        QUERY, RANK
    )
