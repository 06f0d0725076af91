"""Agreement of two rankings: expressions over the pair frame, one row per document of either.

Rank-biased overlap weighs depths, so it sums over depths; correlations and pair counts sum over the
documents that are compared. The first ranking is the reference where the two play different parts.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.base.errors import MetricParameterError
from rankframe.metrics.parts import Ratio, check_between, of_query, power, total, where
from rankframe.metrics.registry import metric

FAMILY: Final = "Two rankings"

RboTies: TypeAlias = Literal["broken", "w", "a", "b"]
_DEPTH: Final = pl.col("depth")
_LONGER: Final = pl.max_horizontal("n_a", "n_b")
_SHORTER: Final = pl.min_horizontal("n_a", "n_b")


def rbo_weight(p: float, d: int) -> float:
    """How much of RBO's whole weight the top d places carry.

    >>> round(rbo_weight(0.9, 10), 10)
    0.8555854467
    """
    check_between("p", p, 0, 1)
    if d < 1:
        raise MetricParameterError(f"a depth must be at least 1, not {d}.")
    depths = np.arange(1, d)
    rest = -math.log1p(-p) - math.fsum(p**depths / depths)
    return 1 - p ** (d - 1) + d * (1 - p) / p * rest


def rbo_p(weight: float, d: int) -> float:
    """The p for which RBO's top d places carry this weight: the inverse of `rbo_weight`.

    >>> round(rbo_p(0.8555854467, 10), 6)
    0.9
    """
    check_between("weight", weight, 0, 1)
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        # The larger p, the less the top weighs.
        low, high = (middle, high) if rbo_weight(middle, d) > weight else (low, middle)
    return middle


def _constant(value: float) -> pl.Expr:
    """A number to divide a query's value by (see `parts.constant`)."""
    return of_query("n_a") * 0 + value


def _top(column: str, k: int | None) -> pl.Expr:
    return pl.col(column if k is None else f"{column}_top{k}")


def _in_common(k: int | None) -> pl.Expr:
    """Documents in the top k of both."""
    both = pl.max_horizontal("rank_a", "rank_b")
    shared = pl.col("rank_a").is_not_null() & pl.col("rank_b").is_not_null()
    return total(where(shared if k is None else shared & (both <= k)))


def _depth_of(lengths: pl.Expr, k: int | None) -> pl.Expr:
    return lengths if k is None else pl.min_horizontal(lengths, pl.lit(float(k)))


def _longest() -> pl.Expr:
    return pl.max_horizontal(of_query("n_a"), of_query("n_b"))


def _shortest() -> pl.Expr:
    return pl.min_horizontal(of_query("n_a"), of_query("n_b"))


@metric(family=FAMILY, formula="X_k / k, X_k = documents in the top k of both")
def overlap(k: int | None = None) -> pl.Expr | Ratio:
    """The share of the top k that two rankings have in common.

    Without k, of the longer ranking.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "overlap@2")["overlap@2"]
    1.0
    """
    return Ratio(_in_common(k), _longest() if k is None else _constant(k))


@metric(family=FAMILY, formula="X_k / |top k of either|")
def jaccard(k: int | None = None) -> pl.Expr | Ratio:
    """Documents in the top k of both, as a share of those in the top k of either.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "jaccard")["jaccard"]
    0.5
    """
    common = _in_common(k)
    return Ratio(common, _depth_of(of_query("n_a"), k) + _depth_of(of_query("n_b"), k) - common)


@metric(family=FAMILY, formula="(1/k) Σ over d ≤ k of X_d / d", synonyms=("ao",))
def average_overlap(k: int | None = None) -> pl.Expr | Ratio:
    """The overlap, averaged over all depths down to k: what is shared near the top counts more.

    Without k, down to the end of the longer ranking.

    >>> a, b = {"q": {"x": 3, "y": 2}}, {"q": {"y": 3, "x": 2}}
    >>> rf.agree(a, b, "average_overlap@2")["average_overlap@2"]
    0.5
    """
    return Ratio(_over_depths("broken", k, 1.0), _longest() if k is None else _constant(k))


def _over_depths(ties: RboTies, k: int | None, p: float) -> pl.Expr:
    """Σ over depths d ≤ k of agreement(d) · p^(d−1); beyond the rankings nothing new is shared."""
    weight = power(p, _DEPTH - 1)
    inside = _DEPTH <= _LONGER
    if k is None:
        return total(where(inside, _agreement(ties) * weight))
    inside &= k >= _DEPTH
    depths = np.arange(1, k + 1)
    all_weight = math.fsum(p ** (depths - 1) / depths)
    beyond = _constant(all_weight) - total(where(inside, weight / _DEPTH))
    beyond = pl.when(_longest() < k).then(of_query("n_shared") * beyond).otherwise(0.0)
    return total(where(inside, _agreement(ties) * weight)) + beyond


def _agreement(ties: RboTies, column: str = "agreement") -> pl.Expr:
    return pl.col(column if ties == "broken" else f"{column}_{ties}")


@metric(
    family=FAMILY,
    formula="Webber et al. (2010), eq. 32; at k: (1−p) Σ over d ≤ k of p^(d−1) X_d / d",
    synonyms=("rbo_ext",),
)
def rbo(k: int | None = None, *, p: float = 0.9, ties: RboTies = "broken") -> pl.Expr | Ratio:
    """Rank-biased overlap: agreement at every depth, the top weighing most; 1 is identical.

    p is the chance that a reader goes on to the next depth: the top 10 carry 97% of the weight with
    p = 0.8, 86% with 0.9 and 67% with 0.95 (`rf.rbo_weight(p, d)`; `rf.rbo_p(weight, d)` gives the
    p for a wanted weight). Without k, what follows after the ends of the lists is taken to agree as
    what was seen does (extrapolated). At k it is cut there: a lower bound.

    `ties`: "broken" as in a run; after Corsi and Urbano (2024) "w" (tied documents share a place,
    as in sports), "a" (the mean over all orders of the ties) or "b" (as "a", making up for the
    information that ties lose).

    >>> lists = {"q": {"x": 3, "y": 2, "z": 1}}
    >>> round(rf.agree(lists, lists, "rbo(p=0.8)")["rbo(p=0.8)"], 12)
    1.0
    """
    check_between("p", p, 0, 1)
    if k is not None:
        return (1 - p) * _over_depths(ties, k, p)
    longest, shortest, shared = _longest(), _shortest(), of_query("n_shared")
    at_shortest = total(where(_DEPTH == _SHORTER, _agreement(ties)))
    weight = power(p, _DEPTH)
    inside = _DEPTH <= _LONGER
    seen = total(where(inside, _agreement(ties) * weight))
    unseen = total(where(inside, _agreement(ties, "unseen") * weight))
    final = (shared + (longest - shortest) * at_shortest) / longest
    return (1 - p) / p * (seen + at_shortest * unseen) + final * power(p, longest)


@metric(family=FAMILY, formula="1 − rbo", higher_is_better=False)
def rbd(*, p: float = 0.9, ties: RboTies = "broken") -> pl.Expr | Ratio:
    """Rank-biased distance: 0 for identical rankings.

    >>> rf.agree({"q": {"x": 1}}, {"q": {"y": 1}}, "rbd")["rbd"]
    1.0
    """
    value = rbo(p=p, ties=ties)
    return 1 - value


def _unseen_tail(p: float) -> pl.Expr:
    """X · Σ over d beyond the longer ranking of p^d / d."""
    seen = total(where(_DEPTH <= _LONGER, power(p, _DEPTH) / _DEPTH))
    return of_query("n_shared") * (-math.log1p(-p) - seen)


@metric(
    family=FAMILY,
    formula="(1−p)/p · [Σ over d ≤ l of p^d X_d / d + X_l (ln 1/(1−p) − Σ over d ≤ l of p^d / d)]",
)
def rbo_min(*, p: float = 0.9, ties: RboTies = "broken") -> pl.Expr | Ratio:
    """The least that rank-biased overlap can be, whatever follows after the ends of the lists.

    >>> a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in ("abcdefg", "acbdehi"))
    >>> round(rf.agree(a, b, "rbo_min")["rbo_min"], 10)
    0.6269889406
    """
    check_between("p", p, 0, 1)
    seen = total(where(_DEPTH <= _LONGER, _agreement(ties) * power(p, _DEPTH)))
    return (1 - p) / p * (seen + _unseen_tail(p))


@metric(
    family=FAMILY,
    formula="Webber et al. (2010), eq. 30: the largest rank-biased overlap less the least",
    higher_is_better=False,
)
def rbo_res(*, p: float = 0.9, ties: RboTies = "broken") -> pl.Expr | Ratio:
    """How much rank-biased overlap can still grow by what follows after the ends of the lists.

    >>> a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in ("abcdefg", "acbdehi"))
    >>> round(rf.agree(a, b, "rbo_res")["rbo_res"], 10)
    0.2970068196
    """
    check_between("p", p, 0, 1)
    weight = power(p, _DEPTH)
    inside = _DEPTH <= _LONGER
    most = total(where(inside, _agreement(ties, "unseen_most") * weight))
    grown = (2 * _DEPTH - pl.col("n_a") - pl.col("n_b") + pl.col("n_shared")) / _DEPTH
    beyond = total(where(~inside, grown * weight))
    full = of_query("n_a") + of_query("n_b") - of_query("n_shared")
    return (1 - p) / p * (most + beyond - _unseen_tail(p)) + power(p, full)


def _pairs(k: int | None) -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Concordant, discordant, tied only in b, tied only in a."""
    names = ("concordant", "discordant", "tied_in_b", "tied_in_a")
    concordant, discordant, tied_b, tied_a = (total(_top(name, k)) for name in names)
    return concordant, discordant, tied_b, tied_a


def _compared(k: int | None) -> pl.Expr:
    return total(where(_top("compared", k)))


def _share(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """A quotient; undefined where the divisor is 0."""
    return Ratio(above, below, empty=None).expr


@metric(
    family=FAMILY,
    formula="(C − D) / √(pairs untied in a · pairs untied in b); a: / n(n−1)/2; c: · 2m/(n²(m−1))",
    synonyms=("kendall", "tau", "kendalltau"),
    bounds=(-1.0, 1.0),
)
def kendall_tau(k: int | None = None, *, variant: Literal["b", "a", "c"] = "b") -> pl.Expr | Ratio:
    """Kendall's τ: pairs of documents in the same order less those in opposite order.

    `variant`: "b" corrects for ties on both sides, "a" does not, "c" is for scales of different
    length. Over the documents that both rankings have (at k: in their top k). Undefined for fewer
    than 2, or where all are tied.

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


@metric(
    family=FAMILY,
    formula="2/(n−1) · Σ over i ≥ 2 of C(i)/(i−1) − 1, walking b",
    bounds=(-1.0, 1.0),
)
def tau_ap(k: int | None = None) -> pl.Expr | Ratio:
    """τ_AP (Yilmaz et al. 2008): Kendall's τ in which mistakes near the top weigh more.

    Walks down the second ranking and asks at each document how many of those above it belong there
    by the first, the reference; not symmetric. Ties are broken as in a run. Undefined for fewer
    than 2 compared documents.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 3, "z": 2, "y": 1}}
    >>> rf.agree(a, b, "tau_ap")["tau_ap"]
    0.5
    """
    above, right = _top("above_in_b", k), _top("above_in_both", k)
    kept = total(where(above > 0, right / above))
    others = pl.max_horizontal(_compared(k) - 1, pl.lit(0.0))
    return _share(2 * kept, others) - 1


@metric(
    family=FAMILY,
    formula="Pearson's r of ranks, ties sharing the mean of theirs",
    synonyms=("spearman_rho", "spearmanr"),
    bounds=(-1.0, 1.0),
)
def spearman(k: int | None = None) -> pl.Expr | Ratio:
    """Spearman's ρ: the correlation of ranks among the documents that both rankings have.

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


@metric(
    family=FAMILY,
    formula="Σ dx·dy / √(Σ dx² Σ dy²), d = score − mean",
    synonyms=("pearsonr",),
    bounds=(-1.0, 1.0),
)
def pearson(k: int | None = None) -> pl.Expr | Ratio:
    """Pearson's r of the scores of the documents that both rankings have.

    Undefined for fewer than 2, for equal scores throughout, and for rankings without scores.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"x": 6, "y": 4, "z": 2}}
    >>> round(rf.agree(a, b, "pearson")["pearson"], 12)
    1.0
    """
    x, y = (_top(f"deviation_{side}", k).fill_null(0.0) for side in "ab")
    return _correlation(total(x * y), total(x * x), total(y * y))


def _correlation(xy: pl.Expr, xx: pl.Expr, yy: pl.Expr) -> pl.Expr:
    return _share(xy, (xx * yy).sqrt()).clip(-1.0, 1.0)


@metric(
    family=FAMILY,
    formula="(2 · contradicted + tied only in b) / (2 · pairs untied in a)",
    higher_is_better=False,
)
def ndpm(k: int | None = None) -> pl.Expr | Ratio:
    """Normalised distance-based performance measure (Yao 1995): 0 is perfect, 1 is reversed.

    The first ranking (or the judgments) is the reference; the second is the system. A pair that the
    system ties costs half of one that it contradicts. Undefined if the reference ties all pairs.

    >>> truth = {"q": {"v": 5, "w": 4, "x": 4, "y": 2, "z": 1}}
    >>> system = {"q": {"v": 3, "w": 4, "x": 2, "y": 2, "z": 1}}
    >>> round(rf.agree(truth, system, "ndpm")["ndpm"], 6)
    0.166667
    """
    concordant, discordant, tied_b, _ = _pairs(k)
    return Ratio(2 * discordant + tied_b, 2 * (concordant + discordant + tied_b), empty=None)


@metric(
    family=FAMILY,
    formula="concordant / comparable pairs, those untied in a",
    average="micro",
)
def fcp(
    k: int | None = None, *, ties: Literal["half", "discordant", "ignore"] = "half"
) -> pl.Expr | Ratio:
    """Fraction of concordant pairs (Koren and Sill 2013): pairs that the system orders rightly.

    The first ranking (or the judgments) is the reference. `ties`: a pair that only the system ties
    counts "half", as "discordant", or not at all ("ignore"). Pooled over queries by default.

    >>> truth = {"q": {"v": 5, "w": 4, "x": 4, "y": 2, "z": 1}}
    >>> system = {"q": {"v": 3, "w": 4, "x": 2, "y": 2, "z": 1}}
    >>> round(rf.agree(truth, system, "fcp(ties=ignore)")["fcp(ties=ignore)"], 6)
    0.875
    """
    concordant, discordant, tied_b, _ = _pairs(k)
    comparable = concordant + discordant
    right = concordant + 0.5 * tied_b if ties == "half" else concordant
    return Ratio(right, comparable if ties == "ignore" else comparable + tied_b, empty=None)
