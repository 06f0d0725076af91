"""Query by query: lists side by side by hand, and a sample that is always the same."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from rankframe.reporting import queries
from rankframe.reporting.material import Material
from rankframe.reporting.queries import changes, sample
from tests.support.page_text import Element, read_page
from tests.support.report_cases import material

JUDGED = {"q1": {"a": 3, "b": 1, "z": 0}, "q2": {"a": 1}}
BEFORE = {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
AFTER = {"q1": {"a": 3.0, "z": 2.0, "b": 1.0}, "q2": {"u": 2.0, "a": 1.0}}


def small(texts: dict[str, str] | None = None) -> Material:
    found = rf.compare(JUDGED, {"old": BEFORE, "new": AFTER}, ["ndcg@3"], baseline="old", ci=None)
    moved = {"new": rf.diff(JUDGED, BEFORE, AFTER, "ndcg@3")}
    return Material(found, {}, moved, texts or {})


def ranking(part: Element) -> list[str]:
    return [" ".join(span.text for span in item.all("span")) for item in part.all("li")]


def test_two_lists_side_by_side() -> None:
    tree = read_page(changes(small({"q1": "a <b> c"})))
    assert tree.one("h3").text == "new against old"
    mover, other = tree.all("details")
    assert mover.one("summary").text.startswith("q2 ")
    assert [e.attributes["class"] for e in mover.one("summary").all("span")] == ["down"]
    lists = other.all("ol")
    assert [ranking(part) for part in lists] == [
        ["1 1 b now 3", "2 ? x gone", "3 3 a now 1"],
        ["1 3 a was 3", "2 0 z new", "3 1 b was 1"],
    ]
    assert [head.text for head in other.all("h4")] == ["old", "new"]
    assert other.one("summary").one("i").text == "a <b> c"
    assert not mover.all("i")
    grades = {e.text: e.attributes for e in lists[1].all("span") if "title" in e.attributes}
    assert {text: of["class"] for text, of in grades.items()} == {
        "3": "grade g3", "0": "grade g0", "1": "grade g1",
    }  # fmt: skip
    unjudged = next(e for e in lists[0].all("span") if e.text == "?")
    assert (unjudged.attributes["class"], unjudged.attributes["title"]) == (
        "grade none",
        "not judged",
    )


def test_it_says_how_many_moved() -> None:
    said = [part.text for part in read_page(changes(small())).all("p")]
    assert "ndcg@3: 1 query better, 0 the same, 1 worse. The 2 that moved most:" in said


def test_every_query_where_they_are_few() -> None:
    of = material()
    tree = read_page(sample(of))
    values = {name: frame["ndcg@5"].to_list() for name, frame in of.found.per_query.items()}
    ids = next(iter(of.found.per_query.values()))["query_id"]
    assert tree.rows() == [
        [query, *(f"{values[name][at]:.4f}" for name in of.found.names)]
        for at, query in enumerate(ids)
    ]
    assert "ndcg@5 of every query." in [part.text for part in tree.all("p")]
    assert [head.text for head in tree.all("th")] == ["query", "old", "new"]


def test_the_words_of_queries_stand_beside_them() -> None:
    tree = read_page(sample(small({"q2": "shoes"})))
    assert [head.text for head in tree.all("th")] == ["query", "text", "old", "new"]
    assert [row[:2] for row in tree.rows()] == [["q1", ""], ["q2", "shoes"]]


def test_of_many_queries_a_sample_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    of = material()
    whole = [row[0] for row in read_page(sample(of)).rows()]
    monkeypatch.setattr(queries, "_MOST_QUERIES", 7)
    tree = read_page(sample(of))
    some = [row[0] for row in tree.rows()]
    assert len(some) == 7
    assert some == [query for query in whole if query in some]
    assert tree.rows() == read_page(sample(of)).rows()
    assert f"ndcg@5 of a sample: 7 of {len(whole)} queries." in [p.text for p in tree.all("p")]


def test_an_undefined_value_is_a_dash() -> None:
    found = rf.compare(
        None, {name: pl.DataFrame({"query_id": ["p", "q"], "lag": values})
               for name, values in (("old", [1.0, None]), ("new", [2.0, 3.0]))},
        baseline="old", ci=None,
    )  # fmt: skip
    tree = read_page(sample(Material(found, {}, {}, {})))
    assert tree.rows() == [["p", "1.0000", "2.0000"], ["q", "–", "3.0000"]]
