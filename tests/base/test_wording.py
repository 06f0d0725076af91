"""Text for Markdown: shown as it is, and a row stays one row of as many cells."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.base.wording import markdown_row, markdown_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"), ("*x*", r"\*x\*"), ("`x`", r"\`x\`"), ("[x](y)", r"\[x\](y)"),
        ("a\\b", r"a\\b"), ("_x_", r"\_x\_"), ("bm25_v1", "bm25_v1"), ("<b>", "&lt;b>"),
        ("two\nlines", "two lines"), ("a & 50%", "a & 50%"),
    ],
)  # fmt: skip
def test_text_is_shown_as_it_is(text: str, expected: str) -> None:
    assert markdown_text(text) == expected


@given(st.lists(st.text(), min_size=1))
def test_a_row_has_a_cell_for_each_text(texts: list[str]) -> None:
    row = markdown_row(list(map(markdown_text, texts)))
    assert len(row.splitlines()) == 1
    # a bar that is no border has a backslash before it, which is not itself escaped
    bars = re.sub(r"\\.", "", row).count("|")
    assert bars == len(texts) + 1
