"""The drawings of a report: which there are, of what, and that they share a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError
from rankframe.core.options import Intervals, Policies
from rankframe.io.opening import open_table
from rankframe.present.charts.palette import GREY
from rankframe.present.report import report as gathered
from rankframe.present.report.drawings import Rows, charts, draw_charts, fusions, svg
from tests.support.page_text import read_page
from tests.support.report_cases import ATTRIBUTES, QRELS, RUNS, compared, material


def drawn(found: rf.Comparison | None = None, moved: Any = None, **changed: Any) -> dict[str, Any]:
    systems = {name: open_table(run, "run") for name, run in RUNS.items()}
    rows = Rows(open_table(QRELS, "qrels"), systems, Policies(**changed))
    return draw_charts(rows, found or compared(**changed), moved or {}, Intervals(replicates=100))


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


OVER = "over the weight of new in a fusion with old"


def captions(tmp_path: Path, systems: Any, metrics: Any = "ndcg@5", **options: Any) -> list[str]:
    page = rf.report(QRELS, systems, metrics, output=tmp_path / "page.html", **options)
    return [one.text for one in read_page(page.read_text("utf-8")).all("figcaption")]


@pytest.fixture
def hybrid(tmp_path: Path) -> Path:
    target = tmp_path / "hybrid.parquet"
    rf.fuse(RUNS, "wsum", weights=[0.25, 0.75], output=target)
    return target


def test_a_fusion_of_two_runs_on_the_page_has_a_chart_of_its_weights(
    tmp_path: Path, hybrid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = {**RUNS, "hybrid": hybrid}
    said = f"ndcg@5 {OVER}; hybrid is wsum with weights 0.25, 0.75"
    assert captions(tmp_path, systems)[-1] == said
    monkeypatch.setattr(gathered, "_CURVE_QUERIES", 15)
    some = captions(tmp_path, systems)
    assert some[-1] == f"{said} (a sample of 15 of 40 queries)"
    # A frame does not say of what it was made.
    assert not fusions({**RUNS, "hybrid": rf.fuse(RUNS)})
    assert not fusions({"old": RUNS["old"], "hybrid": hybrid})


def test_what_is_drawn_is_what_tune_finds(tmp_path: Path, hybrid: Path) -> None:
    rf.fuse(RUNS, "rrf", output=tmp_path / "rrf.parquet")
    rf.fuse(RUNS, "sum", norm="zmuv", output=tmp_path / "sum.parquet")
    found = {}
    for name in ("hybrid", "rrf", "sum"):
        (found[name],) = fusions({**RUNS, name: tmp_path / f"{name}.parquet"})
    scanned = {name: open_table(run, "run") for name, run in RUNS.items()}
    assert [(one.method, one.norm(scanned)) for one in found.values()] == [
        ("wsum", "min_max"), ("wsum", "min_max"), ("wsum", "zmuv"),
    ]  # fmt: skip
    assert found["rrf"].description == "rrf is rrf"
    ranked = {
        name: open_table({"query_id": ["q"], "doc_id": ["a"], "rank": [1]}, "run") for name in RUNS
    }
    assert found["sum"].norm(ranked) == "rank"
    both = {**RUNS, "a": hybrid, "b": tmp_path / "rrf.parquet"}
    assert [one.name for one in fusions(both)] == ["a"]


def test_what_was_tuned_is_drawn_as_it_is(tmp_path: Path) -> None:
    tuned = rf.tune(QRELS, RUNS, "wsum", "ndcg@5", replicates=100)
    assert captions(tmp_path, RUNS, tuning=tuned)[-1] == f"Tuned: {tuned.headline}"
    for wrong in (QRELS, rf.tune(QRELS, RUNS, "rrf", "ndcg@5", replicates=100)):
        with pytest.raises(RankframeError):
            captions(tmp_path, RUNS, tuning=wrong)
