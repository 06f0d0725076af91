"""Count relevant, retrieved and judged documents, in the top k or in the whole list."""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE, ColumnRequest
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    LARGEST,
    Ratio,
    Value,
    check_between,
    depth,
    length,
    relevant,
    relevant_count,
    retrieved,
    sum_hits,
    total,
    where,
    within,
)

registered = partial(Registration, family="Hits in the top k")
counted = partial(Registration, family="Counts")


@registered(bounds=(0.0, None), monotone=True)
def hits(k: int | None = None, *, rel: float | None = None) -> Value:
    """Count the relevant documents in the top k.

    > found(k)

    >>> frame.select(hits(k=3)).item()
    2.0
    """
    return sum_hits(k, rel)


@registered(synonyms=("success", "top_k_accuracy", "hr"), aliases=("success",), monotone=True)
def hit_rate(k: int | None = None, *, rel: float | None = None) -> Value:
    """Return 1 if the top k has a relevant document, else 0.

    > 1 if found(k) > 0, else 0

    Agrees with trec_eval's `success_k` and ranx's `hit_rate@k`.

    >>> frame.select(hit_rate(k=1)).item()
    1.0
    """
    return (sum_hits(k, rel) > 0).cast(pl.Float64)


@registered(synonyms=("p",), monotone=True)
def precision(
    k: int | None = None,
    *,
    denominator: Literal["k", "retrieved"] = "k",
    rel: float | None = None,
) -> Value:
    """Compute the share of the top k that is relevant.

    > found(k) / k

    The divisor is k even if the list is shorter, as in trec_eval; `denominator="retrieved"` divides
    by min(k, n) instead. Without k, the divisor is n, and an empty list scores 0.

    >>> frame.select(precision(k=4)).item()
    0.5
    """
    return Ratio(sum_hits(k, rel), length(k) if denominator == "k" else depth(k))


@registered(synonyms=("r",), monotone=True)
def recall(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute the share of the relevant documents that are in the top k.

    > found(k) / R

    Queries without relevant documents score 0. Agrees with trec_eval's `recall_k`.

    >>> round(frame.select(recall(k=3)).item(), 6)
    0.666667
    """
    return Ratio(sum_hits(k, rel), relevant_count(rel))


@registered(synonyms=("f1_score",), monotone=True)
def f1(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute the harmonic mean of precision and recall at k.

    > 2·P·R / (P + R) = 2·found(k) / (k + R)

    0 if both are 0. The average over queries is the mean of the queries' values, as in ranx.

    >>> round(frame.select(f1(k=3)).item(), 6)
    0.666667
    """
    return _f_measure(k, 1.0, rel)


@registered(synonyms=("f_beta", "f_score"), monotone=True)
def f(k: int | None = None, *, beta: float = 1.0, rel: float | None = None) -> Value:
    """Compute the harmonic mean of precision and recall at k; recall counts β times as much.

    > (1 + β²)·P·R / (β²·P + R)

    >>> round(frame.select(f(k=4, beta=2)).item(), 6)
    0.625
    """
    return _f_measure(k, beta, rel)


def _f_measure(k: int | None, beta: float, rel: float | None) -> Ratio:
    """Compute the harmonic mean of precision and recall at k; recall counts β times as much."""
    check_between("beta", beta, 0, LARGEST)
    cutoff = retrieved() if k is None else pl.lit(float(k))
    square = beta**2
    return Ratio((1 + square) * sum_hits(k, rel), square * relevant_count(rel) + cutoff)


@registered(synonyms=("rprec", "r-precision"))
def r_precision(*, multiple: float = 1.0, rel: float | None = None) -> Value:
    """Compute precision at the depth R, the number of relevant documents.

    > found(c) / c, c = ⌊m·R + 0.9⌋ (R itself for m = 1)

    A perfect list has all relevant documents in its top R. `multiple`, m in the formula, multiplies
    this depth. Agrees with trec_eval's `Rprec` and `Rprec_mult`.

    >>> round(frame.select(r_precision()).item(), 6)
    0.666667
    >>> frame.select(r_precision(multiple=0.2)).item()
    1.0
    """
    check_between("multiple", multiple, 0, LARGEST)

    def depth_of(relevants: pl.Expr) -> pl.Expr:
        return (multiple * relevants + 0.9).floor()

    above = pl.col(RANK) <= depth_of(ColumnRequest("relevant_total", rel=rel).expr)
    return Ratio(total(where(relevant(rel) & above)), depth_of(relevant_count(rel)))


@registered(synonyms=("relative_p", "set_relative_p"), monotone=True)
def relative_precision(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute precision at k as a share of the best possible precision at k.

    > found(k) / min(k, R)

    Agrees with trec_eval's `relative_P_k` or, without k, with its `set_relative_P`.

    >>> frame.select(relative_precision(k=1)).item()
    1.0
    """
    cutoff = retrieved() if k is None else pl.lit(float(k))
    return Ratio(sum_hits(k, rel), pl.min_horizontal(cutoff, relevant_count(rel)))


@registered(synonyms=("fallout",), higher_is_better=False)
def fall_out(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute the share of the retrieved non-relevant documents that are in the top k.

    > non-relevant in the top k / non-relevant retrieved

    Unjudged documents are non-relevant. Undefined (null) if all retrieved documents are relevant.

    >>> frame.select(fall_out(k=3)).item()
    0.5
    """
    return Ratio(depth(k) - sum_hits(k, rel), retrieved() - sum_hits(None, rel), empty=None)


@registered(synonyms=("set_p", "setp"), monotone=True)
def set_precision(*, rel: float | None = None) -> Value:
    """Compute the share of all retrieved documents that are relevant.

    > found(n) / n

    >>> frame.select(set_precision()).item()
    0.5
    """
    return Ratio(sum_hits(None, rel), retrieved())


@registered(synonyms=("set_r", "setr"), monotone=True)
def set_recall(*, rel: float | None = None) -> Value:
    """Compute the share of the relevant documents that were retrieved, at any rank.

    > found(n) / R

    >>> round(frame.select(set_recall()).item(), 6)
    0.666667
    """
    return Ratio(sum_hits(None, rel), relevant_count(rel))


@registered(synonyms=("setf",), number="x", parameter_synonyms={"beta": "x"}, monotone=True)
def set_f(*, x: float = 1.0, rel: float | None = None) -> Value:
    """Compute the F measure of all retrieved documents; x weighs recall.

    > (x + 1)·P·R / (R + x·P)

    As in trec_eval's `set_F.x`.

    >>> round(frame.select(set_f()).item(), 6)
    0.571429
    """
    check_between("x", x, 0, LARGEST)
    return Ratio((x + 1) * sum_hits(None, rel), retrieved() + x * relevant_count(rel))


@registered(synonyms=("set_ap", "setap"), monotone=True)
def set_map(*, rel: float | None = None) -> Value:
    """Compute precision times recall of all retrieved documents.

    > found(n)² / (n · R)

    Agrees with trec_eval's `set_map` and ir_measures' `SetAP`.

    >>> round(frame.select(set_map()).item(), 6)
    0.333333
    """
    hits = sum_hits(None, rel)
    return Ratio(hits * hits, retrieved() * relevant_count(rel))


@counted()
def judged(k: int | None = None) -> Value:
    """Compute the share of the top k that has a judgment; 0 for an empty list.

    > judged in the top k / min(k, n)

    A low value is a warning, as other metrics count unjudged documents as non-relevant. Ledgers,
    comparisons and the gate show this metric.

    >>> frame.select(judged(k=4)).item()
    0.75
    """
    return Ratio(total(where(within(k))), depth(k))


@counted(synonyms=("hole", "holes"), higher_is_better=False)
def unjudged(k: int | None = None) -> Value:
    """Compute the share of the top k that has no judgment; 0 for an empty list.

    > 1 − judged@k

    Also known as `hole@k`. A document is judged if it has a judgment for this query. (In BEIR's own
    function, a judgment for any query is enough.)

    >>> frame.select(unjudged(k=4)).item()
    0.25
    """
    return Ratio(depth(k) - total(where(within(k))), depth(k))


@counted(
    synonyms=("num_ret", "numret"),
    becomes={"rel": "num_relevant_retrieved"},  # ir_measures' NumRet(rel=1)
    bounds=(0.0, None),
    average="sum",
)
def num_retrieved() -> Value:
    """Count the documents that the run returned, summed over queries.

    > n

    >>> frame.select(num_retrieved()).item()
    4.0
    """
    return retrieved()


@counted(synonyms=("num_rel", "numrel"), bounds=(0.0, None), average="sum", monotone=True)
def num_relevant(*, rel: float | None = None) -> Value:
    """Count the relevant documents in the judgments, summed over queries.

    > R

    >>> frame.select(num_relevant()).item()
    3.0
    """
    return relevant_count(rel)


@counted(synonyms=("num_rel_ret", "numrelret"), bounds=(0.0, None), average="sum", monotone=True)
def num_relevant_retrieved(*, rel: float | None = None) -> Value:
    """Count the relevant documents that the run returned, summed over queries.

    > found(n)

    >>> frame.select(num_relevant_retrieved()).item()
    2.0
    """
    return sum_hits(None, rel)


@counted(
    synonyms=("num_nonrel_judged_ret",), bounds=(0.0, None), average="sum", higher_is_better=False
)
def num_nonrelevant_judged_retrieved(*, rel: float | None = None) -> Value:
    """Count the retrieved documents with a non-relevant grade of at least 0, summed over queries.

    > judged non-relevant documents retrieved

    >>> frame.select(num_nonrelevant_judged_retrieved()).item()
    1.0
    """
    return total(where(within(None) & (pl.col(RELEVANCE) >= 0) & ~relevant(rel)))
