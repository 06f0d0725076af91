"""The register of charts, the command line's choices, `rf.plot` and the documentation agree."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import get_args

import rankframe as rf
from rankframe.base.options import ChartKind
from rankframe.plot.registry import CHARTS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_command_line_offers_every_chart() -> None:
    assert set(get_args(ChartKind)) == set(CHARTS)


def test_every_chart_is_public_and_documented() -> None:
    assert set(rf.plot.__all__) == set(CHARTS)
    for name, definition in CHARTS.items():
        assert getattr(rf.plot, name) is definition.function
        assert definition.summary.endswith(".")


def test_the_page_of_charts_is_up_to_date() -> None:
    page = runpy.run_path(str(DOCS / "make_charts.py"))["page"]()
    assert page == (DOCS / "charts.md").read_text(encoding="utf-8"), "run docs/make_charts.py"
