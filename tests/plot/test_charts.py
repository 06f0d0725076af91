"""Charts: what they show, and that they save themselves without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.base.errors import MissingExtraError
from rankframe.plot import canvas, registry
from tests.support.oracles import random_case

CASE, OTHER = random_case(1), random_case(2)
RUNS = {"old": CASE.run, "new": OTHER.run}
ATTRIBUTES = pl.DataFrame(
    {"query_id": list(CASE.qrels), "part": [f"p{n % 3}" for n in range(len(CASE.qrels))]}
)


def curves(kind: Any, **options: Any) -> dict[str, pl.DataFrame]:
    return {name: rf.curve(CASE.qrels, run, kind, **options) for name, run in RUNS.items()}


def results(**options: Any) -> dict[str, rf.Result]:
    return {name: rf.evaluate(CASE.qrels, run, "ndcg@5", **options) for name, run in RUNS.items()}


CHARTS = {
    "roc": lambda: rf.plot.roc(curves("roc")),
    "precision_recall": lambda: rf.plot.precision_recall(curves("precision_recall")),
    "metric_at_k": lambda: rf.plot.metric_at_k(curves("metric_at_k", ci="t"), "ndcg"),
    "plain": lambda: rf.plot.metric_at_k(
        {name: points.drop("ci_low") for name, points in curves("metric_at_k").items()}
    ),
    "cumulative_gain": lambda: rf.plot.cumulative_gain(curves("cumulative_gain")["old"]),
    "differences": lambda: rf.plot.differences(rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")),
    "distribution": lambda: rf.plot.distribution(
        {name: result.per_query for name, result in results().items()}, "ndcg@5"
    ),
    "slices": lambda: rf.plot.slices(
        {n: r.slices for n, r in results(queries=ATTRIBUTES, by="part").items()}, "ndcg@5"
    ),
    "heatmap": lambda: rf.plot.heatmap(rf.judge(CASE.qrels, CASE.run), k=7, most=5),
    "discounts": rf.plot.discounts,
}


def test_all_charts_are_here() -> None:
    assert set(CHARTS) - {"plain"} == set(registry.CHARTS)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_saves_itself(name: str, tmp_path: Path) -> None:
    chart: Any = CHARTS[name]().properties(title="Mine")
    for ending, start in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")):
        target = tmp_path / f"x{ending}"
        chart.save(str(target))
        content = target.read_bytes()
        assert content.lstrip().startswith(start)
        if ending == ".html":
            assert b'src="http' not in content
            assert len(content) > 500_000  # its scripts are inside


def rows(chart: Any, layer: int | None = None) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    part = spec if layer is None else spec["layer"][layer]
    return part["data"]["values"]


def test_a_line_has_the_points_of_its_curve() -> None:
    points = curves("roc")
    drawn = rows(CHARTS["roc"](), 1)
    for name, frame in points.items():
        mine = [(row["fpr"], row["tpr"]) for row in drawn if row["system"] == name]
        assert mine == frame.select("fpr", "tpr").rows()


def test_long_curves_are_thinned() -> None:
    many = pl.DataFrame({"fpr": [n / 99_999 for n in range(100_000)]}).with_columns(
        tpr=pl.col("fpr").sqrt(), threshold=-pl.col("fpr"), fp=pl.lit(0), tp=pl.lit(0)
    )
    assert len(rows(rf.plot.roc({"a": many, "b": many}), 1)) <= 4_000


def test_bars_are_sorted_and_told_apart() -> None:
    change = rf.diff(CASE.qrels, CASE.run, OTHER.run, "ndcg@5")
    drawn = rows(rf.plot.differences(change))
    deltas = [row["delta"] for row in drawn]
    assert deltas == sorted(deltas, reverse=True)
    assert len(drawn) == change.per_query.drop_nulls("delta").height
    wins = change.summary["wins"][0]
    assert sum(row["outcome"] == f"better ({wins:,})" for row in drawn) == wins


def test_many_bars_are_a_sample() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(3000)}
    one = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    other = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    drawn = rows(rf.plot.differences(rf.diff(qrels, one, other, "mrr")))
    assert len(drawn) == 400


def test_shares_of_a_distribution_add_up() -> None:
    drawn = rows(CHARTS["distribution"]())
    for name, result in results().items():
        mine = [row for row in drawn if row["system"] == name]
        assert sum(row["share"] for row in mine) == pytest.approx(1)
        assert sum(row["queries"] for row in mine) == result.per_query["ndcg@5"].count()
    lag = rf.evaluate(CASE.qrels, CASE.run, "lag").per_query
    wide = rows(rf.plot.distribution({"x": lag}, "lag", bins=4))
    assert (wide[0]["from"], wide[-1]["to"]) == (lag["lag"].min(), lag["lag"].max())


def test_the_heat_map_has_a_cell_for_every_rank() -> None:
    drawn = rows(CHARTS["heatmap"]())
    grades = {(row["query_id"], row["rank"]): row["grade"] for row in drawn}
    queries = {query for query, _ in grades}
    assert len(queries) <= 5
    for query, ranking in CASE.rankings().items():
        if query in queries:
            expected = ["unjudged" if g is None else str(g) for g in ranking.grades[:7]]
            assert [grades[query, rank + 1] for rank in range(len(expected))] == expected


def test_slices_carry_their_intervals() -> None:
    chart = CHARTS["slices"]().to_dict()
    drawn = chart["data"]["values"]
    assert {row["slice"] for row in drawn} == {"part: p0", "part: p1", "part: p2"}
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in drawn)


def test_wrong_material_is_refused(refusal) -> None:
    assert "have no column 'fpr'" in refusal(rf.plot.roc, curves("metric_at_k"))
    assert refusal(rf.plot.roc, {}) == "there is no curve to draw."
    plain = results()
    assert "there are no slices" in refusal(
        rf.plot.slices, {name: result.slices for name, result in plain.items()}, "ndcg@5"
    )
    frames = {name: result.per_query for name, result in plain.items()}
    assert "has no values of 'map'" in refusal(rf.plot.distribution, frames, "map")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankframe\[report\]'"):
        canvas.load_altair()
