"""Measure documents that are relevant and not obvious: expressions over the shown frame.

Undefined for queries without judgments, which nobody can say anything of.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE
from rankframe.metrics.parts import Ratio, total, where
from rankframe.metrics.registry import registered
from rankframe.metrics.retrieved import FAMILY, among, surprise, within


def _relevant(rel: float | None) -> pl.Expr:
    return pl.col("relevant") if rel is None else pl.col(RELEVANCE) >= rel


def _worth() -> pl.Expr:
    return 1.0 / (pl.col(RANK) + 1).log(2)


@registered(
    family=FAMILY,
    formula="mean over the shown of max(own − popular, 0) · relevant",
    frame="shown",
    bounds=(0.0, 1.0),
)
def serendipity(k: int | None = None, *, rel: float | None = None) -> pl.Expr | Ratio:
    """Relevant documents that stand higher than their popularity would put them.

    With C documents in the catalogue, own = (C + 1 − rank) / C and popular = (C + 1 − place by
    popularity) / C, equally popular ones alike, 0 for what nobody has in train. Needs judgments,
    `train`, and `items` unless train is the catalogue. Agrees with RecTools' Serendipity, which
    counts queries without judgments as 0.

    >>> shown.select(serendipity(k=3)).item()
    0.16666666666666666
    """
    size = pl.col("catalogue_size")
    own = (size + 1 - pl.col(RANK)) / size
    popular = ((size + 1 - pl.col("popularity_rank")) / size).fill_null(0.0)
    gain = where(_relevant(rel), (own - popular).clip(lower_bound=0))
    return Ratio(among(k, gain), among(k, where(pl.col("judged"))), empty=None)


@registered(
    family=FAMILY,
    formula="Σ rel · disc · (1 − u(d)/N) / Σ disc",
    frame="shown",
)
def epc(
    k: int | None = None, *, discount: Literal["log2", "none"] = "log2", rel: float | None = None
) -> pl.Expr | Ratio:
    """Expected popularity complement: relevant documents that few have (Vargas and Castells).

    disc = 1 / log2(r + 1). Needs judgments and `train`.

    >>> round(shown.select(epc(k=2)).item(), 12)
    0.290139605426
    """
    return _expected(k, 1 - pl.col("popularity") / pl.col("train_queries"), discount, rel)


@registered(
    family=FAMILY,
    formula="Σ rel · disc · −log2(count(d)/Σ count) / Σ disc",
    frame="shown",
    bounds=(0.0, None),
)
def efd(
    k: int | None = None, *, discount: Literal["log2", "none"] = "log2", rel: float | None = None
) -> pl.Expr | Ratio:
    """Expected free discovery: relevant documents that are rarely met (Vargas and Castells).

    disc = 1 / log2(r + 1); what is not in train counts as met once. Needs judgments and `train`.

    >>> round(shown.select(efd(k=2)).item(), 12)
    0.773705614469
    """
    met = surprise(of="interactions", among_all="train_interactions")
    return _expected(k, met, discount, rel)


def _expected(
    k: int | None, novel: pl.Expr, discount: Literal["log2", "none"], rel: float | None
) -> Ratio:
    worth = _worth() if discount == "log2" else pl.lit(1.0)
    gain = where(_relevant(rel) & within(k), worth * novel)
    return Ratio(total(gain), total(where(within(k) & pl.col("judged"), worth)), empty=None)
