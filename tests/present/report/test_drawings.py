"""The drawings of a report: which there are, of what, and that they share a page."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.core.options import Intervals, Policies
from rankframe.io.opening import open_table
from rankframe.present.charts.palette import GREY
from rankframe.present.report.drawings import charts, drawings, svg
from tests.support.page_text import read_page
from tests.support.report_cases import ATTRIBUTES, QRELS, RUNS, compared, material


def drawn(found: rf.Comparison | None = None, moved: Any = None, **changed: Any) -> dict[str, Any]:
    policies = {"columns": None, **vars(Policies(**changed))}
    systems = {name: open_table(run, "run") for name, run in RUNS.items()}
    return drawings(
        open_table(QRELS, "qrels"),
        systems,
        found or compared(**changed),
        moved or {},
        policies,
        vars(Intervals(replicates=100)),
    )


def test_every_chart_says_what_it_shows() -> None:
    found = compared()
    best = found.systems.filter(metric="ndcg@5").sort("value")["system"][-1]
    assert list(drawn(found, dict(material().moved))) == [
        "ndcg over its cutoffs, with intervals",
        "Precision at eleven points of recall, mean over queries",
        "ROC of retrieved documents, pooled over queries by score",
        "Distribution of ndcg@5 over queries",
        "Change of ndcg@5 by query, new against old",
        f"Where relevant documents stand in {best}, a sample of queries",
    ]


def test_a_metric_without_a_cutoff_has_no_curve_over_it() -> None:
    own = (pl.col("rank") <= 2).any().alias("own")
    for first in (own, "num_rel_ret"):
        names = list(drawn(compared(metrics=[first, "map"])))
        assert not any("over its cutoffs" in name for name in names)
    lower = drawn(compared(metrics=["lag"]))
    low = compared(metrics=["lag"]).systems.sort("value")["system"][0]
    assert any(f"stand in {low}," in name for name in lower)
    other = drawn(compared(metrics=["ndcg(gain=exp2, k=3)"]))
    assert next(iter(other)).startswith("ndcg(gain=exp2) over its cutoffs")


def test_slices_are_drawn_where_there_are_some() -> None:
    assert "slices" in drawn(compared(queries=ATTRIBUTES, by="half"))
    assert "slices" not in drawn()


def test_policies_reach_the_curves() -> None:
    name = "ROC of retrieved documents, pooled over queries by score"
    plain, cut = (
        chart[name].to_dict()["layer"][1]["data"]["values"] for chart in (drawn(), drawn(k_max=2))
    )
    expected = rf.curve(QRELS, RUNS["old"], "roc", k_max=2)
    mine = [(row["fpr"], row["tpr"]) for row in cut if row["system"] == "old"]
    assert mine == expected.select("fpr", "tpr").rows()
    assert len(plain) > len(cut)


def test_drawings_on_one_page_share_no_name_and_follow_its_colours() -> None:
    chart = rf.plot.roc({"x": rf.curve(QRELS, RUNS["old"], "roc")})
    one, other = (svg(chart, name) for name in ("a", "b"))
    names = [set(re.findall(r'id="([^"]+)"', drawing)) for drawing in (one, other)]
    assert names[0]
    assert not names[0] & names[1]
    for drawing, own in zip((one, other), names, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", drawing)) <= own
    assert GREY not in one
    assert "currentColor" in one
    read_page(one)


def test_what_stands_elsewhere_is_not_among_the_charts() -> None:
    chart = rf.plot.discounts(3)
    tree = read_page(charts({"<one>": chart, "slices": chart}))
    assert [caption.text for caption in tree.all("figcaption")] == ["<one>"]
    assert tree.one("section").attributes["id"] == "charts"
