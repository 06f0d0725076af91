"""How alike two rankings order: published values, scipy, and brute force by the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.support.rankings import Scores, agreement, broken, deep, rankings


def scored(*values: float) -> dict[str, float]:
    return dict(zip("abcdefghijklmnop", map(float, values), strict=False))


@pytest.mark.parametrize(
    ("a", "b", "metric", "expected"),
    [
        (scored(5, 4, 4, 2, 1), scored(3, 4, 2, 2, 1), "ndpm", 1 / 6),
        (scored(5, 4, 4, 2, 1), scored(3, 4, 2, 2, 1), "fcp", 7.5 / 9),
        (scored(5, 4, 4, 2, 1), scored(3, 4, 2, 2, 1), "fcp(ties=discordant)", 7 / 9),
        (scored(5, 4, 4, 2, 1), scored(3, 4, 2, 2, 1), "fcp(ties=ignore)", 0.875),
        (scored(1, 2, 2, 4, 5), scored(2, 1, 3, 3, 5), "spearman", 0.763157894737),
        (scored(1, 2, 2, 4, 5), scored(2, 1, 3, 3, 5), "kendall_tau(variant=a)", 0.6),
        (scored(1, 2, 2, 4, 5), scored(2, 1, 3, 3, 5), "kendall_tau", 2 / 3),
        (scored(1, 2, 2, 4, 5), scored(2, 1, 3, 3, 5), "kendall_tau(variant=c)", 0.64),
        (scored(*range(1, 11)), scored(1, 3, 2, 4, 6, 5, 7, 9, 8, 10), "spearman", 0.963636363636),
        (scored(*range(1, 11)), scored(2, 1, 4, 3, 6, 5, 8, 7, 10, 9), "spearman", 0.939393939394),
        (scored(-1, -2, -3, -4), scored(-2, -3, -4, -1), "tau_ap", -2 / 9),
        (scored(-2, -3, -4, -1), scored(-1, -2, -3, -4), "tau_ap", 1 / 3),
    ],
)  # fmt: skip
def test_published_values(a: Scores, b: Scores, metric: str, expected: float) -> None:
    assert agreement(a, b, metric) == pytest.approx(expected, abs=1e-10)


def compared(
    a: Scores, b: Scores, missing: str, k: int | None = None
) -> tuple[list[float], list[float]]:
    """Values of the documents that are compared, larger for the better."""
    top_a, top_b = (set(broken(r)[:k]) for r in (a, b))
    docs = sorted(top_a & top_b if missing == "shared" else top_a | top_b)
    worst = -1e9
    return (
        [a[d] if d in top_a else worst for d in docs],
        [b[d] if d in top_b else worst for d in docs],
    )


def undefined_or(value: float) -> float | None:
    return None if math.isnan(value) else value


def same(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", ["shared", "bottom"])
@settings(max_examples=8)
@given(a=st.one_of(rankings, deep), b=st.one_of(rankings, deep), k=st.sampled_from([None, 2, 5]))
def test_correlations_agree_with_scipy(missing: str, a: Scores, b: Scores, k: int | None) -> None:
    x, y = compared(a, b, missing, k)
    at = "" if k is None else f"@{k}"
    for metric, oracle in (
        ("kendall_tau", lambda: stats.kendalltau(x, y)[0]),
        ("kendall_tau(variant=c)", lambda: stats.kendalltau(x, y, variant="c")[0]),
        ("spearman", lambda: stats.spearmanr(x, y)[0]),
    ):
        expected = undefined_or(oracle()) if len(x) > 1 else None
        assert same(agreement(a, b, metric + at, missing=missing), expected), metric


@pytest.mark.filterwarnings("ignore")
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=2, max_size=30))
def test_pearson_agrees_with_scipy(rows: list[tuple[float, float]]) -> None:
    x, y = np.array(rows).T
    if min(np.std(x), np.std(y)) < 1e-3:  # nearly constant: scipy warns that it is inaccurate
        return
    docs = list(map(str, range(len(rows))))
    a, b = dict(zip(docs, x, strict=True)), dict(zip(docs, y, strict=True))
    assert agreement(a, b, "pearson") == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)


def test_equal_scores_correlate_with_nothing() -> None:
    # whose mean is not that score, as floats add up
    equal = {"x": 0.1, "y": 0.1, "z": 0.1}
    assert agreement(equal, equal, "pearson") is None
    assert agreement(equal, {"x": 1.0, "y": 2.0, "z": 4.0}, "pearson") is None


@pytest.mark.parametrize("missing", ["shared", "bottom"])
@settings(max_examples=8)
@given(a=rankings, b=rankings, k=st.sampled_from([None, 2, 4]))
def test_pairs_one_by_one(missing: str, a: Scores, b: Scores, k: int | None) -> None:
    x, y = compared(a, b, missing, k)
    concordant = discordant = tied = 0
    for i, j in itertools.combinations(range(len(x)), 2):
        if x[i] == x[j]:
            continue
        if y[i] == y[j]:
            tied += 1
        elif (x[i] < x[j]) == (y[i] < y[j]):
            concordant += 1
        else:
            discordant += 1
    comparable = concordant + discordant + tied
    at = "" if k is None else f"@{k}"
    pairs = len(x) * (len(x) - 1) / 2
    for metric, above, below in (
        ("ndpm", 2 * discordant + tied, 2 * comparable),
        ("fcp", concordant + tied / 2, comparable),
        ("fcp(ties=discordant)", concordant, comparable),
        ("fcp(ties=ignore)", concordant, concordant + discordant),
        ("kendall_tau(variant=a)", concordant - discordant, pairs),
    ):
        expected = above / below if below else None
        assert same(agreement(a, b, metric + at, missing=missing), expected), metric


@given(rankings, rankings)
def test_tau_ap_one_by_one(a: Scores, b: Scores) -> None:
    place = {doc: i for i, doc in enumerate(broken(a))}
    walked = [doc for doc in broken(b) if doc in place]
    kept = [
        sum(place[above] < place[doc] for above in walked[:i]) / i
        for i, doc in enumerate(walked)
        if i
    ]
    expected = 2 * math.fsum(kept) / len(kept) - 1 if kept else None
    assert same(agreement(a, b, "tau_ap"), expected)
