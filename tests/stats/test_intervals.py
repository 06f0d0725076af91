"""Intervals: options, percentiles that cover, and Student's t."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import rankframe as rf
from rankframe.stats.bootstrap import BootstrapBuckets, bootstrap_ratios
from rankframe.stats.intervals import finish_average, percentile_interval, t_interval
from tests.support.draws import plain_poisson

QRELS, RUN = {"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0}, "p": {"b": 1.0}}


@pytest.mark.parametrize(
    "option",
    [
        {"ci": "boot"},
        {"ci": "T"},
        {"confidence": 95},
        {"confidence": 1.0},
        {"confidence": 0.49},
        {"confidence": math.nan},
        {"confidence": "0.9"},
        {"confidence": True},
        {"replicates": 99},
        {"replicates": 100_001},
        {"replicates": 1e3},
        {"seed": 1.0},
        {"seed": "1"},
        {"seed": None},
        {"seed": True},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(option: dict, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", **option)


def test_options_are_described_in_the_ledger(message) -> None:
    def note(**options: object) -> str:
        ledger = rf.evaluate(QRELS, RUN, "map", **options).ledger  # pyright: ignore[reportArgumentType]
        return dict(zip(ledger["item"], ledger["note"], strict=True))["policy_ci"]

    message(note())
    message(note(confidence=0.9, replicates=200, seed=-7))
    assert note(ci="t", confidence=0.999) == "99.9%, Student's t"
    assert note(ci=None) == "none"


@pytest.mark.parametrize("queries", [2, 5, 30, 1_000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_percentiles_are_taken_where_students_t_has_them(queries: int, confidence: float) -> None:
    # Of a normal bootstrap distribution with the biased variance, it is the t interval.
    tail = stats.norm.cdf(
        math.sqrt(queries / (queries - 1)) * stats.t.ppf((1 - confidence) / 2, queries - 1)
    )
    drawn = np.random.default_rng(1).normal(size=5_000)
    expected = np.quantile(drawn, [tail, 1 - tail])
    assert percentile_interval(drawn, queries, confidence) == pytest.approx(tuple(expected))
    if queries == 1_000:
        usual = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
        assert tuple(usual) == pytest.approx(tuple(expected), abs=0.02)


def test_replicates_without_a_value_are_left_out() -> None:
    drawn = np.arange(100.0)
    with_holes = np.concatenate([drawn, np.full(50, np.nan)])
    assert percentile_interval(with_holes, 9, 0.9) == percentile_interval(drawn, 9, 0.9)
    assert percentile_interval(np.full(5, np.nan), 9, 0.9) is None
    assert percentile_interval(drawn, 1, 0.9) is None
    assert percentile_interval(drawn, 0, 0.9) is None


@pytest.mark.parametrize("queries", [2, 7, 500])
def test_the_t_interval_is_scipys(queries: int) -> None:
    expected = stats.t.interval(0.9, queries - 1, loc=0.4, scale=0.03)
    assert t_interval(0.4, 0.03, queries, 0.9) == pytest.approx(expected, abs=1e-14)
    assert t_interval(0.4, 0.0, queries, 0.9) == (0.4, 0.4)


def test_there_is_no_t_interval_of_one_query() -> None:
    assert t_interval(0.4, 0.1, 1, 0.9) is None
    assert t_interval(0.4, 0.1, 0, 0.9) is None


def test_ratios_of_every_replicate_share_their_draws() -> None:
    hashes = np.arange(1, 21, dtype=np.uint64)
    above, below = np.arange(20.0), np.ones(20)
    ratios = [(above, below), (2 * above, below)]
    drawn = bootstrap_ratios(hashes, ratios, replicates=100, seed=5)
    weights = np.array([[plain_poisson(o, r, 5) for o in range(1, 21)] for r in range(100)])
    assert drawn[:, 0] == pytest.approx((weights @ above) / weights.sum(axis=1), abs=1e-12)
    assert np.array_equal(drawn[:, 1], 2 * drawn[:, 0])


def test_a_replicate_without_a_denominator_has_no_value() -> None:
    origins, ones = np.array([7], np.uint64), np.ones(1)
    drawn = bootstrap_ratios(origins, [(ones, ones)], replicates=100, seed=0)[:, 0]
    weights = np.array([plain_poisson(7, r) for r in range(100)])
    assert np.array_equal(np.isnan(drawn), weights == 0)
    assert np.unique(drawn[weights > 0]).tolist() == [1.0]


def test_what_a_summary_makes_of_a_ratio() -> None:
    ratio = np.array([0.5, -1.0])
    assert finish_average("macro", ratio, 9).tolist() == [0.5, -1.0]
    assert finish_average("sum", ratio, 9).tolist() == [4.5, -9.0]
    assert finish_average("geometric", ratio, 9).tolist() == np.exp(ratio).tolist()


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(8)
    hit, times, queries = 0, 300, 25
    for _ in range(times):
        values = rng.random(queries) ** 2
        hashes = rng.integers(0, 2**64, queries, np.uint64)
        buckets = BootstrapBuckets.from_queries(hashes, {"v": values})
        ratios = [(buckets.values("v"), buckets.counts)]
        drawn = bootstrap_ratios(buckets.origins, ratios, replicates=300, seed=0)[:, 0]
        low, high = percentile_interval(drawn, queries, 0.9) or (0, 0)
        hit += low <= 1 / 3 <= high
    # 0.9 within four standard errors of so many trials
    assert abs(hit / times - 0.9) < 4 * math.sqrt(0.9 * 0.1 / times)
