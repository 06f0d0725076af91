"""Every value of small random inputs, under any policy and average, against plain Python.

`--inputs 2000` tries more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support import brute_force, brute_pairs
from tests.support.brute_force import RefusedError, Values
from tests.support.small_inputs import ODD, Small, small, small_pair

# "k" stands for any cutoff.
JUDGED = [
    "hits", "hits@k", "hit_rate@k", "precision", "precision@k",
    "precision(denominator=retrieved)@k", "recall", "recall@k", "recall(rel=2)@k", "f1@k",
    "f(beta=2)@k", "f(beta=0.5)", "r_precision", "map", "map@k", "map(rel=2)",
    "map(denominator=retrieved)@k", "map(denominator=min)@k", "average_recall", "average_recall@k",
    "reciprocal_rank", "reciprocal_rank@k", "bpref", "bpref(rel=2)", "infap", "rbp", "rbp(p=0.5)@k",
    "rbp(gain=linear)", "rbp(gain=exp2)@k", "rbp_residual(p=0.5)", "lag", "lag(missing=end)", "auc",
     "fall_out", "fall_out@k", "iprec(recall=0)", "iprec(recall=0.1)",
    "iprec(recall=0.5)", "iprec(recall=1)", "eleven_point", "relative_precision@k", "set_precision",
    "set_recall", "set_f", "set_f(x=2)", "set_map", "judged", "judged@k", "unjudged@k",
    "num_retrieved", "num_relevant", "num_relevant_retrieved", "num_nonrelevant_judged_retrieved",
    "cg", "cg@k", "ncg", "ncg@k", "dcg@k", "dcg(gain=exp2)@k", "dcg(discount=jarvelin)@k",
    "dcg(discount=ln)@k", "ndcg", "ndcg@k", "ndcg(gain=exp2)@k", "ndcg(ideal=retrieved)@k",
    "ndcg(min_grade=2)@k", "ndcg(discount=jarvelin)@k", "ideal_dcg@k", "err", "err@k", "nerr",
    "nerr@k", "r_score", "r_score(half_life=3,neutral=1)", "ndcg_rel", "rndcg", "bin_g",
    "g_measure", "yaap", "utility", "sdcg@k", "compat", "compat(p=0.5)",
]  # fmt: skip
PAIRED = [
    "overlap", "overlap@k", "jaccard", "jaccard@k", "average_overlap", "average_overlap@k", "rbo",
    "rbo(p=0.5)@k", "rbo_ext", "rbo_ext(p=0.7)", "rbo_ext@k", "rbd(p=0.5)", "rbo_min", "rbo_min@k",
    "rbo_res", "rbo_res@k", "rbo_res(p=0.5)", "rbo_ext(ties=mean)", "rbo_min(ties=mean)",
    "rbo(ties=mean)@k", "kendall_tau", "kendall_tau(variant=a)", "kendall_tau(variant=c)", "tau_ap",
    "spearman", "pearson", "ndpm", "fcp", "fcp(ties=discordant)", "fcp(ties=ignore)",
    "fcp(average=macro)", "ndpm(average=micro)", "jaccard(average=micro)",
]  # fmt: skip
OF_EQUAL_LENGTH = ["rbo_ext(ties=w)", "rbo_ext(ties=a)", "rbo_ext(ties=b)"]
# Not a ratio: micro is refused.
NO_RATIO = [
    "hits", "hit_rate", "reciprocal_rank", "rbp", "rbp_residual", "iprec", "eleven_point",
    "num_retrieved", "num_relevant", "num_relevant_retrieved", "num_nonrelevant_judged_retrieved",
    "cg", "dcg", "ideal_dcg", "err", "rndcg", "yaap", "utility",
]  # fmt: skip
AT_ONCE = 14  # metrics of one evaluation


def averaged(chance: Random, label: str) -> str:
    """The metric with an average of its own, now and then."""
    name = label.partition("(")[0].partition("@")[0]
    average = chance.choice(["", "", "macro", "micro", "geometric", "weighted"])
    if not average or "pool" in label or (average == "micro" and name in NO_RATIO):
        return label
    if "(" in label:
        return label.replace("(", f"(average={average},")
    head, at, k = label.partition("@")
    return f"{head}(average={average}){at}{k}"


def some(chance: Random, labels: list[str]) -> list[str]:
    """Some metrics, at some cutoffs."""
    chosen = chance.sample(labels, min(AT_ONCE, len(labels)))
    return [one.replace("@k", f"@{chance.choice([1, 2, 3, 5, 10, 40])}") for one in chosen]


def frame(rows: list[tuple[str, str, float]], value: str) -> pl.DataFrame:
    kind = pl.Int64 if value == "rank" else pl.Float64
    made = pl.DataFrame(
        rows, {"query_id": pl.String, "doc_id": pl.String, value: pl.Float64}, orient="row"
    )
    return made.with_columns(pl.col(value).cast(kind))


def evaluated(given: Small, labels: list[str]) -> rf.Result:
    judged = [(query, doc, g) for query, docs in given.qrels.items() for doc, g in docs.items()]
    weights = {"query_id": list(given.weights), "weight": list(given.weights.values())}
    return rf.evaluate(
        frame(judged, "relevance"),
        frame(given.rows, given.how.by),
        labels,
        no_overlap="zero",
        queries=pl.DataFrame(weights),
        weight="weight",
        ci=None,
        **{name: value for name, value in vars(given.how).items() if name != "by"},
    )


def differences(expected: Values, result: rf.Result) -> Iterator[str]:
    """Where rankframe's values are not those of plain Python."""
    got = {row["query_id"]: row for row in result.per_query.to_dicts()}
    if got.keys() != expected.per_query.keys():
        yield f"queries {sorted(got)} for {sorted(expected.per_query)}"
        return
    for query, values in expected.per_query.items():
        for label, value in values.items():
            if not same(got[query][label], value):
                yield f"{label} of {query!r}: {got[query][label]} for {value}"
    summary = {row["metric"]: row for row in result.summary.to_dicts()}
    for label, (value, queries) in expected.summary.items():
        if not same(summary[label]["value"], value):
            yield f"{label} on average: {summary[label]['value']} for {value}"
        if "pool" not in label and summary[label]["queries"] != queries:
            yield f"{label} is of {summary[label]['queries']} queries, not of {queries}"


def same(value: Any, expected: float | None) -> bool:
    if value is None or expected is None:
        return value is expected
    return abs(value - expected) <= 1e-12 * max(1, abs(expected))


def test_judged_metrics_are_what_their_definitions_say(seeds: range) -> None:
    wrong: list[str] = []
    for seed in seeds:
        chance, given = Random(seed), small(seed)
        scored = given.how.by == "score" and given.how.order == "columns"
        chosen = some(chance, [*JUDGED, *(["auc(pool=true)"] if scored else [])])
        labels = [*dict.fromkeys(averaged(chance, one) for one in chosen), "mrr(average=weighted)"]
        try:
            expected = brute_force.evaluate(
                given.qrels, given.rows, labels, given.how, given.weights
            )
        except RefusedError:
            with pytest.raises(rf.RankframeError):
                evaluated(given, labels)
            continue
        wrong += [f"seed {seed}: {one}" for one in differences(expected, evaluated(given, labels))]
    assert wrong == []


def test_metrics_of_two_rankings_are_what_their_definitions_say(seeds: range) -> None:
    wrong: list[str] = []
    for seed in seeds:
        given = small_pair(seed)
        how = given.how
        labels = some(Random(seed), [*PAIRED, *(OF_EQUAL_LENGTH if given.even else [])])
        options: dict[str, Any] = {
            name: getattr(how, name) for name in ("order", "ties", "duplicates", "k_max")
        }
        result = rf.agree(
            frame(given.a, how.by), frame(given.b, how.by), labels,
            missing=given.missing, unmatched_queries=given.unmatched, ci=None, **options,
        )  # fmt: skip
        expected = brute_pairs.agree(given.a, given.b, labels, how, given.missing, given.unmatched)
        wrong += [f"seed {seed}: {one}" for one in differences(expected, result)]
    assert wrong == []


def test_inputs_are_of_every_kind() -> None:
    given = [small(seed) for seed in range(200)]
    for policy in ("by", "rel", "missing", "no_relevant", "order", "ties", "k_max", "judged_only"):
        assert len({getattr(one.how, policy) for one in given}) > 1
    ids = {query for one in given for query in one.qrels} | {
        row[1] for one in given for row in one.rows
    }
    assert set(ODD) <= ids
    lacking = [one for one in given if {row[0] for row in one.rows} - one.qrels.keys()]
    unjudged = [one for one in given if one.qrels.keys() - {row[0] for row in one.rows}]
    assert len(lacking) > 20
    assert len(unjudged) > 20
