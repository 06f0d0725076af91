"""Compare two rankings in plain Python, from the definitions alone (see `brute_force.py`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.support.brute_force import How, Row, Value, Values, averaged, parse, ranking, ratio

ENDLESS = 500  # p^500 is nothing for any p that is tried


@dataclass
class Two:
    """Hold one query of two rankings: documents in order, and the values that order them."""

    a: list[str]
    b: list[str]
    values_a: dict[str, float]
    values_b: dict[str, float]
    missing: str = "shared"
    scored: bool = True

    @property
    def docs(self) -> list[str]:
        """Return the documents over which correlations are computed."""
        if self.missing == "bottom":
            return list(dict.fromkeys([*self.a, *self.b]))
        return [doc for doc in self.a if doc in self.b]

    def pairs(self) -> list[tuple[int, int]]:
        """Return for every two documents how each ranking orders them: 1, 0 or -1."""
        return [
            (order(self.values_a, x, y), order(self.values_b, x, y))
            for x, y in itertools.combinations(self.docs, 2)
        ]

    def top(self, k: int | None) -> Two:
        return Two(self.a[:k], self.b[:k], self.values_a, self.values_b, self.missing, self.scored)

    def chances(self, which: str, depth: int) -> dict[str, float]:
        """Return each document's probability to be in the top `depth`, ties in random order."""
        docs, values = (self.a, self.values_a) if which == "a" else (self.b, self.values_b)
        result = {}
        for _, tied in itertools.groupby(enumerate(docs), key=lambda one: values[one[1]]):
            group = list(tied)
            share = min(max(depth - group[0][0], 0), len(group)) / len(group)
            result |= {doc: share for _, doc in group}
        return result

    def x(self, depth: int, ties: str | None = None) -> float:
        """Return the number of documents in both tops; expected, if ties are in random order."""
        if ties is None:
            return len({*self.a[:depth]} & {*self.b[:depth]})
        a, b = self.chances("a", depth), self.chances("b", depth)
        return sum(a[doc] * b.get(doc, 0) for doc in a)

    def agreement(self, depth: int, ties: str) -> float:
        """Return the agreement of both tops at a depth, as defined by Corsi and Urbano."""
        a, b = self.chances("a", depth), self.chances("b", depth)
        if ties == "w":
            active_a = {doc for doc, share in a.items() if share > 0}
            active_b = {doc for doc, share in b.items() if share > 0}
            return 2 * len(active_a & active_b) / (len(active_a) + len(active_b))
        shared = sum(a[doc] * b.get(doc, 0) for doc in a)
        if ties == "a":
            return shared / depth
        return shared / math.sqrt(sum(c * c for c in a.values()) * sum(c * c for c in b.values()))


def order(values: Mapping[str, float], x: str, y: str) -> int:
    one, other = values.get(x, -math.inf), values.get(y, -math.inf)
    return (one > other) - (one < other)


def overlap(t: Two, k: int | None = None) -> Value:
    depth = min(len(t.a), len(t.b)) if k is None else k
    return t.x(depth) / depth if depth else 0.0


def jaccard(t: Two, k: int | None = None) -> Value:
    return len({*t.a[:k]} & {*t.b[:k]}), len({*t.a[:k]} | {*t.b[:k]})


def average_overlap(t: Two, k: int | None = None) -> Value:
    depth = min(len(t.a), len(t.b)) if k is None else k
    return sum(t.x(d) / d for d in range(1, depth + 1)) / depth if depth else 0.0


def rbo(t: Two, k: int | None = None, p: float = 0.9, ties: str | None = None) -> Value:
    if k is None:
        return rbo_ext(t, p=p, ties=ties)
    return (1 - p) * sum(p ** (d - 1) * t.x(d, ties) / d for d in range(1, k + 1))


def rbo_ext(t: Two, k: int | None = None, p: float = 0.9, ties: str | None = None) -> Value:
    t = t.top(k)
    s, longer = sorted((len(t.a), len(t.b)))
    if not s:
        return 0.0
    if ties in ("w", "a", "b"):
        summed = sum(t.agreement(d, ties) * p**d for d in range(1, longer + 1))
        return (1 - p) / p * summed + t.agreement(longer, ties) * p**longer
    x = [t.x(d, ties) for d in range(longer + 1)]
    summed = sum(x[d] / d * p**d for d in range(1, longer + 1))
    summed += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, longer + 1))
    return (1 - p) / p * summed + ((x[longer] - x[s]) / longer + x[s] / s) * p**longer


def rbd(t: Two, p: float = 0.9) -> Value:
    return 1 - ratio(rbo_ext(t, p=p))


def rbo_min(t: Two, k: int | None = None, p: float = 0.9, ties: str | None = None) -> Value:
    """Compute the least RBO: no document beyond the end of the lists is shared."""
    t = t.top(k)
    seen = [t.x(d, ties) for d in range(max(len(t.a), len(t.b)) + 1)]
    return (1 - p) * sum(p ** (d - 1) * seen[min(d, len(seen) - 1)] / d for d in range(1, ENDLESS))


def rbo_res(t: Two, k: int | None = None, p: float = 0.9) -> Value:
    """Compute the residual of RBO: what sharing all unseen documents at once would add."""
    t = t.top(k)
    s, longer = sorted((len(t.a), len(t.b)))
    seen = [t.x(d) for d in range(longer + 1)]

    def more(d: int) -> float:
        have = seen[min(d, longer)]
        return min(d, have + max(d - s, 0) + max(d - longer, 0)) - have

    return (1 - p) * sum(p ** (d - 1) * more(d) / d for d in range(1, ENDLESS))


def kendall_tau(t: Two, variant: str = "b") -> Value:
    pairs, n = t.pairs(), len(t.docs)
    balance = sum(x * y for x, y in pairs)
    if variant == "a":
        return balance / len(pairs) if pairs else None
    if variant == "c":
        kinds = [{v.get(doc, -math.inf) for doc in t.docs} for v in (t.values_a, t.values_b)]
        m = min(map(len, kinds))
        return 2 * m * balance / (n * n * (m - 1)) if m > 1 else None
    untied = sum(x != 0 for x, _ in pairs) * sum(y != 0 for _, y in pairs)
    return balance / math.sqrt(untied) if untied else None


def tau_ap(t: Two) -> Value:
    """Compute tau AP, with the first ranking as the truth and ties broken as in a run.

    Documents at the bottom stand side by side: none of them is above another.
    """
    place_a = {doc: -i for i, doc in enumerate(t.a)}
    place_b = {doc: -i for i, doc in enumerate(t.b)}
    summed = 0.0
    for doc in t.docs:
        above = [other for other in t.docs if order(place_b, other, doc) > 0]
        right = sum(order(place_a, other, doc) > 0 for other in above)
        summed += right / len(above) if above else 0
    return 2 / (len(t.docs) - 1) * summed - 1 if len(t.docs) > 1 else None


def correlation(xs: list[float], ys: list[float]) -> Value:
    if len(xs) < 2:
        return None
    if len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    dx, dy = deviations(xs), deviations(ys)
    spread = math.sqrt(math.fsum(x * x for x in dx)) * math.sqrt(math.fsum(y * y for y in dy))
    return math.fsum(x * y for x, y in zip(dx, dy, strict=True)) / spread


def deviations(xs: list[float]) -> list[float]:
    """Return deviations from the mean, divided by the largest, so that squares are finite."""
    exact = [Fraction(x) for x in xs]
    mean = sum(exact) / len(exact)
    widest = max(abs(x - mean) for x in exact)
    return [float((x - mean) / widest) for x in exact]


def mean_ranks(t: Two, values: dict[str, float]) -> list[float]:
    return [
        1 + sum(order(values, y, x) > 0 for y in t.docs)
        + sum(order(values, y, x) == 0 and x != y for y in t.docs) / 2
        for x in t.docs
    ]  # fmt: skip


def spearman(t: Two) -> Value:
    return correlation(mean_ranks(t, t.values_a), mean_ranks(t, t.values_b))


def pearson(t: Two) -> Value:
    docs = [doc for doc in t.a if doc in t.b] if t.scored else []
    return correlation([t.values_a[doc] for doc in docs], [t.values_b[doc] for doc in docs])


def ndpm(t: Two) -> Value:
    pairs = [(x, y) for x, y in t.pairs() if x]
    lost = sum(2 * (x * y < 0) + (y == 0) for x, y in pairs)
    return (lost, 2 * len(pairs)) if pairs else None


def fcp(t: Two, ties: str = "half") -> Value:
    pairs = [x * y for x, y in t.pairs() if x]
    tied = pairs.count(0)
    comparable = len(pairs) - tied if ties == "ignore" else len(pairs)
    right = sum(one > 0 for one in pairs) + (tied / 2 if ties == "half" else 0)
    return (right, comparable) if comparable else None


METRICS: dict[str, Callable[..., Value]] = {
    one.__name__: one
    for one in (
        overlap, jaccard, average_overlap, rbo, rbo_ext, rbd, rbo_min, rbo_res,
        kendall_tau, tau_ap, spearman, pearson, ndpm, fcp,
    )
}  # fmt: skip


def two(a: list[Row], b: list[Row], how: How, missing: str) -> Two:
    sides: list[Any] = []
    scored = how.by == "score" and how.order == "columns"
    for rows in (a, b):
        ranked = ranking(rows, how)[: how.k_max]
        values = {row[1]: row[2] if scored else -i for i, row in enumerate(ranked)}
        sides.append(([row[1] for row in ranked], values))
    return Two(sides[0][0], sides[1][0], sides[0][1], sides[1][1], missing, scored)


def agree(
    a: list[Row], b: list[Row], labels: list[str], how: How, missing: str, unmatched: str
) -> Values:
    """Compute every measure of two rankings for each query, and average its values."""
    of_a, of_b = ({row[0] for row in rows} for rows in (a, b))
    names = of_a & of_b if unmatched == "skip" else of_a | of_b
    views = {
        name: two([r for r in a if r[0] == name], [r for r in b if r[0] == name], how, missing)
        for name in names
    }
    result = Values({name: {} for name in names}, {})
    for label in labels:
        name, parameters = parse(label)
        average = parameters.pop("average", "micro" if name == "fcp" else "macro")
        values = {query: METRICS[name](one, **parameters) for query, one in views.items()}
        for query, value in values.items():
            result.per_query[query][label] = None if value is None else ratio(value)
        result.summary[label] = averaged(list(values.values()), average, [1.0] * len(values))
    return result
