"""Pieces of a page: escaped, well-formed, and sorted by what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.core.table import Cell, Table
from rankframe.core.wording import plain_text
from rankframe.present.report.html import (
    figure,
    fold,
    note,
    page,
    search_box,
    section,
    table,
    text,
)
from rankframe.present.tables import number_cell
from tests.support.page_text import read_page

HOSTILE = ["<script>x</script>", "\"'><b>", "</td></tr>", "&amp; <", "</title></style></script>"]
EVERY = pytest.mark.parametrize("bad", HOSTILE)


def test_long_text_is_cut_and_whole_for_who_points_at_it() -> None:
    assert text("x" * 120) == "x" * 120
    span = read_page(text("<" * 200)).one("span")
    assert span.text == "<" * 119 + "…"
    assert span.attributes["title"] == "<" * 200
    assert len(read_page(text("x" * 10_000)).one("span").attributes["title"] or "") == 480
    assert text(None) == "None"


@EVERY
def test_whatever_is_in_it_stays_text(bad: str) -> None:
    cells = table("t", Table.from_texts([bad], [bad], [[bad, number_cell(1.0, bad)]]), search=bad)
    parts = [
        text(bad), cells, note(bad), figure("<svg></svg>", bad), section("s", bad),
        search_box("s", bad, "#x tr"), fold(text(bad), note(bad)),
    ]  # fmt: skip
    for part in parts:
        tree = read_page(part)
        assert bad in tree.text
        assert not tree.all("b") + tree.all("script")
    whole = page(bad, bad, [("s", bad, note(bad))], bad)
    assert whole.count("<script>") == 1
    assert read_page(whole).one("title").text == bad


@given(st.text())
def test_any_text_is_read_back(content: str) -> None:
    shown = read_page(f"<p>{text(content, limit=10**6)}</p>").one("p").text
    assert shown == plain_text(content)


def test_numbers_are_sorted_by_their_value_and_text_by_how_it_reads() -> None:
    rows = [
        ["b", number_cell(0.12345), Cell("<0.0001", value=2.0, tone="good")],
        ["a", number_cell(None), Cell("x", value=-1.5)],
    ]
    tree = read_page(table("t", Table.from_texts(["name"], ["value", "p"], rows)))
    assert tree.rows() == [["b", "0.1235", "<0.0001"], ["a", "–", "x"]]
    sorts = [cell.attributes.get("data-sort") for cell in tree.all("td")]
    assert sorts == [None, "0.12345", "2.0", None, "", "-1.5"]
    heads = tree.all("th")
    assert [head.attributes.get("class") for head in heads] == ["text", None, None]
    assert [head.one("button").text for head in heads] == ["name", "value", "p"]
    assert [span.attributes["class"] for span in tree.all("span")] == ["up"]


def test_a_table_without_rows_is_one() -> None:
    tree = read_page(table("t", Table.from_texts(["a", "b"], [], [])))
    assert tree.rows() == []
    assert tree.one("table").attributes["id"] == "t"


def test_a_box_knows_what_it_searches() -> None:
    tree = read_page(table("t", Table.from_texts(["a"], [], [["x"]]), search="Find it"))
    box = tree.one("input")
    assert box.attributes["data-filter"] == "#t tbody tr"
    assert tree.one("label").attributes["for"] == box.attributes["id"] == "t-search"
    assert tree.one("label").text == "Find it"
    assert not read_page(table("t", Table.from_texts(["a"], [], []))).all("input")


def test_a_page_links_to_its_sections_and_fetches_nothing() -> None:
    parts = [("one", "First", section("one", "The first")), ("two", "Second", section("two", "B"))]
    whole = page("Mine", "Two parts.", parts, "The end.")
    tree = read_page(whole)
    assert [(a.attributes["href"], a.text) for a in tree.one("nav").all("a")] == [
        ("#one", "First"),
        ("#two", "Second"),
    ]
    named = [one.attributes["id"] for one in tree.all("section")]
    assert named == ["one", "two"]
    assert [one.text for one in tree.all("h2")] == ["The first", "B"]
    assert tree.one("h1").text == tree.one("title").text == "Mine"
    assert tree.one("footer").text == "The end."
    policy = [m for m in tree.all("meta") if m.attributes.get("http-equiv")]
    assert "default-src 'none'" in (policy[0].attributes["content"] or "")
    assert not tree.all("img")
    assert all("src" not in script.attributes for script in tree.all("script"))


def test_a_table_says_how_many_rows_it_shows_and_what_a_file_has() -> None:
    rows = [["x", Cell("1/2", value=1.0)]]
    tree = read_page(table("t", Table.from_texts(["a"], ["b"], rows), page=7))
    assert tree.one("table").attributes["data-page"] == "7"
    assert [cell.attributes.get("data-csv") for cell in tree.all("td")] == [None, "1/2"]
    (save,) = [one for one in tree.all("button") if one.attributes.get("class") == "save"]
    assert save.attributes["data-table"] == "t"
