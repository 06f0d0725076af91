"""Text that shows and does nothing else: on terminals, in drawings, in Markdown, in cells."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rankframe.core.table import Table, as_markdown
from rankframe.core.wording import (
    cell_text,
    distinct_texts,
    markdown_text,
    plain_text,
)

# What ends a line for Python, for JavaScript or for a terminal, steers a terminal, turns the
# direction of writing, or is nothing that XML has.
HARMFUL = "\0\x01\x07\b\t\n\v\f\r\x1b\x1c\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufdd0\ufffe\U0010ffff"


@pytest.mark.parametrize("bad", [*HARMFUL, "\udc80"], ids=ascii)
def test_what_is_unseen_is_shown_as_python_writes_it(bad: str) -> None:
    shown = plain_text(f"a{bad}b")
    assert shown.isprintable()
    assert ascii(f"a{bad}b")[1:-1] == shown


@given(st.text())
@example("ñ 😀 🏴‍☠️ 中文 \u200f עברית")
def test_everything_else_stays_as_it_is(text: str) -> None:
    shown = plain_text(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert shown.splitlines() in ([], [shown])
    if not set(text) & set(HARMFUL) and text.isprintable():
        assert shown == text


def test_long_text_is_cut_however_long_it_is() -> None:
    assert plain_text("x" * 20, 20) == "x" * 20
    assert plain_text("x" * 21, 20) == "x" * 19 + "…"
    assert plain_text("\0" * 10**7, 20) == r"\x00\x00\x00\x00\x00"[:19] + "…"


@given(st.lists(st.text("ab\0\\x0…", max_size=8), unique=True))
def test_texts_that_differ_stay_different(texts: list[str]) -> None:
    shown = distinct_texts(texts, 4)
    assert list(shown) == texts
    assert len(set(shown.values())) == len(texts)
    for text, label in shown.items():
        assert label.startswith(plain_text(text, 4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"), (" =1", "' =1"), ("\t=1", r"'\t=1"), ("\r=1", r"'\r=1"),
        ("-5", "-5"), ("+4.5e-3", "+4.5e-3"), ("a=b", "a=b"), ("bm25 − dense", "bm25 − dense"),
        ("a\x1b[0m\n=1", r"a\x1b[0m\n=1"), ("", ""),
    ],
)  # fmt: skip
def test_a_cell_is_no_formula(text: str, expected: str) -> None:
    assert cell_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"), ("*x*", r"\*x\*"), ("`x`", r"\`x\`"), ("[x](y)", r"\[x\](y)"),
        ("a\\b", r"a\\b"), ("_x_", r"\_x\_"), ("bm25_v1", "bm25_v1"), ("<b>", "&lt;b>"),
        ("two\nlines", "two lines"), ("a & 50%", "a & 50%"), ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("__x__", r"\_\_x\_\_"), ("~~x~~", r"\~\~x\~\~"), ("a ~ b", "a ~ b"), ("$x$", r"\$x\$"),
        ("\x1b[1m", r"\\x1b\[1m"),
    ],
)  # fmt: skip
def test_text_is_shown_as_it_is(text: str, expected: str) -> None:
    assert markdown_text(text) == expected


@given(st.lists(st.text(), min_size=1))
def test_a_row_has_a_cell_for_each_text(texts: list[str]) -> None:
    table = Table.from_texts(texts, [], [["x"] * len(texts)])
    row, *others = as_markdown([table]).split("\n")
    assert len(others) == 2
    assert len(row.splitlines()) == 1
    # a bar that is no border has a backslash before it, which is not itself escaped
    bars = re.sub(r"\\.", "", row).count("|")
    assert bars == len(texts) + 1


class Cells(HTMLParser):
    """The texts of a table's cells, and the elements in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.elements: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@given(st.text("a1 _*~`|\\<>&;[]()!#lt$\n\x1b") | st.text())
@example("__init__.run")
@example("![x](http://e.org/x.png) <img src=x>")
def test_markdown_shows_the_very_text(text: str) -> None:
    table = as_markdown([Table.from_texts([text, "x"], [], [["1", "2"]])])
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table)
    found = Cells(html)
    assert found.elements <= {"table", "thead", "tbody", "tr", "th", "td"}
    expected = plain_text(" ".join(text.split()))
    assert [cell.strip() for cell in found.cells[:2]] == [expected, "x"]
