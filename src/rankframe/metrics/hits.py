"""Set-based metrics: how many relevant documents are in the top k, out of how many."""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from rankframe.core.columns import RANK, ColumnRequest
from rankframe.metrics import parts
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    constant,
    depth,
    relevant,
    relevant_count,
    retrieved,
    total,
    where,
)

registered = partial(Registration, family="Hits in the top k")


@registered(formula="found(k)", bounds=(0.0, None), monotone=True)
def hits(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Count the relevant documents in the top k.

    >>> frame.select(hits(k=3)).item()
    2.0
    """
    return parts.hits(k, rel)


@registered(
    formula="1 if found(k) > 0, else 0",
    synonyms=("success", "top_k_accuracy", "hr"),
    aliases=("success",),
    monotone=True,
)
def hit_rate(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Return 1 if the top k has a relevant document, else 0.

    Agrees with trec_eval's `success_k` and ranx's `hit_rate@k`.

    >>> frame.select(hit_rate(k=1)).item()
    1.0
    """
    return (parts.hits(k, rel) > 0).cast(pl.Float64)


@registered(formula="found(k) / k", synonyms=("p",), monotone=True)
def precision(
    k: int | None = None,
    *,
    denominator: Literal["k", "retrieved"] = "k",
    rel: float | None = None,
) -> pl.Expr | Ratio:
    """Share of the top k that is relevant.

    A list shorter than k is not excused, as in trec_eval; `denominator="retrieved"` divides by
    min(k, n) instead. Without k: by n, and 0 for an empty list.

    >>> frame.select(precision(k=4)).item()
    0.5
    """
    if k is not None and denominator == "k":
        return Ratio(parts.hits(k, rel), constant(k))
    return Ratio(parts.hits(k, rel), depth(k))


@registered(formula="found(k) / R", synonyms=("r",), monotone=True)
def recall(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Share of the relevant documents found in the top k.

    0 where nothing is relevant. Agrees with trec_eval's `recall_k`.

    >>> round(frame.select(recall(k=3)).item(), 6)
    0.666667
    """
    return Ratio(parts.hits(k, rel), relevant_count(rel))


@registered(formula="2·P·R / (P + R) = 2·found(k) / (k + R)", synonyms=("f1_score",), monotone=True)
def f1(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Harmonic mean of precision and recall at k.

    0 where both are 0. The summary is the mean of the queries' values, as in ranx.

    >>> round(frame.select(f1(k=3)).item(), 6)
    0.666667
    """
    return _f_measure(k, 1.0, rel)


@registered(formula="(1 + β²)·P·R / (β²·P + R)", synonyms=("f_beta", "f_score"), monotone=True)
def f(k: int | None = None, *, beta: float = 1.0, rel: float | None = None) -> pl.Expr | Ratio:
    """Weighted harmonic mean of precision and recall at k: recall counts β times as much.

    >>> round(frame.select(f(k=4, beta=2)).item(), 6)
    0.625
    """
    return _f_measure(k, beta, rel)


def _f_measure(k: int | None, beta: float, rel: float | None) -> Ratio:
    parts.check_between("beta", beta, 0, parts.LARGEST)
    cutoff = retrieved() if k is None else pl.lit(float(k))
    square = beta**2
    return Ratio((1 + square) * parts.hits(k, rel), square * relevant_count(rel) + cutoff)


@registered(
    formula="found(c) / c, c = ⌊m·R + 0.9⌋ (R itself for m = 1)", synonyms=("rprec", "r-precision")
)
def r_precision(*, multiple: float = 1.0, rel: float | None = None) -> pl.Expr | Ratio:
    """Precision at the depth where a perfect list would end: the number of relevant documents.

    `multiple`: at a multiple m of that depth. Agrees with trec_eval's `Rprec` and `Rprec_mult`.

    >>> round(frame.select(r_precision()).item(), 6)
    0.666667
    >>> frame.select(r_precision(multiple=0.2)).item()
    1.0
    """
    parts.check_between("multiple", multiple, 0, parts.LARGEST)

    def depth_of(relevants: pl.Expr) -> pl.Expr:
        return (multiple * relevants + 0.9).floor()

    above = pl.col(RANK) <= depth_of(ColumnRequest("relevant_total", rel=rel).expr)
    return Ratio(total(where(relevant(rel) & above)), depth_of(relevant_count(rel)))


@registered(
    formula="found(k) / min(k, R)", synonyms=("relative_p", "set_relative_p"), monotone=True
)
def relative_precision(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Hits in the top k as a share of the most that could be there.

    Agrees with trec_eval's `relative_P_k`; without k with `set_relative_P`.

    >>> frame.select(relative_precision(k=1)).item()
    1.0
    """
    cutoff = retrieved() if k is None else pl.lit(float(k))
    return Ratio(parts.hits(k, rel), pl.min_horizontal(cutoff, relevant_count(rel)))


@registered(
    formula="non-relevant in the top k / non-relevant retrieved",
    synonyms=("fallout",),
    higher_is_better=False,
)
def fall_out(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Share of the retrieved non-relevant documents that stand in the top k.

    Unjudged documents are non-relevant. Undefined (null) where all that was retrieved is relevant.

    >>> frame.select(fall_out(k=3)).item()
    0.5
    """
    return Ratio(depth(k) - parts.hits(k, rel), retrieved() - parts.hits(None, rel), empty=None)


@registered(formula="found(n) / n", synonyms=("set_p", "setp"), monotone=True)
def set_precision(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Share of everything retrieved that is relevant.

    >>> frame.select(set_precision()).item()
    0.5
    """
    return Ratio(parts.hits(None, rel), retrieved())


@registered(formula="found(n) / R", synonyms=("set_r", "setr"), monotone=True)
def set_recall(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Share of the relevant documents that was retrieved at all.

    >>> round(frame.select(set_recall()).item(), 6)
    0.666667
    """
    return Ratio(parts.hits(None, rel), relevant_count(rel))


@registered(
    formula="(x + 1)·P·R / (R + x·P)",
    synonyms=("setf",),
    number="x",
    parameter_synonyms={"beta": "x"},
    monotone=True,
)
def set_f(*, x: float = 1.0, rel: float | None = None) -> pl.Expr | Ratio:
    """F measure of the whole retrieved set; x weighs recall, as in trec_eval's `set_F.x`.

    >>> round(frame.select(set_f()).item(), 6)
    0.571429
    """
    parts.check_between("x", x, 0, parts.LARGEST)
    return Ratio((x + 1) * parts.hits(None, rel), retrieved() + x * relevant_count(rel))


@registered(formula="found(n)² / (n · R)", synonyms=("set_ap", "setap"), monotone=True)
def set_map(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Precision times recall of the whole retrieved set.

    Agrees with trec_eval's `set_map` and ir_measures' `SetAP`.

    >>> round(frame.select(set_map()).item(), 6)
    0.333333
    """
    found = parts.hits(None, rel)
    return Ratio(found * found, retrieved() * relevant_count(rel))
