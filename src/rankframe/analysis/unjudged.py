"""Bound the values that metrics could have if unjudged documents were judged.

If ranks have no gaps, every rank without a judged document holds an unjudged one, so bounds need
only the matches of an evaluation. Queries with the same ranks and grades are evaluated once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Final

import numpy as np
import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.analysis.systems import Systems
from rankframe.core.arrays import Flags, Floats
from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.core.options import Policies
from rankframe.core.threads import map_blocks
from rankframe.engine.accumulator import average_values
from rankframe.engine.judged_metrics import (
    check_grades,
    depends_on_ranks_alone,
    evaluated_queries,
    judged_plan,
)
from rankframe.engine.lookup import Lookup
from rankframe.engine.plan import Plan, compute_values, copy_values
from rankframe.frames.judged import JudgedFrame, find_patterns
from rankframe.frames.matches import RunMatches, WithHoles, unlisted_holes
from rankframe.io.queries import Attributes, QueryAttributes
from rankframe.kernel.segments import number_segments, query_blocks, sort_order
from rankframe.metrics.gain import discounted, gain_of
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import where

_BLOCK_ROWS = 1 << 17  # judgments that are evaluated together


def needs_documents(plan: Plan, policies: Policies) -> bool:
    """Tell whether bounds need the ids, scores or original ranks of unjudged documents."""
    return policies.ranks == "kept" or plan.whole_input or bool(plan.columns & {DOC, "tied_rank"})


def with_bounds(values: pl.DataFrame, systems: Systems, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Add columns with bounds and scenarios to the rows over all queries."""
    if not metrics:
        return values.with_columns(pl.lit(None, pl.Float64).alias(name) for name in HOLE_COLUMNS)
    bounds = bound_systems(systems, metrics)
    joined = values.join(bounds, on=["system", "metric"], how="left", maintain_order="left")
    return joined.with_columns(pl.when(pl.col("by").is_null()).then(pl.col(HOLE_COLUMNS)))


def has_bounds(metric: Metric) -> bool:
    """Tell whether bounds of a metric can be computed, at least for some policies and judgments."""
    definition = metric.definition
    return (
        definition is not None
        and metric.average != "micro"
        and (definition.monotone or definition.name in ("average_precision", "ndcg"))
    )


def bound_systems(
    systems: Systems, metrics: Sequence[Metric], *, judged_only: bool = False
) -> pl.DataFrame:
    """Return the bounds and scenarios of each system's run, with the columns system and metric.

    `judged_only`: evaluate the runs without their unjudged documents.
    """
    assert systems.tables is not None  # callers see to it
    policies = replace(systems.policies, judged_only=judged_only or systems.policies.judged_only)
    plan = judged_plan(metrics)
    listed, bounds = needs_documents(plan, policies), []
    for name, run in systems.runs.items():
        ids = DOC in plan.columns
        lookup = Lookup.from_inputs(
            systems.tables.left, run, policies, plan.columns, listed=listed, ids=ids
        )
        rows = bound_metrics(lookup.found(), metrics, policies=policies, attributes=systems.weights)
        bounds.append(rows.with_columns(pl.lit(name).alias("system")))
    return pl.concat(bounds)


def bound_metrics(
    matches: RunMatches,
    metrics: Sequence[Metric],
    *,
    policies: Policies | None = None,
    attributes: Attributes | None = None,
) -> pl.DataFrame:
    """Return what each metric could be, had every unjudged document been judged.

    Columns: metric, lower_bound, upper_bound, if_none_relevant, if_all_relevant.

    Unjudged documents count in a metric's own cutoff (without one, in the whole ranking) and not
    below `k_max`. They may have any grade that occurs, from 0 up to the largest: at least 1, and at
    least the `rel` of the policies and the level of the metric.

    The bounds are the least and the largest value that such grades can give: both are reached, and
    the evaluated value is between them. A monotone metric reaches them if no unjudged document is
    relevant, and if all are; for average precision and nDCG, the extreme grades are searched for.
    The bounds are null for all other metrics, for averages over sums ("micro"),
    where grade 0 is relevant, where queries without a relevant document are skipped, where the
    largest grade would be a new one to a metric that scales by it, and for nDCG of more than 50
    grades.

    if_none_relevant and if_all_relevant are the values under these assumptions, for every metric.
    They need not be bounds: bpref and infAP ignore unjudged documents, and a relevant document at a
    low rank also raises R. All four columns are null for metrics that look at subtopics, because
    the subtopics of an unjudged document are unknown.

    With `judged_only` the run has no unjudged documents, so all four columns are the evaluated
    value.

    Args:
        matches: the matches of a run, with all of its documents if the metrics need them.
        metrics: metrics over judgments.
        policies: the policies of the evaluation.
        attributes: the attributes with the weights, for weighted averages.

    >>> from rankframe.engine.lookup import Lookup
    >>> from rankframe.io.opening import open_table
    >>> from rankframe.metrics.names import resolve
    >>> qrels, run = {"q": {"a": 2}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> sides = open_table(qrels, "qrels"), open_table(run, "run")
    >>> lookup = Lookup.from_inputs(*sides, Policies(), [])
    >>> bound_metrics(lookup.found(), resolve(["precision@2", "map", "lag"])).rows()
    [('precision@2', 0.5, 1.0, 0.5, 1.0), ('map', 0.8333333333333333, 1.0, 1.0, 1.0), \
('lag', None, None, 0.0, 0.0)]
    """
    judged = [metric for metric in metrics if not metric.over_subtopics]
    unjudged = _Unjudged(matches, judged_plan(judged), policies or Policies(), attributes)
    none_relevant = unjudged.averages([(metric, 0.0) for metric in judged])
    all_relevant = unjudged.averages([(m, unjudged.relevant_grade(m)) for m in judged])
    rows: list[tuple[object, ...]] = []
    for metric in metrics:
        scenarios = none_relevant.get(metric.label), all_relevant.get(metric.label)
        bounds = (None, None) if metric.over_subtopics else unjudged.bounds(metric, *scenarios)
        rows.append((metric.label, *bounds, *scenarios))
    schema = {"metric": pl.String, **dict.fromkeys(HOLE_COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


class _Unjudged:
    """Evaluate a matched run again, with assumed grades of its unjudged documents, for bounds."""

    def __init__(
        self, matches: RunMatches, plan: Plan, policies: Policies, attributes: Attributes | None
    ) -> None:
        # `part`: the judgments of distinct queries; `kind`: for each query, the number of the equal
        # query in `part`; None: `part` has all queries.
        part, kind = matches.select(), None
        queries = part.queries
        looked_up = QueryAttributes() if attributes is None else attributes.look_up(queries)
        listed = needs_documents(plan, policies)
        # With a mapping of gains, all queries are kept, to count the grades that the mapping lacks.
        mapped = any(isinstance(metric.params.get("gain"), Mapping) for metric in plan.metrics)
        if depends_on_ranks_alone(plan) and not (listed or mapped):
            part, kind = find_patterns(part)
        if listed:
            assert matches.listing is not None  # callers see to it
            documents = matches.listing.all()
            documents = documents.select((documents.judgment < 0) & (not policies.judged_only))
            documents = documents.select(sort_order(documents.query, documents.rank))
        else:
            documents = unlisted_holes(part.starts, part.rank, part.retrieved)
        self.part, self.kind, self.policies = part, kind, policies
        self.queries, self.weights = queries, looked_up.weights
        self.documents = documents  # the unjudged documents, by query and rank
        # a cache by depth, the rank down to which unjudged documents count
        self._rows: dict[int, WithHoles] = {}

    def averages(self, assumed: Sequence[tuple[Metric, float]]) -> dict[str, float | None]:
        """Evaluate each metric with one grade for all unjudged documents in its cutoff."""
        # Metrics with the same depth and grade share an evaluation.
        shared: dict[tuple[int, float], list[Metric]] = {}
        for metric, grade in assumed:
            shared.setdefault((self.depth(metric), grade), []).append(metric)
        averages: dict[str, float | None] = {}
        for (depth, grade), metrics in shared.items():
            documents = self.rows(depth).holes
            averages |= self._evaluate(metrics, depth, np.full(len(documents.rank), grade))
        return averages

    def bounds(
        self, metric: Metric, none_relevant: float | None, all_relevant: float | None
    ) -> tuple[float | None, float | None]:
        """Return the bounds of the value; None if a bound is unknown."""
        if not self._may_be_known(metric) or metric.definition is None:
            return None, None
        if metric.definition.monotone:
            return none_relevant, all_relevant
        grades = extreme_grades(
            metric, *self._tables, self.cutoff(metric), self.relevant_grade(metric),
            self.policies.rel,
        )  # fmt: skip
        if grades is None:
            return None, None
        low, high = (
            self._evaluate([metric], self.depth(metric), grades[which].to_numpy())[metric.label]
            for which in (LEAST, MOST)
        )
        return low, high

    def _may_be_known(self, metric: Metric) -> bool:
        """Tell whether bounds per query bound a metric's average, with 0 as the least grade."""
        own = metric.params.get("rel")
        level = self.policies.rel if own is None else own
        scaled = metric.definition is not None and "max_grade" in metric.definition.parameters
        return (
            metric.average != "micro"
            and self.policies.no_relevant == "zero"
            and (level is None or level > 0)
            and not (scaled and self.relevant_grade(metric) > self._top_grade)
        )

    def relevant_grade(self, metric: Metric) -> float:
        """Return the largest grade that occurs, but at least the grade needed to be relevant."""
        levels = (self.policies.rel, metric.params.get("rel"), metric.params.get("min_grade"))
        # No grade reaches an infinite level.
        finite = (float(level) for level in levels if level is not None and math.isfinite(level))
        return max(self._top_grade, 1.0, *finite)

    def cutoff(self, metric: Metric) -> int | None:
        """Return the rank down to which unjudged documents count; None: all of them count."""
        cutoffs = (metric.params.get("k"), self.policies.k_max)
        return min((k for k in cutoffs if k is not None), default=None)

    def depth(self, metric: Metric) -> int:
        """Return the cutoff, or the rank of the last unjudged document if that is smaller."""
        cutoff = self.cutoff(metric)
        return self._deepest if cutoff is None else min(cutoff, self._deepest)

    @cached_property
    def _deepest(self) -> int:
        return int(self.documents.rank.max(initial=0))

    @cached_property
    def _top_grade(self) -> float:
        return float(self.part.grades.max())

    @cached_property
    def _tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the retrieved documents by query and rank, and the judgments, by query number.

        Unjudged documents have no grade.
        """
        part, unjudged = self.part, self.documents
        numbers = number_segments(part.starts, len(part.rank)).astype(np.int64)

        judgments = pl.DataFrame(
            {QUERY: numbers, DOC: np.arange(len(numbers)), RANK: part.rank, RELEVANCE: part.grades}
        )
        holes = pl.DataFrame(
            {QUERY: unjudged.query, DOC: np.arange(len(unjudged.rank)), RANK: unjudged.rank}
        ).with_columns(pl.lit(None, pl.Float64).alias(RELEVANCE))
        retrieved = judgments.filter(pl.col(RANK) > 0)
        rankings = pl.concat([retrieved, holes], how="vertical_relaxed")
        rankings = rankings.with_columns(pl.col(QUERY, RANK).cast(pl.Int64)).sort(QUERY, RANK)
        return rankings, judgments

    def rows(self, depth: int) -> WithHoles:
        """Return the judgments, and the unjudged documents down to a rank."""
        if depth not in self._rows:
            documents = self.documents
            if depth < self._deepest:
                documents = documents.select(documents.rank <= depth)
            self._rows[depth] = WithHoles.from_listed(self.part, documents)
        return self._rows[depth]

    def _evaluate(
        self, metrics: Sequence[Metric], depth: int, grades: Floats
    ) -> dict[str, float | None]:
        """Return the averages of the metrics if unjudged documents have the grades `grades`."""
        plan = judged_plan(metrics)
        part = self.rows(depth).filled(grades)
        highest = check_grades(metrics, pl.LazyFrame({RELEVANCE: part.grades}))

        def evaluate(block: tuple[int, int]) -> tuple[pl.DataFrame, Flags]:
            judged = JudgedFrame(
                part.slice_queries(*block),
                rel=self.policies.rel,
                max_grade=highest,
                settle=DOC in plan.columns,
            )
            return compute_values(plan, judged), evaluated_queries(judged, self.policies)

        blocks = (
            [(0, len(part.starts))]
            if plan.whole_input
            else query_blocks(part.starts, len(part.rank), _BLOCK_ROWS)
        )
        values, kept = zip(*map_blocks(evaluate, blocks), strict=True)
        computed, keep = pl.concat(values), np.concatenate(kept)
        if self.kind is not None:
            keep = keep[self.kind]
            computed = copy_values(computed, self.kind, self.queries)
        weights = None if self.weights is None else self.weights[keep]
        computed = computed.filter(pl.Series(keep))
        return {metric.label: average_values(metric, computed, weights) for metric in metrics}


# Grades of unjudged documents that make AP or nDCG least, or largest -----------------------------

# Neither is monotone: a relevant document at a low rank also raises R, or the ideal. For a fixed
# number of unjudged documents of a grade, R and the ideal are fixed; AP and DCG are largest if
# these documents are the first ones, and least if they are the last. So only the number is unknown.

# Columns: the grades of unjudged documents for the least value, and for the largest.
LEAST: Final = "least"
MOST: Final = "most"

_MOST_LEVELS = 50
_MOST_ROUNDS = 100
_ENOUGH = 1e-14
_NTH = pl.int_range(1, pl.len() + 1).over(QUERY)
_FROM_LAST = pl.int_range(pl.len(), 0, -1).over(QUERY)


def extreme_grades(
    metric: Metric,
    rankings: pl.DataFrame,
    qrels: pl.DataFrame,
    cutoff: int | None,
    grade: float,
    rel: float | None,
) -> pl.DataFrame | None:
    """Find the grades of unjudged documents that make a metric least, and largest.

    Returns query_id, doc_id, and both grades of each unjudged document down to the cutoff; None
    for a metric whose extreme grades are unknown.

    Args:
        metric: the metric.
        rankings: retrieved documents by query and rank; unjudged ones have null for their grade.
        qrels: the judgments of the same queries.
        cutoff: the rank down to which unjudged documents count.
        grade: the largest grade that unjudged documents may have.
        rel: the policies' level of relevance.
    """
    if metric.definition is None:
        return None
    parameters = metric.definition.parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    params = defaults | dict(metric.params)
    inside = rankings if cutoff is None else rankings.filter(pl.col(RANK) <= cutoff)
    if metric.definition.name == "average_precision":
        level = rel if params["rel"] is None else params["rel"]
        return _precision_grades(inside, qrels, grade, level, params)
    if metric.definition.name == "ndcg":
        ideal = qrels
        if params["ideal"] == "retrieved":
            ideal = rankings.filter(pl.col(RELEVANCE).is_not_null())
        return _gain_grades(inside, ideal, grade, params)
    return None


def _of_query(rows: pl.Expr) -> pl.Expr:
    return rows.sum().over(QUERY)


def _so_far(rows: pl.Expr, *, reverse: bool = False) -> pl.Expr:
    return rows.cum_sum(reverse=reverse).over(QUERY)


def _precision_grades(
    inside: pl.DataFrame,
    qrels: pl.DataFrame,
    grade: float,
    rel: float | None,
    params: dict[str, Any],
) -> pl.DataFrame:
    """Return the grades of unjudged documents for which AP is least, and largest.

    It is largest if the first n of a query have `grade`, and least if the last m have it.
    """

    def relevant() -> pl.Expr:
        judged = pl.col(RELEVANCE)
        return (judged > 0 if rel is None else judged >= rel).fill_null(value=False)

    share = pl.when("relevant").then(1 / pl.col(RANK)).otherwise(0.0)
    marked = inside.with_columns(relevant().alias("relevant")).with_columns(
        _so_far(pl.col("relevant")).alias("found"),
        (_of_query(share) - _so_far(share)).alias("below"),
        _of_query(pl.col("relevant")).alias("hits"),
    )
    precisions = pl.when("relevant").then(pl.col("found") / pl.col(RANK)).otherwise(0.0)
    total = qrels.group_by(QUERY).agg(relevant().sum().alias("total"))
    unjudged = (
        marked.with_columns(_of_query(precisions).alias("sum"))
        .filter(pl.col(RELEVANCE).is_null())
        .join(total, on=QUERY, how="left", maintain_order="left")
        .with_columns(_NTH.alias("nth"), _FROM_LAST.alias("last"))
    )

    def value(added: pl.Expr, count: pl.Expr) -> pl.Expr:
        divisor = count + pl.col("hits" if params["denominator"] == "retrieved" else "total")
        if params["denominator"] == "min" and params["k"] is not None:
            divisor = pl.min_horizontal(divisor, pl.lit(params["k"]))
        return pl.when(divisor > 0).then((pl.col("sum") + added) / divisor).otherwise(0.0)

    here = 1 / pl.col(RANK)
    # A document that becomes relevant adds its own precision, and 1/rank for each relevant document
    # at a rank below.
    from_first = (pl.col("found") + pl.col("nth")) * here + pl.col("below")
    unjudged_below = _of_query(here) - _so_far(here)
    from_last = (pl.col("found") + 1) * here + pl.col("below") + unjudged_below
    unjudged = unjudged.with_columns(
        value(pl.lit(0.0), pl.lit(0)).alias("plain"),
        value(_so_far(from_first), pl.col("nth")).alias("high"),
        value(_so_far(from_last, reverse=True), pl.col("last")).alias("low"),
    )
    highest = _choose(pl.col("high"), pl.col("plain"), "nth", grade).alias(MOST)
    return unjudged.select(QUERY, DOC, _lowest(grade), highest)


def _choose(values: pl.Expr, plain: pl.Expr, number: str, grade: float) -> pl.Expr:
    """Return an expression: `grade` for a query's first n documents, n chosen for the best value.

    `values` has the value for each n. Documents are counted by the column `number`. All grades are
    0 if no value exceeds `plain`.
    """
    count = pl.col(number).get(values.arg_max()).over(QUERY)
    chosen = (values.max().over(QUERY) > plain) & (pl.col(number) <= count)
    return where(chosen, grade)


def _lowest(grade: float) -> pl.Expr:
    """Return an expression that gives `grade` to a query's last n unjudged documents, else 0."""
    return _choose(-pl.col("low"), -pl.col("plain"), "last", grade).alias(LEAST)


def _gain_grades(
    inside: pl.DataFrame, ideal: pl.DataFrame, grade: float, params: dict[str, Any]
) -> pl.DataFrame | None:
    """Find the grades for the least nDCG (each 0 or the largest) and for the largest nDCG (any).

    The ideal is convex in the gains, so the ratio is quasi-concave, and least at a corner. The
    ideal is also a sum over grades: the gain of the step up to a grade, times the discounts of the
    first n ranks, n being the number of documents with that grade or above. The DCG is such a sum,
    too. So the choice of unjudged documents that reach a grade depends on the ratio alone.
    """
    gain = gain_of(pl.col(RELEVANCE), params["gain"], params["min_grade"])
    occurring = pl.concat([ideal[RELEVANCE], inside[RELEVANCE].drop_nulls()]).to_list()
    levels = pl.DataFrame({RELEVANCE: sorted({*occurring, grade})}, {RELEVANCE: pl.Float64})
    levels = levels.with_columns(gain.alias("gain")).filter(pl.col("gain") > 0)
    if levels.height > _MOST_LEVELS:
        return None
    grades = levels[RELEVANCE].to_list()
    steps = levels["gain"].diff().fill_null(levels["gain"].head(1).sum()).to_list()

    def worth(rank: str) -> pl.Expr:
        """Discount a gain of 1 at a rank."""
        here = discounted(pl.lit(1.0), rank, params["discount"], params["base"])
        return here if params["k"] is None else where(pl.col(rank) <= params["k"], here)

    best = ideal.sort(QUERY, RELEVANCE, descending=[False, True]).with_columns(_NTH.alias(RANK))
    best = best.group_by(QUERY).agg(
        (gain * worth(RANK)).sum().alias("ideal"),
        *((pl.col(RELEVANCE) >= g).sum().alias(f"place{v}") for v, g in enumerate(grades)),
    )
    judged = pl.col(RELEVANCE).is_not_null()
    unjudged = (
        inside.with_columns(worth(RANK).alias("here"))
        .with_columns(_of_query(where(judged, gain * pl.col("here"))).alias("sum"))
        .filter(~judged)
        .join(best, on=QUERY, how="left", maintain_order="left")
        .with_columns(pl.col("^(ideal|place.*)$").fill_null(0))
        .with_columns(_NTH.alias("nth"), _FROM_LAST.alias("last"))
        # cost: how much the n-th unjudged document that reaches a grade adds to the ideal, per gain
        .with_columns(pl.col(f"place{v}") + pl.col("nth") for v in range(len(grades)))
        .with_columns(worth(f"place{v}").alias(f"cost{v}") for v in range(len(grades)))
    )
    cost = reduce(add, (step * pl.col(f"cost{v}") for v, step in enumerate(steps)))
    bottom = pl.lit(sum(steps)) * _so_far(pl.col("here"), reverse=True)
    unjudged = unjudged.with_columns(
        _ratio(pl.col("sum"), pl.col("ideal")).alias("plain"),
        _ratio(pl.col("sum") + bottom, pl.col("ideal") + _so_far(cost).reverse().over(QUERY)).alias(
            "low"
        ),
    )
    unjudged = _best_gains(unjudged, steps)
    reached = [pl.when(f"reached{v}").then(g).otherwise(0.0) for v, g in enumerate(grades)]
    return unjudged.select(QUERY, DOC, _lowest(grade), pl.max_horizontal(reached).alias(MOST))


def _best_gains(unjudged: pl.DataFrame, steps: Sequence[float]) -> pl.DataFrame:
    """Find the documents that reach each grade for the largest ratio, by Dinkelbach's method.

    Each round selects the documents that raise the current ratio, and computes the next ratio.
    """
    levels = range(len(steps))
    unjudged = unjudged.with_columns(
        pl.col("plain").alias("ratio"),
        *(pl.lit(value=False).alias(f"reached{v}") for v in levels),
    )
    for _ in range(_MOST_ROUNDS):
        profits = [_so_far(pl.col("here") - pl.col("ratio") * pl.col(f"cost{v}")) for v in levels]
        unjudged = unjudged.with_columns(p.alias(f"profit{v}") for v, p in enumerate(profits))
        pays = [
            (pl.col(f"profit{v}").max().over(QUERY) > 0)
            & (pl.col("nth") <= pl.col(f"profit{v}").arg_max().over(QUERY) + 1)
            for v in levels
        ]
        unjudged = unjudged.with_columns(p.alias(f"pays{v}") for v, p in enumerate(pays))
        gained, ideal = (
            reduce(add, (step * _of_query(where(pl.col(f"pays{v}"), pl.col(column.format(v))))
                         for v, step in enumerate(steps)))
            for column in ("here", "cost{}")
        )  # fmt: skip
        ratio = _ratio(pl.col("sum") + gained, pl.col("ideal") + ideal)
        unjudged = unjudged.with_columns(ratio.alias("next"))
        better = pl.col("next") > pl.col("ratio") + _ENOUGH
        if not unjudged.select(better.any()).item():
            break
        unjudged = unjudged.with_columns(
            pl.when(better).then("next").otherwise("ratio").alias("ratio"),
            *(
                pl.when(better).then(f"pays{v}").otherwise(f"reached{v}").alias(f"reached{v}")
                for v in levels
            ),
        )
    return unjudged


def _ratio(gained: pl.Expr, ideal: pl.Expr) -> pl.Expr:
    return pl.when(ideal > 0).then(gained / ideal).otherwise(0.0)
