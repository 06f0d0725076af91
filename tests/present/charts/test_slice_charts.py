"""Charts of slices show their values, and differences with their intervals."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import ATTRIBUTES, DRAWN, compared, results, rows, said

SLICES = ["part: p0", "part: p1", "part: p2"]


def test_slices_carry_their_intervals() -> None:
    drawn = DRAWN["slices"]().to_dict()["data"]["values"]
    assert {row["slice"] for row in drawn} == set(SLICES)
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in drawn)


def test_a_result_and_a_comparison_have_slices() -> None:
    options = {"queries": ATTRIBUTES, "by": "part"}
    one = results(ci="t", **options)["old"]
    assert len(rows(rf.plot.slices(one))) == 3
    both = compared(baseline="old", **options)
    assert [row["system"] for row in rows(rf.plot.slices(both))] == ["old"] * 3 + ["new"] * 3


def test_no_slices_are_refused(refusal) -> None:
    plain = results()
    refusal(rf.plot.slices, {name: result.slices for name, result in plain.items()}, "ndcg@5")
    refusal(rf.plot.slice_map, plain)


def test_many_slices_are_the_largest(message) -> None:
    many = pl.DataFrame({
        "by": ["x"] * 90, "slice": [f"s{at}" for at in range(90)], "metric": ["m"] * 90,
        "value": [0.5] * 90, "ci_low": [0.4] * 90, "ci_high": [0.6] * 90,
        "queries": list(range(90)),
    })  # fmt: skip
    chart = rf.plot.slices({"a": many}, "m")
    assert [row["slice"] for row in rows(chart)] == [f"x: s{at}" for at in range(30, 90)]
    message(said(chart))


def test_a_map_has_a_cell_for_each_slice_and_metric() -> None:
    found = rf.evaluate(
        {f"q{n}": {"a": 1} for n in range(4)},
        {f"q{n}": {"a": 1.0} if n % 2 else {"b": 2.0, "a": 1.0} for n in range(4)},
        ["mrr", "lag"],
        queries=pl.DataFrame({"query_id": [f"q{n}" for n in range(4)], "odd": ["no", "yes"] * 2}),
        by="odd",
    )
    chart = rf.plot.slice_map(found)
    cells = {(r["slice"], r["column"]): (r["text"], r["apart"]) for r in rows(chart)}
    assert cells == {
        ("odd: no", "mrr"): ("0.5000", "-33.3%"),
        ("odd: yes", "mrr"): ("1.0000", "+33.3%"),
        ("odd: no", "lag"): ("1.0000", "-100.0%"),
        ("odd: yes", "lag"): ("0.0000", "+100.0%"),
    }
    assert "slices of 2 queries" in said(chart)
    assert "by up to 100%" in said(chart)


def test_of_several_systems_a_map_is_of_one_metric(message) -> None:
    chart = DRAWN["slice_map"]()
    assert {row["column"] for row in rows(chart)} == {"old", "new"}
    message(said(chart))
    options = {"queries": ATTRIBUTES, "by": "part"}
    assert len(rows(rf.plot.slice_map(compared(baseline="old", **options)))) == 6


def test_numbers_stand_in_cells_only_where_they_fit() -> None:
    assert len(DRAWN["slice_map"]().to_dict()["layer"]) == 2
    assert len(DRAWN["slice_map"](width=60).to_dict()["layer"]) == 1


def test_a_forest_has_the_differences_of_the_comparison() -> None:
    options = {"queries": ATTRIBUTES, "by": "part", "baseline": "old"}
    found = compared(["ndcg@5", "lag"], **options)
    chart = rf.plot.forest(found)
    drawn = rows(chart)
    assert [row["difference"] for row in drawn] == found.table["difference"].to_list()
    assert [row["low"] for row in drawn] == found.table["ci_low"].to_list()
    assert {row["metric"] for row in drawn} == {
        "ndcg@5 (higher is better)", "lag (lower is better)",
    }  # fmt: skip
    assert drawn[0]["slice"] == "all queries"
    assert said(chart).startswith("Differences from old new; ")
    assert len(rows(rf.plot.forest(found, "lag"))) == 4


def test_a_forest_without_a_baseline_is_of_pairs(refusal) -> None:
    chart = rf.plot.forest(compared())
    assert {row["system"] for row in rows(chart)} == {"new − old"}
    refusal(rf.plot.forest, compared(), "map")
    refusal(rf.plot.forest, results())


def test_nothing_to_compare_is_refused(refusal) -> None:
    alone = rf.compare({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}}, "mrr", baseline="x")
    refusal(rf.plot.forest, alone)
    refusal(rf.plot.significance, alone)


@pytest.mark.parametrize("name", ["a.b", "a[0]", "a['b']", "<script>"])
def test_names_that_vega_could_misread(name: str) -> None:
    attributes = ATTRIBUTES.with_columns(part=pl.lit(name)).rename({"part": name})
    found = results(queries=attributes, by=name)
    for chart in (rf.plot.slices(found), rf.plot.slice_map(found)):
        assert {row["slice"] for row in rows(chart)} == {f"{name}: {name}"}
