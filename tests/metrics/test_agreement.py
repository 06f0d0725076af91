"""How much two rankings share: published values, and brute force by the definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from tests.support.rankings import (
    Scores,
    agreement,
    broken,
    contributions,
    deep,
    groups_of,
    rankings,
)


def in_order(documents: str) -> dict[str, float]:
    """A ranking without ties, best first."""
    return {doc: float(-place) for place, doc in enumerate(documents)}


def scored(*values: float) -> dict[str, float]:
    return dict(zip("abcdefghijklmnop", map(float, values), strict=False))


@pytest.mark.parametrize(
    ("a", "b", "metric", "expected"),
    [
        (in_order("abcdefg"), in_order("acbdehi"), "average_overlap@7", 0.8639455782),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo@7", 0.4516775714),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_min", 0.6269889406),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_res", 0.2970068196),
        (in_order("abcdefg"), in_order("acbdehi"), "rbo_ext", 0.7933182143),
        (in_order("abcdefg"), in_order("acbdehi"), "rbd", 1 - 0.7933182143),
        (in_order("abcde"), in_order("bad"), "rbo_min", 0.3955283643),
        (in_order("abcde"), in_order("bad"), "rbo_res", 0.4774716357),
        (in_order("abcde"), in_order("bad"), "rbo", 0.7794450000),
        (in_order("1234567"), in_order("13245768"), "rbo", 0.9451585),
        (in_order("1234567"), in_order("13245768"), "rbo_min", 0.7122975168),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=w)", 0.8704285714),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=a)", 0.864),
        (scored(4, 3, 3, 1), scored(3, 4, 2, 2), "rbo(ties=b)", 0.8808848316),
        (in_order("abc"), in_order("bax"), "overlap@2", 1.0),
        (in_order("abc"), in_order("bax"), "overlap@5", 0.4),
        (in_order("abc"), in_order("ba"), "overlap", 2 / 3),
        (in_order("abc"), in_order("bax"), "jaccard", 0.5),
        (in_order("abc"), in_order("bax"), "jaccard@1", 0.0),
    ],
)  # fmt: skip
def test_published_values(a: Scores, b: Scores, metric: str, expected: float) -> None:
    assert agreement(a, b, metric) == pytest.approx(expected, abs=1e-10)


def test_the_weight_of_the_top() -> None:
    assert rf.rbo_weight(0.9, 10) == pytest.approx(0.8555854467, abs=1e-10)
    assert rf.rbo_weight(0.98, 50) == pytest.approx(0.8522339103, abs=1e-10)
    assert rf.rbo_weight(0.9, 7) == pytest.approx(0.7671390168, abs=1e-10)
    for p, d in [(0.5, 1), (0.9, 10), (0.98, 50), (0.999, 3)]:
        assert rf.rbo_p(rf.rbo_weight(p, d), d) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rf.rbo_weight(1.0, 3), "p must be strictly between 0 and 1, not 1."),
        (lambda: rf.rbo_weight(0.5, 0), "a depth must be at least 1, not 0."),
        (lambda: rf.rbo_p(1.5, 3), "weight must be strictly between 0 and 1, not 1.5."),
        (lambda: rf.rbo(p=1), "p must be strictly between 0 and 1, not 1."),
        (lambda: rf.agree({"q": {"a": 1}}, {"q": {"a": 1}}, "rbo(ties=x)"),
         "'rbo(ties=x)': ties must be 'broken' or 'w' or 'a' or 'b', not 'x'."),
        (lambda: rf.agree({"q": {"a": 1}}, {"q": {"a": 1}}, "ndcg@10"),
         "'ndcg@10' compares a run with judgments: see rf.evaluate, or `rankframe evaluate`."),
        (lambda: rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "rbo"),
         "'rbo' compares two rankings without judgments: see rf.agree, or `rankframe agree`."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call: Callable[[], object], said: str, refusal) -> None:
    assert refusal(call) == said


# --- by the definitions ---------------------------------------------------------------------------

ps = st.sampled_from([0.3, 0.8, 0.9, 0.98])


def orders(ranking: Scores) -> list[list[str]]:
    """Every way to break the ties."""
    each = [list(itertools.permutations(group)) for group in groups_of(ranking)]
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*each)]


def rbo_by_definition(x: list[str], y: list[str], p: float, what: str, k: int = 0) -> float:
    short, long = sorted((x, y), key=len)
    s, l = len(short), len(long)  # noqa: E741 (the letters of the paper)
    overlap = {d: len({*short[:d]} & {*long[:d]}) for d in range(l + k + 1)}
    if what == "at":
        return (1 - p) * math.fsum(p ** (d - 1) * overlap[d] / d for d in range(1, k + 1))
    if what == "min":
        rest = -math.log1p(-p) - math.fsum(p**d / d for d in range(1, l + 1))
        seen = math.fsum(p**d * overlap[d] / d for d in range(1, l + 1))
        return (1 - p) / p * (seen + overlap[l] * rest)
    if what == "res":
        f = l + s - overlap[l]
        rest = -math.log1p(-p) - math.fsum(p**d / d for d in range(1, f + 1))
        missing = s * math.fsum(p**d / d for d in range(s + 1, f + 1))
        missing += l * math.fsum(p**d / d for d in range(l + 1, f + 1))
        return p**s + p**l - p**f - (1 - p) / p * (missing + overlap[l] * rest)
    seen = math.fsum(p**d * overlap[d] / d for d in range(1, l + 1))
    seen += math.fsum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    final = (overlap[l] - overlap[s]) / l + overlap[s] / s
    return (1 - p) / p * seen + final * p**l


@settings(max_examples=60)
@given(rankings, rankings, ps)
def test_rbo_with_broken_ties(a: Scores, b: Scores, p: float) -> None:
    x, y = broken(a), broken(b)
    for metric, what, k in (("rbo", "ext", 0), ("rbo_min", "min", 0), ("rbo_res", "res", 0)):
        expected = rbo_by_definition(x, y, p, what, k)
        assert agreement(a, b, f"{metric}(p={p})") == pytest.approx(expected, abs=1e-12)
    for k in (1, 3, 9):
        expected = rbo_by_definition(x, y, p, "at", k)
        assert agreement(a, b, f"rbo(p={p})@{k}") == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(rankings, rankings, ps)
def test_ties_a_is_the_mean_over_all_orders_of_the_ties(a: Scores, b: Scores, p: float) -> None:
    both = list(itertools.product(orders(a), orders(b)))
    for metric, what, k in (
        ("rbo(ties=a, p={})", "ext", 0), ("rbo_min(ties=a, p={})", "min", 0),
        ("rbo_res(ties=a, p={})", "res", 0), ("rbo(ties=a, p={})@2", "at", 2),
        ("rbo(ties=a, p={})@9", "at", 9),
    ):  # fmt: skip
        values = [rbo_by_definition(x, y, p, what, k) for x, y in both]
        expected = math.fsum(values) / len(values)
        assert agreement(a, b, metric.format(p)) == pytest.approx(expected, abs=1e-12)


def rbo_with_ties(a: Scores, b: Scores, p: float, ties: str) -> dict[str, float]:
    """Corsi and Urbano (2024), from a table of contributions."""
    short, long = sorted((a, b), key=len)
    s, l = len(short), len(long)  # noqa: E741
    cs, cl = contributions(short, ties, l), contributions(long, ties, l)
    depth = np.arange(1, l + 1)
    zero = np.zeros(l)
    overlap = sum((cs[d] * cl[d] for d in short if d in long), zero)
    if ties == "w":
        size = np.where(depth <= s, sum(cs.values(), zero), depth)
        norm = (size + sum(cl.values(), zero)) / 2
    else:
        squares = np.where(depth <= s, sum((c**2 for c in cs.values()), zero), depth)
        norm = np.sqrt(squares) * np.sqrt(sum((c**2 for c in cl.values()), zero))
    seen = overlap / norm
    only = [cl[d] for group in groups_of(long) for d in group if d not in short]
    mean, most = np.zeros(l), np.zeros(l)
    for d in range(s + 1, l + 1):
        inside = [c[d - 1] for c in only if c[d - 1] > 0]
        mean[d - 1] = np.mean(inside)
        most[d - 1] = sum(c[d - 1] for c in only[: d - s])
    reach = np.where(depth > s, depth - s, 0)
    shared = len(short.keys() & long.keys())
    at_s = seen[s - 1]
    weight = p**depth
    rest = shared * (-math.log1p(-p) - math.fsum(weight / depth))
    f = l + s - shared
    beyond = math.fsum((2 * d - l - s + shared) / d * p**d for d in range(l + 1, f + 1))
    beyond += p ** (f + 1) / (1 - p)
    ext = math.fsum((seen + at_s * reach * mean / norm) * weight)
    ext += (shared + (l - s) * at_s) / l * p ** (l + 1) / (1 - p)
    least = math.fsum(seen * weight) + rest
    largest = math.fsum((seen + most / norm) * weight) + beyond
    parts = {"rbo": ext, "rbo_min": least, "rbo_res": largest - least}
    return {name: (1 - p) / p * value for name, value in parts.items()}


@pytest.mark.parametrize("ties", ["w", "b"])
@settings(max_examples=60)
@given(a=st.one_of(rankings, deep), b=st.one_of(rankings, deep), p=ps)
def test_ties_by_their_contributions(ties: str, a: Scores, b: Scores, p: float) -> None:
    for metric, expected in rbo_with_ties(a, b, p, ties).items():
        found = agreement(a, b, f"{metric}(ties={ties}, p={p})")
        assert found == pytest.approx(expected, abs=1e-12)


@given(rankings, rankings)
def test_overlaps(a: Scores, b: Scores) -> None:
    x, y = broken(a), broken(b)
    for k in (1, 2, 5, 12):
        shared = [len({*x[:d]} & {*y[:d]}) for d in range(k + 1)]
        assert agreement(a, b, f"overlap@{k}") == shared[k] / k
        assert agreement(a, b, f"jaccard@{k}") == shared[k] / len({*x[:k]} | {*y[:k]})
        expected = math.fsum(shared[d] / d for d in range(1, k + 1)) / k
        assert agreement(a, b, f"average_overlap@{k}") == pytest.approx(expected, abs=1e-12)


def test_queries_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(7)
    sides = []
    for _ in range(2):
        rows = pl.DataFrame(
            {"query_id": rng.integers(0, 30, 400), "doc_id": rng.integers(0, 25, 400)}
        ).unique(maintain_order=True)
        sides.append(rows.with_columns(score=pl.Series(rng.integers(0, 6, rows.height) * 1.0)))
    metrics = [
        "rbo", "rbo(ties=a)", "rbo(ties=b)", "rbo(ties=w)", "rbo_res(ties=b)", "kendall_tau",
        "kendall_tau@5", "spearman", "pearson", "tau_ap", "ndpm", "fcp", "average_overlap",
    ]  # fmt: skip
    whole = rf.agree(sides[0], sides[1], metrics).per_query
    for query in whole["query_id"]:
        alone = [side.filter(pl.col("query_id") == int(query)) for side in sides]
        if all(side.height for side in alone):
            assert rf.agree(alone[0], alone[1], metrics).per_query.equals(
                whole.filter(pl.col("query_id") == query)
            )
