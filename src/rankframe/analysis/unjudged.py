"""Unjudged documents are holes in the judgments: what values depend on how they would be judged.

Where ranks are 1, 2, 3, …, the holes of a query are the ranks that no judged document has: nothing
but what an evaluation found is looked at. Queries of which everything is the same are evaluated
once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.analysis.unjudged_bounds import LEAST, MOST, extremes
from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.core.options import Policies
from rankframe.engine.contiguous import workers
from rankframe.engine.grades import check_grades
from rankframe.engine.input_cache import Held
from rankframe.engine.job import depends_on_ranks_alone, judged_plan, kept_queries
from rankframe.engine.lookup import Lookup
from rankframe.engine.plan import PerQuery, Plan, per_query_values
from rankframe.engine.terms import Sums, Terms
from rankframe.frames.filled import WithHoles
from rankframe.frames.found import Found, Matched, matched
from rankframe.frames.judged import Judgments
from rankframe.frames.patterns import patterns
from rankframe.io.queries import Attributes, Known
from rankframe.kernel.listed import Listed, unlisted_holes
from rankframe.kernel.segments import number_segments, sort_order
from rankframe.metrics.names import Metric
from rankframe.stats.exact import Exact, exact_sum

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_BLOCK_ROWS = 1 << 17  # judgments that are worked on together


def needs_documents(plan: Plan, policies: Policies) -> bool:
    """Whether holes are not known without their documents: by their ids, scores or own ranks."""
    return policies.ranks == "kept" or plan.whole_input or bool(plan.columns & {DOC, "tied_rank"})


def with_bounds(
    values: pl.DataFrame,
    held: Held,
    names: Sequence[str],
    metrics: Sequence[Metric],
    policies: Policies,
    attributes: Attributes | None,
) -> pl.DataFrame:
    """Beside the values of all queries, what they would be had everything been judged."""
    if not metrics:
        return values.with_columns(pl.lit(None, pl.Float64).alias(name) for name in HOLE_COLUMNS)
    plan = judged_plan(metrics)
    weights = None if attributes is None else attributes.weights_alone
    holes = []
    for name, run in zip(names, held.rights, strict=True):
        lookup = Lookup.of(
            held.left,
            run,
            policies,
            plan.columns,
            listed=needs_documents(plan, policies),
            ids=DOC in plan.columns,
        )
        found = hole_bounds(lookup.found(), metrics, policies=policies, attributes=weights)
        holes.append(found.with_columns(pl.lit(name).alias("system")))
    return values.join(
        pl.concat(holes), on=["system", "metric"], how="left", maintain_order="left"
    ).with_columns(pl.when(pl.col("by").is_null()).then(pl.col(HOLE_COLUMNS)))


def hole_bounds(
    found: Found,
    metrics: Sequence[Metric],
    *,
    policies: Policies | None = None,
    attributes: Attributes | None = None,
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
    infAP leave unjudged documents aside, and what is found late also raises R. Of metrics that look
    at groups none of the four is known: nobody says which groups a hole would be about.

    With `judged_only` the run has no unjudged documents, so all are the value as evaluated.

    `found`: judgments and a run that was looked up in them, with all of its documents if the
    metrics need these. `attributes` have the weights, for metrics that are averaged by weight.

    >>> from rankframe.engine.lookup import Lookup
    >>> from rankframe.io.opening import open_table
    >>> from rankframe.metrics.names import resolve
    >>> qrels, run = {"q": {"a": 2}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> lookup = Lookup.of(open_table(qrels, "qrels"), open_table(run, "run"), Policies(), [])
    >>> hole_bounds(lookup.found(), resolve(["precision@2", "map", "lag"])).rows()
    [('precision@2', 0.5, 1.0, 0.5, 1.0), ('map', 0.8333333333333333, 1.0, 1.0, 1.0), \
('lag', None, None, 0.0, 0.0)]
    """
    known = [metric for metric in metrics if not metric.grouped]
    filling = _filling(found, judged_plan(known), policies or Policies(), attributes)
    none = filling.values([(metric, 0.0) for metric in known])
    every = filling.values([(metric, filling.relevant_grade(metric)) for metric in known])
    rows = [
        (one.label, *filling.bounds(one, none[one.label], every[one.label]), none[one.label],
         every[one.label]) if one in known else (one.label, *[None] * len(HOLE_COLUMNS))
        for one in metrics
    ]  # fmt: skip
    schema = {"metric": pl.String, **dict.fromkeys(HOLE_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


def _filling(
    found: Found, plan: Plan, policies: Policies, attributes: Attributes | None
) -> _Filling:
    """The holes of a run that was looked up."""
    part = matched(found, 0, len(found.judgments.starts))
    queries = part.queries
    known = Known() if attributes is None else attributes.of(queries)
    documents = needs_documents(plan, policies)
    mapped = any(isinstance(metric.params.get("gain"), Mapping) for metric in plan.metrics)
    of = None
    # A grade that a mapping lacks is counted in all queries.
    if depends_on_ranks_alone(plan) and not (documents or mapped):
        kinds = patterns(part)
        part, of = kinds.part, kinds.of
    if documents:
        assert found.listing is not None  # whoever looked the run up saw to it
        holes = found.listing.all()
        holes = holes.some((holes.judgment < 0) & (not policies.judged_only))
        holes = holes.some(sort_order(holes.query, holes.rank))
    else:
        holes = unlisted_holes(part.starts, part.rank, part.retrieved)
    return _Filling(part, of, holes, policies, queries, known.weights)


@dataclass(frozen=True)
class _Filling:
    """Judgments, what a run made of them, and its holes."""

    # of queries that stand for all
    part: Matched
    # which of them each query is the same as; None: they are all
    of: Ints | None
    # by query and rank
    holes: Listed
    policies: Policies
    # of all queries
    queries: pl.Series
    weights: Floats | None
    # by how deep holes are looked at
    _rows: dict[int, WithHoles] = field(default_factory=dict)

    def values(self, assumed: Sequence[tuple[Metric, float]]) -> dict[str, float | None]:
        """By label, with all holes in each metric's cutoff of one grade."""
        # Metrics that assume the same share an evaluation.
        groups: dict[tuple[int, float], list[Metric]] = {}
        for metric, grade in assumed:
            groups.setdefault((self.depth(metric), grade), []).append(metric)
        found: dict[str, float | None] = {}
        for (depth, grade), some in groups.items():
            holes = self.rows(depth).holes
            found |= self._evaluated(some, depth, np.full(len(holes.rank), grade))
        return found

    def bounds(
        self, metric: Metric, none: float | None, every: float | None
    ) -> tuple[float | None, float | None]:
        """The least and the largest value; nothing where they are not known."""
        if not self._may_be_known(metric) or metric.definition is None:
            return None, None
        if metric.definition.monotone:
            return none, every
        cutoff, grade = self.cutoff(metric), self.relevant_grade(metric)
        grades = extremes(metric, self.lists, self.qrels, cutoff, grade, self.policies.rel)
        if grades is None:
            return None, None
        least, most = (
            self._evaluated([metric], self.depth(metric), grades[which].to_numpy())[metric.label]
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

    def depth(self, metric: Metric) -> int:
        """The same, and no deeper than any hole lies."""
        cutoff, deepest = self.cutoff(metric), self._deepest
        return deepest if cutoff is None else min(cutoff, deepest)

    @cached_property
    def _deepest(self) -> int:
        return int(self.holes.rank.max(initial=0))

    @cached_property
    def _top(self) -> float:
        return float(self.part.grades.max())

    @cached_property
    def _code(self) -> NDArray[np.int32]:
        return number_segments(self.part.starts, len(self.part.rank))

    @cached_property
    def qrels(self) -> pl.DataFrame:
        """The judgments, as `extremes` takes them; queries by their numbers."""
        return pl.DataFrame({QUERY: self._code.astype(np.int64), RELEVANCE: self.part.grades})

    @cached_property
    def lists(self) -> pl.DataFrame:
        """Documents that were retrieved, by query and rank; holes have no grade."""
        found = np.flatnonzero(self.part.rank)
        judged = pl.DataFrame(
            {
                QUERY: self._code[found].astype(np.int64),
                DOC: found,
                RANK: self.part.rank[found].astype(np.int64),
                RELEVANCE: self.part.grades[found],
            }
        )
        holes = pl.DataFrame(
            {
                QUERY: self.holes.query.astype(np.int64),
                DOC: np.arange(len(self.holes.rank)),
                RANK: self.holes.rank.astype(np.int64),
            }
        ).with_columns(pl.lit(None, pl.Float64).alias(RELEVANCE))
        return pl.concat([judged, holes]).sort(QUERY, RANK)

    def rows(self, depth: int) -> WithHoles:
        """Judgments and holes down to a rank."""
        if depth not in self._rows:
            holes = self.holes
            if depth < self._deepest:
                holes = holes.some(holes.rank <= depth)
            self._rows[depth] = WithHoles.of(self.part, holes)
        return self._rows[depth]

    def _evaluated(
        self, metrics: Sequence[Metric], depth: int, grades: Floats
    ) -> dict[str, float | None]:
        """The averages with holes of these grades."""
        plan = judged_plan(metrics)
        part = self.rows(depth).filled(grades)
        highest = check_grades(metrics, pl.LazyFrame({RELEVANCE: part.grades}))

        def values(block: tuple[int, int]) -> tuple[PerQuery, NDArray[np.bool_]]:
            some = part.some(*block)
            judged = Judgments(
                some, rel=self.policies.rel, max_grade=highest, settle=DOC in plan.columns
            )
            return per_query_values(plan, judged), kept_queries(judged, self.policies)

        blocks = part.blocks(_BLOCK_ROWS)
        if plan.whole_input:
            blocks = [(0, len(part.starts))]
        with ThreadPoolExecutor(workers()) as pool:
            parts = list(pool.map(values, blocks))
        keep = np.concatenate([kept for _, kept in parts])
        computed = PerQuery(
            *(pl.concat(some) for some in zip(*(one.frames for one, _ in parts), strict=True))
        )
        weights = self.weights
        if self.of is not None:
            keep = keep[self.of]
            computed = computed.spread(self.of, self.queries)
        if weights is not None:
            weights = weights[keep]
        computed = computed.kept(keep)
        return {one.label: _average(one, Terms.of(one, computed, weights)) for one in metrics}


def _average(metric: Metric, terms: Terms) -> float | None:
    below = Exact.of(int(terms.defined.sum())) if terms.below is None else exact_sum(terms.below)
    return Sums(int(terms.defined.sum()), exact_sum(terms.above), below).average(metric)
