"""Which way stored columns are better, and what is refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.stored import refuse_unknown, with_directions
from rankframe.metrics.names import Metric, resolve

LATENCY, CLICKS = Metric("latency"), Metric("clicks")


def test_what_is_said_of_a_column_is_its_direction() -> None:
    found = with_directions([LATENCY, CLICKS, *resolve(["map", "lag"])], lower="latency")
    assert [metric.higher_is_better for metric in found] == [False, True, True, False]
    assert with_directions([LATENCY], higher=["latency"])[0].higher_is_better


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lower": ["latencies"]}, ("lower_is_better names 'latencies', which is not looked at. "
         "Did you mean 'latency'? There is 'latency', 'map', 'lag'.")),
        ({"lower": "latency", "higher": ["latency"]},
         "'latency' cannot be better both where it is lower and higher."),
        ({"lower": "map"}, "'map' is a metric that is better where it is higher."),
        ({"higher": "lag"}, "'lag' is a metric that is better where it is lower."),
        ({"lower": [1]}, "lower_is_better takes names of columns, not [1]."),
        ({"lower": 3}, "lower_is_better takes names of columns, not 3."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str, refusal) -> None:
    metrics = [LATENCY, *resolve(["map", "lag"])]
    assert refusal(with_directions, metrics, **options) == said
    assert with_directions(metrics, lower=["lag"], higher=["map"]) == metrics


def test_a_column_of_which_nothing_is_said_is_refused(refusal) -> None:
    assert refusal(refuse_unknown, [LATENCY]) == (
        "'latency' is a column of yours, and nothing says whether more of it is better or worse. "
        'Pass lower_is_better="latency" or higher_is_better="latency", or say so in the file of '
        "rules."
    )
    refuse_unknown([LATENCY], lower=["latency"])
    refuse_unknown([LATENCY], higher="latency")
    own = rf.metric(pl.col("rank").min(), "first", higher_is_better=False)
    refuse_unknown([own, *resolve(["map", "lag"])])


def test_compare_counts_wins_in_the_direction_that_is_said() -> None:
    queries = [f"q{i}" for i in range(8)]
    slow = pl.DataFrame({"query_id": queries, "latency": [10.0 + i for i in range(8)]})
    fast = slow.with_columns(pl.col("latency") / 2)
    wins = [
        rf.compare(None, {"slow": slow, "fast": fast}, lower_is_better=names).table["wins"][0]
        for names in ((), ["latency"], "latency")
    ]
    assert wins == [0, 8, 8]
