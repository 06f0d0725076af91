"""Charts of fusions: lines and bands over weights, runs dashed."""

from __future__ import annotations

import rankframe as rf
from tests.support.chart_cases import CASE, OTHER, RUNS, rows


def test_a_point_for_each_weight_and_a_line_for_each_run() -> None:
    found = rf.tune(CASE.qrels, RUNS, ["wsum", "rrf"], "ndcg@5", norms=["min_max", "rank"], folds=2)
    chart = rf.plot.fusion_weights(found)
    band, line, alone = (rows(chart, layer) for layer in range(3))
    assert band == line
    assert {row["system"] for row in line} == {"wsum, min_max", "wsum, rank"}
    weights = [row["weight"] for row in line if row["system"] == "wsum, rank"]
    assert weights == [n / 10 for n in range(11)]
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in line)
    assert [row["system"] for row in alone] == ["old by itself", "new by itself"]
    assert [row["value"] for row in alone] == found.runs["value"].to_list()


def test_without_intervals_there_is_no_band() -> None:
    found = rf.tune(CASE.qrels, RUNS, "wsum", "ndcg@5", folds=2, ci=None)
    assert len(rf.plot.fusion_weights(found).to_dict()["layer"]) == 2


def test_weights_of_ones_own_are_shares() -> None:
    grid = {"weights": [[1, 3], [2, 2]]}
    found = rf.tune(CASE.qrels, RUNS, "wsum", "ndcg@5", folds=2, grid=grid)
    assert [row["weight"] for row in rows(rf.plot.fusion_weights(found), 1)] == [0.5, 0.75]


def test_wrong_material_is_refused(refusal) -> None:
    three = rf.tune(CASE.qrels, {**RUNS, "more": OTHER.run}, "wsum", "ndcg@5", folds=2)
    said = refusal(rf.plot.fusion_weights, three)
    assert said.startswith("weights are drawn of two runs, and 3 were tuned")
    plain = rf.tune(CASE.qrels, RUNS, "rrf", "ndcg@5", folds=2)
    assert refusal(rf.plot.fusion_weights, plain).startswith("no method that was tuned has weights")
    assert "what rf.tune found" in refusal(rf.plot.fusion_weights, 3)
