"""Define binary metrics in plain Python, for `brute_force.py`.

A definition gives a value, None where the metric is undefined, or a pair (numerator, denominator).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

Pair = tuple[float, float]
Value = float | Pair | None


@dataclass
class Seen:
    """Hold one query: its ranking, its judgments, and the level of relevance."""

    docs: list[str]
    scores: list[float]
    judged: dict[str, float]
    rel: float | None
    top: float  # the largest grade of all queries

    def at(self, rel: float) -> Seen:
        """Return the query with another level of relevance."""
        return replace(self, rel=rel)

    def relevant(self, grade: float | None) -> bool:
        if grade is None:
            return False
        return grade > 0 if self.rel is None else grade >= self.rel

    @property
    def rows(self) -> list[tuple[int, float | None]]:
        """Return the rank and the grade of every retrieved document; None if it is unjudged."""
        return [(i, self.judged.get(doc)) for i, doc in enumerate(self.docs, 1)]

    @property
    def retrieved(self) -> int:
        return len(self.docs)

    @property
    def hits(self) -> list[int]:
        """Return the ranks of the relevant documents."""
        return [i for i, grade in self.rows if self.relevant(grade)]

    @property
    def total(self) -> int:
        return sum(self.relevant(grade) for grade in self.judged.values())

    @property
    def nonrelevant(self) -> int:
        return sum(self.not_relevant(grade) for grade in self.judged.values())

    def not_relevant(self, grade: float | None) -> bool:
        """Return whether a grade is judged non-relevant: 0 or above, but below the level."""
        return grade is not None and grade >= 0 and not self.relevant(grade)

    def found(self, k: float | None) -> int:
        return sum(i <= (k or math.inf) for i in self.hits)


def within(k: int | None) -> float:
    return math.inf if k is None else k


def number(value: Value) -> float:
    assert isinstance(value, float | int)
    return float(value)


def ratio(value: Value) -> float:
    if isinstance(value, tuple):
        return value[0] / value[1] if value[1] else 0.0
    return number(value)


def hits(q: Seen, k: int | None = None) -> Value:
    return float(q.found(k))


def hit_rate(q: Seen, k: int | None = None) -> Value:
    return float(q.found(k) > 0)


def precision(q: Seen, k: int | None = None, denominator: str = "k") -> Value:
    depth = q.retrieved if k is None else min(k, q.retrieved) if denominator == "retrieved" else k
    return q.found(k), depth


def recall(q: Seen, k: int | None = None) -> Value:
    return q.found(k), q.total


def f(q: Seen, k: int | None = None, beta: float = 1) -> Value:
    depth = q.retrieved if k is None else k
    return (1 + beta**2) * q.found(k), beta**2 * q.total + depth


def r_precision(q: Seen) -> Value:
    return (q.found(q.total) if q.total else 0, q.total)


def average_precision(q: Seen, k: int | None = None, denominator: str = "relevant") -> Value:
    summed = sum(q.found(i) / i for i in q.hits if i <= within(k))
    if denominator == "retrieved":
        return summed, q.found(k)
    return summed, min(q.total, within(k)) if denominator == "min" else q.total


def average_recall(q: Seen, k: int | None = None) -> Value:
    depth = q.retrieved if k is None else k
    return sum(q.found(i) for i in range(1, depth + 1)) / max(depth, 1), q.total


def reciprocal_rank(q: Seen, k: int | None = None) -> Value:
    return next((1 / i for i in q.hits if i <= within(k)), 0.0)


def bpref(q: Seen) -> Value:
    summed, above = 0.0, 0
    for _, grade in q.rows:
        if q.relevant(grade):
            summed += 1 - min(above, q.total) / min(q.nonrelevant, q.total) if above else 1
        above += q.not_relevant(grade)
    return summed, q.total


def infap(q: Seen) -> Value:
    summed, good, bad, unknown, e = 0.0, 0, 0, 0, 1e-5
    for i, grade in q.rows:
        if grade is None:
            continue
        if q.relevant(grade):
            above = (good + bad + unknown) / (i - 1) if i > 1 else 0
            summed += 1 / i + (i - 1) / i * above * (good + e) / (good + bad + 2 * e)
            good += 1
        elif grade < 0:
            unknown += 1
        else:
            bad += 1
    return summed, q.total


def rbp_residual(q: Seen, p: float = 0.8) -> Value:
    known = {i for i, grade in q.rows if grade is not None}
    unjudged = [i for i in range(1, q.retrieved + 1) if i not in known]
    return p**q.retrieved + (1 - p) * sum(p ** (i - 1) for i in unjudged)


def lag(q: Seen, missing: str = "ignore") -> Value:
    places = list(q.hits)
    if missing == "end":
        places += [q.retrieved + j for j in range(1, q.total - len(places) + 1)]
    return (sum(i - j for j, i in enumerate(places, 1)), len(places)) if places else None


def auc(q: Seen) -> Value:
    kinds = [(score, q.relevant(grade)) for score, (_, grade) in zip(q.scores, q.rows, strict=True)]
    good, bad = [s for s, yes in kinds if yes], [s for s, yes in kinds if not yes]
    wins = sum((a > b) + (a == b) / 2 for a in good for b in bad)
    return (wins, len(good) * len(bad)) if good and bad else None


def fall_out(q: Seen, k: int | None = None) -> Value:
    bad = q.retrieved - q.found(None)
    return (min(within(k), q.retrieved) - q.found(k), bad) if bad else None


def half_away(x: float) -> int:
    return math.floor(x + 0.5)


def iprec(q: Seen, recall: float) -> Value:
    enough = half_away(recall * q.total)
    return max((q.found(i) / i for i in q.hits if q.found(i) >= enough), default=0.0)


def eleven_point(q: Seen) -> Value:
    return sum(ratio(iprec(q, x / 10)) for x in range(11)) / 11


def relative_precision(q: Seen, k: int) -> Value:
    return q.found(k), min(k, q.total)


def set_f(q: Seen, x: float = 1) -> Value:
    return (x + 1) * q.found(None), x * q.total + q.retrieved


def set_map(q: Seen) -> Value:
    return q.found(None) ** 2, q.retrieved * q.total


def judged(q: Seen, k: int | None = None) -> Value:
    known = sum(i <= within(k) and grade is not None for i, grade in q.rows)
    return known, min(within(k), q.retrieved)


def unjudged(q: Seen, k: int | None = None) -> Value:
    depth = min(within(k), q.retrieved)
    known = sum(i <= within(k) and grade is not None for i, grade in q.rows)
    return depth - known, depth
