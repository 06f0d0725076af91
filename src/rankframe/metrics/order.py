"""Measure at which ranks the relevant documents are: average precision and similar metrics."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Literal

import polars as pl

from rankframe.core.columns import RANK, ColumnRequest
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    Value,
    check_between,
    constant,
    found,
    largest,
    of_query,
    relevant,
    relevant_count,
    retrieved,
    row_constant,
    sum_hits,
    total,
    where,
    within,
)

registered = partial(Registration, family="Order of relevant documents")

_INFAP_EPSILON = 1e-5


@registered(
    synonyms=("ap", "map", "map_cut", "average_precision_cut"),
    aliases=("map",),
    presets={"gm_map": {"average": "geometric"}},
)
def average_precision(
    k: int | None = None,
    *,
    denominator: Literal["relevant", "retrieved", "min"] = "relevant",
    rel: float | None = None,
) -> Value:
    """Average the precision at each relevant document; one that was not retrieved counts as 0.

    > Σ over relevant i ≤ k of found(i)/i, ÷ R

    The mean over queries is MAP. The divisor is R, as in trec_eval; `denominator="retrieved"`
    divides by the number of relevant documents in the top k, `"min"` by min(R, k).

    >>> round(frame.select(average_precision()).item(), 6)
    0.555556
    """
    precisions = sum_hits(k, rel, found(rel) / pl.col(RANK))
    if denominator == "retrieved":
        return Ratio(precisions, sum_hits(k, rel))
    if denominator == "min" and k is not None:
        return Ratio(precisions, pl.min_horizontal(relevant_count(rel), pl.lit(float(k))))
    return Ratio(precisions, relevant_count(rel))


@registered(synonyms=("ar", "mar"))
def average_recall(k: int | None = None, *, rel: float | None = None) -> Value:
    """Average the recall at every depth down to k.

    > mean over i = 1..k of recall@i

    Without k, k is the length of the list. Beyond the end of a list, recall keeps its last value.

    >>> round(frame.select(average_recall(k=2)).item(), 6)
    0.333333
    """
    cutoff = pl.col("retrieved") if k is None else row_constant(k)
    # A relevant document at rank i is part of the recall at i, i + 1, …, k.
    share = (cutoff - pl.col(RANK) + 1) / cutoff
    return Ratio(sum_hits(k, rel, share), relevant_count(rel))


@registered(synonyms=("rr", "mrr", "recip_rank"), aliases=("mrr",), monotone=True)
def reciprocal_rank(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute 1 / the rank of the first relevant document; 0 if none is in the top k.

    > 1 / rank of the first relevant document

    The mean over queries is MRR.

    >>> frame.select(reciprocal_rank()).item()
    1.0
    """
    return largest(where(relevant(rel) & within(k), 1 / pl.col(RANK)))


@registered(presets={"gm_bpref": {"average": "geometric"}})
def bpref(*, rel: float | None = None) -> Value:
    """Compute how rarely judged non-relevant documents rank above relevant ones.

    > (1/R) Σ over retrieved relevant of 1 − min(b, R)/min(N, R)

    For each retrieved relevant document, b is the number of judged non-relevant documents above it;
    if b = 0, its term is 1. A document with a negative grade counts as neither relevant nor
    non-relevant. Agrees with trec_eval.

    >>> round(frame.select(bpref()).item(), 6)
    0.666667
    """
    above = ColumnRequest("nonrelevant_above", rel=rel).expr
    total_relevant = ColumnRequest("relevant_total", rel=rel).expr
    total_nonrelevant = ColumnRequest("nonrelevant_total", rel=rel).expr
    penalty = pl.min_horizontal(above, total_relevant) / pl.min_horizontal(
        total_nonrelevant, total_relevant
    )
    preference = pl.when(above == 0).then(1.0).otherwise(1 - penalty)
    return Ratio(sum_hits(None, rel, preference), relevant_count(rel))


@registered()
def infap(*, rel: float | None = None) -> Value:
    """Infer average precision where only a sample of the pooled documents is judged.

    > (1/R) Σ over relevant i of 1/i + (pooled above / i)·(rel + ε)/(rel + non + 2ε)

    A document absent from the judgments was not pooled; a negative grade means pooled, but not
    judged. rel and non are the numbers of documents above rank i that were judged relevant and
    non-relevant; ε = 1e-5. A relevant document at rank 1 adds 1. Agrees with trec_eval's `infAP`.

    >>> round(frame.select(infap()).item(), 6)
    0.555554
    """
    rank = pl.col(RANK)
    relevant_above = found(rel) - 1
    judged_above = relevant_above + ColumnRequest("nonrelevant_above", rel=rel).expr
    share = (relevant_above + _INFAP_EPSILON) / (judged_above + 2 * _INFAP_EPSILON)
    inferred = 1 / rank + pl.col("judged_above") / rank * share
    expected = pl.when(rank == 1).then(1.0).otherwise(inferred)
    return Ratio(sum_hits(None, rel, expected), relevant_count(rel))


@registered(synonyms=("iprec_at_recall",), number="recall")
def iprec(*, recall: float = 0.1, rel: float | None = None) -> Value:
    """Compute interpolated precision at a level of recall.

    > max precision at or beyond the rank where recall reaches the level

    The level is reached at the c-th relevant document, c = recall·R rounded half away from zero
    (trec_eval 10; version 9 rounds differently). 0 if it is never reached.

    >>> round(frame.select(iprec(recall=0.5)).item(), 6)
    0.666667
    """
    check_between("recall", recall, 0, 1, closed=True)
    reached = found(rel) >= _relevant_at(recall, rel)
    return largest(where(relevant(rel) & within(None) & reached, found(rel) / pl.col(RANK)))


@registered(synonyms=("11pt_avg", "eleven_point_average"))
def eleven_point(*, rel: float | None = None) -> Value:
    """Average interpolated precision over eleven levels of recall.

    > mean of iprec at recall 0, 0.1, …, 1

    >>> round(frame.select(eleven_point()).item(), 6)
    0.69697
    """
    points = [iprec(recall=i / 10, rel=rel) for i in range(11)]
    # Add one after the other: the order of sum_horizontal depends on the number of threads.
    return reduce(add, points) / constant(11)


@registered(number="recall")
def precision_at_recall(*, recall: float = 0.5, rel: float | None = None) -> Value:
    """Compute precision at the rank where recall first reaches a level; 0 if it never does.

    > c / rank of the c-th relevant document, c = recall·R rounded

    c is rounded as in `iprec`, and at least 1; nothing is interpolated.

    >>> round(frame.select(precision_at_recall(recall=0.5)).item(), 6)
    0.666667
    """
    check_between("recall", recall, 0, 1, closed=True)
    reached = found(rel) == pl.max_horizontal(_relevant_at(recall, rel), pl.lit(1.0))
    return total(where(relevant(rel) & within(None) & reached, found(rel) / pl.col(RANK)))


def _relevant_at(recall: float, rel: float | None) -> pl.Expr:
    """Return the number of relevant documents at a level of recall."""
    count = recall * ColumnRequest("relevant_total", rel=rel).expr
    return count.round(0, mode="half_away_from_zero")


@registered(bounds=(None, None))
def yaap(*, rel: float | None = None) -> Value:
    """Compute the log-odds of average precision: "yet another average precision" (Robertson).

    > log((1 + s) / (1 + R − s)), s = Σ over relevant of found(i)/i

    The value can be any real number. Queries without relevant documents score 0. Agrees with
    trec_eval.

    >>> round(frame.select(yaap()).item(), 6)
    0.133531
    """
    precisions = sum_hits(None, rel, found(rel) / pl.col(RANK))
    return ((1 + precisions) / (1 + relevant_count(rel) - precisions)).log()


@registered(bounds=(0.0, None), higher_is_better=False)
def lag(*, missing: Literal["ignore", "end"] = "ignore", rel: float | None = None) -> Value:
    """Compute the mean number of non-relevant documents above a relevant one; lower is better.

    > mean over retrieved relevant of i − found(i)

    Undefined (null) if no relevant document was retrieved. `missing="end"` appends the relevant
    documents that were not retrieved to the list, at ranks n + 1, n + 2, …

    >>> frame.select(lag()).item()
    0.5
    """
    lags = sum_hits(None, rel, pl.col(RANK) - found(rel))
    hits = sum_hits(None, rel)
    if missing == "ignore":
        return Ratio(lags, hits, empty=None)
    # Each relevant document that was not retrieved has n − found(n) non-relevant ones above it.
    lost = relevant_count(rel) - hits
    return Ratio(lags + lost * (retrieved() - hits), relevant_count(rel), empty=None)


@registered(synonyms=("roc_auc",), pooled={"pool": True})
def auc(*, pool: bool = False, rel: float | None = None) -> Value:
    """Compute the area under the ROC curve of the retrieved list.

    > P(a relevant document outranks a non-relevant one), equal scores count ½

    Unjudged documents are non-relevant. Undefined (null) without a relevant or without a
    non-relevant document. `pool=true` draws one curve over all judged queries by score, including
    queries that averages leave out. The summary is the area under this curve; the value of a query
    compares its relevant documents with the non-relevant ones of all queries.

    >>> frame.select(auc()).item()
    0.75
    """
    hits = sum_hits(None, rel)
    if pool:
        below = ColumnRequest("pooled_wins", rel=rel).expr
        wins = sum_hits(None, rel, below)
        against = of_query(ColumnRequest("pooled_nonrelevant", rel=rel).name)
        return Ratio(wins, hits * against, empty=None)
    ranks = sum_hits(None, rel, pl.col("tied_rank"))
    pairs = hits * (retrieved() - hits)
    # The rank sum of the relevant documents, minus its least value (all of them on top), is the
    # number of pairs in the wrong order.
    return Ratio(pairs - (ranks - hits * (hits + 1) / 2), pairs, empty=None)
