"""One metric of several systems: every number against numpy and scipy."""

from __future__ import annotations

from itertools import combinations
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe.analysis.differences import AlignedValues, Setup
from rankframe.core.options import Comparing, Intervals, Unpaired
from rankframe.metrics.names import resolve
from rankframe.stats.bootstrap import hash_ids
from rankframe.stats.intervals import percentile_interval
from rankframe.stats.significance import TESTS
from tests.support.compared import (
    ATTRIBUTES,
    FAST,
    METRICS,
    MICRO,
    NAMES,
    QRELS,
    QUERIES,
    RUNS,
    WEIGHTED,
    compared,
    paired_of,
    rows_of,
    values_of,
)
from tests.support.draws import poisson_weights
from tests.support.oracles import Case


def better_and_worse(label: str, base: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    up, down = int((other > base).sum()), int((other < base).sum())
    return (down, up) if label == "lag" else (up, down)


@pytest.mark.parametrize("baseline", [None, "new"])
@pytest.mark.parametrize("label", METRICS)
def test_the_table_is_what_numpy_and_scipy_say(label: str, baseline: str | None) -> None:
    found = rows_of(compared(baseline=baseline, ci="t").table, label)
    values, every = paired_of(label), values_of(label)
    pairs = list(combinations(range(3), 2)) if baseline is None else [(1, 0), (1, 2)]
    assert [(row["baseline"], row["system"]) for row in found] == [
        (NAMES[i], NAMES[j]) for i, j in pairs
    ]
    for row, (i, j) in zip(found, pairs, strict=True):
        base, other = values[i], values[j]
        apart, n = other - base, values.shape[1]
        test: Any = stats.ttest_rel(other, base)
        low, high = test.confidence_interval(0.95)
        better, worse = better_and_worse(label, base, other)
        expected = {
            "baseline_value": base.mean(),
            "value": other.mean(),
            "difference": apart.mean(),
            "relative": apart.mean() / base.mean(),
            "ci_low": low,
            "ci_high": high,
            "p_value": test.pvalue,
            "effect_size": apart.mean() / apart.std(ddof=1),
            "wins": better,
            "ties": n - better - worse,
            "losses": worse,
            "queries": n,
            "undefined": every.shape[1] - n,
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_some_queries_tie_and_some_are_undefined() -> None:
    table = compared().table
    assert table.filter(pl.col("ties") > 0).height
    undefined = dict(table.select("metric", "undefined").rows())
    assert undefined["lag"] > 0
    assert undefined["ndcg@10"] == 0


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
@pytest.mark.parametrize("label", METRICS)
def test_other_tests_are_scipys(label: str, test: Any) -> None:
    values = paired_of(label)
    for row, (i, j) in zip(
        rows_of(compared(test=test).table, label), combinations(range(3), 2), strict=True
    ):
        apart = (values[j] - values[i]).round(12)  # so that rounding breaks no ties
        if test == "wilcoxon":
            expected: Any = stats.wilcoxon(apart)
        else:
            expected = stats.binomtest(int((apart > 0).sum()), int((apart != 0).sum()))
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)


def test_randomisation_and_tukey_agree_with_t_about() -> None:
    tables = {
        test: compared(["ndcg@10"], test=test, permutations=5_000, correction="bh").table
        for test in ("t", "randomisation", "tukey")
    }
    for at in range(3):
        p = {test: table["p_value"][at] for test, table in tables.items()}
        assert p["randomisation"] == pytest.approx(p["t"], abs=0.03)
        assert p["tukey"] > p["randomisation"] - 0.03
    means = values_of("ndcg@10").mean(axis=1)
    assert means.argmax() != means.argmin()
    again = compared(["ndcg@10"], test="randomisation", permutations=5_000, correction="bh")
    assert again.table.equals(tables["randomisation"])
    other = compared(["ndcg@10"], test="randomisation", permutations=5_000, seed=1)
    assert other.table["p_value"].to_list() != tables["randomisation"]["p_value"].to_list()


def test_each_system_by_itself_is_as_evaluated() -> None:
    metrics = ["ndcg@10", "gm_map", "num_retrieved", MICRO, WEIGHTED]
    known: Any = {"queries": ATTRIBUTES, "weight": "w"}
    for ci in ("t", "bootstrap"):
        found = compared(metrics, ci=ci, **known).systems
        assert found["system"].to_list() == NAMES * len(metrics)
        for name, run in RUNS.items():
            alone = rf.evaluate(QRELS, run, metrics, ci=ci, replicates=100, **known).summary
            here = found.filter(pl.col("system") == name)
            for column in ("value", "ci_low", "ci_high", "queries"):
                assert here[column].to_list() == pytest.approx(
                    alone[column].to_list(), rel=1e-10
                ), (ci, name, column)
            assert here["value"].equals(alone["value"])


@pytest.mark.parametrize("label", ["ndcg@10", "lag"])
def test_the_bootstrap_of_a_difference_draws_queries_for_both(label: str) -> None:
    values = values_of(label)
    defined = ~np.isnan(values).any(axis=0)
    weights = poisson_weights(pl.Series(QUERIES), 150, 4)[:, defined]
    drawn = weights @ values[:, defined].T / weights.sum(axis=1, keepdims=True)
    found = rows_of(compared(replicates=150, seed=4, confidence=0.8).table, label)
    for row, (i, j) in zip(found, combinations(range(3), 2), strict=True):
        expected = percentile_interval(drawn[:, j] - drawn[:, i], int(defined.sum()), 0.8)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected, abs=1e-9)


def test_a_metric_that_is_averaged_over_sums() -> None:
    hits, totals = [], []
    for run in RUNS.values():
        rankings = Case(QRELS, run).rankings()
        hits.append([sum(r <= 5 for r in rankings[q].relevant_ranks) for q in QUERIES])
        totals.append([rankings[q].relevant_total for q in QUERIES])
    above, below = np.array(hits, float), np.array(totals, float)
    ratios = above.sum(axis=1) / below.sum(axis=1)
    found = rows_of(compared([MICRO], ci="t").table, MICRO)
    for row, (i, j) in zip(found, combinations(range(3), 2), strict=True):
        # how far each query pulls, by the linear part
        pull = [(above[at] - ratios[at] * below[at]) / below[at].mean() for at in (i, j)]
        error = stats.sem(pull[1] - pull[0])
        assert row["difference"] == pytest.approx(ratios[j] - ratios[i], abs=1e-12)
        t = (ratios[j] - ratios[i]) / error
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 39), rel=1e-9)
        half = stats.t.ppf(0.975, 39) * error
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(
            (row["difference"] - half, row["difference"] + half), abs=1e-12
        )
        assert row["effect_size"] == pytest.approx(t / np.sqrt(40), rel=1e-9)


@pytest.mark.parametrize("test", ["t", "randomisation", "tukey"])
def test_weighted_metrics_are_compared_as_such(test: Any) -> None:
    known: Any = {"queries": ATTRIBUTES, "weight": "w", "ci": "t"}
    row = rows_of(compared([WEIGHTED], test=test, **known).table, WEIGHTED)[0]
    values, w = values_of("ndcg@10")[:2], ATTRIBUTES["w"].to_numpy()
    means = np.average(values, axis=1, weights=w)
    assert (row["baseline_value"], row["value"]) == pytest.approx(tuple(means), abs=1e-12)
    assert row["difference"] == pytest.approx(means[1] - means[0], abs=1e-12)
    apart = values[1] - values[0]
    error = stats.sem(w * (apart - np.average(apart, weights=w)) / w.mean())
    if test == "t":
        t = (means[1] - means[0]) / error
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 39), rel=1e-9)
    else:
        assert 0 < row["p_value"] <= 1
    half = stats.t.ppf(0.975, 39) * error
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * half, rel=1e-9)


def test_geometric_means_and_sums() -> None:
    found = compared(["gm_map", "num_retrieved"], ci="t").table
    logs = np.log(np.maximum(values_of("gm_map"), 1e-5))
    row = rows_of(found, "gm_map")[0]
    assert row["value"] == pytest.approx(np.exp(logs[1].mean()), rel=1e-12)
    assert row["difference"] == pytest.approx(np.exp(logs[1].mean()) - np.exp(logs[0].mean()))
    # tested where it is a mean: among the logarithms
    assert row["p_value"] == pytest.approx(stats.ttest_rel(logs[1], logs[0]).pvalue, rel=1e-9)
    means = np.exp(logs[:2].mean(axis=1))
    half = stats.t.ppf(0.975, 39) * stats.sem(means[1] * logs[1] - means[0] * logs[0])
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * half, rel=1e-9)
    counts = values_of("num_retrieved")
    row = rows_of(found, "num_retrieved")[0]
    assert row["value"] == counts[1].sum()
    assert row["difference"] == counts[1].sum() - counts[0].sum()
    test: Any = stats.ttest_rel(counts[1], counts[0])
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        tuple(40 * b for b in test.confidence_interval(0.95)), rel=1e-9
    )


def test_a_baseline_of_0_has_no_relative_difference_and_itself_no_effect() -> None:
    nothing = {q: {"nowhere": 1.0} for q in QRELS}
    table = compared(
        ["map"], {"none": nothing, "old": RUNS["old"], "same": RUNS["old"]}, no_overlap="zero"
    ).table
    assert table["relative"].to_list()[:2] == [None, None]
    same = table.row(2, named=True)
    assert (same["difference"], same["relative"], same["effect_size"]) == (0.0, 0.0, 0.0)
    assert (same["p_value"], same["ci_low"], same["ci_high"]) == (1.0, 0.0, 0.0)
    assert (same["wins"], same["ties"], same["losses"]) == (0, 40, 0)
    assert not same["significant"]


def test_a_metric_that_no_query_has_is_undefined() -> None:
    nothing = {q: {"nowhere": 1.0} for q in QRELS}
    found = compared(["lag", "map"], {"old": RUNS["old"], "none": nothing}, no_overlap="zero")
    row = found.table.row(0, named=True)
    assert (row["queries"], row["undefined"]) == (0, 40)
    for name in ("value", "difference", "relative", "ci_low", "p_value", "p_corrected"):
        assert row[name] is None, name
    assert row["significant"] is False
    # what is not tested is not corrected for
    assert found.table["p_corrected"][1] == found.table["p_value"][1]
    assert "undefined" in repr(found)


def test_how_much_was_judged_goes_beside() -> None:
    found = compared(["precision@3", "map"], baseline="old").table
    for label, depth in (("precision@3", 3), ("map", 10)):
        shares = values_of(f"judged@{depth}").mean(axis=1)
        for row, at in zip(rows_of(found, label), (1, 2), strict=True):
            assert (row["judged_baseline"], row["judged"]) == pytest.approx(
                (shares[0], shares[at]), abs=1e-12
            )


def test_how_much_was_judged_is_what_the_metric_says_of_the_same_queries() -> None:
    tables = {
        "a": pl.DataFrame({"query_id": list("xyz"), "map": 0.5, "judged@10": [1.0, None, 0.25]}),
        "b": pl.DataFrame({"query_id": list("xy"), "map": 0.5, "judged@10": [0.5, 1.0]}),
    }
    cases: list[tuple[Unpaired, tuple[float, float]]] = [
        ("zero", (0.625, 0.25)),
        ("skip", (1.0, 0.5)),
    ]
    for unpaired, expected in cases:
        found = rf.compare(None, tables, unpaired=unpaired, baseline="a", **FAST).table
        for row in found.to_dicts():
            assert (row["judged_baseline"], row["judged"]) == expected
        own = found.row(by_predicate=pl.col("metric") == "judged@10", named=True)
        assert (own["baseline_value"], own["value"]) == expected


def test_micro_averages_may_go_through_tukey_where_denominators_agree() -> None:
    # every system has the same relevant documents to find: recall's denominators agree
    table = compared([MICRO], test="tukey").table
    assert table["p_value"].null_count() == 0


def setup(**options: Any) -> Setup:
    return Setup(comparing=Comparing(**options))


def test_which_tests_know_only_plain_means(refusal) -> None:
    micro = resolve([MICRO])
    for test in ("t", "randomisation", "tukey"):
        setup(test=test).check_metrics(micro)
    for test in ("wilcoxon", "sign"):
        setup(test=test).check_metrics(resolve(["map", "gm_map", "num_retrieved"]))
        refusal(setup(test=test).check_metrics, micro)


def test_the_ledger_names_permutations_only_where_there_are_some(message) -> None:
    assert setup().described()["test"] == "t, hypothesis: equal means"
    drawn = setup(test="tukey", permutations=500)
    message(drawn.described()["test"])
    message(drawn.described()["baseline"])
    assert Setup(intervals=Intervals(confidence=0.9)).level == 0.1


@pytest.mark.parametrize(("correction", "drawn"), [("none", 200), ("bh", 200), ("holm", 1_200)])
def test_permutations_are_added_where_a_correction_needs_them(correction: Any, drawn: int) -> None:
    """With 200, p is 1/201 or more, which is below 0.005; of three tests, twice 600 are drawn."""
    asked = Comparing(test="randomisation", correction=correction, permutations=200)
    found = Setup(comparing=asked, intervals=Intervals(confidence=0.995))
    assert found.with_enough_permutations(3, 1).comparing.permutations == drawn


def test_an_interval_that_ends_at_0_contains_it() -> None:
    names = {"metric": "map", "system": "b", "baseline": "a", "significant": True}
    for low, high, contradicts in ((0.0, 0.2, 1), (0.01, 0.2, 0), (-0.2, 0.0, 1), (-0.2, -0.01, 0)):
        row = pl.DataFrame({**names, "ci_low": low, "ci_high": high, "difference": 0.1})
        found = list(Setup(intervals=Intervals(ci="t")).find_contradictions(row))
        assert len(found) == contradicts


def aligned(
    *systems: list[float], metric: str = "map", complete: list[bool] | None = None
) -> AlignedValues:
    values, there = np.array(systems), np.array(complete or [True] * len(systems[0]))
    values = np.where(there, values, 0.0)
    ones = np.broadcast_to(there.astype(float), values.shape)
    return AlignedValues(values, values, ones, resolve(metric)[0], np.stack([there] * len(values)))


WITHOUT = Intervals(None)


def test_a_pair_by_hand() -> None:
    values = aligned(
        [0.5, 0.0, 1.0, 9.0], [1.0, 0.0, 0.75, 9.0], complete=[True, True, True, False]
    )
    row = values.pair_row(0, 1, WITHOUT)
    assert (row["baseline_value"], row["value"]) == (0.5, 1.75 / 3)
    assert row["difference"] == pytest.approx(0.25 / 3, rel=1e-15)
    assert row["relative"] == pytest.approx(0.5 / 3, rel=1e-15)
    assert (row["wins"], row["ties"], row["losses"]) == (1, 1, 1)
    assert (row["queries"], row["undefined"], row["small"]) == (3, 1, True)
    assert (row["ci_low"], row["ci_high"], row["judged"]) == (None, None, None)
    back = values.pair_row(1, 0, WITHOUT)
    assert back["difference"] == -cast("float", row["difference"])
    assert (back["wins"], back["losses"]) == (1, 1)


def test_one_query_shows_nothing() -> None:
    metrics = [aligned([0.5], [1.0]), aligned([1.0], [1.0])]
    for test in TESTS:
        setup = Setup(comparing=Comparing(test=cast("Any", test)), intervals=WITHOUT)
        assert setup.p_values(metrics, [(0, 1)], hash_ids(pl.Series(["a"]))) == [[None], [None]]


def test_where_lower_is_better_less_is_a_win() -> None:
    row = aligned([3.0, 1.0], [2.0, 0.0], metric="lag").pair_row(0, 1, WITHOUT)
    assert (row["difference"], row["wins"], row["losses"]) == (-1.0, 2, 0)
