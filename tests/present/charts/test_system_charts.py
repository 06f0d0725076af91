"""Charts of many systems: cells, bars and lines by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

import rankframe as rf
from rankframe.engine.history import HISTORY_SCHEMA
from tests.support.chart_cases import (
    CASE,
    FIRST,
    OTHER,
    PAIR_METRICS,
    RUNS,
    SECOND,
    compared,
    rows,
    said,
)

QRELS = {f"q{n}": {"a": 1} for n in range(40)}
GOOD = {query: {"a": 2.0, "b": 1.0} for query in QRELS}
BAD = {query: {"b": 2.0, "c": 1.5, "a": 1.0 + n / 100} for n, query in enumerate(QRELS)}


def test_a_matrix_has_both_ways_of_every_pair() -> None:
    found = rf.compare(QRELS, {"good": GOOD, "same": GOOD, "bad": BAD}, "mrr", test="sign")
    chart = rf.plot.significance(found)
    cells = {(r["system"], r["other"]): (r["text"], r["kind"]) for r in rows(chart)}
    assert len(cells) == 6
    assert cells["good", "bad"][1] == "better"
    assert cells["bad", "good"] == ("-" + cells["good", "bad"][0][1:], "worse")
    assert cells["good", "same"] == ("+0.0000", "not significant")
    assert "40 queries" in said(chart)
    assert "test: sign, hypothesis: as many wins as losses, correction: holm" in said(chart)


def test_where_lower_is_better_less_is_better() -> None:
    chart = rf.plot.significance(rf.compare(QRELS, {"good": GOOD, "bad": BAD}, ["mrr", "lag"],
                                            test="sign"), "lag")  # fmt: skip
    cells = {(r["system"], r["other"]): r["kind"] for r in rows(chart)}
    assert cells == {("good", "bad"): "better", ("bad", "good"): "worse"}
    assert "lower is better" in said(chart)


def test_a_matrix_of_what_was_not_compared_is_refused(refusal) -> None:
    refusal(rf.plot.significance, compared(), "map")
    refusal(rf.plot.significance, {})


def test_bars_of_agreement_by_hand(message) -> None:
    chart = rf.plot.agreement({"second": rf.agree(FIRST, SECOND, PAIR_METRICS)}, "first")
    values = {row["metric"]: row["value"] for row in rows(chart)}
    # three of the 45 pairs are the other way round; the squares of the moves add up to 6
    assert values["kendall_tau"] == pytest.approx((42 - 3) / 45)
    assert values["spearman"] == pytest.approx(1 - 6 * 6 / (10 * 99))
    message(said(chart))
    domain = chart.to_dict()["spec"]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] == -1.0


def test_measures_from_0_on_begin_there() -> None:
    chart = rf.plot.agreement({"x": rf.agree([1, 2], [2, 1], ["overlap@2"])})
    domain = chart.to_dict()["spec"]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert domain[0] == 0.0
    assert rows(chart)[0]["value"] == 1.0


def test_what_is_no_agreement_is_refused(refusal) -> None:
    alike = {"x": rf.agree([1, 2], [2, 1], "kendall_tau")}
    refusal(rf.plot.agreement, {})
    refusal(rf.plot.agreement, alike, "first", ["rbo"])
    apart = {"x": rf.agree([1, 2], [3, 4], "kendall_tau")}
    refusal(rf.plot.agreement, apart)


def week(values: list[float], metric: str = "mrr", same: bool | None = True) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "result": [f"day {at}" for at in range(len(values))],
            "date": [datetime(2026, 3, 2 + at, tzinfo=UTC) for at in range(len(values))],
            "metric": [metric] * len(values),
            "value": values,
            "ci_low": [value - 0.01 for value in values],
            "ci_high": [value + 0.01 for value in values],
            "queries": [10] * len(values),
            "same_judgments": [None] + [same] * (len(values) - 1),
        },
        schema=HISTORY_SCHEMA,
    )


@pytest.mark.parametrize(("margin", "limit"), [("-10%", 0.45), (-0.02, 0.48), ("-0.02", 0.48)])
def test_what_falls_beyond_the_margin_is_marked(margin: float | str, limit: float, message) -> None:
    chart = rf.plot.history(week([0.5, 0.47, 0.6, 0.44]), margin=margin)
    drawn = rows(chart)
    assert [row["limit"] for row in drawn] == pytest.approx([limit] * 4)
    assert [row["kind"] == "value" for row in drawn] == [row["value"] >= limit for row in drawn]
    message(said(chart))


def test_worse_is_more_where_lower_is_better() -> None:
    drawn = rows(rf.plot.history(week([5.0, 5.4, 5.6], "lag"), margin="-10%"))
    assert [row["kind"] for row in drawn] == ["value", "value", "beyond the margin"]


def test_a_history_says_what_it_is_of(message) -> None:
    chart = rf.plot.history(week([0.5, 0.6]))
    message(said(chart))
    assert "judgments changed" in said(rf.plot.history(week([0.5, 0.6], same=False)))
    assert len(rows(rf.plot.history(week([0.5])))) == 1


def test_long_histories_are_the_last_results(message) -> None:
    values = pl.concat([week([0.5]).with_columns(result=pl.lit(f"r{at}")) for at in range(250)])
    chart = rf.plot.history(values)
    assert len(rows(chart)) == 200
    message(said(chart))


def test_what_is_no_history_is_refused(refusal) -> None:
    refusal(rf.plot.history, pl.DataFrame({"x": [1]}))
    refusal(rf.plot.history, week([0.5]), "map")
    refusal(rf.plot.history, week([0.5]).head(0))
    for margin in ("much", "1%", 0.5, "nan", float("-inf")):
        refusal(lambda margin=margin: rf.plot.history(week([0.5]), margin=margin))


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
    refusal(rf.plot.fusion_weights, three)
    plain = rf.tune(CASE.qrels, RUNS, "rrf", "ndcg@5", folds=2)
    refusal(rf.plot.fusion_weights, plain)
    refusal(rf.plot.fusion_weights, 3)
