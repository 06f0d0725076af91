"""Define metrics of which documents of the catalogue all lists together retrieve, and how often.

x(d) is the number of lists that have document d in their top k; U is the number of lists that are
not empty. These metrics are not averages over queries: they are computed from counts per document.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from rankframe.core.columns import ColumnRequest
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import Value

registered = partial(Registration, family="The catalogue", frame="documents")


def counted(k: int | None) -> pl.Expr:
    """Return an expression for x(d), the number of lists that have document d in their top k."""
    return ColumnRequest("retrieved", k=k).expr


def lists(k: int | None) -> pl.Expr:
    """Return an expression for U, the number of lists that are not empty."""
    return ColumnRequest("lists", k=k).expr.first()


@registered(synonyms=("catalog_coverage", "catalogue_coverage"), bounds=(0.0, None), distinct=True)
def coverage(k: int | None = None, *, count: bool = False) -> Value:
    """Compute the share of the catalogue that is retrieved for any query.

    > documents retrieved / documents in the catalogue

    The catalogue is `catalogue` or, without it, `items` or, without both, the documents of `train`.
    Documents outside the catalogue do not count. `count=true` returns the number of retrieved
    documents instead, in the catalogue or not.

    >>> documents.select(coverage(k=2)).item(), documents.select(coverage(k=2, count=True)).item()
    (0.5, 3.0)
    """
    is_retrieved = counted(k) > 0
    if count:
        return is_retrieved.sum().cast(pl.Float64)
    inside = pl.col("in_catalogue")
    return (is_retrieved & inside).sum() / inside.sum()


@registered(higher_is_better=False)
def gini(k: int | None = None, *, over: Literal["catalogue", "retrieved"] = "catalogue") -> Value:
    """Compute how unequally documents are retrieved: 0 if equally often, near 1 if few dominate.

    > Σ (2j − n − 1) x_(j) / (n Σ x), x ascending

    By default, n is the number of documents in the catalogue; a document in no list has x = 0
    (LensKit). With over="retrieved", n is the number of documents in at least one list, and n − 1
    replaces n in the divisor (Evidently).

    >>> documents.select(gini(k=2)).item()
    0.5833333333333334
    """
    inside = pl.col("in_catalogue") if over == "catalogue" else counted(k) > 0
    x = counted(k).filter(inside).sort()
    n = x.len().cast(pl.Int64)
    weighted = (x * (2 * pl.int_range(1, x.len() + 1, dtype=pl.Int64) - n - 1)).sum()
    below = x.sum() * (n if over == "catalogue" else n - 1)
    return pl.when(below > 0).then(weighted / below)


@registered(synonyms=("distributional_coverage", "shannon_entropy"), bounds=(0.0, None))
def entropy(k: int | None = None) -> Value:
    """Compute how evenly documents are retrieved, as the entropy of their shares in bits.

    > −Σ p log2 p, p = x / Σ x

    Agrees with distributional_coverage of Microsoft's recommenders.

    >>> documents.select(entropy(k=2)).item()
    1.5
    """
    x = counted(k).filter(counted(k) > 0).sort()
    share = x / x.sum()
    # If one document has all retrievals, rounding may give a number slightly below 0, or -0.0.
    return pl.when(x.len() > 0).then((0.0 - (share * share.log(2)).sum()).clip(lower_bound=0))


@registered(synonyms=("personalization",))
def personalisation(k: int) -> Value:
    """Compute how much the lists of two queries differ: 1 minus the mean overlap of the top k.

    > 1 − Σ x(x − 1) / (k U (U − 1))

    This is the mean over all pairs of lists, computed from counts. Agrees with Evidently.

    >>> documents.select(personalisation(k=2)).item()
    0.5
    """
    x = counted(k)
    pairs = k * lists(k) * (lists(k) - 1)
    return pl.when(lists(k) > 1).then(1 - (x * (x - 1)).sum() / pairs)


@registered(higher_is_better=False, by_value=True)
def exposure_gap(
    k: int,  # noqa: ARG001 (the frame is of these documents)
    *,
    by: str,  # noqa: ARG001 (the frame has a row for each of its values)
    target: Literal["catalogue", "train"] = "catalogue",
) -> Value:
    """Compute how far the exposure of an attribute's values is from their share of documents.

    > √(JSD(exposure, target)), exposure = Σ 1 / log2(rank + 1) by value

    The Jensen–Shannon distance (base 2: 0 for equal shares, 1 for disjoint ones) compares the
    shares of exposure over all lists with the shares of the documents in the catalogue, or of the
    interactions in `train` (target="train"). A document with several values counts for each in
    equal parts; a document without a value does not count. Undefined if no document of the
    catalogue has a value, or if no retrieved document has a value.

    >>> items = pl.DataFrame({"doc_id": ["a", "b", "c", "d"], "genre": ["x", "x", "y", "y"]})
    >>> run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
    >>> rf.evaluate(None, run, "exposure_gap(by=genre)@2", items=items)["exposure_gap(by=genre)@2"]
    0.5579230452841438
    """
    shown = _shares(pl.col("exposure"))
    target_shares = _shares(pl.col("documents" if target == "catalogue" else "interactions"))
    middle = (shown + target_shares) / 2
    twice = _divergence(shown, middle) + _divergence(target_shares, middle)
    # Rounding can turn 0 into a tiny number, whose square root is much larger.
    distance = pl.when(twice > 1e-14).then((twice / 2).clip(0, 1).sqrt()).otherwise(0.0)
    return pl.when(twice.is_finite() & (pl.len() > 0)).then(distance)  # there are values


def _shares(amount: pl.Expr) -> pl.Expr:
    """Divide amounts by their sum."""
    return amount / amount.sum()


def _divergence(share: pl.Expr, reference: pl.Expr) -> pl.Expr:
    """Sum p log2(p / q) over all rows, with `share` as p and `reference` as q."""
    # Shares of a sum of 0 are NaN, and polars orders NaN above all numbers.
    return pl.when(share > 0).then(share * (share / reference).log(2)).otherwise(0.0).sum()
