"""Charts drawn of files, as `rankframe plot` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rankframe.plot.draw import draw
from rankframe.plot.material import Material
from rankframe.plot.registry import CHARTS
from tests.plot.test_charts import ATTRIBUTES, CASE, RUNS

MATERIAL = Material(CASE.qrels, RUNS, metric="ndcg@5", k=7, queries=ATTRIBUTES, by=["part"])


def of_so_many(count: int | None) -> Material:
    return replace(MATERIAL, runs=dict(list(RUNS.items())[:count]))


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_drawn_of_files(kind: str, tmp_path: Path) -> None:
    for ending, start in ((".PNG", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")):
        target = tmp_path / f"x{ending}"
        draw(kind, of_so_many(CHARTS[kind].runs), target)
        assert target.read_bytes().lstrip().startswith(start)
    assert b'src="http' not in (tmp_path / "x.html").read_bytes()


@pytest.mark.parametrize("kind", CHARTS)
def test_it_takes_judgments_and_runs(kind: str, tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.svg"
    if CHARTS[kind].runs == 0:
        draw(kind, Material(), target)
        return
    assert refusal(draw, kind, Material(), target).endswith(
        "drawn of judgments and runs: give QRELS and RUN."
    )
    assert not target.exists()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.svg"
    assert (
        refusal(draw, "heatmap", MATERIAL, target)
        == "the chart 'heatmap' is drawn of one run, not 2."
    )
    assert refusal(draw, "differences", of_so_many(1), target) == (
        "the chart 'differences' is drawn of two runs, not 1."
    )
    assert refusal(draw, "slices", replace(MATERIAL, by=None), target) == (
        "slices need queries= (a table of queries) and by= (an attribute)."
    )
    assert refusal(draw, "heatmaps", MATERIAL, target).endswith("Did you mean 'heatmap'?")
    assert "it should end in .png, .svg, .html" in refusal(draw, "roc", MATERIAL, tmp_path / "x")
    assert "no such place" in refusal(draw, "roc", MATERIAL, tmp_path / "no" / "x.svg")
