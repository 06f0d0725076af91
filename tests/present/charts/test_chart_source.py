"""What charts are drawn of: curves, values, slices and diffs of the runs that were given."""

from __future__ import annotations

from dataclasses import replace

import rankframe as rf
from rankframe.present.charts.chart_source import ChartSource
from tests.support.chart_cases import ATTRIBUTES, CASE, MATERIAL, OTHER, RUNS, of_so_many

CUT = {"k_max": 3, "judged_only": True}


def test_the_metric_without_its_cutoff_and_all_cutoffs() -> None:
    assert (MATERIAL.family, list(MATERIAL.ks)) == ("ndcg", [1, 2, 3, 4, 5, 6, 7])
    assert ChartSource(metric="map").family == "map"
    assert ChartSource(metric="ndcg(gain=exp2)@5").family == "ndcg(gain=exp2)"


def test_a_curve_for_each_run_under_the_policies() -> None:
    for policies in ({}, CUT):
        found = replace(MATERIAL, policies=policies).curves("roc", scores="distance")
        assert list(found) == list(RUNS)
        for name, run in RUNS.items():
            expected = rf.curve(CASE.qrels, run, "roc", scores="distance", **policies)
            assert found[name].equals(expected)


def test_values_and_slices_are_those_of_evaluate() -> None:
    material = replace(MATERIAL, policies=CUT)
    for name, run in RUNS.items():
        whole = rf.evaluate(CASE.qrels, run, "ndcg@5", queries=ATTRIBUTES, by="part", **CUT)
        assert material.evaluated("ndcg@5")[name].per_query.equals(whole.per_query)
        assert material.sliced(["ndcg@5"])[name].slices.equals(whole.slices)


def test_slices_need_attributes(refusal) -> None:
    for lacking in (replace(MATERIAL, by=None), replace(MATERIAL, queries=None)):
        refusal(lacking.sliced, ["ndcg@5"])


def test_the_difference_is_from_the_first_to_the_second() -> None:
    found = replace(MATERIAL, policies=CUT).difference()
    expected = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5", **CUT)
    assert found.per_query.equals(expected.per_query)
    assert found.documents.equals(expected.documents)


def test_the_judged_frame_takes_the_policies_that_it_knows() -> None:
    policies = {**CUT, "missing": "skip", "no_overlap": "zero"}
    found = replace(of_so_many(1), policies=policies).judged()["old"].collect()
    assert found.equals(rf.judge(CASE.qrels, CASE.run, **CUT).collect())


def test_several_metrics_or_the_one() -> None:
    assert MATERIAL.several == ["ndcg@5"]
    assert replace(MATERIAL, metrics=["map", "mrr"]).several == ["map", "mrr"]


def test_runs_are_compared_with_the_first_or_with_each_other() -> None:
    found = replace(MATERIAL, metrics=["ndcg@5", "map"], policies=CUT).compared()
    expected = rf.compare(CASE.qrels, RUNS, ["ndcg@5", "map"], baseline="old", by="part",
                          queries=ATTRIBUTES, missing="zero", **CUT)  # fmt: skip
    assert found.table.equals(expected.table)
    pairs = MATERIAL.compared(pairs=True)
    assert pairs.baseline is None
    assert pairs.table.height == 1


def test_the_list_of_one_query_in_each_run() -> None:
    query = min(CASE.run)
    material = replace(MATERIAL, query=query, k=5)
    for name, case in (("old", CASE), ("new", OTHER)):
        ranking = case.rankings().get(query)
        found = material.lists()
        assert isinstance(found, dict)
        if ranking is not None and case is CASE:
            expected = [None if g is None else float(g) for g in ranking.grades[:5]]
            assert found[f"{name}, query {query}"] == expected
    assert ChartSource(grades=[1, 0]).lists() == [1, 0]


def test_an_unknown_query_is_refused(refusal) -> None:
    refusal(replace(MATERIAL, query="nobody").lists)


def test_rankings_of_one_query_begin_with_the_reference() -> None:
    material = ChartSource([1, 2, 3], {"b": [3, 2, 1]}, reference="a", k=2)
    assert material.rankings() == {"a": ["1", "2"], "b": ["3", "2"]}


def test_agreements_are_those_of_agree() -> None:
    material = ChartSource([1, 2, 3], {"b": [3, 2, 1]}, metrics=["rbo"])
    assert material.agreements()["b"].means == rf.agree([1, 2, 3], [3, 2, 1], "rbo").means
    assert list(replace(material, metrics=()).agreements()["b"].means) == [
        "kendall_tau", "spearman", "tau_ap", "rbo",
    ]  # fmt: skip


def test_how_many_queries_are_judged() -> None:
    assert of_so_many(1).queries_judged() == len(CASE.qrels)


def test_what_is_shown_takes_the_policies_that_it_knows() -> None:
    policies = {**CUT, "missing": "skip", "train": CASE.qrels, "exclude_seen": True}
    found = replace(MATERIAL, policies=policies).documents()
    expected = rf.exposure(OTHER.run, k=7, k_max=3, train=CASE.qrels, exclude_seen=True)
    assert found["new"].collect().equals(expected.collect())


def test_accuracy_is_traded_for_coverage_unless_others_are_asked_for(refusal) -> None:
    assert ChartSource().two_metrics == ("ndcg@10", "coverage@10")
    for asked, two in (
        (["map"], ("map", "coverage@10")),
        (["coverage@10"], ("coverage@10", "ndcg@10")),
        (["map", "gini@5"], ("map", "gini@5")),
    ):
        assert ChartSource(metrics=asked).two_metrics == two
    refusal(lambda: ChartSource(metrics=["map", "mrr", "lag"]).two_metrics)
    source = replace(MATERIAL, policies={"train": CASE.qrels})
    found = source.evaluated(source.two_metrics)
    assert {name: list(one.means) for name, one in found.items()} == {
        "old": ["ndcg@5", "coverage@10"], "new": ["ndcg@5", "coverage@10"],
    }  # fmt: skip
