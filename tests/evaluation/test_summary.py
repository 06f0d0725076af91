"""Averages, spreads and intervals against other people's formulas; the same bits in any pieces."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe.base.options import Intervals, Policies
from rankframe.engine.plan import compile_plan
from rankframe.engine.tally import WHOLE, Tally
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job
from rankframe.evaluation.summary import summarise
from rankframe.inputs.scan import scan
from rankframe.metrics.names import resolve
from rankframe.stats.intervals import percentile_interval
from rankframe.stats.resample import Groups
from tests.support.draws import poisson_weights
from tests.support.oracles import Case, about, random_case

MICRO, WEIGHTED = "recall(average=micro)@5", "ndcg(average=weighted)@5"
# undefined for queries of which nothing relevant was retrieved
LAG = "lag"
METRICS = ["ndcg@10", LAG, "gm_map", "num_retrieved", MICRO, WEIGHTED]
CASE = random_case(11, queries=40)
ROOT = Path(__file__).parents[2]
Parts = tuple[np.ndarray, np.ndarray]


def weights_of(case: Case) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {"query_id": list(case.qrels), "w": rng.integers(0, 5, len(case.qrels)) + 0.25}
    )


def evaluated(case: Case = CASE, metrics: Any = METRICS, **options: Any) -> rf.Result:
    asked = {"queries": weights_of(case), "weight": "w"} if WEIGHTED in map(str, metrics) else {}
    return rf.evaluate(case.qrels, case.run, metrics, **asked, **options)


def summary(case: Case = CASE, metrics: Any = METRICS, **options: Any) -> dict[str, dict]:
    rows = evaluated(case, metrics, **options).summary.to_dicts()
    return {row.pop("metric"): row for row in rows}


def parts(label: str, case: Case = CASE) -> Parts:
    """What a metric's average is made of, query by query in their order: above and below."""
    values = evaluated(case, [label], ci=None).per_query
    known = values.drop_nulls(label)
    number = known[label].to_numpy()
    if label == MICRO:
        rankings = case.rankings()
        hits = [sum(r <= 5 for r in rankings[q].relevant_ranks) for q in known["query_id"]]
        totals = [rankings[q].relevant_total for q in known["query_id"]]
        return np.array(hits, float), np.array(totals, float)
    if label == WEIGHTED:
        weight = known.join(weights_of(case), on="query_id", maintain_order="left")["w"].to_numpy()
        return weight * number, weight
    if label == "gm_map":
        number = np.log(np.maximum(number, 1e-5))
    return number, np.ones(len(number))


def finish(label: str, ratio: Any, queries: int) -> Any:
    if label == "gm_map":
        return np.exp(ratio)
    return ratio * queries if label == "num_retrieved" else ratio


@pytest.mark.parametrize("label", METRICS)
def test_value_and_queries(label: str) -> None:
    above, below = parts(label)
    row = summary()[label]
    assert row["value"] == pytest.approx(
        finish(label, above.sum() / below.sum(), len(above)), rel=1e-12
    )
    assert row["queries"] == len(above)


@pytest.mark.parametrize("label", METRICS)
def test_the_spread_is_that_of_the_values(label: str) -> None:
    values = evaluated(metrics=[label]).per_query[label].drop_nulls().to_numpy()
    assert summary()[label]["std"] == pytest.approx(np.std(values, ddof=1), rel=1e-12)


def test_the_case_has_undefined_values_and_zeros() -> None:
    values = evaluated().per_query
    assert 0 < values[LAG].null_count() < values.height - 2
    assert (values["gm_map"] == 0).any()


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
    job = Job(compile_plan(metrics), Policies(), intervals=intervals)
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
    whole = job.piece(*sides).tallies[WHOLE]
    parts = [part.settle(metrics, intervals) for part in whole.split(2)]
    assert len(parts) == 3
    assert all(part.groups is None for part in parts)
    joined = Tally.joined(reversed(parts))
    assert summarise(metrics, joined, intervals).equals(summarise(metrics, whole, intervals))


def test_other_seeds_draw_other_queries_and_change_nothing_else() -> None:
    one, other = (evaluated(replicates=100, seed=seed).summary for seed in (0, 1))
    assert one.drop("ci_low", "ci_high").equals(other.drop("ci_low", "ci_high"))
    for bound in ("ci_low", "ci_high"):
        assert (one[bound] != other[bound]).sum() >= len(METRICS) - 1
    assert one.equals(evaluated(replicates=100, seed=0).summary)


def test_both_kinds_of_intervals_are_about_as_wide() -> None:
    boot, by_t = summary(replicates=5_000), summary(ci="t")
    for label in METRICS:
        widths = [rows[label]["ci_high"] - rows[label]["ci_low"] for rows in (boot, by_t)]
        assert 0.85 < widths[0] / widths[1] < 1.15, label
        assert boot[label]["ci_low"] < boot[label]["value"] < boot[label]["ci_high"]


def test_more_confidence_is_wider() -> None:
    narrow, wide = (summary(confidence=c, replicates=300) for c in (0.5, 0.99))
    for label in METRICS:
        assert wide[label]["ci_low"] < narrow[label]["ci_low"]
        assert narrow[label]["ci_high"] < wide[label]["ci_high"]


def test_no_interval_where_none_is_asked_for() -> None:
    rows, with_them = summary(ci=None), summary()
    for label in METRICS:
        assert rows[label]["ci_low"] is None
        assert rows[label]["ci_high"] is None
        for same in ("value", "std", "queries"):
            assert rows[label][same] == with_them[label][same]


# --- the same bits


def frames(case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    sides = []
    for table, name in ((case.qrels, "relevance"), (case.run, "score")):
        rows = [(q, d, float(x)) for q, docs in table.items() for d, x in docs.items()]
        sides.append(pl.DataFrame(rows, schema=["query_id", "doc_id", name], orient="row"))
    return sides[0], sides[1]


def in_pieces(qrels: pl.DataFrame, run: pl.DataFrame, pieces: int, **options: Any) -> rf.Result:
    from rankframe.inputs.queries import read_attributes

    metrics = resolve(METRICS)
    job = Job(
        compile_plan(metrics),
        Policies(),
        attributes=read_attributes(weights_of(CASE), weight="w", metrics=metrics),
        intervals=Intervals(**options),
    )
    return evaluate_scanned(scan(qrels, "qrels"), scan(run, "run"), job, pieces=pieces)


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
    monkeypatch.setattr(Groups.of.__func__, "__defaults__", (16,))
    monkeypatch.setattr(Groups.added, "__defaults__", (16,))
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


def test_any_number_of_threads_gives_the_same_bits() -> None:
    code = (
        "import json, polars as pl, rankframe as rf\n"
        "from tests.evaluation.test_summary import evaluated\n"
        "rows = [evaluated(ci=ci, replicates=100).summary.rows() for ci in ('t', 'bootstrap')]\n"
        "print(json.dumps([pl.thread_pool_size(), rows]))"
    )
    outputs = []
    for threads in ("1", "3"):
        environment = os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        used, rows = json.loads(done.stdout)
        assert used == int(threads)
        outputs.append(rows)
    assert outputs[0] == outputs[1]
    here = [list(row) for row in evaluated(replicates=100).summary.rows()]
    assert outputs[0][1] == here


# --- few queries, and all the same


def same_for_all(queries: int, found: int = 1, of: int = 3) -> Case:
    """Every query has the same recall."""
    judged = {f"d{i}": 1 for i in range(of)}
    return Case(
        {f"q{i}": judged for i in range(queries)},
        {f"q{i}": {f"d{j}": 1.0 for j in range(found)} for i in range(queries)},
    )


CONSTANT = ["recall", "gm_map", "recall(average=micro)", "num_retrieved"]


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize("queries", [2, 3, 50])
def test_constant_values_have_no_spread_and_no_width(queries: int, method: str) -> None:
    for label, row in summary(same_for_all(queries), CONSTANT, ci=method, replicates=100).items():
        assert row["std"] == 0.0, label
        assert row["ci_high"] - row["ci_low"] == 0.0, label
        # kept as multiples of 2^-40 for the bootstrap
        assert row["ci_low"] == pytest.approx(row["value"], rel=1e-11), label


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_one_query_has_a_value_and_nothing_else(method: str) -> None:
    for label, row in summary(same_for_all(1), CONSTANT, ci=method).items():
        value = 1.0 if label == "num_retrieved" else about(1 / 3)
        assert row == {
            "value": value, "ci_low": None, "ci_high": None, "std": None, "queries": 1,
        }, label  # fmt: skip


@pytest.mark.parametrize("method", ["bootstrap", "t", None])
def test_no_query_has_nothing(method: str) -> None:
    rows = summary(same_for_all(5), CONSTANT, ci=method, rel=2, no_relevant="skip")
    nothing = dict.fromkeys(("value", "ci_low", "ci_high", "std")) | {"queries": 0}
    assert list(rows.values()) == [nothing] * len(CONSTANT)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_two_queries_have_an_interval(method: str) -> None:
    case = Case({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"a": 1.0}, "p": {"b": 1.0}})
    row = summary(case, ["map"], ci=method)["map"]
    assert row["std"] == pytest.approx(math.sqrt(0.5), rel=1e-15)
    expected = (0.0, 1.0) if method == "bootstrap" else stats.t.interval(0.95, 1, 0.5, 0.5)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_a_metric_that_is_defined_once_or_never(method: str) -> None:
    case = Case({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}, "p": {"b": 1.0}})
    row = summary(case, ["lag"], ci=method)["lag"]
    assert row["queries"] == 1
    assert (row["ci_low"], row["std"]) == (None, None)
    never = Case(case.qrels, {"q": {"b": 1.0}, "p": {"b": 1.0}})
    row = summary(never, ["lag"], ci=method, no_overlap="zero")["lag"]
    assert row == dict.fromkeys(("value", "ci_low", "ci_high", "std")) | {"queries": 0}


def test_values_too_large_to_resample_have_no_bootstrap_but_a_t_interval() -> None:
    case = same_for_all(3)
    own = (pl.col("relevant_total").first() * 1e13).alias("own")
    assert summary(case, [own])["own"]["ci_low"] is None
    row = summary(case, [own], ci="t")["own"]
    assert row["ci_low"] == row["ci_high"] == row["value"] == 3e13


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
