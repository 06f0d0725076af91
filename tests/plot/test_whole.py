"""Charts save themselves without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe.plot.whole import WholeChart, WholeFacetChart, WholeLayerChart
from tests.support.chart_cases import DRAWN


@pytest.mark.parametrize("name", DRAWN)
def test_every_chart_saves_itself(name: str, tmp_path: Path) -> None:
    chart: Any = DRAWN[name]().properties(title="Mine")
    for ending, start in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>")):
        target = tmp_path / f"x{ending}"
        chart.save(str(target))
        content = target.read_bytes()
        assert content.lstrip().startswith(start)
        if ending == ".html":
            assert b'src="http' not in content
            assert len(content) > 500_000  # its scripts are inside


@pytest.mark.parametrize("how", [{}, {"format": "html"}], ids=str)
def test_scripts_are_brought_along_unless_told_otherwise(
    how: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / ("x" if how else "x.html")
    chart: Any = rf.plot.discounts(3)
    chart.save(str(target), **how)
    whole = target.read_text(encoding="utf-8")
    assert 'src="http' not in whole
    chart.save(str(target), inline=False, **how)
    assert 'src="http' in target.read_text(encoding="utf-8")


def test_charts_stay_whole_when_they_are_changed() -> None:
    charts: list[Any] = [DRAWN[name]() for name in ("precision_recall", "roc", "slices")]
    for chart, kind in zip(charts, (WholeChart, WholeLayerChart, WholeFacetChart), strict=True):
        assert isinstance(chart, kind)
        assert isinstance(chart.properties(title="mine").configure_axis(grid=False), kind)
