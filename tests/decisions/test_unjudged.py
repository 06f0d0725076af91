"""Holes in the judgments: filled by hand, by brute force, and under every policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.base.options import Policies
from rankframe.decisions import unjudged as holes
from rankframe.decisions.unjudged import fill_holes, hole_bounds
from rankframe.inputs.scan import scan
from rankframe.inputs.validate import load
from rankframe.metrics import names_over
from rankframe.metrics.names import resolve
from tests.support.oracles import ODD_IDS, Case, Table, about, cases, one_list, random_case

OWN = (pl.col("rank") <= 2).any().alias("own")
AT_K = ["ndcg@5", "precision@5", "map@5", "judged@5", "ndcg(gain=exp2)@3", "recall(rel=2)@3"]
EVERYTHING = [*names_over("judged"), *AT_K, "precision(average=micro)@3", "gm_map", OWN]


def frames(case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    return load(scan(case.qrels, "qrels")), load(scan(case.run, "run"))


def bounds(
    case: Case,
    metrics: Any,
    *,
    policies: Policies | None = None,
    weighting: pl.DataFrame | None = None,
) -> dict[str, tuple[float, float]]:
    """Both values by label."""
    found = hole_bounds(*frames(case), resolve(metrics), policies=policies, weighting=weighting)
    assert found.columns == ["metric", "if_nonrelevant", "if_relevant"]
    assert found.dtypes == [pl.String, pl.Float64, pl.Float64]
    return {label: tuple(values) for label, *values in found.iter_rows()}


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


def as_table(qrels: pl.DataFrame) -> Table:
    table: Table = {}
    for query, doc, grade in qrels.iter_rows():
        assert doc not in table.setdefault(query, {})
        table[query][doc] = grade
    return table


# ranks 1 to 5: relevant, hole, non-relevant, hole, hole; one relevant document was not retrieved
LIST = one_list([2, None, 0, None, None], [1])


@pytest.mark.parametrize(("k", "added"), [(1, []), (2, ["d01"]), (None, ["d01", "d03", "d04"])])
def test_holes_down_to_k_are_added_below_the_judgments(k: int | None, added: list[str]) -> None:
    qrels, run = frames(LIST)
    after = fill_holes(qrels, run, grade=1, k=k)
    assert after.schema == qrels.schema
    assert after.head(qrels.height).equals(qrels)
    assert after.tail(-qrels.height).rows() == [("q", doc, 1.0) for doc in added]


def test_precision_gains_the_holes_in_its_own_cutoff() -> None:
    assert bounds(LIST, ["precision@2,4,5", "hits", "judged@4", "recall@2"]) == {
        "precision@2": (1 / 2, 2 / 2),
        "precision@4": (1 / 4, 3 / 4),
        "precision@5": (1 / 5, 4 / 5),
        "hits": (1, 4),
        "judged@4": (1, 1),
        "recall@2": (1 / 2, 2 / 3),
    }


def test_the_relevant_grade_is_the_largest_one() -> None:
    assert bounds(LIST, "cg@2")["cg@2"] == (2, 4)
    assert bounds(one_list([0.5, None]), "cg")["cg"] == (0.5, 1.5)
    assert bounds(one_list([0, None]), "cg")["cg"] == (0, 1)
    assert bounds(one_list([-2, None]), "cg")["cg"] == (0, 1)


def test_the_relevant_grade_reaches_the_level() -> None:
    assert bounds(LIST, "precision@2", policies=Policies(rel=3))["precision@2"] == (0, 1 / 2)
    one_level, other = "precision(rel=4)@2", "precision(rel=5)@2"
    both = bounds(LIST, [one_level, other, "cg@2"])
    assert both == {one_level: (0, 1 / 2), other: (0, 1 / 2), "cg@2": (2, 4)}


def test_a_level_that_no_grade_reaches() -> None:
    policies = Policies(rel=float("inf"))
    assert bounds(LIST, "precision@2", policies=policies)["precision@2"] == (0, 0)


def test_relevant_holes_can_lower_a_value() -> None:
    low = bounds(one_list([1, 0, None]), "map")["map"]
    assert low == about((1, (1 + 2 / 3) / 2))


def test_judged_non_relevant_is_not_the_same_as_unjudged() -> None:
    case = one_list([None, 1], [0])
    assert case.values("bpref")["q"]["bpref"] == 1
    assert bounds(case, "bpref")["bpref"] == (0, 1)


def test_an_all_judged_run_has_its_value_twice() -> None:
    case = random_case(3)
    case = Case(filled(case, 1, None), case.run)
    plain = rf.evaluate(case.qrels, case.run, EVERYTHING, ci=None).means
    assert bounds(case, EVERYTHING) == {label: (value, value) for label, value in plain.items()}


def test_below_k_max_there_are_no_holes() -> None:
    assert bounds(LIST, ["hits@1", "hits", "recall@4", "num_rel"], policies=Policies(k_max=2)) == {
        "hits@1": (1, 1),
        "hits": (1, 2),
        "recall@4": (1 / 2, 2 / 3),
        "num_rel": (2, 3),
    }


def test_judged_only_leaves_no_holes() -> None:
    case = random_case(4)
    plain = rf.evaluate(case.qrels, case.run, EVERYTHING, ci=None, judged_only=True).means
    found = bounds(case, EVERYTHING, policies=Policies(judged_only=True))
    assert found == {label: (value, value) for label, value in plain.items()}


def test_unjudged_and_missing_queries() -> None:
    case = Case(
        {"both": {"a": 1}, "judged": {"a": 1}},
        {"both": {"x": 2.0, "a": 1.0}, "retrieved": {"x": 1.0}},
    )
    assert as_table(fill_holes(*frames(case), grade=3, k=None)) == {
        "both": {"a": 1, "x": 3},
        "judged": {"a": 1},
    }
    assert bounds(case, "mrr")["mrr"] == (0.25, 0.5)
    assert bounds(case, "mrr", policies=Policies(missing="skip"))["mrr"] == (0.5, 1)


def test_a_query_may_become_one_with_relevant_documents() -> None:
    case = Case({"p": {"a": 0}, "q": {"a": 1}}, {"p": {"x": 2.0}, "q": {"y": 1.0, "a": 2.0}})
    policies = Policies(no_relevant="skip")
    assert bounds(case, "precision@2", policies=policies)["precision@2"] == (1 / 2, 3 / 4)


def test_weights() -> None:
    case = Case({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 2.0}, "q": {"x": 2.0}})
    weighting = pl.DataFrame({"query_id": ["q", "p"], "weight": [3.0, 1.0]})
    name = "precision(average=weighted)@1"
    assert bounds(case, [name, "mrr"], weighting=weighting) == {name: (1 / 4, 1), "mrr": (0.5, 1)}


@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
def test_ties_decide_who_is_in_the_top(ties: Any) -> None:
    case = Case({"q": {"judged": 1}}, {"q": {"b": 1.0, "c": 1.0, "a": 1.0, "judged": 0.5}})
    top = {"doc_desc": "c", "doc_asc": "a", "as_given": "b"}[ties]
    after = as_table(fill_holes(*frames(case), grade=0, k=1, ties=ties))
    assert after == {"q": {"judged": 1, top: 0}}


def test_odd_ids() -> None:
    odd = [*ODD_IDS]
    case = Case({q: {odd[0]: 1} for q in odd[1:]}, {q: dict.fromkeys(odd, 1.0) for q in odd[:-1]})
    after = fill_holes(*frames(case), grade=2, k=None)
    assert as_table(after) == filled(case, 2, None)


@given(cases(), st.sampled_from([1, 4, None]), st.sampled_from(["doc_desc", "doc_asc", "as_given"]))
def test_any_case_is_filled_by_definition(case: Case, k: int | None, ties: Any) -> None:
    after = fill_holes(*frames(case), grade=1.5, k=k, ties=ties)
    assert as_table(after) == filled(case, 1.5, k, ties)


@pytest.mark.parametrize(
    "options",
    [{}, {"ties": "doc_asc", "missing": "skip"}, {"rel": 2, "no_relevant": "skip"}, {"k_max": 4}],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_by_brute_force(seed: int, options: dict[str, Any]) -> None:
    case = random_case(seed)
    ties, k_max = options.get("ties", "doc_desc"), options.get("k_max")
    found = bounds(case, EVERYTHING, policies=Policies(**options))
    assert list(found) == [metric.label for metric in resolve(EVERYTHING)]
    cutoffs = {metric.label: metric.params.get("k") for metric in resolve(EVERYTHING)}
    for cutoff in set(cutoffs.values()):
        k = min((k for k in (cutoff, k_max) if k), default=None)
        low, high = (
            rf.evaluate(
                filled(case, grade, k, ties), case.run, EVERYTHING, ci=None, **options
            ).means
            for grade in (0, 3)
        )
        own = [label for label in cutoffs if cutoffs[label] == cutoff]
        assert {label: found[label] for label in own} == {
            label: (low[label], high[label]) for label in own
        }


def test_row_order_does_not_show() -> None:
    qrels, run = frames(random_case(7))
    metrics = resolve(EVERYTHING)
    once = hole_bounds(qrels, run, metrics)
    qrels, run = (f.sample(fraction=1, shuffle=True, seed=1) for f in (qrels, run))
    assert hole_bounds(qrels, run, metrics).equals(once)


def test_each_cutoff_is_evaluated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counting(qrels: Any, run: Any, job: Any) -> rf.Result:
        asked.append(job.plan.labels)
        return evaluate_scanned(qrels, run, job)

    evaluate_scanned = holes.evaluate_scanned
    monkeypatch.setattr(holes, "evaluate_scanned", counting)
    bounds(random_case(1), ["ndcg@5", "map", "precision(rel=2)@5", "mrr"])
    assert asked == [["ndcg@5", "precision(rel=2)@5"], ["map", "mrr"]] * 2


def test_filling_does_not_hide_that_nothing_overlaps(refusal: Callable[..., str]) -> None:
    case = Case({"q": {"a": 1}}, {"q": {"x": 1.0}})
    assert "no document in the run matches any judgment" in refusal(bounds, case, "mrr")
    assert bounds(case, "mrr", policies=Policies(no_overlap="zero"))["mrr"] == (0, 1)
    apart = Case({"p": {"a": 1}}, {"q": {"a": 1.0}})
    assert "no query in the run matches any judgment" in refusal(bounds, apart, "mrr")


def test_duplicates(refusal: Callable[..., str]) -> None:
    qrels, run = frames(LIST)
    # d04, the last, now has the best score too
    twice = pl.concat([run, run.tail(1).with_columns(score=pl.lit(9.0))])
    metrics = resolve("precision@2")
    assert "duplicate" in refusal(fill_holes, qrels, twice, grade=1, k=2)
    assert "duplicate" in refusal(hole_bounds, qrels, twice, metrics)
    kept = hole_bounds(qrels, twice, metrics, policies=Policies(duplicates="keep_best"))
    assert kept.row(0) == ("precision@2", 1 / 2, 1)


def test_bad_options_are_refused(refusal: Callable[..., str]) -> None:
    qrels, run = frames(LIST)
    assert "k must be a whole number" in refusal(fill_holes, qrels, run, grade=0, k=0)
    assert "grade must be a finite" in refusal(fill_holes, qrels, run, grade=float("nan"), k=1)
    assert "ties='up' is not one of" in refusal(fill_holes, qrels, run, grade=0, k=1, ties="up")
