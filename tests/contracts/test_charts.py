"""The registry of charts and `rf.plot` agree, and so does the command line."""

from __future__ import annotations

import rankframe as rf
from rankframe.present.charts.registry import CHARTS
from tests.cli.shell import rankframe


def test_the_command_line_lists_every_chart() -> None:
    code, out, _ = rankframe("plot")
    assert code == 0
    assert all(f" {name} " in out for name in CHARTS)


def test_every_chart_is_public_and_documented() -> None:
    assert set(rf.plot.__all__) == set(CHARTS)
    for name, definition in CHARTS.items():
        assert getattr(rf.plot, name) is definition.function
        assert definition.summary.endswith(".")
