"""The grades of unjudged documents that make AP or nDCG of a query least, or largest.

Neither is monotone: a relevant document that is found late also raises R, or the ideal. But of as
many documents of a grade, AP and DCG are largest where they stand first, and least where they stand
last, whereas R and the ideal are the same. So only how many there are is left to be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Final

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.metrics.gain import discounted, gain_rows
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import where

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
    for a metric of which they are not known.

    Args:
        metric: the metric.
        rankings: retrieved documents by query and rank; unjudged ones have null for their grade.
        qrels: the judgments of the same queries.
        cutoff: the rank down to which unjudged documents count.
        grade: the largest that they may have.
        rel: the level of relevance of the policies.
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
    """Choose how many of the first unjudged documents make AP largest, and of the last least."""

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
    # Each that becomes relevant adds its own precision, and 1/rank to that of all relevant below.
    from_first = (pl.col("found") + pl.col("nth")) * here + pl.col("below")
    unjudged_below = _of_query(here) - _so_far(here)
    from_last = (pl.col("found") + 1) * here + pl.col("below") + unjudged_below
    unjudged = unjudged.with_columns(
        value(pl.lit(0.0), pl.lit(0)).alias("plain"),
        value(_so_far(from_first), pl.col("nth")).alias("high"),
        value(_so_far(from_last, reverse=True), pl.col("last")).alias("low"),
    )
    return unjudged.select(QUERY, DOC, _lowest(grade), _highest(grade))


def _lowest(grade: float) -> pl.Expr:
    """Give the grade to as many of the last as make `low` least; to none if `plain` is."""
    low = pl.col("low")
    count = pl.col("last").get(low.arg_min()).over(QUERY)
    chosen = (low.min().over(QUERY) < pl.col("plain")) & (pl.col("last") <= count)
    return where(chosen, grade).alias(LEAST)


def _highest(grade: float) -> pl.Expr:
    """Give the grade to as many of the first as make `high` largest; to none if `plain` is."""
    high = pl.col("high")
    count = high.arg_max().over(QUERY) + 1
    chosen = (high.max().over(QUERY) > pl.col("plain")) & (pl.col("nth") <= count)
    return where(chosen, grade).alias(MOST)


def _gain_grades(
    inside: pl.DataFrame, ideal: pl.DataFrame, grade: float, params: dict[str, Any]
) -> pl.DataFrame | None:
    """Choose grades for the least nDCG among 0 and the largest, for the largest among all.

    The ideal is convex in the gains, so that the ratio is quasi-concave: least at a corner. The
    ideal is also a sum over grades: what the step up to a grade gains, on as many first places as
    there are documents of that grade or above. So is the DCG; and which unjudged documents are to
    reach a grade depends on the ratio alone.
    """
    gain = gain_rows(params["gain"], params["min_grade"])
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
        # what the n-th unjudged document that reaches a grade adds to the ideal, for each step up
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
    """Find which documents reach which grade for the largest ratio, by Dinkelbach's method.

    In each round, the documents that raise the ratio so far make the next ratio.
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
