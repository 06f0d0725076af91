"""Two rankings as dicts of scores, drawn at random, and how the tests ask for their agreement."""

from __future__ import annotations

from collections.abc import Mapping

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
    """One query's value."""
    queries = {"q": dict(a), "lone": {"x": 1.0}}, {"q": dict(b)}
    result = rf.agree(*queries, metric, lone="skip", **options)  # pyright: ignore[reportArgumentType]
    return result.per_query[metric][0]


def groups_of(ranking: Scores) -> list[list[str]]:
    return [
        sorted((d for d in ranking if ranking[d] == score), reverse=True)
        for score in sorted(set(ranking.values()), reverse=True)
    ]


def broken(ranking: Scores) -> list[str]:
    return [doc for group in groups_of(ranking) for doc in group]
