"""The contracts of the frames of what is shown."""

from __future__ import annotations

import pytest

from rankframe.frames.retrieved_columns import DOCUMENTS_FRAME, SHOWN_FRAME


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("popularity", ("popularity", None)),
        ("new_of_genre", ("new", "genre")),
        ("vector_pairs_of_text_of_title", ("vector_pairs", "text_of_title")),
        ("has_of_genre=a b", ("has", "genre=a b")),
        ("rank_of_genre", ("rank_of_genre", None)),
    ],
)
def test_columns_are_about_attributes(name: str, split: tuple[str, str | None]) -> None:
    assert SHOWN_FRAME.split(name) == split


def test_columns_have_cutoffs() -> None:
    assert DOCUMENTS_FRAME.split("shown_top10") == ("shown", "10")
    assert DOCUMENTS_FRAME.find("shown_top0") is None
