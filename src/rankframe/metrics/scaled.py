"""Graded metrics that are measured by something else than the best dcg: the best grade at every
rank, or the likeness to an ideal list.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import RANK, ColumnRequest
from rankframe.metrics.gain import EXPONENTIAL, FAMILY, Gain, discounted, gain_of, gain_rows
from rankframe.metrics.parts import (
    Ratio,
    check_between,
    largest,
    power,
    relevant,
    row_constant,
    total,
    where,
    within,
)
from rankframe.metrics.registry import registered

# Deeper places weigh less than rounding takes; the larger p, the deeper that is.
_NOTHING: Final = 1e-18
_LARGEST_P: Final = 0.99995
# So many ranks are added up.
_DEEPEST: Final = 1_000_000


@registered(
    family=FAMILY,
    formula="Σ over i ≤ k of gain(g_i) / log2(i + 1), ÷ Σ over i ≤ k of gain(gmax) / log2(i + 1)",
    exponential=EXPONENTIAL,
    monotone=True,
)
def sdcg(k: int = 10, *, gain: Gain = "linear", max_grade: float | None = None) -> pl.Expr | Ratio:
    """Scaled dcg: as a share of a list with the largest grade at each of its k ranks.

    Queries with few good documents cannot reach 1, as they do in ndcg: what is scaled is the
    dcg, by the same number for every query. `gain` as in dcg. gmax is the largest grade in the
    judgments unless `max_grade` says otherwise. Without a cutoff, k is 10. 0 if gmax gains nothing.

    >>> round(frame.select(sdcg(k=3)).item(), 6)
    0.547492
    """
    check_between("k", k, 1, _DEEPEST, closed=True)
    ranks = math.fsum(1 / np.log2(np.arange(2, k + 2)))
    gained = total(where(within(k), discounted(gain_rows(gain, None), RANK)))
    top = pl.col("max_grade") if max_grade is None else row_constant(max_grade)
    best = largest(gain_of(top, gain) * ranks)
    # Both are sums, and each rounds in its own way.
    return Ratio(pl.min_horizontal(gained, best), best)


@registered(
    family=FAMILY,
    formula="Σ over i ≤ D of p^(i − 1) X_i / i, ÷ the same of the ideal list; X_i = documents in "
    "the top i of both lists, D = max(n, R)",
    synonyms=("compatibility",),
    decimals="p",
    parameter_synonyms={"normalize": "normalised"},
)
def compat(
    *, p: float = 0.95, normalised: bool = True, rel: float | None = None
) -> pl.Expr | Ratio:
    """Compatibility (Clarke et al. 2021): rank-biased overlap with the ideal list closest to it.

    The ideal list holds the relevant documents by grade, those of equal grade in the order of the
    run; it may be a list of preferences, of which only the top counts. p is the chance that a
    reader goes on to the next rank. `normalised=false` divides by Σ p^(i − 1) instead, so that a
    short ideal list cannot reach 1. 0 where nothing is relevant. Agrees with ir_measures' `Compat`.

    >>> round(frame.select(compat(p=0.8)).item(), 6)
    0.737488
    """
    check_between("p", p, 0, _LARGEST_P)
    end = pl.max_horizontal("retrieved", ColumnRequest("relevant_total", rel=rel).name)
    # A document that both lists hold by depth m is in X_m, X_m+1, …, X_D.
    by_both = pl.max_horizontal(RANK, "ideal_rank")
    shared = total(where(relevant(rel) & within(None), _weight(by_both, end, p)))
    if normalised:
        return Ratio(shared, total(where(relevant(rel), _weight(pl.col("ideal_rank"), end, p))))
    most = largest((1 - power(p, end)) / row_constant(1 - p))
    return Ratio(pl.min_horizontal(shared, most), most)


def _weight(first: pl.Expr, last: pl.Expr, p: float) -> pl.Expr:
    """Σ of p^(i − 1)/i over the ranks from the first to the last."""
    tails = _tails(p)

    def from_here(rank: pl.Expr) -> pl.Expr:
        places = np.arange(1, len(tails) + 1)
        return rank.replace_strict(places, tails, default=0.0, return_dtype=pl.Float64)

    return from_here(first) - from_here(last + 1)


@cache
def _tails(p: float) -> NDArray[np.float64]:
    """Σ over i ≥ m of p^(i − 1)/i for m = 1, 2, …, until it is next to nothing."""
    depth = max(math.ceil(math.log(_NOTHING * (1 - p)) / math.log(p)), 1)
    places = np.arange(1, depth + 1)
    return np.cumsum((p ** (places - 1.0) / places)[::-1])[::-1]
