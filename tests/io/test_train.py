"""Interactions from before, in the forms that people have."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe.io.inputs import open_train, without_seen
from rankframe.io.opening import open_table


@pytest.mark.parametrize(
    "given",
    [
        {"u": ["a", "b"]},
        pl.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"]}),
        pl.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "rating": [5.0, 1.0]}),
        pl.DataFrame({"user_id": ["u"], "liked_items": [["a", "b"]]}),
    ],
)  # fmt: skip
def test_pairs_count_once(given: object) -> None:
    assert sorted(open_train(given).frame.collect().rows()) == [("u", "a", 1.0), ("u", "b", 1.0)]


def test_counts_are_taken() -> None:
    rows = pl.DataFrame({"u": ["x"], "i": ["a"], "Count": [3]})
    columns = {"train": {"query_id": "u", "doc_id": "i"}}
    assert open_train(rows, columns).frame.collect().rows() == [("x", "a", 3.0)]


@pytest.mark.parametrize("count", [0, -1, 1.5, None])
def test_what_is_no_count_is_refused(count: object, refusal) -> None:
    rows = pl.DataFrame({"user": ["x"], "item": ["a"], "count": [count]}, strict=False)
    rows = rows.cast({"count": pl.Float64})
    refusal(open_train, rows)


def test_empty_ids_and_no_rows(refusal) -> None:
    refusal(open_train, pl.DataFrame({"user": [""], "item": ["a"]}))
    refusal(
        open_train, pl.DataFrame({"user": [], "item": []}, {"user": pl.String, "item": pl.String})
    )


def test_what_was_seen_is_left_out_in_order() -> None:
    run = open_table({"u": ["c", "a", "b"], "v": ["a"]}, "run")
    left = without_seen(run, open_train({"u": ["a"]}))
    assert left.frame.collect()["doc_id"].to_list() == ["c", "b", "a"]
    assert left.excluded is not None
    assert left.excluded() == 1
