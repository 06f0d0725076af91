"""Counts and shares that say how much was retrieved and how much of it was judged."""

from __future__ import annotations

from functools import partial

import polars as pl

from rankframe.core.columns import RELEVANCE
from rankframe.metrics import parts
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    depth,
    relevant,
    relevant_count,
    retrieved,
    total,
    where,
    within,
)

registered = partial(Registration, family="Counts")


@registered(formula="judged in the top k / min(k, n)")
def judged(k: int | None = None) -> pl.Expr | Ratio:
    """Share of the top k that was judged at all; 0 for an empty list.

    Low values warn: the other metrics take unjudged documents for non-relevant. Ledgers,
    comparisons and the gate mean this metric where they say how much was judged.

    >>> frame.select(judged(k=4)).item()
    0.75
    """
    return Ratio(total(where(within(k))), depth(k))


@registered(formula="1 − judged@k", synonyms=("hole", "holes"), higher_is_better=False)
def unjudged(k: int | None = None) -> pl.Expr | Ratio:
    """Share of the top k that nobody judged; 0 for an empty list.

    Known as `hole@k`. Judged is what has a judgment of this query. (BEIR's own function passes over
    documents that were judged for any query.)

    >>> frame.select(unjudged(k=4)).item()
    0.25
    """
    return Ratio(depth(k) - total(where(within(k))), depth(k))


@registered(
    formula="n",
    synonyms=("num_ret", "numret"),
    becomes={"rel": "num_relevant_retrieved"},  # ir_measures' NumRet(rel=1)
    bounds=(0.0, None),
    average="sum",
)
def num_retrieved() -> pl.Expr | Ratio:
    """Documents that the run returned; the summary is the sum.

    >>> frame.select(num_retrieved()).item()
    4.0
    """
    return retrieved()


@registered(
    formula="R", synonyms=("num_rel", "numrel"), bounds=(0.0, None), average="sum", monotone=True
)
def num_relevant(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Relevant documents in the judgments; the summary is the sum.

    >>> frame.select(num_relevant()).item()
    3.0
    """
    return relevant_count(rel)


@registered(
    formula="found(n)",
    synonyms=("num_rel_ret", "numrelret"),
    bounds=(0.0, None),
    average="sum",
    monotone=True,
)
def num_relevant_retrieved(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Relevant documents that the run returned; the summary is the sum.

    >>> frame.select(num_relevant_retrieved()).item()
    2.0
    """
    return parts.hits(None, rel)


@registered(
    formula="judged non-relevant documents retrieved",
    synonyms=("num_nonrel_judged_ret",),
    bounds=(0.0, None),
    average="sum",
    higher_is_better=False,
)
def num_nonrelevant_judged_retrieved(*, rel: float | None = None) -> pl.Expr | Ratio:
    """Documents that were returned and judged non-relevant (a negative grade does not count).

    >>> frame.select(num_nonrelevant_judged_retrieved()).item()
    1.0
    """
    return total(where(within(None) & (pl.col(RELEVANCE) >= 0) & ~relevant(rel)))
