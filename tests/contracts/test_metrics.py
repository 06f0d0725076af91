"""What must hold for every registered metric, now and for those to come."""

from __future__ import annotations

import inspect
import math
import pickle
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import assume, given, settings
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.columns import JUDGED_FRAME
from rankframe.metrics import REGISTRY, Definition, names_over
from rankframe.metrics.metric import Frame
from rankframe.metrics.names import Metric, parse
from tests.support.oracles import Case, Table, cases, one_list, random_case

SEEDS = (0, 1)
JUDGED = names_over("judged")
WITH_CUTOFF = [name for name in REGISTRY if "k" in REGISTRY[name].parameters]
WITH_LEVEL = [name for name in JUDGED if "rel" in REGISTRY[name].parameters]
# Metrics of retrieved documents need more inputs: tests/metrics/test_retrieved.py.
FRAMES: tuple[Frame, ...] = ("judged", "subtopic", "pair")
OVER = [name for name, definition in REGISTRY.items() if definition.frame in FRAMES]
DEFINITIONS = [REGISTRY[name] for name in OVER]
LABELS = [*OVER, *(f"{name}@3" for name in WITH_CUTOFF if name in OVER)]
# Sums over depths round: what is 1 may be a hair more.
SLACK: dict[Frame, float] = {"judged": 0.0, "subtopic": 1e-12, "pair": 1e-12}
every_frame = pytest.mark.parametrize("frame", FRAMES)


def definition_of(label: str) -> Definition:
    return REGISTRY[label.removesuffix("@3")]


def labels_over(frame: Frame) -> list[str]:
    return [label for label in LABELS if definition_of(label).frame == frame]


def measured(frame: Frame, qrels: Any, run: Any, labels: list[str] | None = None) -> pl.DataFrame:
    """Query by query; where two rankings are asked for, grades are the scores of the first."""
    metrics = labels or labels_over(frame)
    if frame == "subtopic":
        qrels = in_groups(qrels)
    if frame != "pair":
        return rf.evaluate(qrels, run, metrics, no_overlap="zero", ci=None).per_query
    found = rf.agree(qrels, run, metrics, unmatched_queries="skip", ci=None).per_query
    return found.drop("n_a", "n_b", "n_shared")


def in_groups(qrels: Any) -> pl.DataFrame:
    """All documents in one group, and those of the better grades in a second one."""
    rows = qrels if isinstance(qrels, pl.DataFrame) else as_frame(qrels, "relevance")
    best = rows.filter(pl.col("relevance") >= 2).with_columns(group=pl.lit("best"))
    return pl.concat([rows.with_columns(group=pl.lit("every")), best])


def per_query(frame: Frame, case: Case) -> pl.DataFrame:
    return measured(frame, case.qrels, case.run)


@cache
def case_of(seed: int) -> Case:
    return random_case(seed)


@cache
def values_of(frame: Frame, seed: int) -> pl.DataFrame:
    return per_query(frame, case_of(seed))


def as_frame(side: Table, value: str) -> pl.DataFrame:
    rows = [(query, doc, v) for query, docs in side.items() for doc, v in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


# Values


@every_frame
@settings(max_examples=7, deadline=None)
@given(case=cases())
def test_values_are_numbers_within_the_declared_bounds(frame: Frame, case: Case) -> None:
    assume(frame != "pair" or case.qrels.keys() & case.run.keys())
    values = per_query(frame, case)
    for label in labels_over(frame):
        low, high = definition_of(label).bounds
        for value in values[label].drop_nulls():
            assert math.isfinite(value), label
            assert low is None or low - SLACK[frame] <= value, label
            assert high is None or value <= high + SLACK[frame], label


@every_frame
def test_a_perfect_ranking_is_no_worse_than_the_worst(frame: Frame) -> None:
    grades = [3, 3, 2, 1, 1, 0, 0, 0]
    best, least = (per_query(frame, one_list(some)) for some in (grades, grades[::-1]))
    for label in labels_over(frame):
        perfect, worst = best[label][0], least[label][0]
        if worst is None:  # the tops of two rankings may have too little in common to be compared
            assert (perfect is not None) == (frame == "pair"), label
            continue
        sign = 1 if definition_of(label).higher_is_better else -1
        assert sign * (perfect - worst) >= -SLACK[frame], label


def test_a_query_that_the_run_lacks_has_the_value_of_an_empty_list() -> None:
    lacking = one_list([], [2, 1, 0]).values(labels_over("judged"))["q"]
    # with the one retrieved document dropped as unjudged, the list is there, and empty
    case = Case({"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"x": 1.0}})
    assert case.values(labels_over("judged"), judged_only=True)["q"] == lacking


# The same bits, however the same data arrive


@every_frame
@pytest.mark.parametrize("seed", SEEDS)
def test_shuffled_rows_change_nothing(frame: Frame, seed: int) -> None:
    qrels = as_frame(case_of(seed).qrels, "relevance").sample(fraction=1, shuffle=True, seed=seed)
    run = as_frame(case_of(seed).run, "score").sample(fraction=1, shuffle=True, seed=seed + 1)
    assert measured(frame, qrels, run).equals(values_of(frame, seed))


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


@every_frame
@pytest.mark.parametrize("seed", SEEDS)
def test_other_ids_in_the_same_order_change_nothing(frame: Frame, seed: int) -> None:
    case = case_of(seed)
    queries = sorted(case.qrels.keys() | case.run.keys())
    docs = sorted({doc for side in (case.qrels, case.run) for row in side.values() for doc in row})
    other = renamed(case, lambda q: f"é{queries.index(q):05}", lambda d: f"😀{docs.index(d):05}")
    assert per_query(frame, other).drop("query_id").equals(values_of(frame, seed).drop("query_id"))


@every_frame
@pytest.mark.parametrize("seed", SEEDS)
def test_queries_evaluated_in_two_parts_have_the_same_values(frame: Frame, seed: int) -> None:
    # Every query has a document of the largest grade, by which err and the graded rbp scale.
    case = case_of(seed)
    queries = sorted(case.qrels)
    random.Random(seed).shuffle(queries)
    parts = [
        per_query(frame, Case({q: case.qrels[q] for q in part}, case.run))
        for part in (queries[:10], queries[10:])
    ]
    assert pl.concat(parts).sort("query_id").equals(values_of(frame, seed))


@every_frame
@pytest.mark.parametrize("seed", SEEDS)
def test_other_queries_change_nothing(frame: Frame, seed: int) -> None:
    case = case_of(seed)
    others = renamed(random_case(seed + 100), lambda q: f"{q} of others", str)
    more = per_query(frame, Case(others.qrels | case.qrels, case.run | others.run))
    assert more.filter(pl.col("query_id").is_in(list(case.qrels))).equals(values_of(frame, seed))


@every_frame
@pytest.mark.parametrize("seed", SEEDS)
def test_a_query_under_another_name_has_the_same_values(frame: Frame, seed: int) -> None:
    case = case_of(seed)
    copies = renamed(case, lambda q: f"{q}, again", str)
    both = per_query(frame, Case(case.qrels | copies.qrels, copies.run | case.run))
    again = both.filter(pl.col("query_id").str.ends_with(", again"))
    by_name = again.with_columns(pl.col("query_id").str.strip_suffix(", again")).sort("query_id")
    assert by_name.equals(values_of(frame, seed))


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


def test_every_metric_is_documented() -> None:
    for definition in DEFINITIONS:
        assert definition.summary.endswith((".", ";", ")")), definition.name
        assert ">>> " in (inspect.getdoc(definition.build) or ""), definition.name
        assert definition.formula, definition.name
        assert definition.family, definition.name
        assert getattr(rf, definition.name).__name__ == definition.name


def test_every_name_and_synonym_is_read() -> None:
    for definition in DEFINITIONS:
        for name in (definition.name, *definition.synonyms):
            for spelling in (name, name.upper(), name.title()):
                (metric,) = parse(spelling)
                assert metric.definition is definition
                assert metric.label == spelling


def test_every_preset_is_read_with_its_parameters() -> None:
    for definition in DEFINITIONS:
        for name, preset in definition.presets.items():
            (metric,) = parse(name)
            assert metric.definition is definition
            assert {"average": metric.average, **metric.params}.items() >= preset.items()


def test_no_name_means_two_metrics() -> None:
    names = [name for d in REGISTRY.values() for name in (d.name, *d.other_names)]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_what_it_says_of_parameters_is_about_its_own() -> None:
    for definition in DEFINITIONS:
        named = {*definition.parameter_synonyms.values()}
        named |= {definition.number} - {"k"} | {definition.decimals} - {None}
        named |= {key for preset in definition.presets.values() for key in preset} - {"average"}
        for condition in (definition.pooled, definition.exponential):
            named |= set() if isinstance(condition, bool) else {*condition}
        assert named <= {*definition.parameters}, definition.name
        for key, other in definition.becomes.items():
            assert key in REGISTRY[other].parameters, definition.name
            assert key not in definition.parameters, definition.name


def variants(definition: Definition) -> Iterator[Metric]:
    """The metric as it is, and with each choice of each parameter that has some."""
    yield Metric(definition.name, definition=definition)
    for name, kind in definition.types.items():
        kinds = [kind, *get_args(kind)]
        choices = [c for k in kinds for c in (get_args(k) if _of_texts(k) else ())]
        for choice in [True, False] if kind is bool else choices:
            yield Metric(definition.name, definition=definition, params={name: choice})


def _of_texts(kind: Any) -> bool:
    return bool(get_args(kind)) and all(isinstance(choice, str) for choice in get_args(kind))


def test_what_needs_the_whole_input_says_so() -> None:
    for definition in DEFINITIONS:
        for metric in variants(definition):
            label = f"{definition.name}({_written(metric.params)})"
            looked_at = definition.function(**metric.params).meta.root_names()
            assert metric.whole_input == any(map(JUDGED_FRAME.of_whole_input, looked_at)), label
            if metric.whole_input:
                (named,) = parse(label)
                assert named.average == "micro"


def _written(params: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())


@pytest.mark.parametrize("name", JUDGED)
def test_what_takes_2_to_the_power_of_a_grade_says_so(name: str, refusal) -> None:
    for metric in variants(REGISTRY[name]):
        label = f"{name}({_written(metric.params)})"
        sides = {"q": {"a": 2_000, "b": 0}}, {"q": {"b": 2.0, "a": 1.0}}
        if metric.exponential:
            refusal(rf.evaluate, *sides, label)
        else:
            value = rf.evaluate(*sides, label)[label]
            assert value is None or math.isfinite(value), label


def test_it_is_the_same_one_after_pickling() -> None:
    for definition in DEFINITIONS:
        assert pickle.loads(pickle.dumps(definition)) is definition
        assert pickle.loads(pickle.dumps(definition.function)) is definition.function


# What follows from it


def test_the_public_functions_are_the_registered_ones() -> None:
    for definition in REGISTRY.values():
        assert set(definition.aliases) <= set(definition.synonyms)
        for name in (definition.name, *definition.aliases):
            assert getattr(rf, name) is definition.function
            assert name in dir(rf)
