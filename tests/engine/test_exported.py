"""Frames of results as tables of other libraries: which one, with the same values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf

QRELS = {f"q{n}": {"a": 1, "b": n % 2} for n in range(8)}
OLD = {query: {"b": 2.0, "a": 1.0} for query in QRELS}
NEW = {query: {"a": 2.0, "b": 1.0} for query in QRELS}
QUERIES = pl.DataFrame({"query_id": list(QRELS), "locale": ["de", "fr"] * 4})
RESULTS: dict[str, Any] = {
    "Result": rf.evaluate(QRELS, OLD, ["map", "mrr"], queries=QUERIES, by="locale"),
    "Comparison": rf.compare(QRELS, {"old": OLD, "new": NEW}, ["map", "mrr"]),
    "Diff": rf.diff(QRELS, OLD, NEW, "map"),
    "Verdict": rf.gate(QRELS, NEW, rf.evaluate(QRELS, OLD, "map"), ["map: at least 0.1"]),
}
EVERY = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@EVERY
def test_every_frame_can_be_had_by_its_name(result: Any) -> None:
    for name in result.FRAMES:
        expected = getattr(result, name)
        if not isinstance(expected, pl.DataFrame):
            continue
        table, frame = result.to_arrow(name), result.to_pandas(name)
        assert isinstance(table, pa.Table)
        assert isinstance(frame, pd.DataFrame)
        assert pl.DataFrame(table).equals(expected)
        assert frame.shape == expected.shape
        assert list(frame.columns) == expected.columns
    assert result.to_arrow().equals(result.to_arrow(result.FRAMES[0]))
    assert result.to_pandas().equals(result.to_pandas(result.FRAMES[0]))


def test_the_first_one_is_what_people_look_at_first() -> None:
    assert {name: result.FRAMES[0] for name, result in RESULTS.items()} == {
        "Result": "summary", "Comparison": "table", "Diff": "summary", "Verdict": "checks",
    }  # fmt: skip


def test_values_of_several_systems_are_one_frame() -> None:
    comparison = RESULTS["Comparison"]
    table = comparison.to_arrow("per_query")
    assert table.column_names == ["system", "query_id", "map", "mrr"]
    for name in ("old", "new"):
        own = pl.DataFrame(table).filter(pl.col("system") == name).drop("system")
        assert own.equals(comparison.per_query[name])


@EVERY
def test_text_is_of_a_kind_that_others_read(result: Any) -> None:
    kinds = {str(kind) for name in result.FRAMES for kind in result.to_arrow(name).schema.types}
    assert kinds <= {"large_string", "double", "int64", "bool"}


@EVERY
def test_a_frame_that_is_none_is_refused(result: Any, refusal: Callable[..., str]) -> None:
    for call in (result.to_arrow, result.to_pandas):
        assert "frame='sumary' is not one of" in refusal(call, "sumary")


def test_without_pandas_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert refusal(RESULTS["Result"].to_pandas) == "to_pandas needs pandas: pip install pandas."
