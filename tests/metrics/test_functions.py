"""Metric functions as metrics: `rf.ndcg(k=10)` is "ndcg@10", wherever metrics are taken."""

from __future__ import annotations

import inspect
import math
import pickle
import random
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.names import parse, resolve
from tests.contracts.test_metrics import variants

QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "d": 1}, "q3": {"b": 2, "c": 0}}
OLD = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}, "q2": {"x": 2.0, "d": 1.0}, "q3": {"c": 2.0}}
NEW = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"d": 2.0, "a": 1.0}, "q3": {"b": 2.0, "c": 1.0}}
ITEMS = pl.DataFrame({"doc_id": ["a", "b", "c", "d"], "genre": ["x", "y", "x", None]})
BOTH = (rf.ndcg(k=2) + rf.recall(k=2)) / 2


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (rf.ndcg(k=10), "ndcg@10"),
        (rf.ndcg(), "ndcg"),
        (rf.precision(5), "precision@5"),
        (rf.map(), "average_precision"),
        (rf.ndcg(k=10, gain="linear"), "ndcg@10"),
        (rf.ndcg(k=10, gain="exp2", min_grade=2), "ndcg(gain=exp2, min_grade=2)@10"),
        (rf.ndcg(k=3, gain={1: 3, 2: 9.5}), "ndcg(gain={1: 3, 2: 9.5})@3"),
        (rf.rbp(p=0.5), "rbp(p=0.5)"),
        (rf.sdcg(), "sdcg@10"),
        (rf.compat(normalised=False), "compat(normalised=false)"),
        (rf.average_overlap(k=2, weights=[0.25, 0.75]), "average_overlap(weights=[0.25, 0.75])@2"),
        (rf.coverage(count=True), "coverage(count=true)"),
        (rf.diversity(k=3, by="genre"), "diversity(by=genre)@3"),
        (rf.diversity(k=3, by="it's, (so)"), 'diversity(by="it\'s, (so)")@3'),
        (rf.exposure_share(by="true", value="3"), "exposure_share(by='true', value='3')"),
    ],
    ids=str,
)
def test_a_function_names_its_expression(expression: pl.Expr, name: str) -> None:
    assert expression.meta.output_name() == name
    (metric,) = resolve(expression, "judged", "documents", "retrieved", "pair")
    (named,) = parse(name)
    assert metric == named
    assert pickle.loads(pickle.dumps(metric)).label == name


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=lambda definition: definition.name)
def test_each_function_is_the_metric_under_any_name(definition: Definition) -> None:
    needed: dict[str, Any] = {
        name: 3 if name == "k" else "genre"
        for name, parameter in definition.parameters.items()
        if parameter.default is inspect.Parameter.empty
    }
    cases = [{}] if needed else [dict(metric.params) for metric in variants(definition)]
    if "k" in definition.parameters:
        cases.append({"k": 7})
    for params in cases:
        expression = definition.function(**{**needed, **params})
        (named,) = parse(expression.meta.output_name())
        assert rf.metric(expression) == named
        other = rf.metric(expression.alias("other"))
        assert (other.label, other.definition, other.params) == ("other", definition, named.params)
        assert (other.average, other.frame) == (named.average, definition.frame)
        assert other.higher_is_better == definition.higher_is_better


def test_the_values_are_those_of_the_name() -> None:
    functions = [rf.ndcg(k=2), rf.recall(k=2), rf.r_score(), rf.unjudged(k=2)]
    names = ["ndcg@2", "recall@2", "r_score", "unjudged@2"]
    found, expected = rf.evaluate(QRELS, OLD, functions), rf.evaluate(QRELS, OLD, names)
    assert found.summary.equals(expected.summary)  # r_score is averaged by its sums
    assert found.per_query.equals(expected.per_query)


def test_functions_of_other_frames() -> None:
    functions = [rf.coverage(k=2), rf.gini(k=2), rf.exposure_gap(2, by="genre"),
                 rf.diversity(k=2, by="genre")]  # fmt: skip
    names = ["coverage@2", "gini@2", "exposure_gap(by=genre)@2", "diversity(by=genre)@2"]
    found = rf.evaluate(None, OLD, functions, items=ITEMS)
    assert found.summary.equals(rf.evaluate(None, OLD, names, items=ITEMS).summary)
    assert rf.agree(OLD, NEW, [rf.rbo(p=0.8), rf.jaccard(k=2)]).means == (
        rf.agree(OLD, NEW, ["rbo(p=0.8)", "jaccard@2"]).means
    )


def test_two_functions_in_one_table() -> None:
    judged = rf.judge(QRELS, OLD).group_by("query_id", maintain_order=True)
    both = judged.agg(rf.ndcg(k=2), rf.recall(k=2)).collect()
    assert both.columns == ["query_id", "ndcg@2", "recall@2"]
    named = rf.judge(QRELS, OLD).group_by("query_id", maintain_order=True).agg(ndcg=rf.ndcg(k=2))
    assert named.collect()["ndcg"].to_list() == both["ndcg@2"].to_list()


def test_analyses_take_functions() -> None:
    runs = {"old": OLD, "new": NEW}
    holes = rf.unjudged(k=2).alias("holes")
    comparison = rf.compare(QRELS, runs, [rf.ndcg(k=2), holes])
    assert [metric.label for metric in comparison.metrics] == ["ndcg@2", "holes"]
    assert not comparison.metric("holes").higher_is_better
    assert "ndcg@2" in repr(rf.diff(QRELS, OLD, NEW, rf.ndcg(k=2)))
    before = rf.evaluate(QRELS, OLD, [rf.ndcg(k=2), holes])
    verdict = rf.gate(QRELS, NEW, before, "holes: at most 0.1", metrics=[rf.ndcg(k=2), holes])
    assert verdict.checks["metric"].to_list() == ["holes"]
    tuning = rf.tune(QRELS, runs, "rrf", rf.ndcg(k=2), folds=2)
    assert tuning.candidates["value"].to_list() == (
        rf.tune(QRELS, runs, "rrf", "ndcg@2", folds=2).candidates["value"].to_list()
    )
    points = rf.curve(QRELS, OLD, "metric_at_k", metric=rf.recall(), ks=[1, 2])
    named = rf.curve(QRELS, OLD, "metric_at_k", metric="recall", ks=[1, 2])
    assert points.equals(named)
    stored = {name: rf.evaluate(QRELS, run, "ndcg@2").per_query for name, run in runs.items()}
    assert [m.label for m in rf.compare(None, stored, rf.ndcg(k=2)).metrics] == ["ndcg@2"]


def test_a_better_direction_is_kept() -> None:
    change = rf.diff(QRELS, OLD, NEW, rf.unjudged(k=2).alias("holes"))
    assert "2 better in b, 1 the same, 0 worse" in repr(change)  # all is judged now


@pytest.mark.parametrize(
    "expression",
    [BOTH, rf.ndcg(k=2).fill_null(0), rf.ndcg(k=2) * 2, pl.col("rank").min(), pl.len()],
    ids=["mean", "filled", "product", "column", "count"],
)
def test_an_expression_without_a_name_is_refused(expression: pl.Expr, refusal) -> None:
    for call in (lambda: rf.evaluate(QRELS, OLD, expression), lambda: rf.metric(expression),
                 lambda: rf.compare(QRELS, {"old": OLD, "new": NEW}, [expression])):  # fmt: skip
        message = refusal(call)
        assert 'needs its own name: .alias("...")' in message
        assert repr(expression.meta.output_name()) in message


def test_what_contradicts_the_metric_is_refused(refusal) -> None:
    assert "lower values of the metric" in refusal(rf.metric, rf.unjudged(), higher_is_better=True)
    assert "higher values of the metric" in refusal(rf.metric, rf.ndcg(), higher_is_better=False)
    assert "looks at the documents frame" in refusal(rf.metric, rf.gini(), frame="judged")
    assert "no micro average" in refusal(rf.metric, rf.hit_rate(k=1), average="micro")
    assert rf.metric(rf.recall(k=2), "found", average="micro").average == "micro"
    assert rf.metric(rf.r_score()).average == "micro"
    assert rf.metric(rf.r_score(), average="macro").average == "macro"


def ideal_dcg(grades: list[float], k: int) -> float:
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades[:k]))


@pytest.mark.parametrize("seed", range(10))
def test_combined_functions_by_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    docs, k = "abcdefg", rng.randint(1, 5)
    qrels = {f"q{q}": {doc: rng.randint(0, 3) for doc in rng.sample(docs, 4)} for q in range(4)}
    run = {query: {doc: float(score) for score, doc in enumerate(rng.sample(docs, 5))}
           for query in qrels}  # fmt: skip
    expected: dict[str, tuple[float, float]] = {}
    for query, grades in qrels.items():
        ranked = sorted(run[query], key=lambda doc, scores=run[query]: -scores[doc])
        gains = [float(grades.get(doc, 0)) for doc in ranked]
        best = ideal_dcg(sorted(grades.values(), reverse=True), k)
        relevant = sum(grade > 0 for grade in grades.values())
        ndcg = ideal_dcg(gains, k) / best if best else 0.0
        recall = sum(gain > 0 for gain in gains[:k]) / relevant if relevant else 0.0
        expected[query] = ndcg, (ndcg + recall) / 2
    both = ((rf.ndcg(k=k) + rf.recall(k=k)) / 2).alias("both")
    values = rf.evaluate(qrels, run, [rf.ndcg(k=k), both]).per_query
    for query, ndcg, mean in values.select("query_id", f"ndcg@{k}", "both").rows():
        assert (ndcg, mean) == pytest.approx(expected[query], abs=1e-12)
