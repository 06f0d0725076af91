"""Measure retrieved documents, judged or not: novelty, popularity, variety.

`train` has earlier interactions of queries (users) with documents (items); `items` has attributes
of documents. N is the number of queries in `train`, and u(d) the number of them that have document
d. The first L = min(k, n) documents of a list count. Queries with an empty list have no value.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

import polars as pl

from rankframe.core.columns import RANK, ColumnRequest
from rankframe.metrics.metric import Registration
from rankframe.metrics.parts import (
    Ratio,
    Value,
    check_between,
    constant,
    of_query,
    relevant,
    total,
    where,
)

registered = partial(Registration, family="Retrieved documents", frame="retrieved")
# The exposure of a rank.
_WORTH: Final = 1.0 / (pl.col(RANK) + 1).log(2)


def within(k: int | None) -> pl.Expr:
    """Tell which rows have a rank in the top k; all rows do if k is None."""
    return pl.col(RANK) >= 1 if k is None else pl.col(RANK) <= k


def among(k: int | None, value: pl.Expr | float = 1.0) -> pl.Expr:
    """Sum `value` over the retrieved documents in the top k."""
    return total(where(within(k), value))


def mean_of(k: int | None, value: pl.Expr) -> Ratio:
    """Average `value` over the retrieved documents in the top k; undefined if there are none."""
    return Ratio(among(k, value), among(k), empty=None)


def surprise(*, count: str = "popularity", among_all: str = "train_queries") -> pl.Expr:
    """Return −log2 of each document's share of the queries in `train`, counting at least one."""
    return -(pl.col(count).clip(lower_bound=1) / pl.col(among_all)).log(2)


def places(k: int | None) -> pl.Expr:
    """Return a divisor of each query's value: k or, if k is None, the number of documents."""
    return among(None) if k is None else constant(k)


@registered(
    synonyms=("miuf", "mean_inv_user_freq", "mean_self_information"),
    presets={"surprisal": {"normalised": True}},
    bounds=(0.0, None),
)
def novelty(k: int | None = None, *, normalised: bool = False) -> Value:
    """Compute how rare the retrieved documents are in `train`: their self-information.

    > mean over the retrieved of −log2(u(d) / N)

    A document that is not in train counts as if one query had it. Needs `train`. Agrees with
    RecTools' MeanInvUserFreq. `normalised=true`: the sum of −log2(u(d) / N) / log2 N over the top
    k, divided by k (RePlay's Surprisal), in which a document that is not in train adds 1.

    >>> retrieved.select(novelty(k=2)).item()
    1.5
    """
    if not normalised:
        return mean_of(k, surprise())
    # If train has a single query, log2 N is 0: divide by log2 2 instead.
    largest = pl.col("train_queries").clip(lower_bound=2).log(2)
    share = pl.when(pl.col("popularity") == 0).then(1.0).otherwise(surprise() / largest)
    return Ratio(among(k, share), places(k), empty=None)


@registered(
    synonyms=("arp", "avg_rec_popularity", "average_popularity"),
    bounds=(0.0, None),
    higher_is_better=False,
)
def popularity(k: int | None = None) -> Value:
    """Average the popularity of retrieved documents: how many queries of `train` have each (ARP).

    > mean over the retrieved of u(d)

    Lower is better: a high value means that a system retrieves documents that most queries already
    have. Needs `train`. Agrees with RecTools' AvgRecPopularity.

    >>> retrieved.select(popularity(k=2)).item()
    1.5
    """
    return mean_of(k, pl.col("popularity").cast(pl.Float64))


@registered(synonyms=("aplt",))
def long_tail(k: int | None = None, *, head: float = 0.8) -> Value:
    """Compute the share of the retrieved documents outside the most popular ones (APLT).

    > share of the retrieved outside the head

    The head is the most popular documents, which together have the share `head` of all interactions
    in train. Equally popular documents are either all in the head or all outside. A document that
    is not in train is outside. Needs `train`.

    >>> retrieved.select(long_tail(k=3)).item()
    0.3333333333333333
    """
    check_between("head", head, 0, 1)
    return mean_of(k, where(pl.col("more_popular") >= head))


@registered(higher_is_better=False)
def repeated(k: int | None = None) -> Value:
    """Compute the share of the retrieved documents that the query already has in `train`.

    > share of the retrieved that the query has in train

    RePlay's Novelty is 1 − repeated. Needs `train`.

    >>> retrieved.select(repeated(k=2)).item()
    0.5
    """
    return mean_of(k, where(pl.col("seen")))


def _of_attribute(attribute: str, *columns: str) -> list[pl.Expr]:
    """Return columns of the retrieved frame that are computed from an attribute of documents."""
    return [ColumnRequest(column, attribute=attribute).expr for column in columns]


@registered(presets={"categorical_diversity": {"kind": "distinct"}}, bounds=(0.0, None))
def diversity(
    k: int | None = None, *, by: str, kind: Literal["distinct", "entropy", "pairs"] = "distinct"
) -> Value:
    """Compute how varied the retrieved documents are, by an attribute of `items`.

    > distinct values among the retrieved / L

    kind="entropy": −Σ p log2 p, where p is the share of a value. kind="pairs": the mean distance of
    two documents, which is 1 if their values differ (ILD by category), or 1 minus the share of
    common values (Jaccard) if documents have lists of values; a single document scores 0. Documents
    without a value are left out. RePlay's CategoricalDiversity divides by k, not by L.

    >>> values = diversity(k=3, by="genre"), diversity(k=3, by="genre", kind="pairs")
    >>> retrieved.select(values).row(0)
    (0.6666666666666666, 0.6666666666666666)
    """
    if kind == "distinct":
        new, values = _of_attribute(by, "new", "values")
        return Ratio(among(k, new), among(k, where(values > 0)), empty=None)
    if kind == "entropy":
        values, crowd = (among(k, each) for each in _of_attribute(by, "values", "crowd"))
        even = values.log(2) - crowd / values
        return pl.when(values > 0).then(even.clip(lower_bound=0))
    columns = _of_attribute(by, "values", "unlike", "pairs")
    values, unlike, pairs = (among(k, each) for each in columns)
    return pl.when(pairs > 0).then(unlike / pairs).when(values > 0).then(0.0)


@registered(bounds=(0.0, 2.0))
def ild(k: int | None = None, *, vector: str) -> Value:
    """Compute intra-list diversity: the mean distance between the vectors of two documents.

    > mean over pairs of the retrieved of 1 − cosine

    `vector` is a column of `items` with a list of numbers. Documents without a vector, or with a
    vector of length 0, are left out; a single document scores 0.

    >>> retrieved.select(ild(k=3, vector="vector")).item()
    0.6666666666666666
    """
    columns = _of_attribute(vector, "vector_pairs", "cosine", "vector")
    pairs, alike, vectors = (among(k, each) for each in columns)
    far = ((pairs - alike) / pairs).clip(lower_bound=0)
    return pl.when(pairs > 0).then(far).when(vectors > 0).then(0.0)


@registered()
def unexpectedness(k: int | None = None) -> Value:
    """Compute the share of the top k that is not in the top k of another run, `reference`.

    > 1 − |top k ∩ top k of reference| / k

    Ranks without a document count as unexpected, as in RePlay. Needs `reference`.

    >>> retrieved.select(unexpectedness(k=2)).item()
    0.5
    """
    common = where(within(k) & (pl.col("reference_rank") <= (10**9 if k is None else k)))
    return Ratio(places(k) - total(common), places(k), empty=None)


@registered(bounds=(0.0, None), higher_is_better=False)
def calibration(k: int | None = None, *, by: str) -> Value:
    """Compute how an attribute's shares in a list differ from its shares in `train` (Steck).

    > Σ p ln(p / q̃), q̃ = .99 q + .01 p

    p are the shares of the values of an attribute of `items` in the query's rows of train, by
    count; q are their shares in the retrieved documents. A document with several values counts for
    each in equal parts. 0 means equal shares. Needs `train` and `items`. Undefined if no document
    of the list, or none of the query's documents in train, has a value.

    >>> round(retrieved.select(calibration(k=2, by="genre")).item(), 12)
    0.683196849707
    """
    return of_query(ColumnRequest("divergence", attribute=by, k=k).name).fill_nan(None)


@registered(average="micro")
def exposure_share(k: int | None = None, *, by: str, value: str) -> Value:
    """Compute the share of exposure of the documents with a given value of an attribute.

    > Σ 1/log2(r + 1) of the group / Σ 1/log2(r + 1) of all

    The document at rank r gets the exposure 1 / log2(r + 1). The average over queries is the ratio
    of the sums over all queries. Undefined if no document of `items` has the value.

    >>> retrieved.select(exposure_share(k=2, by="genre", value="drama")).item()
    0.38685280723454163
    """
    has = ColumnRequest("has", attribute=by, value=value).expr
    all_worth = among(k, where(has.is_not_null(), _WORTH))
    return Ratio(among(k, where(has, _WORTH)), all_worth, empty=None)


@registered(bounds=(0.0, 1.0))
def serendipity(k: int | None = None, *, rel: float | None = None) -> Value:
    """Compute how much higher relevant documents rank than in a ranking by popularity.

    > mean over the retrieved of max(own − popular, 0) · relevant

    With C documents in the catalogue, own = (C + 1 − rank) / C and popular = (C + 1 − rank by
    popularity) / C. Equally popular documents share a rank; popular is 0 for a document that is not
    in train. Needs judgments and `train`, and `items` unless the documents of train are the
    catalogue. Agrees with RecTools' Serendipity, except that RecTools scores queries without
    judgments as 0.

    >>> retrieved.select(serendipity(k=3)).item()
    0.16666666666666666
    """
    size = pl.col("catalogue_size")
    own = (size + 1 - pl.col(RANK)) / size
    popular = ((size + 1 - pl.col("popularity_rank")) / size).fill_null(0.0)
    gain = where(relevant(rel), (own - popular).clip(lower_bound=0))
    return Ratio(among(k, gain), among(k, where(pl.col("judged"))), empty=None)


@registered()
def epc(
    k: int | None = None, *, discount: Literal["log2", "none"] = "log2", rel: float | None = None
) -> Value:
    """Compute expected popularity complement: how few queries have the relevant documents.

    > Σ rel · disc · (1 − u(d)/N) / Σ disc

    disc = 1 / log2(r + 1). After Vargas and Castells. Needs judgments and `train`.

    >>> round(retrieved.select(epc(k=2)).item(), 12)
    0.290139605426
    """
    return _expected(k, 1 - pl.col("popularity") / pl.col("train_queries"), discount, rel)


@registered(bounds=(0.0, None))
def efd(
    k: int | None = None, *, discount: Literal["log2", "none"] = "log2", rel: float | None = None
) -> Value:
    """Compute expected free discovery: how rare the relevant documents are in `train`.

    > Σ rel · disc · −log2(count(d)/Σ count) / Σ disc

    disc = 1 / log2(r + 1). A document that is not in train counts as one interaction. After Vargas
    and Castells. Needs judgments and `train`.

    >>> round(retrieved.select(efd(k=2)).item(), 12)
    0.773705614469
    """
    met = surprise(count="interactions", among_all="train_interactions")
    return _expected(k, met, discount, rel)


def _expected(
    k: int | None, novel: pl.Expr, discount: Literal["log2", "none"], rel: float | None
) -> Ratio:
    """Average the novelty of relevant documents in the top k, weighted by the discount of ranks."""
    worth = _WORTH if discount == "log2" else pl.lit(1.0)
    gain = where(relevant(rel) & within(k), worth * novel)
    return Ratio(total(gain), total(where(within(k) & pl.col("judged"), worth)), empty=None)
