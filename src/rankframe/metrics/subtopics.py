"""Measure how much of a query's subtopics, intents or facts a list covers.

Judgments have a subtopic (the column `subtopic`). J is the number of subtopics with a relevant
document, w_j are their weights (1 unless judgments have weights), and W = Σ w_j. rel_j(i) is 1 if
the document at rank i is relevant to subtopic j. c_j(i) is the number of documents above rank i
that are relevant to subtopic j; each of them reduces the gain of the subtopic by the factor 1 − α.
The ideal list is greedy: the next document is always the one with the largest gain and, among
documents of equal gain, the one with the largest id, as in ndeval.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import numpy as np
import polars as pl

from rankframe.core.columns import ALPHA, RANK, RELEVANCE, SUBTOPIC_WEIGHT, ColumnRequest
from rankframe.core.errors import MetricParameterError
from rankframe.metrics.gain import gain_of
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    Value,
    check_between,
    length,
    of_query,
    power,
    total,
    where,
    within,
)

registered = partial(Registration, family="Subtopics and facts", frame="subtopic")


_WEIGHT: Final = pl.col(SUBTOPIC_WEIGHT)
_MOST_RANKS: Final = 10_000_000
Norm = Literal["most", "none"]


def _relevant(rel: float | None) -> pl.Expr:
    """Tell which rows have a document that is relevant to the subtopic of the row."""
    return ColumnRequest("relevant", rel=rel).expr


def _weight(rel: float | None) -> pl.Expr:
    """Return W, the sum of the weights of subtopics with a relevant document."""
    return total(where(ColumnRequest("first", rel=rel).expr, _WEIGHT))


def _subtopics(rel: float | None) -> pl.Expr:
    """Return J, the number of subtopics with a relevant document."""
    return of_query(ColumnRequest("subtopics", rel=rel).name)


def _covered(k: int | None, rel: float | None) -> pl.Expr:
    """Count the subtopics that have a relevant document in the top k."""
    return total(where(ColumnRequest("first", rel=rel).expr & within(k)))


def _shrunk(base: float, times: pl.Expr) -> pl.Expr:
    """Raise a number from 0 to 1 to the power of a column; 0⁰ is 1, and halves are exact."""
    if base == 0:
        return (times == 0).cast(pl.Float64)
    return power(2, -times) if base == 0.5 else power(base, times)


def _novel(
    k: int | None,
    alpha: float,
    rel: float | None,
    discount: Callable[[pl.Expr], pl.Expr],
    *,
    ideal: bool = False,
) -> pl.Expr:
    """Sum the gains of all subtopics over the top k, discounted by rank and by repetition.

    The sum is of w_j·rel_j(i)·(1 − α)^c_j(i) ÷ the discount of rank i, over all j and i ≤ k.

    `ideal`: sum over the ideal list instead of the run.
    """
    check_between("alpha", alpha, 0, 1, closed=True)
    place, times = pl.col(RANK), ColumnRequest("above", rel=rel).expr
    if ideal:
        columns = ("ideal_rank", "ideal_above")
        place, times = (ColumnRequest(name, alpha=alpha, rel=rel).expr for name in columns)
    inside = place.is_not_null() if k is None else place <= k
    worth = _WEIGHT * _shrunk(1 - alpha, times)
    return total(where(_relevant(rel) & inside, worth / discount(place)))


def _share_of_ideal(
    k: int | None, alpha: float, rel: float | None, discount: Callable[[pl.Expr], pl.Expr]
) -> Ratio:
    """Divide the discounted gain of all subtopics by its value for the ideal list."""
    novel = partial(_novel, k, alpha, rel, discount)
    return Ratio(novel(), novel(ideal=True))


def _logarithm(place: pl.Expr) -> pl.Expr:
    """Return log2(rank + 1), the discount of discounted cumulative gain."""
    return (place + 1).log(2)


def _patience(beta: float) -> Callable[[pl.Expr], pl.Expr]:
    """Return the discount for a reader who goes on to the next rank with probability β."""
    check_between("beta", beta, 0, 1)
    return lambda place: 1 / _shrunk(beta, place - 1)


def _most(k: int | None, alpha: float, kind: Literal["log", "rank"]) -> float:
    """Return the discounted gain of one subtopic down to k if all documents are relevant to it."""
    # Ranks whose gain is less than 2^-60 of the first rank's are lost in rounding.
    deepest = k if alpha in (0, 1) else int(np.ceil(-42 / np.log1p(-alpha)))
    if alpha == 1:
        return 1.0
    ranks = deepest if k is None or deepest is None else min(k, deepest)
    if ranks is None or ranks > _MOST_RANKS:
        raise MetricParameterError("with so small an alpha, norm='most' needs a smaller cutoff.")
    places = np.arange(1, ranks + 1)
    worth = np.cumprod(np.append(1.0, np.full(ranks - 1, 1 - alpha)))
    return float(np.sum(worth / (np.log2(places + 1) if kind == "log" else places)))


@registered(synonyms=("alpha-dcg", "α-dcg", "alphadcg"), bounds=(0.0, None))
def alpha_dcg(
    k: int | None = None, *, alpha: float = ALPHA, norm: Norm = "most", rel: float | None = None
) -> Value:
    """Compute the discounted gain of subtopics, where repetitions of a subtopic gain less.

    > Σ_{i≤k} Σ_j w_j·rel_j(i)·(1 − α)^c_j(i) / log2(i + 1) ÷ W·Σ_{i≤k} (1 − α)^(i−1) / log2(i + 1)

    The divisor is the sum for a list whose documents are all relevant to every subtopic, as in
    ndeval (which does not divide at k = 1). `norm="none"` returns the sum without this divisor,
    with weights scaled to a mean of 1.

    >>> round(subtopic.select(alpha_dcg(k=2, norm="none")).item(), 6)
    1.946395
    """
    above = _novel(k, alpha, rel, _logarithm)
    if norm == "none":
        return Ratio(above * _subtopics(rel), _weight(rel))
    return Ratio(above, _weight(rel) * _most(k, alpha, "log"))


@registered(synonyms=("alpha-ndcg", "α-ndcg", "alphandcg"), bounds=(0.0, None))
def alpha_ndcg(k: int | None = None, *, alpha: float = ALPHA, rel: float | None = None) -> Value:
    """Compute the discounted gain of subtopics as a share of its value for the ideal list.

    > alpha_dcg@k ÷ alpha_dcg@k of the greedy ideal list

    The greedy list is not always the best possible list, so values a little above 1 can occur.
    Agrees with ndeval's `alpha-nDCG@k`.

    >>> round(subtopic.select(alpha_ndcg(k=4)).item(), 6)
    0.808689
    """
    return _share_of_ideal(k, alpha, rel, _logarithm)


@registered(synonyms=("err-ia",), bounds=(0.0, None), exponential={"gain": "exp2"})
def err_ia(
    k: int | None = None,
    *,
    alpha: float = ALPHA,
    gain: Literal["novelty", "exp2"] = "novelty",
    norm: Norm = "most",
    rel: float | None = None,
) -> Value:
    """Compute intent-aware expected reciprocal rank: how soon each subtopic is satisfied.

    > Σ_{i≤k} Σ_j w_j·rel_j(i)·(1 − α)^c_j(i) / i ÷ W·Σ_{i≤k} (1 − α)^(i−1) / i; with gain=exp2: Σ_j
      w_j·err_j@k ÷ W

    The divisor is the sum for a list whose documents are all relevant to every subtopic, as in
    ndeval (which does not divide at k = 1). With `norm="none"`, the divisor is W. `gain="exp2"`
    uses grades, after Chapelle: the mean of `err` over subtopics; alpha and norm have no effect.

    >>> round(subtopic.select(err_ia(k=2, norm="none")).item(), 6)
    0.875
    """
    if gain == "exp2":
        satisfied = gain_of(pl.col(RELEVANCE), "exp2") / power(2, pl.col("max_grade"))
        worth = _WEIGHT * satisfied * pl.col("unsatisfied") / pl.col(RANK)
        has_relevant = ColumnRequest("subtopic_relevant", rel=rel).expr > 0
        return Ratio(total(where(has_relevant & within(k), worth)), _weight(rel))
    above = _novel(k, alpha, rel, lambda place: place)
    return Ratio(above, _weight(rel) * (1.0 if norm == "none" else _most(k, alpha, "rank")))


@registered(synonyms=("nerr-ia",), bounds=(0.0, None))
def nerr_ia(k: int | None = None, *, alpha: float = ALPHA, rel: float | None = None) -> Value:
    """Compute intent-aware expected reciprocal rank as a share of its value for the ideal list.

    > err_ia@k ÷ err_ia@k of the greedy ideal list

    Agrees with ndeval's `nERR-IA@k`.

    >>> round(subtopic.select(nerr_ia(k=4)).item(), 6)
    0.756303
    """
    return _share_of_ideal(k, alpha, rel, lambda place: place)


@registered(bounds=(0.0, 1.0))
def nrbp(*, alpha: float = ALPHA, beta: float = 0.5, rel: float | None = None) -> Value:
    """Compute novelty- and rank-biased precision: a reader goes on with probability β.

    > (1 − (1 − α)·β) / W · Σ_i β^(i−1) Σ_j w_j·rel_j(i)·(1 − α)^c_j(i)

    Agrees with ndeval's `NRBP`.

    >>> subtopic.select(nrbp()).item()
    0.6796875
    """
    novel = _novel(None, alpha, rel, _patience(beta))
    return Ratio((1 - (1 - alpha) * beta) * novel, _weight(rel))


@registered(bounds=(0.0, None))
def nnrbp(*, alpha: float = ALPHA, beta: float = 0.5, rel: float | None = None) -> Value:
    """Compute novelty- and rank-biased precision as a share of its value for the ideal list.

    > nrbp ÷ nrbp of the greedy ideal list

    Agrees with ndeval's `nNRBP`.

    >>> round(subtopic.select(nnrbp()).item(), 6)
    0.753247
    """
    return _share_of_ideal(None, alpha, rel, _patience(beta))


@registered(synonyms=("map-ia",))
def map_ia(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute intent-aware average precision: the mean of average precision over subtopics.

    > Σ_j w_j·AP_j ÷ W, AP_j = Σ_{i≤k} rel_j(i)·(c_j(i) + 1) / i ÷ R_j

    R_j counts the documents that are relevant to subtopic j. Agrees with ndeval's `MAP-IA`.

    >>> round(subtopic.select(map_ia()).item(), 6)
    0.666667
    """
    columns = ("above", "subtopic_relevant")
    above, of_subtopic = (ColumnRequest(name, rel=rel).expr for name in columns)
    rows = _WEIGHT * (above + 1) / (pl.col(RANK) * of_subtopic)
    return Ratio(total(where(_relevant(rel) & within(k), rows)), _weight(rel))


@registered(synonyms=("p-ia", "precision-ia", "p_ia"))
def precision_ia(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute intent-aware precision: the mean of precision at k over subtopics.

    > Σ_{i≤k} Σ_j w_j·rel_j(i) ÷ (k·W)

    Without k, precision is over all retrieved documents. Agrees with ndeval's `P-IA@k`.

    >>> subtopic.select(precision_ia(k=2)).item()
    0.75
    """
    rows = where(_relevant(rel) & within(k), _WEIGHT)
    return Ratio(total(rows), length(k) * _weight(rel))


# Rounding: numerator and denominator are summed in different orders, so a value of 1 may come out
# slightly larger.
@registered(synonyms=("ndcg-ia",), bounds=(0.0, None), exponential={"gain": "exp2"})
def ndcg_ia(k: int | None = None, *, gain: Literal["linear", "exp2"] = "linear") -> Value:
    """Compute intent-aware nDCG: the mean of nDCG over subtopics, each with its own grades.

    > Σ_j w_j·ndcg_j@k ÷ W

    >>> round(subtopic.select(ndcg_ia()).item(), 6)
    0.749095
    """
    best = ColumnRequest("ideal_dcg" if gain == "linear" else "ideal_dcg_exp2", k=k)
    worth = gain_of(pl.col(RELEVANCE), gain) / (pl.col(RANK) + 1).log(2) / best.expr
    has_gain = (pl.col("subtopic_relevant") > 0) & (pl.col(RELEVANCE) > 0)
    return Ratio(total(where(has_gain & within(k), _WEIGHT * worth)), _weight(None))


@registered(synonyms=("strec", "s-recall", "subtopic-recall", "i-rec"))
def subtopic_recall(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute the share of the subtopics that have a relevant document in the top k.

    > subtopics with a relevant document in the top k ÷ J

    Weights have no effect. Queries without relevant documents score 0. Agrees with ndeval's
    `strec@k`.

    >>> subtopic.select(subtopic_recall(k=1)).item()
    0.5
    """
    return Ratio(_covered(k, rel), _subtopics(rel))


@registered()
def any_of(k: int | None = None, *, rel: float | None = None) -> Value:
    """Return 1 if the top k has a relevant document of any subtopic, else 0.

    > 1 if some subtopic has a relevant document in the top k, else 0

    Use it for questions that any one of several facts answers.

    >>> subtopic.select(any_of(k=1)).item()
    1.0
    """
    return (_covered(k, rel) > 0).cast(pl.Float64)


@registered()
def all_of(k: int | None = None, *, rel: float | None = None) -> Value:
    """Return 1 if the top k has a relevant document of every subtopic, else 0.

    > 1 if every subtopic has a relevant document in the top k, else 0

    Use it for answers that need all of several facts. Queries without relevant documents score 0.

    >>> subtopic.select(all_of(k=1)).item(), subtopic.select(all_of(k=2)).item()
    (0.0, 1.0)
    """
    covered = _covered(k, rel)
    return ((covered > 0) & (covered == _subtopics(rel))).cast(pl.Float64)
