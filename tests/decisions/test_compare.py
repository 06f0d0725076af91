"""Systems side by side: every number against numpy and scipy, and no query dropped unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankframe as rf
from rankframe.stats.intervals import percentile_interval
from rankframe.stats.tests import corrected
from tests.support.draws import poisson_weights
from tests.support.oracles import random_case

QRELS = random_case(0, queries=40, missing=False).qrels
# the later ones lack some of the judged queries: they score 0 there
RUNS = {
    "old": random_case(1, queries=40, missing=False).run,
    "new": random_case(2, queries=40).run,
    "odd & <b>": random_case(3, queries=40).run,
}
NAMES = list(RUNS)
# lag: lower is better, and undefined where nothing relevant was retrieved
METRICS = ["ndcg@10", "precision@3", "lag"]
MICRO, WEIGHTED = "recall(average=micro)@5", "ndcg(average=weighted)@10"
QUERIES = sorted(QRELS)
ATTRIBUTES = pl.DataFrame(
    {
        "query_id": QUERIES,
        "locale": [("de", "en", None)[i % 3] for i in range(40)],
        "w": [i % 4 + 0.5 for i in range(40)],
    }
)
FAST: dict[str, Any] = {"replicates": 100, "permutations": 100}


def compared(metrics: Any = METRICS, runs: Any = RUNS, **options: Any) -> rf.Comparison:
    return rf.compare(QRELS, runs, metrics, **(FAST | options))


def values_of(label: str, runs: Any = RUNS, **options: Any) -> np.ndarray:
    """Systems × queries in byte order; NaN where undefined."""
    options = {"ci": None} | options
    frames = [rf.evaluate(QRELS, run, label, **options).per_query for run in runs.values()]
    return np.stack([f[label].cast(pl.Float64).fill_null(np.nan).to_numpy() for f in frames])


def paired_of(label: str, runs: Any = RUNS) -> np.ndarray:
    """Those queries where every system has a value."""
    values = values_of(label, runs)
    return values[:, ~np.isnan(values).any(axis=0)]


def rows_of(table: pl.DataFrame, label: str) -> list[dict[str, Any]]:
    return table.filter(pl.col("metric") == label, pl.col("by").is_null()).to_dicts()


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
        apart = values[j] - values[i]
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
        rankings = rf_rankings(run)
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


def rf_rankings(run: Any) -> Any:
    from tests.support.oracles import Case

    return Case(QRELS, run).rankings()


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


# --- the family of tests


@pytest.mark.parametrize("how", ["holm", "bonferroni", "bh"])
@pytest.mark.parametrize("baseline", [None, "old"])
def test_p_values_are_corrected_over_metrics_pairs_and_slices(how: Any, baseline: Any) -> None:
    table = compared(baseline=baseline, correction=how, queries=ATTRIBUTES, by="locale").table
    assert table.height == len(METRICS) * 4 * (2 if baseline else 3)
    assert table["p_corrected"].to_list() == corrected(table["p_value"].to_list(), how)
    assert table["significant"].to_list() == [p < 0.05 for p in table["p_corrected"]]


def test_significance_goes_with_the_confidence() -> None:
    for confidence in (0.5, 0.95):
        table = compared(confidence=confidence).table
        assert table["significant"].to_list() == [p < 1 - confidence for p in table["p_corrected"]]
    assert compared(confidence=0.5).note("policy_significant") == "corrected p below 0.5"


@pytest.mark.parametrize("how", ["holm", "bonferroni"])
def test_tukey_is_corrected_over_what_it_does_not_know_of(how: Any) -> None:
    table = compared(test="tukey", correction=how, queries=ATTRIBUTES, by="locale").table
    families = len(METRICS) * 4
    expected = [min(p * families, 1.0) for p in table["p_value"]]
    assert table["p_corrected"].to_list() == expected
    one = compared(["map"], test="tukey").table
    assert one["p_corrected"].equals(one["p_value"].alias("p_corrected"))
    bh = compared(test="tukey", correction="bh").table
    assert bh["p_corrected"].to_list() == corrected(bh["p_value"].to_list(), "bh")


# --- slices


@pytest.mark.parametrize("test", ["t", "randomisation", "tukey"])
def test_a_slice_is_what_its_queries_alone_give(test: Any) -> None:
    metrics = [*METRICS, MICRO] if test != "tukey" else METRICS
    options: Any = {"metrics": metrics, "test": test}
    whole = compared(**options, queries=ATTRIBUTES, by=["locale"])
    corrected_ones = ("by", "slice", "small", "p_corrected", "significant")
    assert whole.table["slice"].unique(maintain_order=True).to_list() == [
        None, "de", "en", "(none)",
    ]  # fmt: skip
    for name in ("(none)", "de", "en"):
        some = ATTRIBUTES.filter(pl.col("locale").fill_null("(none)") == name)["query_id"]
        qrels = {q: QRELS[q] for q in some}
        alone = rf.compare(qrels, RUNS, **(FAST | options))
        for frame in ("table", "systems"):
            here = getattr(whole, frame).filter(pl.col("slice") == name)
            there = getattr(alone, frame)
            assert here.drop(corrected_ones, strict=False).equals(
                there.drop(corrected_ones, strict=False)
            ), (name, frame)
    plain = compared(**options)
    assert (
        whole.table.filter(pl.col("by").is_null())
        .drop("p_corrected", "significant")
        .equals(plain.table.drop("p_corrected", "significant"))
    )


def test_rows_come_by_metric_and_then_by_slice() -> None:
    found = compared(["map", "mrr"], baseline="old", queries=ATTRIBUTES, by="locale")
    assert found.table.select("metric", "slice", "system").rows() == [
        (metric, name, system)
        for metric in ("map", "mrr")
        for name in (None, "de", "en", "(none)")
        for system in NAMES[1:]
    ]
    assert found.systems.height == 2 * 4 * 3
    assert found.table.filter(pl.col("slice") == "de")["small"].all()
    assert not found.table.filter(pl.col("slice").is_null())["small"].any()


def test_queries_without_attributes_are_counted() -> None:
    found = compared(["map"], queries=ATTRIBUTES.head(30), by="locale")
    assert count(found, "queries_without_attributes") == 10


# --- queries that not every system has


def count(found: rf.Comparison, item: str, system: str | None = None) -> float | None:
    of = pl.col("system").eq_missing(pl.lit(system, pl.String))
    return found.ledger.filter(of, pl.col("item") == item)["value"][0]


LACKING = [q for q in QUERIES if q not in RUNS["new"] or q not in RUNS["odd & <b>"]]


def test_unpaired_queries_are_an_error(refusal) -> None:
    runs = {"old": RUNS["old"], "new": RUNS["new"]}
    lacking = sorted(q for q in QRELS if q not in RUNS["new"])
    assert len(lacking) == 2
    assert refusal(compared, ["map"], runs, missing="skip") == (
        f"2 of 40 queries are not in every system, e.g. {lacking[0]!r}, which 'new' lacks. "
        'Pass unpaired="skip" to leave them out, or "zero" to score them 0.'
    )
    assert refusal(compared, unpaired="drop") == (
        "unpaired='drop' is not one of 'error', 'skip', 'zero'."
    )


def test_unpaired_queries_may_be_left_out() -> None:
    found = compared(missing="skip", unpaired="skip")
    common = {q: QRELS[q] for q in QRELS if q not in LACKING}
    alone = rf.compare(common, RUNS, METRICS, **FAST)
    assert found.table.equals(alone.table)
    assert count(found, "queries_compared") == len(common)
    assert count(found, "queries_unpaired") == len(LACKING)
    assert count(found, "queries_lacking", "old") == 0
    assert count(found, "queries_lacking", "new") == sum(q not in RUNS["new"] for q in QRELS)
    assert f"{len(LACKING)} not in every system: left out" in found.caveat


def test_unpaired_queries_may_score_0_or_be_undefined() -> None:
    found = compared(missing="skip", unpaired="zero")
    zero = compared()
    for label in ("ndcg@10", "precision@3"):
        assert rows_of(found.table, label) == rows_of(zero.table, label)
    # worse than any lag that there is
    lag, expected = rows_of(found.table, "lag")[0], rows_of(zero.table, "lag")[0]
    assert lag == expected
    assert lag["undefined"] >= len(LACKING)
    assert count(found, "queries_compared") == 40
    assert "not in every system: scored 0" in found.caveat


def test_systems_without_a_query_in_common_are_refused(refusal) -> None:
    runs = {"a": {"q0": {"best": 1.0}}, "b": {"q1": {"best": 1.0}}}
    assert refusal(compared, ["map"], runs, missing="skip", unpaired="skip") == (
        "the systems have no query in common. Is the key column right?"
    )


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


# --- what goes beside


def test_how_much_was_judged_goes_beside() -> None:
    found = compared(["precision@3", "map"], baseline="old").table
    for label, depth in (("precision@3", 3), ("map", 10)):
        shares = values_of(f"judged@{depth}").mean(axis=1)
        for row, at in zip(rows_of(found, label), (1, 2), strict=True):
            assert (row["judged_baseline"], row["judged"]) == pytest.approx(
                (shares[0], shares[at]), abs=1e-12
            )


def test_bounds_are_values_under_two_assumptions() -> None:
    metrics = ["precision@3", WEIGHTED]
    found = compared(metrics, bounds=True, queries=ATTRIBUTES, by="locale", weight="w").systems
    for name, run in RUNS.items():
        filled = []
        for grade in (0, 3):
            qrels = {
                q: dict.fromkeys(top(run.get(q, {}), 3), grade) | judged
                for q, judged in QRELS.items()
            }
            filled.append(rf.evaluate(qrels, run, "precision@3", ci=None)["precision@3"])
        row = found.filter(
            pl.col("metric") == "precision@3", pl.col("system") == name, pl.col("by").is_null()
        ).row(0, named=True)
        assert [row["if_nonrelevant"], row["if_relevant"]] == pytest.approx(filled, abs=1e-12)
        assert row["if_nonrelevant"] <= row["value"] <= row["if_relevant"]
    whole, slices = (found.filter(pl.col("by").is_null() == is_) for is_ in (True, False))
    assert whole["if_relevant"].null_count() == 0
    assert slices["if_relevant"].null_count() == slices.height
    assert "if_relevant" not in compared().systems.columns


def top(scores: dict[str, float], k: int) -> Sequence[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)[:k]


def test_the_ledger_says_what_was_done() -> None:
    found = compared(test="randomisation", correction="bh", seed=3, baseline="old")
    whole = found.ledger.filter(pl.col("system").is_null())
    assert dict(whole.select("item", "note").rows()) == {
        "queries_compared": "queries that are compared",
        "queries_unpaired": "not in every system",
        "policy_baseline": "old",
        "policy_test": "randomisation, 100 permutations, seed 3",
        "policy_correction": "bh",
        "policy_significant": "corrected p below 0.05",
        "policy_unpaired": "error",
        "policy_ci": "95%, bootstrap, 100 replicates, seed 3",
    }
    for name, run in RUNS.items():
        alone = rf.evaluate(QRELS, run, "map").ledger.filter(pl.col("item") != "policy_ci")
        here = found.ledger.filter(pl.col("system") == name).drop("system")
        assert here.row(0) == ("queries_lacking", 0.0, "that other systems have")
        assert here[1:].equals(alone)


def test_the_default_metrics_and_own_expressions() -> None:
    assert [m.label for m in compared(None).metrics] == [
        "ndcg@10", "map", "mrr@10", "precision@10", "recall@100",
    ]  # fmt: skip
    own = (pl.col("rank") <= 2).sum().alias("own")
    row = compared(own).table.row(0, named=True)
    values = np.stack([
        rf.evaluate(QRELS, run, own, ci=None).per_query["own"].to_numpy()
        for run in (RUNS["old"], RUNS["new"])
    ])  # fmt: skip
    assert row["value"] == pytest.approx(values[1].mean(), abs=1e-12)
    assert row["wins"] == (values[1] > values[0]).sum()


def test_pieces_and_the_order_of_rows_and_systems_do_not_show(tmp_path: Path) -> None:
    whole = compared()
    paths = {}
    for at, (name, run) in enumerate({"qrels": QRELS, **RUNS}.items()):
        rows = [(q, d, float(x)) for q, docs in run.items() for d, x in docs.items()]
        column = "relevance" if name == "qrels" else "score"
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", column], orient="row")
        path = tmp_path / f"{at}.parquet"
        frame.sample(fraction=1, shuffle=True, seed=at).write_parquet(path)
        paths[name] = path
    qrels = paths.pop("qrels")
    seen: list[Any] = []
    found = rf.compare(qrels, paths, METRICS, max_memory="50kB", progress=seen.append, **FAST)
    assert found.table.equals(whole.table)
    assert found.systems.equals(whole.systems)
    assert found.ledger.equals(whole.ledger)
    assert {done.stage.split(":")[0] for done in seen} == {*NAMES, "comparing"}
    turned = compared(runs=dict(reversed(RUNS.items())))
    pair = (pl.col("baseline") == "new") & (pl.col("system") == "old")
    one = turned.table.filter(pair).row(0, named=True)
    other = whole.table.row(0, named=True)
    assert (one["baseline"], one["system"]) == (other["system"], other["baseline"])
    assert one["difference"] == -other["difference"]
    assert one["p_value"] == other["p_value"]
    assert (one["wins"], one["losses"]) == (other["losses"], other["wins"])


# --- what is refused


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "oldd"}, ("baseline='oldd' is none of the systems 'old', 'new', 'odd & <b>'. "
         "Did you mean 'old'?")),
        ({"baseline": "zzzzz"}, "is none of the systems 'old', 'new', 'odd & <b>'."),
        ({"runs": {"old": RUNS["old"]}}, "a comparison takes at least two systems, not 1."),
        ({"runs": {}}, "a comparison takes at least two systems, not 0."),
        ({"runs": {1: RUNS["old"]}}, "a system's name is text, not 1."),
        ({"runs": {"": RUNS["old"]}}, "a system's name is text, not ''."),
        ({"metrics": MICRO, "test": "sign"}, (f"{MICRO!r} is no plain mean, and the sign test "
         'knows no other. Use test="t" or test="randomisation".')),
        ({"metrics": "precision(average=micro)", "test": "tukey"}, (
            "tukey compares means: a metric with average=micro has other denominators in every "
            'system. Use test="randomisation" for it.')),
        ({"metrics": ["map", "map"]}, "metric 'map' is asked for more than once."),
        ({"metrics": "mapp"}, "Did you mean"),
        ({"metrics": WEIGHTED}, "is averaged by weight"),
        ({"metrics": WEIGHTED, "queries": ATTRIBUTES.head(39), "weight": "w"},
         "1 of 40 evaluated queries have no weight"),
        ({"by": "locale"}, "by= needs queries="),
        ({"ci": "x"}, "ci='x' is not one of"),
        ({"replicates": 5}, "replicates must be a whole number"),
    ],
    ids=str,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict, said: str, refusal) -> None:
    assert said in refusal(compared, **options)


def test_systems_are_given_by_name(refusal) -> None:
    assert refusal(rf.compare, QRELS, ["a.run", "b.run"], "map") == (
        "systems are given by name, {\"bm25\": run, ...}, not as ['a.run', 'b.run']."
    )


def test_micro_averages_may_go_through_tukey_where_denominators_agree() -> None:
    # every system has the same relevant documents to find: recall's denominators agree
    table = compared([MICRO], test="tukey").table
    assert table["p_value"].null_count() == 0
