"""Charts drawn of files, as `rankframe plot` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankframe.plot.draw import draw
from rankframe.plot.registry import CHARTS
from tests.support.chart_cases import MATERIAL, of_so_many


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_drawn_of_files(kind: str, tmp_path: Path) -> None:
    for ending, start in ((".PNG", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")):
        target = tmp_path / f"x{ending}"
        draw(kind, of_so_many(CHARTS[kind].runs), target)
        assert target.read_bytes().lstrip().startswith(start)
    assert b'src="http' not in (tmp_path / "x.html").read_bytes()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.svg"
    assert refusal(draw, "heatmaps", MATERIAL, target).endswith("Did you mean 'heatmap'?")
    assert "it should end in .png, .svg, .html" in refusal(draw, "roc", MATERIAL, tmp_path / "x")
    assert "there is no folder" in refusal(draw, "roc", MATERIAL, tmp_path / "no" / "x.svg")
    assert not list(tmp_path.iterdir())
