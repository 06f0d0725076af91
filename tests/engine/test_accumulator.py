"""Terms, sums and the accumulator: against scipy, by definition, and merged in any order."""

import math
from dataclasses import KW_ONLY
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy import stats

from rankframe.core.options import Intervals, Policies
from rankframe.core.records import record
from rankframe.engine.accumulator import WHOLE, Accumulator, SliceSums, Sums, Terms, sum_by_slice
from rankframe.engine.evaluation import RunEvaluation, prepare_evaluation
from rankframe.engine.finish import summarise
from rankframe.engine.ledger import Counts, first
from rankframe.io.opening import open_table
from rankframe.io.queries import QueryAttributes, read_attributes
from rankframe.metrics.names import Metric, resolve
from rankframe.stats.bootstrap import BootstrapBuckets
from rankframe.stats.intervals import percentile_interval
from tests.support.draws import poisson_weights
from tests.support.oracles import about, random_case
from tests.support.pieces import shop_like
from tests.support.summaries import (
    CASE,
    LAG,
    METRICS,
    MICRO,
    WEIGHTED,
    evaluated,
    finish,
    frames,
    in_pieces,
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
    columns = {f"m\0{side}": numbers for side, numbers in sides.items()}
    computed = VALUES.with_columns(pl.Series(*column) for column in columns.items())
    weights = np.array([2.0, 9.0, 1.0]) if average == "weighted" else None
    return Terms.from_values(
        Metric("m", cast("Any", average), expression=pl.lit(1)), computed, weights
    )


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
    first, last = found.taken(np.array([0])), found.taken(np.array([2]))
    assert (first.above.tolist(), first.divisor.tolist()) == (above[:1], below[:1])
    assert (last.above.tolist(), last.divisor.tolist()) == (above[2:], below[2:])


def test_sums_of_stretches_add_up_to_the_sum_of_all() -> None:
    values = np.array([0.1, 0.2, 0.3, 1e9, -1e9, 0.7])
    frame = pl.DataFrame({"query_id": list("abcdef"), "m": values})
    some = Terms.from_values(Metric("m", "macro", expression=pl.lit(1)), frame)
    (whole,) = Sums.from_terms(some, np.zeros(1, np.int64), products=True)
    parts = Sums.from_terms(some, np.array([0, 1, 4]), products=True)
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
    some = Terms.from_values(Metric("m", "macro", expression=pl.lit(1)), frame)
    (sums,) = Sums.from_terms(some, np.zeros(1, np.int64), products=False)
    assert sums.average(metric(name)) == pytest.approx(expected, rel=1e-15)
    assert Sums(0).average(metric(name)) is None
    assert Sums(0).deviation is None
    assert Sums(0).interval(metric(name), 0.95) is None


@pytest.mark.parametrize("seed", [0, 8])
def test_the_bootstrap_is_what_plain_draws_give(seed: int) -> None:
    found = summary(replicates=200, seed=seed, confidence=0.9)
    queries = evaluated(metrics=["ndcg@10"], ci=None).per_query["query_id"]
    weights = poisson_weights(queries, 200, seed)
    for label in METRICS:
        above, below = parts(label)
        defined = evaluated(metrics=[label], ci=None).per_query[label].is_not_null().to_numpy()
        drawn = weights[:, defined] @ above / (weights[:, defined] @ below)
        drawn = finish(label, drawn, len(above))
        expected = percentile_interval(drawn, len(above), 0.9)
        bounds = found[label]["ci_low"], found[label]["ci_high"]
        assert bounds == pytest.approx(expected, rel=1e-10), label


@pytest.mark.parametrize("method", ["bootstrap", "t", None])
def test_parts_of_a_tally_say_the_same_without_what_they_were_drawn_from(method: Any) -> None:
    metrics = resolve([m for m in METRICS if m != WEIGHTED])
    intervals = Intervals(method, replicates=100)
    evaluation = prepare_evaluation(metrics, Policies(), intervals=intervals)
    sides = (
        pl.DataFrame(rows, schema=["query_id", "doc_id", name], orient="row")
        for rows, name in (
            (
                [(q, d, float(g)) for q, docs in CASE.qrels.items() for d, g in docs.items()],
                "relevance",
            ),
            ([(q, d, s) for q, docs in CASE.run.items() for d, s in docs.items()], "score"),
        )
    )
    whole = evaluation.evaluate_partition(*sides).slices[WHOLE]
    parts = [part.finish(metrics, intervals) for part in whole.split(2)]
    assert len(parts) == 3
    assert all(part.buckets is None for part in parts)
    united = SliceSums.unite(reversed(parts))
    finished = whole.finish(metrics, intervals, range(len(metrics)))
    assert summarise(metrics, united) == summarise(metrics, finished)
    # Gaps between slices need the replicates of some metrics.
    kept = SliceSums.unite(part.finish(metrics, intervals, {1, 3}) for part in whole.split(2))
    for at in range(len(metrics)):
        drawn, before = (one.replicates.get(at) for one in (kept, finished))
        assert (drawn is not None) == (at in (1, 3) and method == "bootstrap")
        if drawn is not None and before is not None:
            assert np.array_equal(drawn, before, equal_nan=True)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_any_pieces_and_any_order_of_rows_give_the_same_bits(method: str) -> None:
    whole = evaluated(ci=method, replicates=100).summary
    for seed, pieces in enumerate((1, 2, 7)):
        sides = [f.sample(fraction=1, shuffle=True, seed=seed) for f in frames(CASE)]
        found = in_pieces(sides[0], sides[1], pieces, ci=method, replicates=100)
        assert found.summary.equals(whole), pieces


def test_fewer_groups_than_queries_give_the_same_bits_in_any_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = summary(replicates=2_000)
    monkeypatch.setattr(BootstrapBuckets.from_queries.__func__, "__defaults__", (16,))
    monkeypatch.setattr(BootstrapBuckets.merge, "__defaults__", (16,))
    sides = frames(CASE)
    whole = in_pieces(sides[0], sides[1], 1, replicates=2_000).summary
    for pieces in (2, 7):
        assert in_pieces(sides[0], sides[1], pieces, replicates=2_000).summary.equals(whole)
    for row in whole.to_dicts():
        one = alone[row["metric"]]
        width, other = (r["ci_high"] - r["ci_low"] for r in (row, one))
        # other draws, of groups: about as wide, from so few of them
        assert row["ci_low"] != one["ci_low"]
        assert 0.4 < width / other < 1.8, row["metric"]


def test_values_too_large_to_resample_have_no_bootstrap_but_a_t_interval() -> None:
    case = same_for_all(3)
    own = (pl.col("relevant_total").first() * 1e13).alias("own")
    assert summary(case, [own])["own"]["ci_low"] is None
    row = summary(case, [own], ci="t")["own"]
    assert row["ci_low"] == row["ci_high"] == row["value"] == 3e13


def test_slices_are_tallied_beside_all_queries() -> None:
    metrics = resolve(["map", "mrr"])
    frame = pl.DataFrame({"query_id": list("abcd"), "map": [0.1, 0.2, 0.3, 0.4], "mrr": [1.0] * 4})
    known = QueryAttributes(None, (np.array([0, 1, 0, 2]), np.array([5, 5, 5, 5])))
    found = sum_by_slice(metrics, frame, known, Intervals(None))
    queries = {key: tally.sums[0].queries for key, tally in found.items()}
    assert queries == {WHOLE: 4, (0, 0): 2, (0, 1): 1, (0, 2): 1, (1, 5): 4}
    assert found[0, 0].sums[0].average(metrics[0]) == 0.2
    assert all(tally.buckets is None for tally in found.values())
    assert found[0, 0].merge(found[0, 1]).merge(found[0, 2]) == found[WHOLE] == found[1, 5]


def test_a_slice_draws_its_own_queries() -> None:
    metrics, intervals = resolve(["map"]), Intervals(replicates=100)
    values = np.random.default_rng(1).random(40)
    frame = pl.DataFrame({"query_id": [f"q{at}" for at in range(40)], "map": values})
    known = QueryAttributes(None, (np.arange(40) % 2,))
    found = sum_by_slice(metrics, frame, known, intervals)
    for number in (0, 1):
        own = frame.filter(pl.Series(known.slices[0] == number))
        alone = sum_by_slice(metrics, own, QueryAttributes(), intervals)[WHOLE]
        bounds = alone.finish(metrics, intervals).bounds
        assert found[0, number].finish(metrics, intervals).bounds == bounds != (None,)


@record
class Seen(Counts):
    """Counts of every kind: a number, one that may not be counted, and an example."""

    _: KW_ONLY
    maybe: int | None = None
    example: str | None = first()


def seen(left: int, right: int, maybe: int | None = None, example: str | None = None) -> Seen:
    return Seen(left_rows=left, right_rows=right, maybe=maybe, example=example)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (seen(1, 2), seen(3, 4), seen(4, 6)),
        (seen(0, 0, 5), seen(0, 0, 7), seen(0, 0, 12)),
        (seen(0, 0, 5), seen(0, 0), seen(0, 0, 5)),
        (seen(0, 0), seen(0, 0, 0), seen(0, 0, 0)),
        (seen(0, 0, None, "b"), seen(0, 0, None, "a"), seen(0, 0, None, "a")),
        (seen(0, 0, None, "b"), seen(0, 0), seen(0, 0, None, "b")),
    ],
)
def test_counts_add_up_and_the_first_name_is_kept(one: Seen, other: Seen, expected: Seen) -> None:
    assert one.merge(other) == other.merge(one) == expected
    assert one.merge(other).rows == (
        one.left_rows + other.left_rows,
        one.right_rows + other.right_rows,
    )


def sides() -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = shop_like()
    return open_table(qrels, "qrels").frame.collect(), open_table(run, "run").frame.collect()


def evaluation() -> RunEvaluation:
    metrics = resolve(["ndcg@5", "lag", MICRO])
    known = pl.DataFrame(
        {"query_id": list(map(str, range(60))), "half": [i < 30 for i in range(60)]}
    )
    attributes = read_attributes(known, by="half", metrics=metrics)
    return prepare_evaluation(metrics, Policies(), attributes=attributes).with_max_grade(3.0)


def in_parts(of: RunEvaluation, count: int) -> list[Accumulator]:
    number = pl.col("query_id").cast(pl.Int64) % count
    return [
        of.evaluate_partition(*(side.filter(number == at) for side in sides()))
        for at in range(count)
    ]


def merged(of: RunEvaluation, parts: list[Accumulator]) -> Accumulator:
    whole = of.empty()
    for part in parts:
        whole.merge(part)
    return whole


def test_nothing_is_merged_into_nothing() -> None:
    nothing = evaluation().empty()
    nothing.merge(evaluation().empty())
    assert nothing.join().is_empty()
    assert nothing.counts.rows == (0, 0)
    assert nothing.slices == evaluation().empty().slices


@pytest.mark.parametrize("count", [1, 2, 5])
def test_partitions_are_the_same_as_all_at_once(count: int) -> None:
    of = evaluation()
    alone, whole = of.evaluate_partition(*sides()), merged(of, in_parts(of, count))
    assert whole.join().equals(alone.join())
    assert whole.counts == alone.counts
    assert set(whole.slices) == set(alone.slices) == {WHOLE, (0, 0), (0, 1)}
    for key, sums in alone.slices.items():
        assert whole.slices[key].sums == sums.sums
        finished = (
            part.finish(of.averages.metrics, of.averages.intervals)
            for part in (sums, whole.slices[key])
        )
        assert len({part.bounds for part in finished}) == 1


def test_a_slice_that_only_one_partition_has_is_kept() -> None:
    of = evaluation()
    half = pl.col("query_id").cast(pl.Int64) < 30
    parts = [of.evaluate_partition(*(s.filter(some) for s in sides())) for some in (half, ~half)]
    assert [set(part.slices) for part in parts] == [{WHOLE, (0, 1)}, {WHOLE, (0, 0)}]
    for order in (parts, parts[::-1]):
        whole = merged(of, order)
        assert set(whole.slices) == {WHOLE, (0, 0), (0, 1)}
        assert whole.join().equals(of.evaluate_partition(*sides()).join())
