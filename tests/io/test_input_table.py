"""What was opened: its ids and numbers under our names, and how many rows there are."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe.io.input_table import comparable, part_of
from rankframe.io.opening import open_table

SMALL, LARGE, TEXT = pl.Int16(), pl.UInt64(), pl.String()


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((SMALL, pl.Int64()), pl.Int64()),
        ((SMALL, LARGE), TEXT),
        ((LARGE, LARGE), TEXT),
        ((SMALL, TEXT), TEXT),
        ((pl.Categorical(), pl.Categorical()), pl.Categorical()),
        ((pl.Categorical(), TEXT), TEXT),
        ((pl.Enum(["1", "2"]), pl.Enum(["1", "2"])), pl.Enum(["1", "2"])),
        ((pl.Enum(["1", "2"]), pl.Enum(["2", "1"])), TEXT),
        ((pl.Enum(["1", "2"]), pl.Categorical()), TEXT),
        ((pl.Float64(), pl.Float64()), TEXT),
    ],
    ids=str,
)
def test_ids_take_a_form_in_which_equal_ones_are_equal(kinds, expected: pl.DataType) -> None:
    frame = pl.DataFrame({"query_id": ["1", "2"], "doc_id": ["2", "2"], "score": 1.0})
    for changed in ("query_id", "doc_id"):
        sides = [
            open_table(frame.with_columns(pl.col(changed).cast(kind)), "run") for kind in kinds
        ]
        for side in comparable(*sides):
            other = "doc_id" if changed == "query_id" else "query_id"
            assert side.collect_schema() == {
                "query_id": TEXT, "doc_id": TEXT, "score": pl.Float64(),
            } | {changed: expected, other: TEXT}  # fmt: skip
            if kinds[0] != pl.Float64():
                assert (
                    side.select(pl.col(changed).cast(pl.String))
                    .collect()
                    .equals(frame.select(changed))
                )
        assert (
            open_table(frame, "run")
            .with_ids({})
            .collect()
            .equals(open_table(frame, "run").frame.collect())
        )


def test_a_part_has_the_columns_it_has_and_may_be_empty() -> None:
    frame = pl.DataFrame({"query_id": ["1"], "doc_id": ["2"], "score": [1.0]})
    part = part_of(frame.head(0), "run")
    assert (part.role, part.name, part.part, part.seekable) == ("run", "the run", True, True)
    assert part.frame.collect().equals(frame.head(0))
    assert not open_table(frame, "run").part


def test_rows_are_counted_where_they_come_from() -> None:
    frame = pl.DataFrame({"query_id": ["1", "2"], "items": [["a", "b"], ["c"]]})
    lists, long = (
        open_table(frame, "run"),
        open_table(frame.explode("items"), "run", {"doc_id": "items"}),
    )
    assert lists.count() == long.count() == 3
    assert lists.count(estimated=True) == long.count(estimated=True) == 3
    assert not lists.numbered
    assert long.numbered
    assert lists.changed(lists.raw.head(2)).count() == 2
