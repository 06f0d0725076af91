"""Correlate the orders of two rankings: expressions over the pair frame.

Correlations and pair counts sum over the documents that are compared. The first ranking is the
reference where the two play different parts.
"""

from __future__ import annotations

from typing import Final, Literal

import polars as pl

from rankframe.core.columns import ColumnRequest
from rankframe.metrics.parts import Ratio, total, where
from rankframe.metrics.registry import registered

FAMILY: Final = "Two rankings"


def _top(column: str, k: int | None) -> pl.Expr:
    return ColumnRequest(column, k=k).expr


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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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


@registered(
    family=FAMILY,
    frame="pair",
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
