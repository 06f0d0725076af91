"""Define metrics that compare two rankings: expressions over the pair frame, a row per document.

X_d is the number of documents in the top d of both rankings. Rank-biased overlap and similar
metrics are sums over depths d. Correlations compare pairs of documents by their scores in both
rankings (without scores, by their ranks): C pairs are in the same order, D in opposite order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import ColumnRequest
from rankframe.core.errors import MetricParameterError
from rankframe.core.options import COUNT, FLAG
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    Value,
    check_between,
    constant,
    of_query,
    power,
    total,
    where,
)

registered = partial(Registration, family="Two rankings", frame="pair")

_DEEPEST = 10_000_000

RboTies: TypeAlias = Literal["broken", "w", "a", "b", "mean"]
_DEPTH: Final = pl.col("depth")
_LONGER: Final = pl.max_horizontal("n_a", "n_b")
_SHORTER: Final = pl.min_horizontal("n_a", "n_b")
# How ties are treated down to the ends of the rankings (`_SEEN`) and beyond (`_UNSEEN`).
_SEEN: Final = {"broken": None, "w": "w", "a": "a", "b": "b", "mean": "a"}
_UNSEEN: Final = _SEEN | {"mean": None}


def rbo_weight(p: float, d: int, *, single: bool = False) -> float:
    """Return the share of RBO's weight on the top d ranks, or on rank d alone.

    The weights of all ranks add up to 1.

    p: RBO's parameter, between 0 and 1: a larger p gives the top ranks less weight.
    d: a depth, from 1.
    single: return the weight of rank d alone.

    >>> round(rbo_weight(0.9, 10), 10)
    0.8555854467
    >>> round(rbo_weight(0.9, 10, single=True), 10)
    0.0243005936
    """
    FLAG.refuse("single", single)
    check_between("p", p, 0, 1)
    COUNT.refuse("d", d)
    depths = np.arange(1, d)
    rest = -math.log1p(-p) - math.fsum(p**depths / depths)
    rank = max((1 - p) / p * rest, 0.0)
    return rank if single else 1 - p ** (d - 1) + d * rank


def rbo_p(weight: float, d: int) -> float:
    """Return the p with which RBO puts `weight` on the top d ranks: the inverse of `rbo_weight`.

    weight: the weight of the top d ranks, between 0 and 1.
    d: a depth, from 1.

    >>> round(rbo_p(0.8555854467, 10), 6)
    0.9
    """
    check_between("weight", weight, 0, 1)
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        # A larger p gives the top ranks less weight.
        low, high = (middle, high) if rbo_weight(middle, d) > weight else (low, middle)
    return middle


def _in_common(k: pl.Expr | int | None) -> pl.Expr:
    """Count the documents in the top k of both rankings."""
    depth = pl.max_horizontal("rank_a", "rank_b")
    shared = pl.col("rank_a").is_not_null() & pl.col("rank_b").is_not_null()
    return total(where(shared if k is None else shared & (depth <= k)))


def _depth_of(lengths: pl.Expr, k: int | None) -> pl.Expr:
    """Return the lengths of rankings, or k where a ranking is longer."""
    return lengths if k is None else pl.min_horizontal(lengths, pl.lit(float(k)))


def _longest() -> pl.Expr:
    """Return the length of the longer ranking of each query."""
    return pl.max_horizontal(of_query("n_a"), of_query("n_b"))


def _shortest() -> pl.Expr:
    """Return the length of the shorter ranking of each query."""
    return pl.min_horizontal(of_query("n_a"), of_query("n_b"))


@registered()
def overlap(k: int | None = None) -> Value:
    """Compute the share of the top k that two rankings have in common.

    > X_k / k, X_k = documents in the top k of both

    Without k, k is the length of the shorter ranking.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "overlap@2")["overlap@2"]
    1.0
    """
    if k is None:
        return Ratio(_in_common(_SHORTER), _shortest())
    return Ratio(_in_common(k), constant(k, "n_a"))


@registered()
def jaccard(k: int | None = None) -> Value:
    """Compute the share of the documents in the top k of either ranking that are in both.

    > X_k / |top k of either|

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "jaccard")["jaccard"]
    0.5
    """
    common = _in_common(k)
    return Ratio(common, _depth_of(of_query("n_a"), k) + _depth_of(of_query("n_b"), k) - common)


@registered(synonyms=("ao", "sim"))
def average_overlap(k: int | None = None, *, weights: Sequence[float] | None = None) -> Value:
    """Average the overlap over all depths down to k, so that the top ranks count more.

    > Σ over d ≤ k of w_d X_d / d, ÷ Σ over d ≤ k of w_d (w_d = 1 unless given)

    Without k, the average is over depths down to the end of the shorter ranking. `weights` gives
    each depth a weight, from depth 1 on: `sim(weights=[3, 2, 1])` (Webber's SIM). Depths without a
    weight do not count.

    >>> a, b = {"q": {"x": 3, "y": 2}}, {"q": {"y": 3, "x": 2}}
    >>> rf.agree(a, b, "average_overlap@2")["average_overlap@2"]
    0.5
    >>> rf.agree(a, b, "sim(weights=[3, 1])")["sim(weights=[3, 1])"]
    0.25
    """
    if weights is not None:
        values = _checked_weights(weights)[:k]
        depths = np.arange(1, len(values) + 1)
        weight = _DEPTH.replace_strict(depths, values, default=0.0, return_dtype=pl.Float64)
        return Ratio(_over_depths("broken", weight, values), constant(math.fsum(values), "n_a"))
    if k is None:
        return Ratio(total(where(_DEPTH <= _SHORTER, pl.col("agreement"))), _shortest())
    return Ratio(
        _over_depths("broken", pl.lit(1.0), np.ones(_checked_depth(k))), constant(k, "n_a")
    )


def _checked_weights(weights: Sequence[float]) -> NDArray[np.float64]:
    """Return weights as an array; refuse negative ones, and weights that are all 0."""
    values = np.array(weights, np.float64)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise MetricParameterError(
            f"weights are numbers of at least 0, one of them above 0, not {list(weights)!r}."
        )
    return values


def _checked_depth(k: int) -> int:
    """Return a cutoff; refuse it if the weights of all depths need too much memory."""
    if k > _DEEPEST:
        raise MetricParameterError(f"a cutoff must be at most {_DEEPEST:,} here, not {k:,}.")
    return k


def _over_depths(ties: RboTies, weight: pl.Expr, weights: NDArray[np.float64]) -> pl.Expr:
    """Sum agreement(d) · weight(d) over as many depths as there are weights.

    `weight` is the weight of a row. Beyond the ends of the rankings, no more documents are shared.
    """
    k = len(weights)
    inside = (_DEPTH <= _LONGER) & (k >= _DEPTH)
    all_weight = math.fsum(weights / np.arange(1, k + 1))
    beyond = constant(all_weight, "n_a") - total(where(inside, weight / _DEPTH))
    beyond = pl.when(_longest() < k).then(of_query("n_shared") * beyond).otherwise(0.0)
    return total(where(inside, _agreement(ties) * weight)) + beyond


def _agreement(ties: RboTies) -> pl.Expr:
    """Return the agreement at the depth of each row: X_d / d."""
    return ColumnRequest("agreement", ties=_SEEN[ties]).expr


def _end(k: int | None) -> pl.Expr:
    """Return for each row the depth at which both rankings have ended, or k."""
    return _LONGER if k is None else pl.min_horizontal(_LONGER, pl.lit(k))


def _seen(ties: RboTies, k: int | None, p: float) -> pl.Expr:
    """Sum agreement(d) · p^d over the depths down to the end of both rankings, or to k."""
    return total(where(_end(k) >= _DEPTH, _agreement(ties) * power(p, _DEPTH)))


@registered()
def rbo(k: int | None = None, *, p: float = 0.9, ties: RboTies = "broken") -> Value:
    """Compute rank-biased overlap: the agreement at every depth, weighted towards the top.

    > at k: (1−p) Σ over d ≤ k of p^(d−1) X_d / d; else rbo_ext

    p is the probability that a reader goes on to the next depth. The top 10 have 97% of the weight
    with p = 0.8, 86% with 0.9 and 67% with 0.95. `rf.rbo_weight(p, d)` computes such weights, and
    `rf.rbo_p(weight, d)` the p for a given weight.

    Without k, this is `rbo_ext`: beyond the ends of the lists, agreement is assumed to stay as it
    is at the end. With k, the sum ends at depth k and is a lower bound: even identical lists score
    less than 1 (`rbo_ext@k` extrapolates instead). Whatever documents follow beyond the ends of the
    lists, or beyond depth k, the value is at least `rbo_min` and at most `rbo_min` + `rbo_res`.

    `ties`: "broken" orders documents with equal scores as in a run. "w", "a" and "b" are the
    variants of Corsi and Urbano (2024). With "w", tied documents share a rank, as in sports. With
    "a", if a depth ends within a tie, each tied document counts in part. "b" corrects "a" for the
    information that ties lose, and is never less than "a". "mean" is the mean over all orders of
    tied documents; it equals "a" if the lists are equally long. Beyond the end of a shorter list,
    "a" also counts tied documents that are still unseen in part.

    >>> lists = {"q": {"x": 3, "y": 2, "z": 1}}
    >>> round(rf.agree(lists, lists, "rbo(p=0.8)")["rbo(p=0.8)"], 12)
    1.0
    """
    check_between("p", p, 0, 1)
    if k is None:
        return _extrapolated(None, p, ties)
    weights = p ** np.arange(float(_checked_depth(k)))
    return (1 - p) * _over_depths(ties, power(p, _DEPTH - 1), weights)


@registered()
def rbo_ext(k: int | None = None, *, p: float = 0.9, ties: RboTies = "broken") -> Value:
    """Compute rank-biased overlap, extrapolated beyond the ends of the lists, or beyond depth k.

    > Webber et al. (2010), eq. 32; at k: rbo@k + p^k X_k / k where both lists reach k

    Agreement is assumed to stay as it is there. `p` and `ties` are explained at rbo.

    >>> a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in ("abcdefg", "acbdehi"))
    >>> round(rf.agree(a, b, "rbo_ext")["rbo_ext"], 10)
    0.7933182143
    >>> round(rf.agree(a, b, "rbo_ext@1")["rbo_ext@1"], 10)
    1.0
    """
    check_between("p", p, 0, 1)
    return _extrapolated(k, p, ties)


def _extrapolated(k: int | None, p: float, ties: RboTies) -> pl.Expr:
    """Compute rank-biased overlap, assuming that agreement stays as it is at the end."""
    unseen = ColumnRequest("unseen", ties=_UNSEEN[ties]).expr
    inside, at_end = _end(k) >= _DEPTH, _end(k) == _DEPTH
    at_shortest = total(where(_DEPTH == _SHORTER, _agreement(ties)))
    added = total(where(inside, unseen * power(p, _DEPTH)))
    final = total(where(at_end, _agreement(ties))) + at_shortest * total(where(at_end, unseen))
    whole = (1 - p) / p * (_seen(ties, k, p) + at_shortest * added)
    return whole + final * power(p, _depth_of(_longest(), k))


@registered(higher_is_better=False)
def rbd(*, p: float = 0.9, ties: RboTies = "broken") -> Value:
    """Compute rank-biased distance, 1 minus rank-biased overlap: 0 for identical rankings.

    > 1 − rbo_ext

    >>> rf.agree({"q": {"x": 1}}, {"q": {"y": 1}}, "rbd")["rbd"]
    1.0
    """
    check_between("p", p, 0, 1)
    return 1 - _extrapolated(None, p, ties)


def _in_common_at_end(ties: RboTies, k: int | None) -> pl.Expr:
    """Return X_d at the end of both rankings, or at k; a tie group that k cuts counts in part."""
    return total(where(_end(k) == _DEPTH, _agreement(ties) * _DEPTH))


def _tail(inside: pl.Expr, p: float) -> pl.Expr:
    """Sum p^d / d over all depths d ≥ 1, except the depths of the rows that `inside` flags."""
    return -math.log1p(-p) - total(where(inside, power(p, _DEPTH) / _DEPTH))


@registered()
def rbo_min(k: int | None = None, *, p: float = 0.9, ties: RboTies = "broken") -> Value:
    """Compute the least possible rank-biased overlap, whatever documents would continue the lists.

    > (1−p)/p · [Σ over d ≤ l of p^d X_d / d + X_l (ln 1/(1−p) − Σ over d ≤ l of p^d / d)]

    With k, the documents after depth k may be any documents. `p` and `ties` are explained at rbo.

    >>> a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in ("abcdefg", "acbdehi"))
    >>> round(rf.agree(a, b, "rbo_min")["rbo_min"], 10)
    0.6269889406
    """
    check_between("p", p, 0, 1)
    rest = _in_common_at_end(ties, k) * _tail(_end(k) >= _DEPTH, p)
    return (1 - p) / p * (_seen(ties, k, p) + rest)


@registered(higher_is_better=False)
def rbo_res(k: int | None = None, *, p: float = 0.9, ties: RboTies = "broken") -> Value:
    """Compute the residual of rank-biased overlap: its largest minus its least possible value.

    > Webber et al. (2010), eq. 30: the largest rank-biased overlap less the least

    With k, the documents after depth k may be any documents, and ties="mean" is refused. `p` and
    `ties` are explained at rbo.

    >>> a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in ("abcdefg", "acbdehi"))
    >>> round(rf.agree(a, b, "rbo_res")["rbo_res"], 10)
    0.2970068196
    """
    check_between("p", p, 0, 1)
    if k is not None and ties == "mean":
        raise MetricParameterError(
            "rbo_res at k has no mean over all orders of the ties: leave out k, or take ties='a'."
        )
    unseen = ColumnRequest("unseen_most", ties=_UNSEEN[ties], k=k).expr
    largest = total(unseen * power(p, _DEPTH))
    # At a depth equal to the number of documents, both rankings may hold all of them: from there
    # on, the agreement can be 1.
    documents = of_query("n_a") + of_query("n_b") - of_query("n_shared")
    rest = _in_common_at_end(ties, k) * _tail(pl.lit(value=True), p)
    return (1 - p) / p * (largest - rest) + power(p, documents)


def _top(column: str, k: int | None) -> pl.Expr:
    """Return an expression for a column that is computed from the top k of both rankings."""
    return ColumnRequest(column, k=k).expr


def _pairs(k: int | None) -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Count document pairs: concordant, discordant, tied only in b, and tied only in a."""
    names = ("concordant", "discordant", "tied_in_b", "tied_in_a")
    concordant, discordant, tied_b, tied_a = (total(_top(name, k)) for name in names)
    return concordant, discordant, tied_b, tied_a


def _compared(k: int | None) -> pl.Expr:
    """Count the documents that are compared: by default, those in the top k of both rankings."""
    return total(where(_top("compared", k)))


def _share(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """Divide two expressions; the result is undefined where the divisor is 0."""
    return Ratio(above, below, empty=None).expr


@registered(synonyms=("kendall", "tau", "kendalltau"), bounds=(-1.0, 1.0))
def kendall_tau(k: int | None = None, *, variant: Literal["b", "a", "c"] = "b") -> Value:
    """Compute Kendall's τ: the share of pairs in the same order minus that in opposite order.

    > (C − D) / √(pairs untied in a · pairs untied in b); a: / n(n−1)/2; c: · 2m/(n²(m−1))

    `variant`: "b" corrects for ties on both sides, "a" does not, "c" is for scales of different
    length. Only documents that both rankings have (at k: in their top k) are compared. Undefined
    for fewer than 2 such documents, or if they are all tied.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 3, "z": 2, "y": 1}}
    >>> round(rf.agree(a, b, "kendall_tau")["kendall_tau"], 6)
    0.333333
    """
    concordant, discordant, tied_b, tied_a = _pairs(k)
    more, count = concordant - discordant, _compared(k)
    if variant == "a":
        return _share(more, count * (count - 1) * 0.5)
    if variant == "c":
        classes = pl.min_horizontal(
            total(where(_top("distinct_a", k))), total(where(_top("distinct_b", k)))
        )
        return _share(2 * classes * more, count * count * (classes - 1))
    untied = concordant + discordant
    return _share(more, ((untied + tied_b) * (untied + tied_a)).sqrt()).clip(-1.0, 1.0)


@registered(bounds=(-1.0, 1.0))
def tau_ap(k: int | None = None) -> Value:
    """Compute τ_AP (Yilmaz et al. 2008): Kendall's τ in which mistakes near the top weigh more.

    > 2/(n−1) · Σ over ranks i ≥ 2 of b of C(i)/(i−1) − 1

    a, the first ranking, is the reference. For the document at rank i of b, C(i) is the number of
    documents that are above it in both rankings. τ_AP is not symmetric. Ties are broken as in a
    run. Undefined for fewer than 2 documents that both rankings have.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 3, "z": 2, "y": 1}}
    >>> rf.agree(a, b, "tau_ap")["tau_ap"]
    0.5
    """
    above, right = _top("above_in_b", k), _top("above_in_both", k)
    kept = total(where(above > 0, right / above))
    pairs = pl.max_horizontal(_compared(k) - 1, pl.lit(0.0))
    return _share(2 * kept, pairs) - 1


@registered(synonyms=("spearman_rho", "spearmanr"), bounds=(-1.0, 1.0))
def spearman(k: int | None = None) -> Value:
    """Compute Spearman's ρ: the correlation of ranks of the documents that both rankings have.

    > Pearson's r of ranks, where tied documents share their mean rank

    Undefined for fewer than 2 compared documents, or where all are tied in one of the rankings.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 3, "z": 2, "y": 1}}
    >>> round(rf.agree(a, b, "spearman")["spearman"], 12)
    0.5
    """
    compared = _top("compared", k)
    x, y = (where(compared, _top(f"mean_rank_{side}", k)) for side in "ab")
    count = _compared(k)
    # Ranks are halves of whole numbers: with twice their distance to the middle, sums are exact.
    xx, yy, xy = (4 * total(product) for product in (x * x, y * y, x * y))
    middle = count * (count + 1) * (count + 1)
    return _correlation(xy - middle, xx - middle, yy - middle)


@registered(synonyms=("pearsonr",), bounds=(-1.0, 1.0))
def pearson(k: int | None = None) -> Value:
    """Compute Pearson's r of the scores of the documents that both rankings have.

    > Σ dx·dy / √(Σ dx² Σ dy²), d = score − mean

    Undefined for fewer than 2 documents, if all scores of a ranking are equal, or without scores.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 6, "y": 4, "z": 2}}
    >>> round(rf.agree(a, b, "pearson")["pearson"], 12)
    1.0
    """
    x, y = (_top(f"deviation_{side}", k).fill_null(0.0) for side in "ab")
    return _correlation(total(x * y), total(x * x), total(y * y))


def _correlation(xy: pl.Expr, xx: pl.Expr, yy: pl.Expr) -> pl.Expr:
    """Compute a correlation from the sums of products of deviations: xy / √(xx · yy)."""
    return _share(xy, (xx * yy).sqrt()).clip(-1.0, 1.0)


@registered(higher_is_better=False)
def ndpm(k: int | None = None) -> Value:
    """Compute the normalised distance-based performance measure (Yao 1995): 0 is perfect.

    > (2 · contradicted + tied only in b) / (2 · pairs untied in a)

    The first ranking (or the judgments) is the reference; the second is the system. A pair that the
    system ties costs half as much as a pair that it reverses. A value of 1 means the reversed
    order. Undefined if the reference ties all pairs.

    >>> truth = {"q": {"v": 5, "w": 4, "x": 4, "y": 2, "z": 1}}
    >>> system = {"q": {"v": 3, "w": 4, "x": 2, "y": 2, "z": 1}}
    >>> round(rf.agree(truth, system, "ndpm")["ndpm"], 6)
    0.166667
    """
    concordant, discordant, tied_b, _ = _pairs(k)
    return Ratio(2 * discordant + tied_b, 2 * (concordant + discordant + tied_b), empty=None)


@registered(average="micro")
def fcp(k: int | None = None, *, ties: Literal["half", "discordant", "ignore"] = "half") -> Value:
    """Compute the fraction of concordant pairs (FCP): pairs that the system orders rightly.

    > concordant / comparable pairs (not tied in a)

    After Koren and Sill (2013). The first ranking (or the judgments) is the reference. `ties`: a
    pair that only the system ties counts "half", as "discordant", or not at all ("ignore"). By
    default, the average over queries is the ratio of the sums over all queries.

    >>> truth = {"q": {"v": 5, "w": 4, "x": 4, "y": 2, "z": 1}}
    >>> system = {"q": {"v": 3, "w": 4, "x": 2, "y": 2, "z": 1}}
    >>> round(rf.agree(truth, system, "fcp(ties=ignore)")["fcp(ties=ignore)"], 6)
    0.875
    """
    concordant, discordant, tied_b, _ = _pairs(k)
    comparable = concordant + discordant
    right = concordant + 0.5 * tied_b if ties == "half" else concordant
    return Ratio(right, comparable if ties == "ignore" else comparable + tied_b, empty=None)
