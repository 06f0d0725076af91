"""The register of charts, the command line's choices and `rf.plot` agree."""

from __future__ import annotations

from typing import get_args

import rankframe as rf
from rankframe.core.options import ChartKind
from rankframe.present.charts.registry import CHARTS


def test_the_command_line_offers_every_chart() -> None:
    assert set(get_args(ChartKind)) == set(CHARTS)


def test_every_chart_is_public_and_documented() -> None:
    assert set(rf.plot.__all__) == set(CHARTS)
    for name, definition in CHARTS.items():
        assert getattr(rf.plot, name) is definition.function
        assert definition.summary.endswith(".")
