"""Holes in the judgments: filled by hand, by brute force, and under every policy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.analysis import unjudged as holes
from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.analysis.unjudged import bound_metrics, needs_documents
from rankframe.core.options import Policies
from rankframe.engine.judged_metrics import judged_plan
from rankframe.engine.lookup import Lookup
from rankframe.engine.plan import Plan, Rows, compute_values
from rankframe.frames.matches import RunMatches
from rankframe.io.batches import load
from rankframe.io.opening import open_table
from rankframe.io.queries import Attributes
from rankframe.metrics import REGISTRY, names_over
from rankframe.metrics.names import Metric, resolve
from tests.support.oracles import ODD_IDS, Case, Table, about, one_list, random_case

OWN = (pl.col("rank") <= 2).any().alias("own")
AT_K = ["ndcg@5", "precision@5", "map@5", "judged@5", "ndcg(gain=exp2)@3", "recall(rel=2)@3"]
EVERYTHING = [*names_over("judged"), *AT_K, "precision(average=micro)@3", "gm_map", OWN]


def looked_up(qrels: Any, run: Any, metrics: Sequence[Metric], policies: Policies) -> RunMatches:
    plan = judged_plan(metrics)
    sides = open_table(qrels, "qrels"), open_table(run, "run")
    return Lookup.from_inputs(
        *sides, policies, plan.columns, listed=needs_documents(plan, policies), ids=True
    ).found()


def frames(case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    return load(open_table(case.qrels, "qrels")), load(open_table(case.run, "run"))


def asked(
    case: Case,
    metrics: Any,
    *,
    policies: Policies | None = None,
    weighting: pl.DataFrame | None = None,
) -> pl.DataFrame:
    policies = policies or Policies()
    chosen = resolve(metrics)
    found = bound_metrics(
        looked_up(case.qrels, case.run, chosen, policies), chosen, policies=policies,
        attributes=None if weighting is None else Attributes(weighting),
    )  # fmt: skip
    assert found.columns == ["metric", *HOLE_COLUMNS]
    assert found.dtypes == [pl.String, *[pl.Float64] * 4]
    return found


def scenarios(case: Case, metrics: Any, **options: Any) -> dict[str, tuple[float, float]]:
    """What each would be if no hole was relevant, or all were, by label."""
    found = asked(case, metrics, **options)
    return {row[0]: row[3:] for row in found.iter_rows()}


def bounds(case: Case, metrics: Any, **options: Any) -> dict[str, tuple[float, float]]:
    """The least and the largest value, by label."""
    found = asked(case, metrics, **options)
    return {row[0]: row[1:3] for row in found.iter_rows()}


def ranked(case: Case, query: str, ties: str = "doc_desc") -> list[str]:
    scores = case.run.get(query, {})
    docs = list(scores)
    if ties != "as_given":
        docs.sort(key=str.encode, reverse=ties == "doc_desc")
    return sorted(docs, key=lambda doc: -scores[doc])


def filled(case: Case, grade: float, k: int | None, ties: str = "doc_desc") -> Table:
    """The same by definition."""
    return {
        query: dict.fromkeys(ranked(case, query, ties)[:k], grade) | judged
        for query, judged in case.qrels.items()
    }


# ranks 1 to 5: relevant, hole, non-relevant, hole, hole; one relevant document was not retrieved
LIST = one_list([2, None, 0, None, None], [1])


def test_precision_gains_the_holes_in_its_own_cutoff() -> None:
    assert scenarios(LIST, ["precision@2,4,5", "hits", "judged@4", "recall@2"]) == {
        "precision@2": (1 / 2, 2 / 2),
        "precision@4": (1 / 4, 3 / 4),
        "precision@5": (1 / 5, 4 / 5),
        "hits": (1, 4),
        "judged@4": (1, 1),
        "recall@2": (1 / 2, 2 / 3),
    }


def test_the_relevant_grade_is_the_largest_one() -> None:
    assert scenarios(LIST, "cg@2")["cg@2"] == (2, 4)
    assert scenarios(one_list([0.5, None]), "cg")["cg"] == (0.5, 1.5)
    assert scenarios(one_list([0, None]), "cg")["cg"] == (0, 1)
    assert scenarios(one_list([-2, None]), "cg")["cg"] == (0, 1)


def test_the_relevant_grade_reaches_the_level() -> None:
    assert scenarios(LIST, "precision@2", policies=Policies(rel=3))["precision@2"] == (0, 1 / 2)
    one_level, other = "precision(rel=4)@2", "precision(rel=5)@2"
    both = scenarios(LIST, [one_level, other, "cg@2"])
    assert both == {one_level: (0, 1 / 2), other: (0, 1 / 2), "cg@2": (2, 4)}


def test_a_level_that_no_grade_reaches() -> None:
    policies = Policies(rel=float("inf"))
    assert scenarios(LIST, "precision@2", policies=policies)["precision@2"] == (0, 0)


def test_relevant_holes_can_lower_a_value() -> None:
    low = scenarios(one_list([1, 0, None]), "map")["map"]
    assert low == about((1, (1 + 2 / 3) / 2))


def test_judged_non_relevant_is_not_the_same_as_unjudged() -> None:
    case = one_list([None, 1], [0])
    assert case.values("bpref")["q"]["bpref"] == 1
    assert scenarios(case, "bpref")["bpref"] == (0, 1)


def test_an_all_judged_run_has_its_value_twice() -> None:
    case = random_case(3)
    case = Case(filled(case, 1, None), case.run)
    plain = rf.evaluate(case.qrels, case.run, EVERYTHING, ci=None).means
    assert scenarios(case, EVERYTHING) == {label: (value, value) for label, value in plain.items()}


def test_below_k_max_there_are_no_holes() -> None:
    assert scenarios(
        LIST, ["hits@1", "hits", "recall@4", "num_rel"], policies=Policies(k_max=2)
    ) == {
        "hits@1": (1, 1),
        "hits": (1, 2),
        "recall@4": (1 / 2, 2 / 3),
        "num_rel": (2, 3),
    }


def test_judged_only_leaves_no_holes() -> None:
    case = random_case(4)
    plain = rf.evaluate(case.qrels, case.run, EVERYTHING, ci=None, judged_only=True).means
    found = scenarios(case, EVERYTHING, policies=Policies(judged_only=True))
    assert found == {label: (value, value) for label, value in plain.items()}


def test_unjudged_and_missing_queries() -> None:
    case = Case(
        {"both": {"a": 1}, "judged": {"a": 1}},
        {"both": {"x": 2.0, "a": 1.0}, "retrieved": {"x": 1.0}},
    )
    assert scenarios(case, "mrr")["mrr"] == (0.25, 0.5)
    assert scenarios(case, "mrr", policies=Policies(missing="skip"))["mrr"] == (0.5, 1)


def test_a_query_may_become_one_with_relevant_documents() -> None:
    case = Case({"p": {"a": 0}, "q": {"a": 1}}, {"p": {"x": 2.0}, "q": {"y": 1.0, "a": 2.0}})
    policies = Policies(no_relevant="skip")
    assert scenarios(case, "precision@2", policies=policies)["precision@2"] == (1 / 2, 3 / 4)


def test_many_queries_whose_judged_documents_have_the_same_ranks() -> None:
    """All have a at rank 2 and z at rank 5; x, which is not judged, is at rank 1 or 3."""
    queries = [f"q{n:03}" for n in range(300)]
    qrels = {query: {"a": 1, "z": 0} for query in queries}
    rows = [
        (query, doc, rank)
        for at, query in enumerate(queries)
        for doc, rank in (("x", 1 if at % 3 else 3), ("a", 2), ("z", 5))
    ]
    run: Any = pl.DataFrame(rows, ["query_id", "doc_id", "rank"], orient="row")
    found = scenarios(Case(qrels, run), ["hits@1", "hits@3"], policies=Policies(ranks="kept"))
    assert found == {"hits@1": (0, 2 / 3), "hits@3": (1, 2)}


def test_weights() -> None:
    case = Case({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 2.0}, "q": {"x": 2.0}})
    weighting = pl.DataFrame({"query_id": ["q", "p"], "weight": [3.0, 1.0]})
    name = "precision(average=weighted)@1"
    assert scenarios(case, [name, "mrr"], weighting=weighting) == {
        name: (1 / 4, 1),
        "mrr": (0.5, 1),
    }


@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
def test_ties_decide_who_is_in_the_top(ties: Any) -> None:
    case = Case({"q": {"judged": 1}}, {"q": {"b": 1.0, "c": 1.0, "a": 1.0, "judged": 0.5}})
    top = {"doc_desc": "c", "doc_asc": "a", "as_given": "b"}[ties]
    assert ranked(case, "q", ties)[0] == top
    case.qrels["q"][top] = 0
    expected = (0, 0)
    assert scenarios(case, "hits@1", policies=Policies(ties=ties))["hits@1"] == expected
    del case.qrels["q"][top]
    assert scenarios(case, "hits@1", policies=Policies(ties=ties))["hits@1"] == (0, 1)


def test_odd_ids() -> None:
    odd = [*ODD_IDS]
    case = Case({q: {odd[0]: 1} for q in odd[1:]}, {q: dict.fromkeys(odd, 1.0) for q in odd[:-1]})
    after = rf.evaluate(filled(case, 1, None), case.run, ["cg", "map"], ci=None).means
    assert {label: high for label, (_, high) in scenarios(case, ["cg", "map"]).items()} == after


@pytest.mark.parametrize(
    "options",
    [{}, {"ties": "doc_asc", "missing": "skip"}, {"rel": 2, "no_relevant": "skip"}, {"k_max": 4}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_scenarios_by_brute_force(seed: int, options: dict[str, Any]) -> None:
    case = random_case(seed)
    ties, k_max = options.get("ties", "doc_desc"), options.get("k_max")
    found = scenarios(case, EVERYTHING, policies=Policies(**options))
    metrics = resolve(EVERYTHING)
    assert list(found) == [metric.label for metric in metrics]
    by_cutoff: dict[int | None, list[Any]] = {}
    for named, metric in zip(EVERYTHING, metrics, strict=True):
        by_cutoff.setdefault(metric.params.get("k"), []).append(named)
    for cutoff, own in by_cutoff.items():
        k = min((k for k in (cutoff, k_max) if k), default=None)
        low, high = (
            rf.evaluate(filled(case, grade, k, ties), case.run, own, ci=None, **options).means
            for grade in (0, 3)
        )
        assert {label: found[label] for label in low} == {
            label: (low[label], high[label]) for label in low
        }


def test_row_order_does_not_show() -> None:
    qrels, run = frames(random_case(7))
    metrics = resolve(EVERYTHING)
    once = bound_metrics(looked_up(qrels, run, metrics, Policies()), metrics)
    qrels, run = (f.sample(fraction=1, shuffle=True, seed=1) for f in (qrels, run))
    assert bound_metrics(looked_up(qrels, run, metrics, Policies()), metrics).equals(once)


def test_each_cutoff_is_evaluated_twice_and_what_is_searched_twice_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def counting(plan: Plan, rows: Rows) -> pl.DataFrame:
        asked.append(plan.labels)
        return compute_values(plan, rows)

    monkeypatch.setattr(holes, "compute_values", counting)
    scenarios(random_case(1), ["ndcg@5", "map", "precision(rel=2)@5", "mrr"])
    assert asked == [*[["ndcg@5", "precision(rel=2)@5"], ["map", "mrr"]] * 2,
                     ["ndcg@5"], ["ndcg@5"], ["map"], ["map"]]  # fmt: skip


def test_filling_does_not_hide_that_nothing_overlaps(refusal: Callable[..., str]) -> None:
    case = Case({"q": {"a": 1}}, {"q": {"x": 1.0}})
    once = {"baseline": "a", "bounds": True}
    refusal(rf.compare, case.qrels, {"a": case.run}, "mrr", **once)
    assert scenarios(case, "mrr", policies=Policies(no_overlap="zero"))["mrr"] == (0, 1)
    apart = Case({"p": {"a": 1}}, {"q": {"a": 1.0}})
    refusal(rf.compare, apart.qrels, {"a": apart.run}, "mrr", **once)


def test_duplicates(refusal: Callable[..., str]) -> None:
    qrels, run = frames(LIST)
    # d04, the last, now has the best score too
    twice = pl.concat([run, run.tail(1).with_columns(score=pl.lit(9.0))])
    metrics = resolve("precision@2")
    refusal(looked_up, qrels, twice, metrics, Policies())
    found = looked_up(qrels, twice, metrics, Policies(duplicates="keep_best"))
    kept = bound_metrics(found, metrics)
    assert kept.row(0) == ("precision@2", 1 / 2, 1, 1 / 2, 1)


# --- bounds: by brute force over all grades of all holes

MONOTONE = [
    *(name for name, one in REGISTRY.items() if one.monotone),
    *(f"{name}@3" for name, one in REGISTRY.items() if one.monotone and "k" in one.parameters),
    "precision(denominator=retrieved)@3", "recall(rel=2)@3", "f(beta=2)@2", "set_f(x=3)",
    "dcg(gain=exp2)@3", "dcg(min_grade=2)", "cg(gain={1: 1, 2: 5, 3: 5})", "rbp(gain=exp2)",
    "ncg(ideal=retrieved)@2", "rbp(rel=2)@2", "mrr(rel=3)",
]  # fmt: skip
SEARCHED = [
    "map", "map@2", "map@4", "map(rel=2)", "map(denominator=min)@3", "map(denominator=retrieved)",
    "map(denominator=retrieved)@3", "ndcg", "ndcg@2", "ndcg@4", "ndcg(gain=exp2)", "ndcg_burges@3",
    "ndcg(ideal=retrieved)", "ndcg(ideal=retrieved)@2", "ndcg(discount=jarvelin)",
    "ndcg(discount=jarvelin, base=3)@4", "ndcg(discount=ln)@3", "ndcg(min_grade=2)",
    "ndcg(min_grade=2, gain=exp2)@3", "ndcg(gain={1: 1, 2: 5, 3: 5})@3",
]  # fmt: skip
marks = st.lists(st.sampled_from([None, None, 0, 1, 2, 3]), min_size=1, max_size=4)
missing_marks = st.lists(st.sampled_from([0, 1, 2, 3, 3]), max_size=2)


def by_brute_force(
    case: Case, metrics: Sequence[str], rel: float | None = None
) -> dict[str, tuple[float, float]]:
    """By metric, the average of the least and of the largest value of each query, whatever the
    grades of its holes.
    """
    grades = sorted({0.0, *(g for judged in case.qrels.values() for g in judged.values() if g > 0)})
    extremes: dict[str, list[tuple[float, float]]] = {metric: [] for metric in metrics}
    cutoffs = {metric: resolve(metric)[0].params.get("k") for metric in metrics}
    for (query, judged), k in itertools.product(case.qrels.items(), set(cutoffs.values())):
        holes = [doc for doc in ranked(case, query)[:k] if doc not in judged]
        ways = list(itertools.product(grades, repeat=len(holes)))
        # each way is a query of its own; one more has the largest grade
        qrels = {f"{at}": judged | dict(zip(holes, way)) for at, way in enumerate(ways)}  # noqa: B905
        run = dict.fromkeys(qrels, case.run.get(query, {}))
        some = [metric for metric in metrics if cutoffs[metric] == k]
        found = Case(qrels | {"top": {"a": grades[-1]}}, run).values(some, rel=rel)
        del found["top"]
        for metric in some:
            values = [value[metric] for value in found.values()]
            extremes[metric].append((min(values), max(values)))
    return {
        metric: tuple(
            np.sum(pairs, axis=0) / (len(pairs) if resolve(metric)[0].average != "sum" else 1)
        )
        for metric, pairs in extremes.items()
    }


def some_lists(lists: Sequence[tuple[Sequence[float | None], Sequence[float]]]) -> Case:
    """Several of `one_list`, and a query with the largest grade."""
    qrels, run = {"top": {"a": 3.0}}, {"top": {"a": 1.0}}
    for at, (grades, missing) in enumerate(lists):
        one = one_list(grades, missing)
        qrels[f"q{at}"] = one.qrels["q"] or {"none": 0.0}
        run[f"q{at}"] = one.run["q"]
    return Case(qrels, run)


several = st.lists(st.tuples(marks, missing_marks), min_size=1, max_size=2).map(some_lists)


@settings(max_examples=3, deadline=None)
@given(case=several)
def test_bounds_by_brute_force(case: Case) -> None:
    metrics = [*MONOTONE, *SEARCHED]
    expected = by_brute_force(case, metrics)
    found = bounds(case, metrics)
    different = {m: (found[m], expected[m]) for m in metrics if found[m] != about(expected[m])}
    assert not different


def test_bounds_of_a_count() -> None:
    assert bounds(LIST, "num_relevant_retrieved")["num_relevant_retrieved"] == (1, 4)


def test_bounds_that_all_or_none_do_not_reach() -> None:
    # the hole between: 1 is better than nothing, but 3 lengthens the ideal more than the list
    case = some_lists([([1, None, 0], [1])])
    low, high = bounds(case, "ndcg")["ndcg"]
    none, every = scenarios(case, "ndcg")["ndcg"]
    assert low == about(none)
    assert high > every + 0.01
    low, high = bounds(one_list([1, None, None]), "map")["map"]
    assert (low, high) == about(((1 + 2 / 3) / 2, 1))
    assert scenarios(one_list([1, None, None]), "map")["map"] == (1, 1)


@pytest.mark.parametrize("seed", range(2))
def test_the_value_as_evaluated_is_between(seed: int) -> None:
    metrics = [*MONOTONE, *SEARCHED, "gm_map", "precision(average=geometric)@3"]
    case = random_case(seed)
    plain = rf.evaluate(case.qrels, case.run, metrics, ci=None).means
    found, assumed = bounds(case, metrics), scenarios(case, metrics)
    for label, value in plain.items():
        low, high = found[label]
        assert low is not None, label
        assert high is not None, label
        for one in (value or 0.0, *assumed[label]):
            assert low - 1e-12 <= one <= high + 1e-12, label


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("bpref", {}), ("lag", {}), ("infap", {}), ("average_recall", {}), ("r_score", {}),
        ("nerr", {}), ("judged@3", {}), ("rbp_residual", {}), (OWN, {}), ("r_precision", {}),
        ("recall(average=micro)", {}), ("ndcg(average=micro)@5", {}),
        ("map", {"no_relevant": "skip"}), ("precision@3", {"no_relevant": "skip"}),
        ("map", {"rel": 0}), ("precision(rel=-1)@3", {}), ("err", {"rel": 5}),
    ],
    ids=str,
)  # fmt: skip
def test_where_bounds_are_not_known_there_are_none(metric: Any, options: dict[str, Any]) -> None:
    (found,) = bounds(random_case(0), metric, policies=Policies(**options)).values()
    assert found == (None, None)


def test_more_grades_than_are_searched() -> None:
    graded = one_list([*(i / 10 for i in range(1, 60)), None])
    assert bounds(graded, ["ndcg", "map", "dcg"])["ndcg"] == (None, None)
    assert bounds(graded, "map")["map"] != (None, None)


@pytest.mark.parametrize("options", [{"k_max": 3}, {"judged_only": True}, {"rel": 2}], ids=str)
def test_bounds_under_policies(options: dict[str, Any]) -> None:
    lists = [([1, None, 3, None, 2], [2]), ([None, 2, None], []), ([0, None, None, 1], [3])]
    case, metrics = some_lists(lists), ["map", "ndcg", "precision", "ndcg(ideal=retrieved)@2"]
    found = bounds(case, metrics, policies=Policies(**options))
    cut = case.cut(options.get("k_max"), judged_only=options.get("judged_only", False))
    expected = by_brute_force(cut, metrics, rel=options.get("rel"))
    assert {metric: about(value) for metric, value in expected.items()} == found
