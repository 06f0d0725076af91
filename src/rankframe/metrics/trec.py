"""Define trec_eval's experimental metrics, with the same values as in trec_eval."""

from __future__ import annotations

from functools import partial

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE
from rankframe.core.errors import MetricParameterError
from rankframe.metrics.gain import discounted, gain_of
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    LARGEST,
    Ratio,
    Value,
    check_between,
    depth,
    found,
    largest,
    length,
    power,
    relevant_count,
    retrieved,
    sum_hits,
    total,
    where,
    within,
)

registered = partial(Registration, family="trec_eval's experiments")


def _grade() -> pl.Expr:
    """Return the grade as a gain: a negative grade gains nothing."""
    return gain_of(pl.col(RELEVANCE), "linear")


def _dcg_so_far() -> pl.Expr:
    """Return the DCG down to each row's rank; unretrieved rows get that of the whole list."""
    return where(within(None), discounted(_grade(), RANK)).cum_sum()


def _in_ideal_order(rows: pl.Expr) -> pl.Expr:
    """Sort rows by their rank in the ideal list."""
    return rows.sort_by("ideal_rank")


def _ideal_dcg_by_rank() -> pl.Expr:
    """Return the DCG of the ideal list down to each of its ranks."""
    return _in_ideal_order(discounted(_grade(), "ideal_rank")).cum_sum()


def _at(values: pl.Expr, place: pl.Expr) -> pl.Expr:
    """Return the value at the position `place`, from 1, or the last value if there are fewer."""
    return values.gather(pl.min_horizontal(place, pl.len().cast(pl.Int64)) - 1)


@registered()
def ndcg_rel() -> Value:
    """Average the nDCG at the rank of each document with a grade above 0.

    > mean over relevant documents of nDCG at the rank of the document

    For a document that was not retrieved, the nDCG of the whole list counts. Agrees with trec_eval.

    >>> round(frame.select(ndcg_rel()).item(), 6)
    0.898178
    """
    # For documents that were not retrieved, take the last rank: the whole ideal list.
    place = pl.col(RANK).fill_null(pl.len().cast(pl.Int64))
    ndcg_here = _dcg_so_far() / _at(_ideal_dcg_by_rank(), place)
    gains = _grade() > 0
    return Ratio(where(gains, ndcg_here).sum(), gains.sum().cast(pl.Float64))


@registered()
def rndcg() -> Value:
    """Average the nDCG at the ranks after which a perfect list goes down to a lower grade.

    > mean of nDCG at each rank where the ideal gain changes

    If a list has at least two more documents below the last of these ranks, the mean also includes
    the nDCG of the whole list. 0 if no document is relevant, even if some documents have gains.
    Agrees with trec_eval's `Rndcg`.

    >>> round(frame.select(rndcg()).item(), 6)
    0.923633
    """
    grade = _in_ideal_order(_grade())
    last_of_grade = (grade > 0) & (grade != grade.shift(-1, fill_value=0.0))
    place = _in_ideal_order(pl.col("judged_by_ideal_rank"))
    dcg_there = where(place > 0, _at(_dcg_so_far(), pl.max_horizontal(place, pl.lit(1))))
    ideal_there = _ideal_dcg_by_rank()
    steps = where(last_of_grade, dcg_there / ideal_there).sum()
    gaining = (_grade() > 0).sum()
    past_end = gaining + 1 < pl.col("retrieved").first()
    whole = where(past_end, _dcg_so_far().last() / ideal_there.last())
    count = last_of_grade.sum() + past_end.cast(pl.Int64)
    scored = (gaining > 0) & (relevant_count(None) > 0)
    return pl.when(scored).then((steps + whole) / count).otherwise(0.0)


@registered(synonyms=("bing",))
def bin_g(*, rel: float | None = None) -> Value:
    """Average 1 / log2(2 + the number of non-relevant documents above) over relevant documents.

    > (1/R) Σ over relevant of 1 / log2(2 + non-relevant above)

    Unjudged documents are non-relevant. Agrees with trec_eval's `binG`.

    >>> round(frame.select(bin_g()).item(), 6)
    0.543643
    """
    weight = 1 / (2 + pl.col(RANK) - found(rel)).log(2)
    return Ratio(sum_hits(None, rel, weight), relevant_count(rel))


@registered(synonyms=("g",))
def g_measure() -> Value:
    """Sum gains, discounted by how far the list is behind a perfect one, as a share of all gains.

    > Σ g_i / log2(2 + Σ_{j≤i} max(ideal_j, 1) − Σ_{j≤i} g_j) ÷ Σ ideal

    Agrees with trec_eval's `G`.

    >>> round(frame.select(g_measure()).item(), 6)
    0.726186
    """
    judged = pl.len().cast(pl.Int64)
    cost = _in_ideal_order(pl.max_horizontal(_grade(), pl.lit(1.0))).cum_sum()
    cost_here = _at(cost, pl.col(RANK).fill_null(judged)) + (pl.col(RANK) - judged).clip(0)
    gained = where(within(None), _grade()).cum_sum()
    worth = _grade() / (2 + cost_here - gained).log(2)
    return Ratio(where(within(None) & (_grade() > 0), worth).sum(), _grade().sum())


@registered(bounds=(None, None))
def utility(
    *,
    a: float = 1.0,
    b: float = -1.0,
    c: float = 0.0,
    d: float = 0.0,
    collection: int | None = None,
    rel: float | None = None,
) -> Value:
    """Sum prices over documents: of hits (a), false alarms (b), misses (c), correct rejections (d).

    > a·r + b·(n − r) + c·(R − r) + d·(C + r − n − R), r = found(n)

    C is `collection`, the number of documents in the collection, required if d is not 0. Agrees
    with trec_eval, including the defaults.

    >>> frame.select(utility()).item()
    0.0
    """
    if d and collection is None:
        raise MetricParameterError(
            "utility with d needs collection= (how many documents there are)."
        )
    for name, price in (("a", a), ("b", b), ("c", c), ("d", d)):
        check_between(name, price, -LARGEST, LARGEST)
    hits, relevants = sum_hits(None, rel), relevant_count(rel)
    value = a * hits + b * (retrieved() - hits) + c * (relevants - hits)
    return value + d * ((collection or 0) + hits - retrieved() - relevants) if d else value


@registered()
def trec_rbp(*, p: float = 0.9) -> Value:
    """Compute rank-biased precision as trec_eval 10 does: graded, and scaled for each query.

    > (1 − p) Σ g_i·p^(i − 1), ÷ the query's largest grade if that exceeds 1

    This is the measure that trec_eval prints as `rbp`. rankframe's own `rbp` is different: there, a
    document is relevant or not (Moffat and Zobel, 2008), and p is 0.8 by default. In `trec_rbp`,
    every grade above 0 counts as a share of the query's largest grade; `rel` has no effect. For
    example, for grades 2, 0, 1 at ranks 1 to 3 and p = 0.5, trec_rbp is
    0.5 · (2 + 0 + 0.25) / 2 = 0.5625, and rbp is 0.5 · (1 + 0 + 0.25) = 0.625.

    >>> round(frame.select(trec_rbp(p=0.5)).item(), 6)
    0.541667
    """
    check_between("p", p, 0, 1)
    gained = total(where(within(None), _grade() * power(p, pl.col(RANK) - 1)))
    return (1 - p) * gained / pl.max_horizontal(largest(_grade()), pl.lit(1.0))


@registered(synonyms=("rbp_resid",), higher_is_better=False)
def trec_rbp_resid(*, p: float = 0.9) -> Value:
    """Compute how much higher `trec_rbp` could be if unjudged documents were relevant.

    > p^n + (1 − p) Σ over unjudged i of p^(i − 1), but 0 if no retrieved one is unjudged

    Differs from `rbp_residual` in two ways: a document with a negative grade counts as unjudged,
    and if all retrieved documents are judged, ranks past the end of the list do not count.

    >>> round(frame.select(trec_rbp_resid(p=0.5)).item(), 6)
    0.3125
    """
    check_between("p", p, 0, 1)
    is_judged = within(None) & _judged()
    # The weights of all ranks add up to 1: unjudged documents have the rest.
    rest = 1 - (1 - p) * total(where(is_judged, power(p, pl.col(RANK) - 1)))
    return pl.when(retrieved() > total(where(is_judged))).then(rest).otherwise(0.0)


@registered(synonyms=("unj",), higher_is_better=False)
def trec_unj(k: int | None = None) -> Value:
    """Compute the share of the top k that is unjudged, as trec_eval 10 does.

    > unjudged in the top k / k

    Differs from `unjudged` in two ways: missing ranks of a list shorter than k count as judged, and
    a document with a negative grade counts as unjudged. Without k, the divisor is n.

    >>> frame.select(trec_unj(k=5)).item()
    0.2
    """
    unjudged = depth(k) - total(where(within(k) & _judged()))
    return Ratio(unjudged, length(k))


def _judged() -> pl.Expr:
    """Tell which rows are judged; a negative grade means "in the pool, but not judged"."""
    return pl.col(RELEVANCE) >= 0
