from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import rankframe as rf
from rankframe.engine.memory import available, estimated_need, parse_size
from rankframe.inputs.scan import scan


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5k", 1500), ("64", 64), (1 << 20, 1 << 20)],
)
def test_sizes_are_read_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", 0, True, "2 GiBi"])
def test_what_is_no_size_is_refused(text: str, refusal: Callable[..., str]) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    assert "max_memory takes a size" in refusal(rf.evaluate, qrels, run, "map", max_memory=text)


def test_long_ids_need_more_memory() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 9, "doc_id": list("abcdefghi"), "score": 1.0})
    long = frame.with_columns(pl.col("doc_id") + "x" * 100)
    needs = [estimated_need(scan(some, "run"), 140) for some in (long, frame)]
    assert needs[0] - needs[1] == 9 * 101
    assert needs[1] == 9 * 140


def test_there_is_memory() -> None:
    assert available() > 1 << 20
