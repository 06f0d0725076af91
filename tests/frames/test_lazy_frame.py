"""A frame that is made when it is collected, with no more columns than are looked at."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe.frames.column_frame import lazy_frame

SCHEMA = {"a": pl.Int64(), "b": pl.Int64(), "c": pl.Int64()}


class Maker:
    """Makes the columns it is asked for, and remembers which."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    def __call__(self, columns: set[str]) -> pl.DataFrame:
        self.asked.append(columns)
        whole = pl.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]}, schema=SCHEMA)
        return whole.select(sorted(columns, reverse=True))


@pytest.fixture
def maker() -> Maker:
    return Maker()


def test_nothing_is_made_before_it_is_collected(maker: Maker) -> None:
    frame = lazy_frame(SCHEMA, maker)
    assert frame.collect_schema() == pl.Schema(SCHEMA)
    frame.filter(pl.col("a") > 1).select("b").explain()
    assert maker.asked == []
    assert frame.collect().columns == ["a", "b", "c"]
    assert maker.asked == [{"a", "b", "c"}]


def test_only_what_is_looked_at_is_made(maker: Maker) -> None:
    frame = lazy_frame(SCHEMA, maker)
    assert frame.select("b").collect().to_series().to_list() == [4, 5, 6]
    assert frame.filter(pl.col("a") > 1).select("c").collect().to_series().to_list() == [8, 9]
    assert frame.select(pl.col("a") + pl.col("c")).collect().to_series().to_list() == [8, 10, 12]
    assert maker.asked == [{"b"}, {"a", "c"}, {"a", "c"}]


def test_rows_are_cut_before_or_after_a_filter_as_it_was_asked(maker: Maker) -> None:
    frame = lazy_frame(SCHEMA, maker)
    assert frame.head(2).filter(pl.col("a") > 1).collect()["a"].to_list() == [2]
    assert frame.filter(pl.col("a") > 1).head(1).collect()["a"].to_list() == [2]
    assert frame.select("c", "a").head(1).collect().row(0) == (7, 1)
    assert frame.head(0).collect().height == 0


def test_it_can_be_collected_again(maker: Maker) -> None:
    frame = lazy_frame(SCHEMA, maker)
    assert frame.collect().equals(frame.collect())
    assert frame.select(pl.len()).collect().item() == 3
