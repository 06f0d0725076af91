"""Make random judgments of subtopics, and define every subtopic metric in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Topic:
    """Hold the ranked documents of one query, and their grades for each subtopic."""

    ranked: list[str]
    # of each group, the grade of each judged document; the weight of each group
    grades: dict[str, dict[str, float]]
    weights: dict[str, float] = field(default_factory=dict)
    rel: float | None = None
    highest: float = 0.0
    ideals: dict[float, list[str]] = field(default_factory=dict)

    def relevant(self, group: str, doc: str) -> bool:
        """Return whether a document is relevant to a subtopic."""
        grade = self.grades[group].get(doc, -1.0)
        return grade > 0 if self.rel is None else grade >= self.rel

    @property
    def groups(self) -> list[str]:
        """Return the subtopics that have a relevant document."""
        return [g for g, of in self.grades.items() if any(self.relevant(g, d) for d in of)]

    def weight(self, group: str) -> Fraction:
        """Return the weight of a subtopic; 1 by default."""
        return Fraction(self.weights.get(group, 1.0))

    def ideal(self, alpha: float) -> list[str]:
        """Return the greedy ideal list, computed in fractions, so that equal gains are equal."""
        if alpha not in self.ideals:
            self.ideals[alpha] = self._ideal(alpha)
        return self.ideals[alpha]

    def _ideal(self, alpha: float) -> list[str]:
        left = {d for g in self.groups for d in self.grades[g] if self.relevant(g, d)}
        seen = dict.fromkeys(self.groups, 0)
        found: list[str] = []
        while left:
            worth = {
                d: sum(
                    self.weight(g) * Fraction(1 - alpha) ** seen[g]
                    for g in seen if self.relevant(g, d)
                )
                for d in left
            }  # fmt: skip
            best = max(left, key=lambda d: (worth[d], d))
            for g in seen:
                seen[g] += self.relevant(g, best)
            left.remove(best)
            found.append(best)
        return found


def random_topics(seed: int, *, queries: int = 25, graded: bool = False, depth: int = 30) -> Rows:
    """Return random judgments; some queries have one subtopic, some subtopics nothing relevant."""
    draw = random.Random(seed)
    grades = [-1, 0, 0, 1, 2, 3] if graded else [0, 0, 1]
    rows: Rows = []
    for q in range(queries):
        groups = [f"g{n}" for n in range(draw.choice([1, 2, 3, 6]))]
        weights = {g: draw.choice([0.5, 1.0, 2.0, 3.0]) for g in groups}
        for doc in range(draw.choice([1, 5, depth])):
            for g in draw.sample(groups, draw.randint(1, len(groups))):
                rows.append({"query_id": f"q{q:03}", "doc_id": f"d{doc:03}", "subtopic": g,
                             "relevance": draw.choice(grades), "weight": weights[g]})  # fmt: skip
    return rows


def random_run(seed: int, rows: Rows, *, ties: bool = True) -> Rows:
    """Return a random run of most of the judged queries, with unjudged documents."""
    draw = random.Random(seed + 1)
    found: Rows = []
    for q in sorted({row["query_id"] for row in rows}):
        docs = sorted({row["doc_id"] for row in rows if row["query_id"] == q})
        docs = draw.sample(docs, draw.randint(0, len(docs))) + [f"x{n}" for n in range(5)]
        draw.shuffle(docs)
        scores = draw.choices(range(8), k=len(docs)) if ties else range(len(docs))
        if draw.random() < 0.9:
            found += [{"query_id": q, "doc_id": d, "score": float(s)}
                      for d, s in zip(docs, scores, strict=True)]  # fmt: skip
    return found


def topics(
    rows: Rows, run: Rows, *, weighted: bool = False, rel: float | None = None
) -> dict[str, Topic]:
    """Join judgments and a run into a `Topic` for each query."""
    highest = max(row["relevance"] for row in rows)
    found: dict[str, Topic] = {}
    for q in sorted({row["query_id"] for row in rows}):
        listed = [(row["score"], row["doc_id"]) for row in run if row["query_id"] == q]
        topic = Topic([doc for _, doc in sorted(listed, reverse=True)], {}, {}, rel, highest)
        for row in rows:
            if row["query_id"] == q:
                topic.grades.setdefault(row["subtopic"], {})[row["doc_id"]] = row["relevance"]
                topic.weights[row["subtopic"]] = row["weight"] if weighted else 1.0
        found[q] = topic
    return found


def _novel(
    t: Topic, docs: list[str], k: int | None, alpha: float, discount: Callable[[int], float]
) -> float:
    seen = dict.fromkeys(t.groups, 0)
    whole = 0.0
    for i, doc in enumerate(docs[:k], 1):
        for g in seen:
            if t.relevant(g, doc):
                whole += float(t.weight(g)) * (1 - alpha) ** seen[g] * discount(i)
                seen[g] += 1
    return whole


def _log(i: int) -> float:
    return 1 / math.log2(i + 1)


def _weights(t: Topic) -> float:
    return float(sum(map(t.weight, t.groups)))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def alpha_dcg(t: Topic, k: int | None, alpha: float = 0.5, norm: str = "most") -> float:
    value = _novel(t, t.ranked, k, alpha, _log)
    if norm == "none":
        return _share(value * len(t.groups), _weights(t))
    return _share(
        value, _weights(t) * sum((1 - alpha) ** (i - 1) * _log(i) for i in range(1, (k or 99) + 1))
    )


def alpha_ndcg(t: Topic, k: int | None, alpha: float = 0.5) -> float:
    return _share(_novel(t, t.ranked, k, alpha, _log), _novel(t, t.ideal(alpha), k, alpha, _log))


def err_ia(
    t: Topic, k: int | None, alpha: float = 0.5, norm: str = "most", gain: str = ""
) -> float:
    if gain == "exp2":
        whole = 0.0
        for g in t.groups:
            left = 1.0
            for i, doc in enumerate(t.ranked[:k], 1):
                p = (2 ** max(t.grades[g].get(doc, 0), 0) - 1) / 2**t.highest
                whole += float(t.weight(g)) * left * p / i
                left *= 1 - p
        return _share(whole, _weights(t))
    most = (
        sum((1 - alpha) ** (i - 1) / i for i in range(1, (k or 99) + 1)) if norm == "most" else 1.0
    )
    return _share(_novel(t, t.ranked, k, alpha, lambda i: 1 / i), _weights(t) * most)


def nerr_ia(t: Topic, k: int | None, alpha: float = 0.5) -> float:
    ours, best = (_novel(t, docs, k, alpha, lambda i: 1 / i) for docs in (t.ranked, t.ideal(alpha)))
    return _share(ours, best)


def nrbp(t: Topic, alpha: float = 0.5, beta: float = 0.5) -> float:
    value = _novel(t, t.ranked, None, alpha, lambda i: beta ** (i - 1))
    return _share((1 - (1 - alpha) * beta) * value, _weights(t))


def nnrbp(t: Topic, alpha: float = 0.5, beta: float = 0.5) -> float:
    ours, best = (
        _novel(t, docs, None, alpha, lambda i: beta ** (i - 1))
        for docs in (t.ranked, t.ideal(alpha))
    )
    return _share(ours, best)


def _mean(t: Topic, value: Callable[[str], float]) -> float:
    return _share(sum(float(t.weight(g)) * value(g) for g in t.groups), _weights(t))


def map_ia(t: Topic, k: int | None = None) -> float:
    def ap(g: str) -> float:
        hits = [i for i, doc in enumerate(t.ranked[:k], 1) if t.relevant(g, doc)]
        every = sum(t.relevant(g, doc) for doc in t.grades[g])
        return sum((n + 1) / i for n, i in enumerate(hits)) / every

    return _mean(t, ap)


def precision_ia(t: Topic, k: int | None) -> float:
    length = len(t.ranked) if k is None else k
    return _mean(t, lambda g: _share(sum(t.relevant(g, d) for d in t.ranked[:k]), length))


def ndcg_ia(t: Topic, k: int | None, gain: str = "linear") -> float:
    def worth(grade: float) -> float:
        return max(grade, 0) if gain == "linear" else 2 ** max(grade, 0) - 1

    def ndcg(g: str) -> float:
        ours = [t.grades[g].get(d, 0) for d in t.ranked]
        best = sorted(t.grades[g].values(), reverse=True)
        a, b = (sum(worth(x) * _log(i) for i, x in enumerate(some[:k], 1)) for some in (ours, best))
        return _share(a, b)

    return _mean(t, ndcg)


def covered(t: Topic, k: int | None) -> list[bool]:
    """Return for each subtopic whether the top k has a relevant document of it."""
    return [any(t.relevant(g, doc) for doc in t.ranked[:k]) for g in t.groups]


def subtopic_recall(t: Topic, k: int | None) -> float:
    return _share(sum(covered(t, k)), len(t.groups))


def any_of(t: Topic, k: int | None) -> float:
    return float(any(covered(t, k)))


def all_of(t: Topic, k: int | None) -> float:
    return float(bool(t.groups) and all(covered(t, k)))


def frame(rows: Rows) -> pl.DataFrame:
    """Return rows as a frame, in shuffled order."""
    return pl.DataFrame(rows).sample(fraction=1, shuffle=True, seed=len(rows))
