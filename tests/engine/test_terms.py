"""Terms and sums: averages, spread and intervals by t, against scipy and by definition."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy import stats

from rankframe.engine.plan import PerQuery
from rankframe.engine.terms import Sums, Terms
from rankframe.metrics.names import Metric, resolve
from tests.support.oracles import about, random_case
from tests.support.summaries import (
    LAG,
    METRICS,
    MICRO,
    WEIGHTED,
    evaluated,
    finish,
    parts,
    same_for_all,
    summary,
)


@pytest.mark.parametrize("label", METRICS)
def test_the_spread_is_that_of_the_values(label: str) -> None:
    values = evaluated(metrics=[label]).per_query[label].drop_nulls().to_numpy()
    assert summary()[label]["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("label", ["ndcg@10", LAG, "gm_map", "num_retrieved"])
def test_the_t_interval_of_a_mean_is_scipys(label: str, confidence: float) -> None:
    number, _ = parts(label)
    expected = stats.t.interval(
        confidence, len(number) - 1, loc=number.mean(), scale=stats.sem(number)
    )
    row = summary(ci="t", confidence=confidence)[label]
    expected = finish(label, np.array(expected), len(number)).tolist()
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("label", [MICRO, WEIGHTED])
def test_the_t_interval_of_a_ratio_is_by_the_delta_method(label: str) -> None:
    above, below = parts(label)
    n, ratio = len(above), above.sum() / below.sum()
    # the gradient of a/b, and the covariances of the means of both
    slope = np.array([1, -ratio]) / below.mean()
    error = math.sqrt(slope @ (np.cov(above, below) / n) @ slope)
    half = stats.t.ppf(0.975, n - 1) * error
    row = summary(ci="t")[label]
    assert [row["ci_low"], row["ci_high"]] == about([ratio - half, ratio + half])


def test_values_beyond_the_range_of_squares_have_no_spread() -> None:
    own = (pl.col("relevant_total").first() * 1e200).alias("own")
    row = summary(same_for_all(3), [own], ci="t")["own"]
    assert row["value"] == pytest.approx(3e200)
    assert (row["std"], row["ci_low"]) == (None, None)


def test_a_spread_survives_a_large_mean() -> None:
    # 1e9 + 0, 1, 2: their squares differ in the digits that floats lose
    case = random_case(2, queries=3, missing=False)
    rank = pl.col("query_id").first().str.slice(1).cast(pl.Float64)
    row = summary(case, [(rank + 1e9).alias("own")], ci="t")["own"]
    assert row["std"] == 1.0
    assert row["ci_high"] - row["ci_low"] == pytest.approx(
        2 * stats.t.ppf(0.975, 2) / math.sqrt(3), abs=1e-6
    )


def metric(name: str) -> Metric:
    return resolve(name)[0]


VALUES = pl.DataFrame({"query_id": ["a", "b", "c"], "m": [0.5, None, 0.0]})


def terms(average: str, **sides: Any) -> Terms:
    computed = PerQuery(
        VALUES, *(pl.DataFrame({"m": sides.get(s, [])}) for s in ("above", "below"))
    )
    weights = np.array([2.0, 9.0, 1.0]) if average == "weighted" else None
    return Terms.of(Metric("m", cast("Any", average), expression=pl.lit(1)), computed, weights)


@pytest.mark.parametrize(
    ("average", "above", "below"),
    [
        ("macro", [0.5, 0, 0], [1, 0, 1]),
        ("sum", [0.5, 0, 0], [1, 0, 1]),
        ("geometric", [math.log(0.5), 0, math.log(1e-5)], [1, 0, 1]),
        ("weighted", [1, 0, 0], [2, 0, 1]),
        ("micro", [3, 0, 0], [6, 0, 5]),
    ],
)
def test_what_an_average_is_made_of(average: str, above: list, below: list) -> None:
    found = terms(average, above=[3.0, 4.0, 0.0], below=[6.0, 7.0, 5.0])
    assert found.above.tolist() == above
    assert found.divisor.tolist() == below
    assert found.defined.tolist() == [True, False, True]
    first, last = found.cut(0, 1), found.taken(np.array([2]))
    assert (first.above.tolist(), first.divisor.tolist()) == (above[:1], below[:1])
    assert (last.above.tolist(), last.divisor.tolist()) == (above[2:], below[2:])


def test_sums_of_stretches_add_up_to_the_sum_of_all() -> None:
    values = np.array([0.1, 0.2, 0.3, 1e9, -1e9, 0.7])
    frame = pl.DataFrame({"query_id": list("abcdef"), "m": values})
    some = Terms.of(Metric("m", "macro", expression=pl.lit(1)), PerQuery.of(frame))
    (whole,) = Sums.over(some, np.zeros(1, np.int64), products=True)
    parts = Sums.over(some, np.array([0, 1, 4]), products=True)
    assert [part.queries for part in parts] == [1, 3, 2]
    assert parts[0].merge(parts[1]).merge(parts[2]) == whole
    assert parts[2].merge(parts[1].merge(parts[0])) == whole
    assert float(whole.total) == math.fsum(values)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("precision@1", 1.5 / 2), ("gm_map", math.exp(1.5 / 2)), ("num_retrieved", 1.5)],
)
def test_an_average_is_finished_by_its_kind(name: str, expected: float) -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "m": [1.0, 0.5]})
    some = Terms.of(Metric("m", "macro", expression=pl.lit(1)), PerQuery.of(frame))
    (sums,) = Sums.over(some, np.zeros(1, np.int64), products=False)
    assert sums.average(metric(name)) == pytest.approx(expected, rel=1e-15)
    assert Sums(0).average(metric(name)) is None
    assert Sums(0).deviation is None
    assert Sums(0).interval(metric(name), 0.95) is None
