"""Score graded relevance: every document has a gain, discounted by rank.

g_i is the grade of the document at rank i; negative grades gain nothing. The ideal list has all
judged documents in the order of their grades.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import RANK, RELEVANCE, ColumnRequest
from rankframe.core.errors import MetricParameterError
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    LARGEST,
    Ratio,
    Value,
    check_between,
    largest,
    largest_grade,
    power,
    relevant,
    row_constant,
    total,
    where,
    within,
)

registered = partial(Registration, family="Graded gain")


Gain: TypeAlias = Literal["linear", "exp2"] | Mapping[float, float]
Discount: TypeAlias = Literal["log2", "ln", "jarvelin"]

# With this gain, after Burges, a grade is worth 2^grade − 1.
EXPONENTIAL: Final = {"gain": "exp2"}
_IDEAL = {"all": "ideal_rank", "retrieved": "ideal_rank_retrieved"}


def gain_of(grade: pl.Expr, gain: Gain, min_grade: float | None = None) -> pl.Expr:
    """Return the gain of a grade: the grade itself, 2^grade − 1, or the value in a mapping.

    Grades below `min_grade` gain nothing.
    """
    if gain == "linear":
        gained = grade.clip(lower_bound=0)
    elif gain == "exp2":
        gained = power(2, grade.clip(lower_bound=0)) - 1
    else:
        grades, gains = _gain_steps(gain)
        # A grade that the mapping lacks must not go unnoticed: the value of the query becomes NaN.
        mapped = grade.replace_strict(grades, gains, default=math.nan, return_dtype=pl.Float64)
        gained = pl.when(grade <= 0).then(0.0).otherwise(mapped)
    return gained if min_grade is None else where(grade >= min_grade, gained)


def _gain_steps(gain: Mapping[float, float]) -> tuple[list[float], list[float]]:
    """Return the grades above 0 in ascending order, and the gain of each."""
    if odd := [g for g, value in gain.items() if float(g) <= 0 and float(value) != 0]:
        raise MetricParameterError(f"a grade of {odd[0]:g} gains nothing: only those above 0 do.")
    steps = {float(g): float(gain[g]) for g in sorted(gain) if float(g) > 0}
    gains = list(steps.values())
    if gains != sorted(gains) or min(gains, default=0) < 0:
        raise MetricParameterError(
            f"gains must not be negative nor fall as grades rise, as they do in {dict(gain)!r}."
        )
    return list(steps), gains


def discounted(
    gain: pl.Expr, rank: str, discount: Discount | None = "log2", base: float | None = None
) -> pl.Expr:
    """Divide a gain by the discount of its rank; without a discount, return the gain."""
    if discount is None:
        return gain
    place = pl.col(rank)
    if discount == "jarvelin":
        base = 2.0 if base is None else base
        check_between("base", base, 1, math.inf)
        return pl.when(place <= base).then(gain).otherwise(gain / place.log(base))
    if base is not None:
        raise MetricParameterError(f"base belongs to discount='jarvelin', not to {discount!r}.")
    return gain / (place + 1).log(2 if discount == "log2" else math.e)


def _dcg(
    rank: str,
    k: int | None,
    gain: Gain,
    min_grade: float | None,
    discount: Discount | None,
    base: float | None = None,
) -> pl.Expr:
    """Sum the discounted gains of the judged documents whose place in a ranking is at most k."""
    gained = gain_of(pl.col(RELEVANCE), gain, min_grade)
    return total(where(within(k, rank), discounted(gained, rank, discount, base)))


@registered(bounds=(0.0, None), exponential=EXPONENTIAL, monotone=True)
def cg(k: int | None = None, *, gain: Gain = "linear", min_grade: float | None = None) -> Value:
    """Compute cumulative gain: the sum of the grades in the top k.

    > Σ over i ≤ k of g_i

    `gain` and `min_grade` are explained at dcg.

    >>> frame.select(cg(k=3)).item()
    4.0
    """
    return _dcg(RANK, k, gain, min_grade, None)


@registered(exponential=EXPONENTIAL, monotone=True)
def ncg(
    k: int | None = None,
    *,
    gain: Gain = "linear",
    ideal: Literal["all", "retrieved"] = "all",
    min_grade: float | None = None,
) -> Value:
    """Compute cumulative gain as a share of its value for the ideal list; order has no effect.

    > cg@k ÷ cg@k of the ideal list

    This is ndcg without a discount; with binary grades it equals relative_precision. 0 if the ideal
    list gains 0.

    >>> frame.select(ncg(k=3)).item()
    0.8
    """
    ideal_cg = _dcg(_IDEAL[ideal], k, gain, min_grade, None)
    return Ratio(_dcg(RANK, k, gain, min_grade, None), ideal_cg)


@registered(
    presets={"dcg_burges": EXPONENTIAL}, bounds=(0.0, None), exponential=EXPONENTIAL, monotone=True
)
def dcg(
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: float | None = None,
    min_grade: float | None = None,
) -> Value:
    """Compute discounted cumulative gain: the sum of the grades in the top k, discounted by rank.

    > Σ over i ≤ k of gain(g_i) / log2(i + 1)

    `gain`: "linear" (the grade itself), "exp2" (2^g − 1, after Burges) or a mapping {grade: gain}.
    `discount`, the divisor at rank i: "log2" is log2(i + 1); "ln" is ln(i + 1), which makes dcg
    log2(e) = 1.4427 times as large; "jarvelin" is 1 down to the rank `base` (default 2), and
    log_base(i) below. `min_grade`: grades below it gain nothing.

    >>> frame.select(dcg(k=3)).item()
    3.5
    """
    return _dcg(RANK, k, gain, min_grade, discount, base)


@registered(bounds=(0.0, None), exponential=EXPONENTIAL, monotone=True)
def ideal_dcg(
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: float | None = None,
    min_grade: float | None = None,
) -> Value:
    """Compute the discounted cumulative gain of a perfect list.

    > Σ over i ≤ k of gain(g_i) / log2(i + 1), in the best order

    >>> round(frame.select(ideal_dcg(k=3)).item(), 6)
    4.13093
    """
    return _dcg("ideal_rank", k, gain, min_grade, discount, base)


@registered(synonyms=("ndcg_cut",), presets={"ndcg_burges": EXPONENTIAL}, exponential=EXPONENTIAL)
def ndcg(
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: float | None = None,
    ideal: Literal["all", "retrieved"] = "all",
    min_grade: float | None = None,
) -> Value:
    """Compute discounted cumulative gain as a share of the best possible one: 1 is a perfect list.

    > dcg@k ÷ dcg@k of the ideal list

    The ideal list has all judged documents by grade, cut at k, as in trec_eval's `ndcg_cut` and
    ranx; with `ideal="retrieved"`, it has only retrieved documents. 0 if the ideal list gains 0.
    The other parameters are explained at dcg. ranx's `ndcg_burges` is gain="exp2", and ranx's `-l2`
    is min_grade=2.

    "log2" and "ln" give the same nDCG, as the base of the logarithm cancels, whatever the gain.
    With "jarvelin" it does not cancel: `base` is the rank down to which nothing is discounted.

    >>> round(frame.select(ndcg(k=3)).item(), 6)
    0.847267
    """
    ideal_dcg = _dcg(_IDEAL[ideal], k, gain, min_grade, discount, base)
    return Ratio(_dcg(RANK, k, gain, min_grade, discount, base), ideal_dcg)


@registered(exponential=True, monotone=True)
def err(k: int | None = None, *, max_grade: float | None = None) -> Value:
    """Compute the expected reciprocal rank at which a reader finds a satisfying document.

    > Σ over i ≤ k of (1/i)·P_i·Π over j < i of (1 − P_j), P = (2^g − 1)/2^gmax

    P_i is the probability that the document at rank i satisfies the reader, who then stops. gmax is
    the largest grade in the judgments, or `max_grade`. Agrees with gdeval for the same gmax.

    >>> round(frame.select(err()).item(), 6)
    0.880208
    """
    return _err(RANK, k, max_grade)


@registered(exponential=True)
def nerr(k: int | None = None, *, max_grade: float | None = None) -> Value:
    """Compute expected reciprocal rank as a share of its value for the ideal list.

    > err@k ÷ err@k of the ideal list

    >>> round(frame.select(nerr()).item(), 6)
    0.99193
    """
    return Ratio(_err(RANK, k, max_grade), _err("ideal_rank", k, max_grade))


def _err(rank: str, k: int | None, max_grade: float | None) -> pl.Expr:
    """Compute expected reciprocal rank, in the order of a column of ranks."""
    satisfied = gain_of(pl.col(RELEVANCE), "exp2") / power(2, largest_grade(max_grade))
    # Rows are sorted by rank, with unretrieved documents last: the rows before have better ranks.
    by_rank = (lambda e: e) if rank == RANK else (lambda e: e.sort_by(rank))
    unsatisfied = (1 - by_rank(satisfied)).cum_prod().shift(1, fill_value=1.0)
    place = by_rank(pl.col(rank))
    inside = place.is_not_null() if k is None else place <= k
    return where(inside, by_rank(satisfied) * unsatisfied / place).sum()


@registered(average="micro")
def r_score(*, half_life: float = 5.0, neutral: float = 0.0) -> Value:
    """Compute half-life utility (Breese): ratings above neutral, with weights that fall by rank.

    > Σ max(g_i − d, 0) / 2^((i − 1)/(α − 1)) ÷ this sum for the ideal list

    α is `half_life` (> 1), the rank whose weight is half of the first rank's; d is `neutral`. The
    average over queries is Σ utilities / Σ best utilities, as Breese defined it; `average=macro`
    gives the mean of the queries' ratios.

    >>> round(frame.select(r_score()).item(), 6)
    0.815106
    """
    check_between("half_life", half_life, 1, math.inf)
    check_between("neutral", neutral, -LARGEST, LARGEST)
    above = (pl.col(RELEVANCE) - neutral).clip(lower_bound=0)

    def utility(rank: str) -> pl.Expr:
        decay = power(2, (pl.col(rank) - 1) / row_constant(half_life - 1))
        return total(where(pl.col(rank).is_not_null(), above / decay))

    return Ratio(utility(RANK), utility("ideal_rank"))


@registered(decimals="p", exponential=EXPONENTIAL, monotone=True)
def rbp(
    k: int | None = None,
    *,
    p: float = 0.8,
    gain: Literal["binary", "linear", "exp2"] = "binary",
    max_grade: float | None = None,
    rel: float | None = None,
) -> Value:
    """Compute rank-biased precision: gain per document of a reader who goes on with probability p.

    > (1 − p) Σ over relevant i of p^(i − 1)

    By default, a document is relevant (grade of at least `rel`) or not, as Moffat and Zobel (2008)
    define RBP. With `gain` "linear" or "exp2", every grade above 0 counts, scaled to [0, 1] by the
    largest grade in the judgments (or `max_grade`).

    trec_eval's measure `rbp` is different; rankframe calls it `trec_rbp`. It adds up grades,
    divides by the largest grade of the query, and has p = 0.9. With the same p, the two are equal
    for queries with a single grade above 0. For example, for grades 2, 0, 1 at ranks 1 to 3 and
    p = 0.5, rbp is 0.5 · (1 + 0 + 0.25) = 0.625, and trec_rbp is
    0.5 · (2 + 0 + 0.25) / 2 = 0.5625.

    >>> round(frame.select(rbp(p=0.5)).item(), 6)
    0.625
    >>> qrels, run = {"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> rf.evaluate(qrels, run, ["rbp(p=0.5)", "trec_rbp(p=0.5)"]).means
    {'rbp(p=0.5)': 0.625, 'trec_rbp(p=0.5)': 0.5625}
    """
    check_between("p", p, 0, 1)
    inside = within(k) & relevant(rel) if gain == "binary" else within(k)
    value = pl.lit(1.0)
    if gain != "binary":
        if rel is not None:
            raise MetricParameterError(f"rel belongs to gain='binary', not to {gain!r}.")
        highest = gain_of(largest_grade(max_grade), gain)
        value = pl.when(highest > 0).then(gain_of(pl.col(RELEVANCE), gain) / highest).otherwise(0.0)
    return (1 - p) * total(where(inside, value * power(p, pl.col(RANK) - 1)))


@registered(decimals="p", higher_is_better=False)
def rbp_residual(*, p: float = 0.8) -> Value:
    """Compute how much RBP would rise if all unjudged documents were relevant.

    > p^n + (1 − p) Σ over unjudged i of p^(i − 1)

    Documents past the end of the list count as unjudged too.

    >>> round(frame.select(rbp_residual(p=0.5)).item(), 6)
    0.3125
    """
    check_between("p", p, 0, 1)
    # The weights of all ranks add up to 1: unjudged documents have the rest.
    return 1 - (1 - p) * total(where(within(None), power(p, pl.col(RANK) - 1)))


# Ranks with less weight than this are lost in rounding; the larger p, the deeper they are.
_NOTHING: Final = 1e-18
_LARGEST_P: Final = 0.99995
# The largest number of ranks that are added up.
_DEEPEST: Final = 1_000_000


@registered(exponential=EXPONENTIAL, monotone=True)
def sdcg(k: int = 10, *, gain: Gain = "linear", max_grade: float | None = None) -> Value:
    """Compute dcg as a share of the dcg of k documents with the largest grade.

    > Σ over i ≤ k of gain(g_i) / log2(i + 1), ÷ Σ over i ≤ k of gain(gmax) / log2(i + 1)

    The divisor is equal for all queries. Queries with few good documents therefore cannot reach 1;
    with ndcg they can. `gain` is explained at dcg. gmax is the largest grade in the judgments, or
    `max_grade`. Without a cutoff, k is 10. 0 if gmax gains nothing.

    >>> round(frame.select(sdcg(k=3)).item(), 6)
    0.547492
    """
    check_between("k", k, 1, _DEEPEST, closed=True)
    ranks = math.fsum(1 / np.log2(np.arange(2, k + 2)))
    gained = _dcg(RANK, k, gain, None, "log2")
    best = largest(gain_of(largest_grade(max_grade), gain) * ranks)
    # Rounding errors of the two sums differ: limit the ratio to 1.
    return Ratio(pl.min_horizontal(gained, best), best)


@registered(
    synonyms=("compatibility",), decimals="p", parameter_synonyms={"normalize": "normalised"}
)
def compat(*, p: float = 0.95, normalised: bool = True, rel: float | None = None) -> Value:
    """Compute compatibility (Clarke et al. 2021): rank-biased overlap with the closest ideal list.

    > Σ over i ≤ D of p^(i − 1) X_i / i, ÷ this sum for the ideal list; X_i = documents in the top i
      of both lists, D = max(n, R)

    The ideal list has the relevant documents by grade, and documents of equal grade in the order of
    the run. Only the order of the grades matters, so grades may stand for preferences. p is the
    probability that a reader goes on to the next rank. `normalised=false` divides by Σ p^(i − 1)
    instead, so that queries with a short ideal list cannot reach 1. Queries without relevant
    documents score 0. Agrees with ir_measures' `Compat`.

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
    largest_sum = largest((1 - power(p, end)) / row_constant(1 - p))
    return Ratio(pl.min_horizontal(shared, largest_sum), largest_sum)


def _weight(first: pl.Expr, last: pl.Expr, p: float) -> pl.Expr:
    """Sum p^(i − 1)/i over the ranks from the first to the last."""
    tails = _tails(p)

    def from_here(rank: pl.Expr) -> pl.Expr:
        places = np.arange(1, len(tails) + 1)
        return rank.replace_strict(places, tails, default=0.0, return_dtype=pl.Float64)

    return from_here(first) - from_here(last + 1)


@cache
def _tails(p: float) -> NDArray[np.float64]:
    """Return Σ over i ≥ m of p^(i − 1)/i for m = 1, 2, …, until it is next to nothing."""
    depth = max(math.ceil(math.log(_NOTHING * (1 - p)) / math.log(p)), 1)
    places = np.arange(1, depth + 1)
    return np.cumsum((p ** (places - 1.0) / places)[::-1])[::-1]
