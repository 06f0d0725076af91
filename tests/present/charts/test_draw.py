"""Charts drawn of files, as `rankframe plot` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import rankframe as rf
from rankframe.present.charts.chart_source import ChartSource
from rankframe.present.charts.registry import CHARTS, draw, save
from tests.support.chart_cases import MATERIAL, material_of

STARTS = {".PNG": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF", ".html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_drawn_of_files(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "x.svg"
    draw(kind, replace(material_of(kind), look={"title": "Mine alone", "theme": "dark"}), target)
    drawn = target.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "Mine alone" in drawn


def test_every_format_is_drawn(tmp_path: Path) -> None:
    for ending, start in STARTS.items():
        draw("strip", ChartSource(grades=[1, 0]), tmp_path / f"x{ending}")
        assert (tmp_path / f"x{ending}").read_bytes().lstrip().startswith(start)
    assert b'src="http' not in (tmp_path / "x.html").read_bytes()


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_the_same_input_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    for name in ("x", "y"):  # with clips, whose names would count on
        draw("metric_at_k", material_of("metric_at_k"), tmp_path / f"{name}{ending}")
    assert (tmp_path / f"x{ending}").read_bytes() == (tmp_path / f"y{ending}").read_bytes()


def test_a_chart_is_saved_by_its_ending(tmp_path: Path, refusal) -> None:
    save(rf.plot.strip([1, 0]), tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    refusal(save, rf.plot.strip([1, 0]), tmp_path / "x.gif")


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.svg"
    refusal(draw, "heatmaps", MATERIAL, target)
    refusal(draw, "roc", MATERIAL, tmp_path / "x")
    refusal(draw, "roc", MATERIAL, tmp_path / "no" / "x.svg")
    assert not list(tmp_path.iterdir())
