"""Define graded metrics and trec_eval's experimental measures in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tests.support.brute_binary import Seen, Value, number, ratio, within


def gain_of(grade: float | None, gain: Any = "linear", min_grade: float | None = None) -> float:
    if grade is None or grade < 0 or (min_grade is not None and grade < min_grade):
        return 0.0
    if isinstance(gain, dict):
        return gain.get(grade, grade)
    return 2.0**grade - 1 if gain == "exp2" else grade


def discount_of(i: int, discount: str = "log2") -> float:
    if discount == "jarvelin":
        return 1.0 if i == 1 else max(1.0, math.log2(i))
    return math.log(i + 1) if discount == "ln" else math.log2(i + 1)


def dcg(
    q: Seen,
    k: int | None = None,
    gain: Any = "linear",
    discount: str = "log2",
    min_grade: float | None = None,
) -> Value:
    return sum(
        gain_of(grade, gain, min_grade) / discount_of(i, discount)
        for i, grade in q.rows
        if i <= within(k)
    )


def cg(q: Seen, k: int | None = None) -> Value:
    return sum(gain_of(grade) for i, grade in q.rows if i <= within(k))


def best(q: Seen, gain: Any = "linear", ideal: str = "judged", **more: Any) -> list[float]:
    """Return the gains of the ideal list: of all judged documents, or of the retrieved ones."""
    grades = q.judged.values() if ideal == "judged" else [grade for _, grade in q.rows]
    return sorted((gain_of(grade, gain, more.get("min_grade")) for grade in grades), reverse=True)


def ideal_dcg(q: Seen, k: int | None = None, discount: str = "log2", **how: Any) -> float:
    return sum(
        g / discount_of(i, discount) for i, g in enumerate(best(q, **how), 1) if i <= within(k)
    )


def ndcg(q: Seen, k: int | None = None, ideal: str = "judged", **how: Any) -> Value:
    return number(dcg(q, k, **how)), ideal_dcg(q, k, ideal=ideal, **how)


def ncg(q: Seen, k: int | None = None) -> Value:
    return number(cg(q, k)), sum(best(q)[: k or len(q.judged)])


def err_of(gains: list[tuple[int, float]], top: float) -> float:
    summed, going_on = 0.0, 1.0
    for i, gain in gains:
        p = gain / 2.0**top
        summed += going_on * p / i
        going_on *= 1 - p
    return summed


def err(q: Seen, k: int | None = None, max_grade: float | None = None) -> Value:
    top = max(q.top, 0) if max_grade is None else max_grade
    return err_of([(i, gain_of(g, "exp2")) for i, g in q.rows if i <= within(k)], top)


def nerr(q: Seen, k: int | None = None, max_grade: float | None = None) -> Value:
    top = max(q.top, 0) if max_grade is None else max_grade
    perfect = [(i, g) for i, g in enumerate(best(q, "exp2"), 1) if i <= within(k)]
    return number(err(q, k, max_grade)), err_of(perfect, top)


def rbp(q: Seen, k: int | None = None, p: float = 0.8, gain: Any = None) -> Value:
    if gain is None:
        return (1 - p) * sum(p ** (i - 1) for i in q.hits if i <= within(k))
    best = gain_of(q.top, gain)
    got = sum(p ** (i - 1) * gain_of(grade, gain) for i, grade in q.rows if i <= within(k))
    return (1 - p) * got / best if best else 0.0


def r_score(q: Seen, half_life: float = 5, neutral: float = 0) -> Value:
    def utility(rows: Iterable[tuple[int, float | None]]) -> float:
        above = [(i, max((neutral if g is None else g) - neutral, 0)) for i, g in rows]
        return sum(u / 2 ** ((i - 1) / (half_life - 1)) for i, u in above)

    perfect = enumerate(sorted(q.judged.values(), reverse=True), 1)
    return utility(q.rows), utility(perfect)


def sdcg(q: Seen, k: int = 10) -> Value:
    return number(dcg(q, k)), sum(gain_of(q.top) / discount_of(i) for i in range(1, k + 1))


def compat(q: Seen, p: float = 0.95) -> Value:
    places = {doc: i for i, doc in enumerate(q.docs)}
    relevant = [doc for doc, grade in q.judged.items() if q.relevant(grade)]
    ideal = sorted(relevant, key=lambda doc: (-q.judged[doc], places.get(doc, len(places))))
    depths = range(1, max(len(q.docs), len(ideal)) + 1)
    shared = [p ** (i - 1) * len({*q.docs[:i]} & {*ideal[:i]}) / i for i in depths]
    return sum(shared), sum(p ** (i - 1) * min(i, len(ideal)) / i for i in depths)


# ---------------------------------------------------------------- trec_eval's experiments


def ndcg_rel(q: Seen) -> Value:
    """Average nDCG over the ranks of documents with a gain; a missing one counts at the end."""
    gains = [g for g in best(q) if g > 0]
    places = [i for i, grade in q.rows if gain_of(grade) > 0]
    values = [ratio((number(dcg(q, i)), ideal_dcg(q, i))) for i in places]
    last = ratio((number(dcg(q)), ideal_dcg(q)))
    return sum(values) + (len(gains) - len(places)) * last, len(gains)


def rndcg(q: Seen) -> Value:
    """Average nDCG over the ranks where the ideal list drops to a lower grade, and its end.

    As the C program has it: one document after the last with a gain is not yet an end.
    """
    gains = [g for g in best(q) if g > 0]
    points = [i for i in range(1, len(gains)) if gains[i] != gains[i - 1]]
    points += [len(gains)] if gains else []
    points += [q.retrieved] if q.retrieved > len(gains) + 1 else []
    return (summed_ndcg(q, points), len(points)) if q.total else 0.0


def summed_ndcg(q: Seen, depths: list[int]) -> float:
    return sum(ratio((number(dcg(q, i)), ideal_dcg(q, i))) for i in depths)


def bin_g(q: Seen) -> Value:
    return sum(1 / math.log2(2 + i - j) for j, i in enumerate(q.hits, 1)), q.total


def g_measure(q: Seen) -> Value:
    gains, got, summed = best(q), 0.0, 0.0
    for i, grade in q.rows:
        gain = gain_of(grade)
        got += gain
        cost = sum(max(g, 1.0) for g in gains[:i]) + max(0, i - len(gains))
        summed += gain / math.log2(2 + cost - got) if gain else 0
    return summed, sum(gains)


def yaap(q: Seen) -> Value:
    summed = sum(q.found(i) / i for i in q.hits)
    return math.log((1 + summed) / (1 + q.total - summed))


def utility(q: Seen, a: float = 1, b: float = -1, c: float = 0) -> Value:
    found = q.found(None)
    return a * found + b * (q.retrieved - found) + c * (q.total - found)
