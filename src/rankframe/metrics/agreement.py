"""How much two rankings share: expressions over the pair frame, one row per document of either.

Rank-biased overlap weighs depths, so it and its kin sum over depths.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.base.errors import MetricParameterError
from rankframe.metrics.parts import Ratio, check_between, of_query, power, total, where
from rankframe.metrics.registry import registered

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


@registered(family=FAMILY, frame="pair", formula="X_k / k, X_k = documents in the top k of both")
def overlap(k: int | None = None) -> pl.Expr | Ratio:
    """The share of the top k that two rankings have in common.

    Without k, of the longer ranking.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "overlap@2")["overlap@2"]
    1.0
    """
    return Ratio(_in_common(k), _longest() if k is None else _constant(k))


@registered(family=FAMILY, frame="pair", formula="X_k / |top k of either|")
def jaccard(k: int | None = None) -> pl.Expr | Ratio:
    """Documents in the top k of both, as a share of those in the top k of either.

    >>> a, b = {"q": {"x": 3, "y": 2, "z": 1}}, {"q": {"y": 3, "x": 2, "w": 1}}
    >>> rf.agree(a, b, "jaccard")["jaccard"]
    0.5
    """
    common = _in_common(k)
    return Ratio(common, _depth_of(of_query("n_a"), k) + _depth_of(of_query("n_b"), k) - common)


@registered(family=FAMILY, frame="pair", formula="(1/k) Σ over d ≤ k of X_d / d", synonyms=("ao",))
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(family=FAMILY, frame="pair", formula="1 − rbo", higher_is_better=False)
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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
