"""What must hold for every registered metric, now and for those to come."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import REGISTRY, Definition, names_over
from rankframe.metrics.names import PRESETS, parse
from tests.support.oracles import Case, Table, cases, one_list, random_case

SEEDS = (0, 1, 2)
DEFINITIONS = [pytest.param(definition, id=name) for name, definition in REGISTRY.items()]
JUDGED = names_over("judged")
WITH_CUTOFF = [name for name in JUDGED if "k" in REGISTRY[name].parameters]
WITH_LEVEL = [name for name in JUDGED if "rel" in REGISTRY[name].parameters]
LABELS = [*JUDGED, *(f"{name}@3" for name in WITH_CUTOFF)]


def definition_of(label: str) -> Definition:
    return REGISTRY[label.removesuffix("@3")]


def per_query(case: Case) -> pl.DataFrame:
    return rf.evaluate(case.qrels, case.run, LABELS, no_overlap="zero").per_query


@cache
def case_of(seed: int) -> Case:
    return random_case(seed)


@cache
def values_of(seed: int) -> pl.DataFrame:
    return per_query(case_of(seed))


def as_frame(side: Table, value: str) -> pl.DataFrame:
    rows = [(query, doc, v) for query, docs in side.items() for doc, v in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


# Values


@settings(max_examples=30, deadline=None)
@given(cases())
def test_values_are_numbers_within_the_declared_bounds(case: Case) -> None:
    values = per_query(case)
    for label in LABELS:
        definition = definition_of(label)
        low = -math.inf if definition.low is None else definition.low
        high = math.inf if definition.high is None else definition.high
        for value in values[label].drop_nulls():
            assert math.isfinite(value), label
            assert low <= value <= high, label


@pytest.mark.parametrize("label", LABELS)
def test_a_perfect_ranking_is_no_worse_than_the_worst(label: str) -> None:
    grades = [3, 3, 2, 1, 1, 0, 0, 0]
    perfect, worst = (one_list(order).values(label)["q"][label] for order in (grades, grades[::-1]))
    better, other = (perfect, worst) if definition_of(label).higher_is_better else (worst, perfect)
    assert better >= other


@pytest.mark.parametrize("label", LABELS)
def test_a_query_that_the_run_lacks_has_the_value_of_an_empty_list(label: str) -> None:
    lacking = one_list([], [2, 1, 0]).values(label)["q"][label]
    # with the one retrieved document dropped as unjudged, the list is there, and empty
    case = Case({"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"x": 1.0}})
    assert case.values(label, judged_only=True)["q"][label] == lacking


# The same bits, however the same data arrive


@pytest.mark.parametrize("seed", SEEDS)
def test_shuffled_rows_change_nothing(seed: int) -> None:
    qrels = as_frame(case_of(seed).qrels, "relevance").sample(fraction=1, shuffle=True, seed=seed)
    run = as_frame(case_of(seed).run, "score").sample(fraction=1, shuffle=True, seed=seed + 1)
    assert rf.evaluate(qrels, run, LABELS).per_query.equals(values_of(seed))


def renamed(
    case: Case, rename_query: Callable[[str], str], rename_doc: Callable[[str], str]
) -> Case:
    return Case(
        *(
            {
                rename_query(query): {rename_doc(doc): v for doc, v in docs.items()}
                for query, docs in side.items()
            }
            for side in (case.qrels, case.run)
        )
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_other_ids_in_the_same_order_change_nothing(seed: int) -> None:
    case = case_of(seed)
    queries = sorted(case.qrels.keys() | case.run.keys())
    docs = sorted({doc for side in (case.qrels, case.run) for row in side.values() for doc in row})
    other = renamed(case, lambda q: f"é{queries.index(q):05}", lambda d: f"😀{docs.index(d):05}")
    assert per_query(other).drop("query_id").equals(values_of(seed).drop("query_id"))


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_evaluated_in_two_parts_have_the_same_values(seed: int) -> None:
    # Every query has a document of the largest grade, by which err and the graded rbp scale.
    case = case_of(seed)
    queries = sorted(case.qrels)
    random.Random(seed).shuffle(queries)
    parts = [
        per_query(Case({q: case.qrels[q] for q in part}, case.run))
        for part in (queries[:10], queries[10:])
    ]
    assert pl.concat(parts).sort("query_id").equals(values_of(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_other_queries_change_nothing(seed: int) -> None:
    case = case_of(seed)
    others = renamed(random_case(seed + 100), lambda q: f"{q} of others", str)
    more = per_query(Case(others.qrels | case.qrels, case.run | others.run))
    assert more.filter(pl.col("query_id").is_in(list(case.qrels))).equals(values_of(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_query_under_another_name_has_the_same_values(seed: int) -> None:
    case = case_of(seed)
    copies = renamed(case, lambda q: f"{q}, again", str)
    both = per_query(Case(case.qrels | copies.qrels, copies.run | case.run))
    again = both.filter(pl.col("query_id").str.ends_with(", again"))
    by_name = again.with_columns(pl.col("query_id").str.strip_suffix(", again")).sort("query_id")
    assert by_name.equals(values_of(seed))


# The plain expression


@pytest.mark.parametrize("level", [None, 2, 0.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_plain_expression_agrees_with_evaluate(seed: int, level: float | None) -> None:
    case = case_of(seed)
    names = JUDGED if level is None else WITH_LEVEL
    params = {} if level is None else {"rel": level}
    built = {name: getattr(rf, name)(**params) for name in names}
    built |= {f"{n}@3": getattr(rf, n)(k=3, **params) for n in names if n in WITH_CUTOFF}
    plain = (
        rf.judge(case.qrels, case.run, levels=[] if level is None else [level])
        .group_by("query_id")
        .agg(expression.alias(label) for label, expression in built.items())
        .sort("query_id")
        .collect()
    )
    spelled = {label: label if level is None else f"{label}-l{level}" for label in built}
    evaluated = rf.evaluate(case.qrels, case.run, list(spelled.values())).per_query
    evaluated = evaluated.rename({name: label for label, name in spelled.items()})
    assert_frame_equal(plain, evaluated, rel_tol=0, abs_tol=1e-12)


# What the registry says of them


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_every_metric_is_documented(definition: Definition) -> None:
    assert definition.summary.endswith((".", ";", ")"))
    assert ">>> " in (inspect.getdoc(definition.build) or "")
    assert definition.formula
    assert definition.family
    assert getattr(rf, definition.name).__name__ == definition.name


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_every_name_and_synonym_is_read(definition: Definition) -> None:
    for name in (definition.name, *definition.synonyms):
        for spelling in (name, name.upper(), name.title()):
            (metric,) = parse(spelling)
            assert metric.definition is definition
            assert metric.label == spelling


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_read(preset: str) -> None:
    (metric,) = parse(preset)
    assert metric.definition is REGISTRY[PRESETS[preset][0]]


def test_no_name_means_two_metrics() -> None:
    names = [name for d in REGISTRY.values() for name in (d.name, *d.synonyms)]
    assert len(names) == len(set(names))
    assert not set(names) & set(PRESETS)


@pytest.mark.parametrize(
    ("metric", "params", "said"),
    [
        (rf.dcg, {"discount": "typo"}, "discount must be 'log2' or 'jarvelin', not 'typo'."),
        (rf.ndcg, {"ideal": "typo"}, "ideal must be 'all' or 'retrieved', not 'typo'."),
        (rf.precision, {"k": 2.5}, "k must be a whole number, not 2.5."),
        (rf.precision, {"k": True}, "k must be a whole number, not True."),
        (rf.rbp, {"p": "high"}, "p must be a number, not 'high'."),
        (rf.ndcg, {"gain": {0: 5, 1: 6}}, "a grade of 0 gains nothing: only those above 0 do."),
    ],
)
def test_functions_check_their_parameters_as_names_do(metric, params, said, refusal) -> None:
    assert refusal(metric, **params) == said
