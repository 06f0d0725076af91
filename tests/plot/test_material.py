"""What charts are drawn of: curves, values, slices and diffs of the runs that were given."""

from __future__ import annotations

from dataclasses import replace

import rankframe as rf
from rankframe.plot.material import Material
from tests.support.chart_cases import ATTRIBUTES, CASE, MATERIAL, OTHER, RUNS, of_so_many

CUT = {"k_max": 3, "judged_only": True}


def test_the_metric_without_its_cutoff_and_all_cutoffs() -> None:
    assert (MATERIAL.family, list(MATERIAL.ks)) == ("ndcg", [1, 2, 3, 4, 5, 6, 7])
    assert Material(metric="map").family == "map"
    assert Material(metric="ndcg(gain=exp2)@5").family == "ndcg(gain=exp2)"


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
        assert material.per_query()[name].equals(whole.per_query)
        assert material.slices()[name].equals(whole.slices)


def test_slices_need_attributes(refusal) -> None:
    for lacking in (replace(MATERIAL, by=None), replace(MATERIAL, queries=None)):
        assert refusal(lacking.slices) == (
            "slices need queries= (a table of queries) and by= (an attribute)."
        )


def test_the_difference_is_from_the_first_to_the_second() -> None:
    found = replace(MATERIAL, policies=CUT).difference()
    expected = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5", **CUT)
    assert found.per_query.equals(expected.per_query)
    assert found.documents.equals(expected.documents)


def test_the_judged_frame_takes_the_policies_that_it_knows() -> None:
    policies = {**CUT, "missing": "skip", "no_overlap": "zero"}
    found = replace(of_so_many(1), policies=policies).judged().collect()
    assert found.equals(rf.judge(CASE.qrels, CASE.run, **CUT).collect())
