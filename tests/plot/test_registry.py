"""The register of charts: all are in it, and each says what it is drawn of."""

from __future__ import annotations

from typing import Any

import pytest

from rankframe.plot.material import Material
from rankframe.plot.registry import CHARTS, chart
from tests.support.chart_cases import DRAWN, MATERIAL, of_so_many


def test_all_charts_are_here() -> None:
    assert set(DRAWN) - {"plain"} == set(CHARTS)


@pytest.mark.parametrize("kind", CHARTS)
def test_it_takes_judgments_and_runs(kind: str, refusal) -> None:
    if CHARTS[kind].runs == 0:
        assert CHARTS[kind].draw(Material()).to_dict()["mark"]
        return
    for some in (Material(), Material(runs=MATERIAL.runs), Material(MATERIAL.qrels)):
        assert refusal(CHARTS[kind].draw, some).endswith(
            "drawn of judgments and runs: give QRELS and RUN."
        )


@pytest.mark.parametrize(
    ("kind", "runs", "said"),
    [
        ("heatmap", 2, "the chart 'heatmap' is drawn of one run, not 2."),
        ("cumulative_gain", 2, "the chart 'cumulative_gain' is drawn of one run, not 2."),
        ("differences", 1, "the chart 'differences' is drawn of two runs, not 1."),
    ],
)
def test_it_takes_so_many_runs(kind: str, runs: int, said: str, refusal) -> None:
    assert refusal(CHARTS[kind].draw, of_so_many(runs)) == said


def test_a_function_becomes_a_chart_of_what_is_given() -> None:
    @chart(runs=1, of=lambda given: (given.metric, given.k))
    def shown(metric: str, k: int) -> Any:
        """Something
        shown.

        >>> an_example
        """
        return metric, k

    definition = CHARTS.pop("shown")
    assert shown("map", 3) == ("map", 3)
    assert definition.summary == "Something shown."
    assert definition.draw(of_so_many(1)) == ("ndcg@5", 7)
