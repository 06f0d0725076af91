"""Runs on a page that are fusions of others: which are known, and what is drawn of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError
from rankframe.io.opening import open_table
from rankframe.present.report import data as gathered
from rankframe.present.report.fused import fusions
from tests.support.page_text import read_page
from tests.support.report_cases import QRELS, RUNS

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
    assert found["rrf"].said == "rrf is rrf"
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
