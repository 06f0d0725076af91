"""Draw two random rankings as dicts of scores, and compute their agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from hypothesis import strategies as st

import rankframe as rf

Scores = Mapping[str, float]

rankings = st.dictionaries(
    st.sampled_from("abcdefgh"), st.integers(0, 3).map(float), min_size=1, max_size=6
)
deep = st.dictionaries(
    st.integers(0, 40).map(str), st.integers(0, 9).map(float), min_size=1, max_size=30
)


def agreement(a: Scores, b: Scores, metric: str, **options: object) -> float | None:
    """Return one measure of two rankings of a single query, as `rf.agree` computes it."""
    return agreements(a, b, [metric], **options)[metric]


def agreements(
    a: Scores, b: Scores, metrics: Iterable[str], **options: object
) -> dict[str, float | None]:
    """Return several measures of two rankings of a single query, by name."""
    queries = {"q": dict(a), "unmatched_queries": {"x": 1.0}}, {"q": dict(b)}
    wanted = list(dict.fromkeys(metrics))
    result = rf.agree(*queries, wanted, unmatched_queries="skip", ci=None, **options)  # pyright: ignore[reportArgumentType]
    return {metric: result.per_query[metric][0] for metric in wanted}


def groups_of(ranking: Scores) -> list[list[str]]:
    return [
        sorted((d for d in ranking if ranking[d] == score), reverse=True)
        for score in sorted(set(ranking.values()), reverse=True)
    ]


def broken(ranking: Scores) -> list[str]:
    return [doc for group in groups_of(ranking) for doc in group]


def contributions(ranking: Scores, ties: str, depths: int) -> dict[str, np.ndarray]:
    """Return the weight of each document in the top of a ranking, at depths 1, 2, …."""
    found, above = {}, 0
    depth = np.arange(1, depths + 1)
    for group in groups_of(ranking):
        first, last = above + 1, above + len(group)
        partly = np.clip((depth - above) / len(group), 0, 1)
        for doc in group:
            found[doc] = (depth >= first).astype(float) if ties == "w" else partly
        above = last
    return found


def two_rankings(queries: int = 60, seed: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return two random rankings with ties; each lacks some queries of the other."""
    rng = np.random.default_rng(seed)
    sides = []
    for skipped in (7, 11):
        rows = pl.DataFrame(
            {
                "query_id": rng.integers(0, queries, queries * 9),
                "doc_id": rng.integers(0, 15, queries * 9),
            }
        ).unique(maintain_order=True)
        rows = rows.with_columns(score=pl.Series(rng.integers(-2, 5, rows.height).astype(float)))
        sides.append(rows.filter(pl.col("query_id") % skipped != 0))
    return sides[0], sides[1]
