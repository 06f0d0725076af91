"""The register of charts: all are in it, and each says what it is drawn of."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from rankframe.present.charts.chart_source import ChartSource
from rankframe.present.charts.registry import CHARTS, chart
from tests.support.chart_cases import DRAWN, MATERIAL, of_so_many


def test_all_charts_are_here() -> None:
    assert set(DRAWN) - {"plain"} == set(CHARTS)


@pytest.mark.parametrize("kind", CHARTS)
def test_it_takes_what_it_says(kind: str, refusal) -> None:
    takes = CHARTS[kind].takes
    if takes == "nothing":
        assert CHARTS[kind].draw(ChartSource()).to_dict()["title"]
        return
    lacking = [ChartSource(), ChartSource(MATERIAL.qrels)]
    for some in lacking if takes != "runs" else [*lacking, ChartSource(runs=MATERIAL.runs)]:
        refusal(CHARTS[kind].draw, some)


def test_a_list_is_taken_by_charts_of_lists_alone(refusal) -> None:
    listed = [kind for kind, chart in CHARTS.items() if chart.listed]
    assert sorted(listed) == ["grades", "precision_at", "reciprocal_rank", "strip"]
    for kind in listed:
        assert CHARTS[kind].draw(ChartSource(grades=[1, 0])).to_dict()["title"]
    refusal(CHARTS["roc"].draw, ChartSource(grades=[1]))


@pytest.mark.parametrize("kind", CHARTS)
def test_help_shows_every_option_of_the_look(kind: str) -> None:
    shown = inspect.signature(CHARTS[kind].function).parameters
    assert list(shown)[-4:] == ["title", "width", "height", "theme"]
    assert shown["theme"].default == "light"


@pytest.mark.parametrize(
    ("kind", "runs"),
    [
        ("heatmap", 2),
        ("cumulative_gain", 2),
        ("differences", 1),
    ],
)
def test_it_takes_so_many_runs(kind: str, runs: int, refusal) -> None:
    refusal(CHARTS[kind].draw, of_so_many(runs))


def test_a_function_becomes_a_chart_of_what_is_given() -> None:
    @chart(runs=1, inputs=lambda source: (source.metric, source.k))
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
