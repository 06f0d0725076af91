"""Medians and other quantiles: exact, the same from any parts, and in intervals that cover."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import rankframe as rf
from rankframe.stats.intervals import OrderedValues, find_quantile_ranks
from tests.support.pieces import assert_same, in_pieces, shop_like

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.9)
AVERAGES: list[Any] = [
    "ndcg(average=median)@10",
    "map(average=min)",
    "map(average=quantile(q=0.1))",
    "precision(average=quantile(q=0.75))@3",
    "bpref",
]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 99, 1000])
def test_quantiles_are_those_of_numpy_from_any_parts(count: int) -> None:
    random = np.random.default_rng(count)
    for values in (random.normal(size=count), random.integers(-2, 3, count) / 4):
        parts = reduce(
            OrderedValues.merge,
            map(OrderedValues.from_values, np.array_split(random.permutation(values), 4)),
        )
        assert len(parts) == count
        for level in LEVELS:
            found = parts.quantile(level)
            assert found == OrderedValues.from_values(values).quantile(level)
            assert found == pytest.approx(np.quantile(values, level), abs=1e-15)
    assert OrderedValues().quantile(0.5) is None


def test_places_are_those_of_the_binomial_distribution() -> None:
    for count in (1, 5, 6, 20, 100, 12_345, 2_000_000):
        for level in (0.01, 0.1, 0.5, 0.9):
            for confidence in (0.8, 0.95, 0.999):
                tail = (1 - confidence) / 2
                low, high = binom.ppf(tail, count, level), binom.ppf(1 - tail, count, level) + 1
                expected = (int(low), int(high)) if low >= 1 and high <= count else None
                assert find_quantile_ranks(count, level, confidence) == expected
    assert find_quantile_ranks(0, 0.5, 0.95) is None
    assert find_quantile_ranks(100, 0.0, 0.95) is None


def test_intervals_cover_at_least_as_often_as_they_say() -> None:
    random, trials = np.random.default_rng(3), 3_000
    # Skewed, and with many equal values: what metrics are like.
    kinds = {
        "skewed": (lambda n: random.exponential(size=n), lambda q: -np.log1p(-q)),
        "equal": (lambda n: np.floor(random.random(n) * 4) / 4, lambda q: np.floor(q * 4) / 4),
    }
    for draw, quantile in kinds.values():
        for count, level in ((25, 0.5), (60, 0.1)):
            missed = 0
            for _ in range(trials):
                found = OrderedValues.from_values(draw(count)).interval(level, 0.9)
                assert found is not None
                missed += not found[0] <= quantile(level) <= found[1]
            assert missed / trials <= 0.1 + 3 * (0.09 / trials) ** 0.5


def test_summaries_are_the_same_in_pieces_and_have_the_values_of_numpy() -> None:
    qrels, run = shop_like()
    whole = rf.evaluate(qrels, run, AVERAGES)
    for pieces in (1, 5):
        assert_same(in_pieces(qrels, run, pieces, AVERAGES), whole)
    values = whole.per_query
    for label, level in zip(AVERAGES, (0.5, 0.0, 0.1, 0.75), strict=False):
        assert whole[label] == pytest.approx(np.quantile(values[label].drop_nulls(), level))
    rows = {row["metric"]: row for row in whole.summary.to_dicts()}
    assert rows[AVERAGES[1]]["ci_low"] is None
    median = rows[AVERAGES[0]]
    assert median["ci_low"] <= median["value"] <= median["ci_high"]
    assert rf.evaluate(qrels, run, AVERAGES, ci="t").summary.head(4).equals(whole.summary.head(4))
    assert rf.evaluate(qrels, run, AVERAGES, ci=None).summary["ci_low"].null_count() == 5


def test_what_compares_means_takes_none_of_them(refusal) -> None:
    qrels, run = {"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0}, "p": {"a": 1.0}}
    name = "map(average=median)"
    result = rf.evaluate(qrels, run, name)
    own = rf.metric(rf.map(), "own", average="quantile(q=0.1)")
    for refused in (
        refusal(rf.compare, qrels, {"a": run, "b": run}, name),
        refusal(rf.compare, qrels, {"a": run, "b": run}, own),
        refusal(rf.compare, None, {"a": result, "b": result}),
        refusal(rf.diff, qrels, run, run, name),
        refusal(rf.gate, None, result, result, [f"{name}: at least 0.1"]),
        refusal(rf.tune, qrels, {"a": run, "b": run}, metric=name),
        refusal(rf.curve, qrels, run, "metric_at_k", metric=name),
    ):
        assert "is not a mean, and this function compares means" in refused
    assert rf.evaluate(qrels, run, own)["own"] == 1
    refusal(rf.evaluate, qrels, run, "map(average=quantile(q=1))")
