"""What charts are given becomes frames by name, or is refused in words."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.present.charts.chart_inputs import (
    better,
    frames_of,
    lists_of,
    mean_of,
    sample_of,
    spread,
    value_range,
    values_of,
)
from tests.support.chart_cases import ATTRIBUTES, compared, results

FRAME = pl.DataFrame({"query_id": ["a", "b"], "m": [0.5, float("nan")], "text": ["x", "y"]})


def test_a_result_a_comparison_and_frames_are_values_by_name() -> None:
    both = results()
    one = both["old"]
    assert len(frames_of(one, "per_query")) == 1
    assert frames_of(both, "per_query")["new"].equals(both["new"].per_query)
    assert frames_of({"x": FRAME}, "per_query") == {"x": FRAME}
    found = compared(queries=ATTRIBUTES, by="part", baseline="old")
    assert list(frames_of(found, "per_query")) == ["old", "new"]
    slices = frames_of(found, "slices")["new"]
    assert set(slices["system"]) == {"new"}
    assert slices["by"].null_count() == 0


def test_values_are_one_column_and_what_is_no_number_is_none() -> None:
    found, metric = values_of(FRAME, None)
    assert metric == "m"
    assert found["run"].rows() == [("a", 0.5), ("b", None)]


def test_what_has_no_values_is_refused(refusal) -> None:
    refusal(values_of, {}, None)
    refusal(values_of, 3, None)
    refusal(values_of, {"x": 3}, None)
    refusal(values_of, FRAME, "texts")
    refusal(values_of, FRAME, "text")
    refusal(values_of, FRAME.drop("m", "text"), None)
    for nothing in (FRAME.head(0), FRAME.tail(1)):
        refusal(values_of, nothing, "m")


@pytest.mark.parametrize(
    "given",
    [[1, 0, None], (1.0, 0, float("nan")), np.array([1, 0, np.nan]), pl.Series([1, 0, None])],
)
def test_a_list_of_grades_in_whatever_form(given) -> None:
    assert lists_of(given) == {"": [1.0, 0.0, None]}
    assert lists_of({"mine": given}) == {"mine": [1.0, 0.0, None]}


def test_what_is_no_list_of_grades_is_refused(refusal) -> None:
    refusal(lists_of, [])
    refusal(lists_of, "101")
    refusal(lists_of, [1, "a"])
    refusal(lists_of, [float("inf")])


def test_directions() -> None:
    assert better("nDCG@10") == "higher is better"
    assert better("lag") == "lower is better"
    assert better("num_relevant") == ""
    assert better("no such thing") == ""


def test_means_do_not_depend_on_order() -> None:
    numbers = [1e16, 1.0, -1e16, 1.0, None]
    assert mean_of(pl.Series(numbers)) == mean_of(pl.Series(numbers[::-1])) == 0.5
    assert mean_of(pl.Series([None], dtype=pl.Float64)) is None


def test_samples_are_always_the_same_and_spread() -> None:
    ids = pl.Series([f"q{at}" for at in range(1_000)])
    some = sample_of(ids, 20)
    assert some.equals(sample_of(ids.reverse(), 20))
    assert set(some) < set(sample_of(ids, 40))
    assert sample_of(ids, 1_000).equals(ids.sort())
    assert spread(3, 10) == [0, 1, 2]
    assert spread(1_000, 5) == [0, 250, 500, 749, 999]


def test_ranges() -> None:
    assert value_range(pl.Series([0.2, 0.4])) == (0.0, 1.0)
    assert value_range(pl.Series([-0.2, 0.4])) == (-0.2, 0.4)
    assert value_range(pl.Series([2.0, 4.0])) == (2.0, 4.0)


def test_a_stored_result_is_called_by_its_run() -> None:
    one = rf.Result(results()["old"].summary, FRAME, results()["old"].ledger,
                    inputs={"run": "bm25.parquet"})  # fmt: skip
    assert list(frames_of(one, "per_query")) == ["bm25"]
