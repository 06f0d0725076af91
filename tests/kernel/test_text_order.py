"""Ids in byte order, alone and within queries, whatever their first bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.kernel.batch import (
    Ids,
    text_order,
    text_order_within,
)

texts = st.lists(st.text("abé😀", min_size=1, max_size=3), min_size=1, max_size=40)


@pytest.fixture(params=[1, 1 << 10], autouse=True)
def many(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few ids by their bytes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankframe.kernel.batch._FEW", request.param)
        yield


@given(
    st.sampled_from(["", "q", "http://shop.example/"]),
    st.lists(st.text("ab\0\x7f9é😀", max_size=12), unique=True, max_size=40),
)
def test_texts_are_put_in_byte_order(shared: str, ids: list[str]) -> None:
    texts = [shared + text for text in ids]
    order = text_order(pl.Series(texts, dtype=pl.String))
    assert [texts[at] for at in order] == sorted(texts, key=str.encode)


@pytest.mark.parametrize("tail", ["", "x" * 8, "é"])
def test_ids_that_differ_late_or_only_in_length_are_put_in_order(tail: str) -> None:
    texts = [f"{'0' * zeros}{number}{tail}" for number in range(300) for zeros in (0, 9, 3)]
    texts = list(dict.fromkeys(texts))
    order = text_order(pl.Series(texts))
    assert [texts[at] for at in order] == sorted(texts, key=str.encode)


@pytest.mark.parametrize("shared", range(13))
def test_ids_that_differ_in_one_bit_of_a_byte_are_put_in_order(shared: int) -> None:
    for low, high in ("bc", "bj", "ac", "!a"):
        # what follows is in the other order
        texts = [f"{'x' * shared}{high}0", f"{'x' * shared}{low}1"]
        assert text_order(pl.Series(texts)).tolist() == [1, 0]


segments = st.lists(
    st.lists(st.text("ab\0\x7f9é😀", max_size=14), unique=True, min_size=1, max_size=5), max_size=9
)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("shared", ["", "q", "item", "documents", "http://shop.example/"])
@given(segments)
def test_each_segment_is_put_in_byte_order(
    shared: str, descending: bool, some: list[list[str]]
) -> None:
    texts = [[shared + text for text in segment] for segment in some]
    flat = [text for segment in texts for text in segment]
    starts = np.cumsum([0, *map(len, texts)])[:-1].astype(np.int64)
    # as part of a longer column too
    for ids in (pl.Series(flat, dtype=pl.String), pl.Series(["", *flat, "é" * 20])[1:-1]):
        # whichever rows of the column these are
        column, rows = Ids(ids.reverse()), np.arange(len(flat))[::-1].copy()
        found = text_order_within(column, rows, starts, descending=descending)
        assert column.take(found).to_list() == [
            text
            for segment in texts
            for text in sorted(segment, key=str.encode, reverse=descending)
        ]


def test_ids_of_a_real_size_are_put_in_order() -> None:
    numbers = np.random.default_rng(0).permutation(5_000)
    for shape in ("d{}", "{:07}", "product-{}", "a-rather-long-id-{}", "é{}"):
        texts = [shape.format(number) for number in numbers]
        column, rows = Ids(pl.Series(texts)), np.arange(5_000)
        found = text_order_within(column, rows, np.arange(0, 5_000, 100), descending=True)
        assert [texts[at] for at in found] == [
            text
            for first in range(0, 5_000, 100)
            for text in sorted(texts[first : first + 100], key=str.encode, reverse=True)
        ]
