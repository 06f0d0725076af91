"""Query by query: lists side by side by hand, and a sample that is always the same."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.present.report import queries
from rankframe.present.report.model import Material
from rankframe.present.report.queries import changes, sample, sampled
from tests.support.page_text import Element, read_page
from tests.support.report_cases import MADE, material, moved_between

JUDGED = {"q1": {"a": 3, "b": 1, "z": 0}, "q2": {"a": 1}}
BEFORE = {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
AFTER = {"q1": {"a": 3.0, "z": 2.0, "b": 1.0}, "q2": {"u": 2.0, "a": 1.0}}
KNOWN = pl.DataFrame({"query_id": ["q1", "q2"], "kind": ["<i>", "new"], "traffic": [2.0, 30.0]})


def small(texts: dict[str, str] | None = None, weight: str | None = None, **told: Any) -> Material:
    found = rf.compare(JUDGED, {"old": BEFORE, "new": AFTER}, ["ndcg@3"], baseline="old", ci=None)
    moved = moved_between(JUDGED, BEFORE, AFTER, "ndcg@3", weight=weight, **told)
    return Material(found, {}, {"new": moved}, texts or {}, MADE, found, weight=weight)


def movers(of: Element) -> list[Element]:
    return [one for one in of.all("details") if one.attributes["class"] == "mover"]


def ranking(part: Element) -> list[str]:
    return [" ".join(span.text for span in item.all("span")) for item in part.all("li")]


def test_two_lists_side_by_side_and_what_got_worse_first() -> None:
    tree = read_page(changes(small(query_text={"q1": "a <b> c"})))
    worse, gained = movers(tree)
    assert worse.one("summary").text.startswith("q2 ")
    assert [e.attributes["class"] for e in worse.one("summary").all("span")] == ["delta down"]
    assert gained.one("summary").one("i").text == "a <b> c"
    assert not worse.all("i")
    lists = gained.all("ol")
    assert [ranking(part) for part in lists] == [
        ["1 1 b now 3", "2 ? x gone", "3 3 a now 1"],
        ["1 3 a was 3", "2 0 z new", "3 1 b was 1"],
    ]
    assert [head.text for head in gained.all("h4")] == ["old", "new"]
    grades = {e.text: e.attributes for e in lists[1].all("span") if "title" in e.attributes}
    assert {text: of["class"] for text, of in grades.items()} == {
        "3": "grade g3", "0": "grade g0", "1": "grade g1",
    }  # fmt: skip
    unjudged = next(e for e in lists[0].all("span") if e.text == "?")
    assert (unjudged.attributes["class"], unjudged.attributes["title"]) == (
        "grade none",
        "not judged",
    )


def test_it_says_how_many_moved_and_what_is_known_of_them() -> None:
    tree = read_page(changes(small(queries=KNOWN, weight="traffic", titles={"a": "An <a>"})))
    head = tree.all("summary")[0].text
    assert head == "new against old: 1 query worse, 0 the same, 1 better by ndcg@3"
    said = [part.text for part in tree.all("p")]
    assert "The 1 that got worst by change × traffic:" in said
    worse, gained = movers(tree)
    chips = [e.text for e in worse.all("span") if e.attributes.get("class") == "chip"]
    assert chips[0].startswith("traffic 30, weighted -11.")
    assert chips[1] == "kind: new"
    assert "kind: <i>" in gained.text
    documents = [e.text for e in worse.all("span") if e.attributes.get("class") == "doc"]
    assert documents == ["An <a> a", "u", "An <a> a"]


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
    monkeypatch.setattr(queries, "MOST_QUERIES", 7)
    tree = read_page(sample(of))
    some = [row[0] for row in tree.rows()]
    assert len(some) == 7
    assert some == [query for query in whole if query in some]
    assert tree.rows() == read_page(sample(of)).rows()
    assert f"ndcg@5 of a sample: 7 of {len(whole)} queries." in [p.text for p in tree.all("p")]


def test_a_sample_does_not_depend_on_what_else_is_there() -> None:
    every = pl.Series([f"q{n}" for n in range(1_000)])
    some = sampled(every, 100)
    assert len(some) == 100
    assert some.to_list() == [query for query in every if query in set(some)]
    # some of a sample are some of all
    assert sampled(sampled(every, 300), 100).equals(some)
    assert sampled(every, 1_000) is every


def test_an_undefined_value_is_a_dash() -> None:
    found = rf.compare(
        None, {name: pl.DataFrame({"query_id": ["p", "q"], "lag": values})
               for name, values in (("old", [1.0, None]), ("new", [2.0, 3.0]))},
        baseline="old", ci=None,
    )  # fmt: skip
    tree = read_page(sample(Material(found, {}, {}, {}, MADE, found)))
    assert tree.rows() == [["p", "1.0000", "2.0000"], ["q", "–", "3.0000"]]
