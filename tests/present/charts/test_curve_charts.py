"""Charts of lines show the points of their curves."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from tests.support.chart_cases import DRAWN, curves, rows, said


def test_a_line_has_the_points_of_its_curve() -> None:
    points = curves("roc")
    drawn = rows(DRAWN["roc"](), 1)
    for name, frame in points.items():
        mine = [(row["fpr"], row["tpr"]) for row in drawn if row["system"] == name]
        assert mine == frame.select("fpr", "tpr").rows()


def test_the_diagonal_of_a_roc_chart_is_chance() -> None:
    chance = rows(DRAWN["roc"](), 0)
    assert [(row["fpr"], row["tpr"]) for row in chance] == [(0, 0), (1, 1)]


def test_precision_stands_above_recall() -> None:
    chart = DRAWN["precision_recall"]()
    encoding = chart.to_dict()["encoding"]
    assert (encoding["x"]["field"], encoding["y"]["field"]) == ("recall", "precision")
    drawn = [(row["recall"], row["precision"]) for row in rows(chart) if row["system"] == "old"]
    assert drawn == curves("precision_recall")["old"].select("recall", "precision").rows()


def test_a_metric_over_its_cutoffs_has_a_band_where_it_has_intervals() -> None:
    points = curves("metric_at_k", ci="t")
    chart = rf.plot.metric_at_k(points, "ndcg")
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["title"] == "ndcg (higher is better)"
    band = [(r["ci_low"], r["ci_high"]) for r in rows(chart, 1) if r["system"] == "new"]
    assert band == points["new"].select("ci_low", "ci_high").rows()
    assert "layer" not in DRAWN["plain"]().to_dict()


def test_what_is_gained_stands_beside_what_could_be() -> None:
    points = curves("cumulative_gain")["old"]
    drawn = rows(rf.plot.cumulative_gain(points))
    for name, column in (("run", "dcg"), ("best possible", "ideal_dcg")):
        assert [r["value"] for r in drawn if r["system"] == name] == points[column].to_list()


def test_curves_of_another_kind_are_refused(refusal) -> None:
    refusal(rf.plot.roc, curves("metric_at_k"))
    refusal(rf.plot.roc, {})


def test_curves_say_over_how_much_they_are() -> None:
    last = [points.select(pl.col("fp").max() + pl.col("tp").max()).item()
            for points in curves("roc").values()]  # fmt: skip
    least, most = min(last), max(last)
    assert f"old, new; {least:,} to {most:,} retrieved documents" in said(DRAWN["roc"]())
    areas = ", ".join(f"{n} {rf.area_under(p):.3f}" for n, p in curves("roc").items())
    assert f"area under the curve: {areas}" in said(DRAWN["roc"]())
    queries = curves("metric_at_k")["old"]["queries"].max()
    assert f"old, new; {queries} queries" in said(DRAWN["metric_at_k"]())
    eleven = curves("precision_recall", interpolated=True)
    assert f"{queries} queries" in said(rf.plot.precision_recall(eleven))
    assert "area" not in said(rf.plot.precision_recall(eleven))
    points = curves("cumulative_gain")["old"]
    assert "mean over 12 queries" in said(rf.plot.cumulative_gain(points, 12))
    assert "mean over queries" in said(rf.plot.cumulative_gain(points))
