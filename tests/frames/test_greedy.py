"""The greedy ideal of many queries at once, against one query at a time in plain Python."""

from __future__ import annotations

import random

import numpy as np

from rankframe.frames.subtopics import About, greedy


def by_hand(
    documents: list[list[int]], weights: list[float], alpha: float
) -> tuple[list[int], list[int]]:
    """Of one query: the rank of each document, and what was seen of each of its groups."""
    seen = dict.fromkeys(range(len(weights)), 0)
    rank, above, left = [0] * len(documents), {}, set(range(len(documents)))
    for at in range(1, len(documents) + 1):
        worth = {d: sum(weights[g] * (1 - alpha) ** seen[g] for g in documents[d]) for d in left}
        best = min(left, key=lambda d: (-worth[d], d))
        rank[best] = at
        above[best] = [seen[g] for g in documents[best]]
        for g in documents[best]:
            seen[g] += 1
        left.remove(best)
    return rank, [n for d in range(len(documents)) for n in above[d]]


def test_it_is_what_each_query_alone_would_take() -> None:
    draw = random.Random(5)
    queries = [
        [draw.sample(range(4), draw.randint(1, 4)) for _ in range(draw.choice([1, 2, 9, 20]))]
        for _ in range(30)
    ]
    weights = [draw.choice([1.0, 0.5, 4.0]) for _ in range(4 * len(queries))]
    for alpha in (0.0, 0.5, 0.75, 1.0):
        expected = [
            by_hand(docs, weights[4 * q : 4 * q + 4], alpha) for q, docs in enumerate(queries)
        ]
        lengths = [len(doc) for docs in queries for doc in docs]
        about = About(
            np.repeat(np.arange(len(queries)), [len(docs) for docs in queries]),
            np.cumsum([0, *lengths[:-1]]),
            np.array([4 * q + g for q, docs in enumerate(queries) for doc in docs for g in doc]),
        )
        rank, above = greedy(about, np.array(weights), alpha)
        assert rank.tolist() == [r for ranks, _ in expected for r in ranks]
        assert above.tolist() == [n for _, counts in expected for n in counts]
        some, _ = greedy(about, np.array(weights), alpha, deepest=3)
        assert some.tolist() == np.where(rank <= 3, rank, 0).tolist()


def test_nothing_to_take() -> None:
    none = np.empty(0, np.int64)
    assert not len(greedy(About(none, none, none), np.empty(0), 0.5)[0])
