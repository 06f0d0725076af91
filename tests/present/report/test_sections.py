"""The sections of a report say what the comparison found, number by number."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.core.wording import count_text, number_text, p_text, share_text, signed_text
from rankframe.present.report import sections
from rankframe.present.report.model import Material
from rankframe.present.report.sections import (
    changes,
    data_summary,
    definitions,
    details,
    provenance,
    sample,
    sampled,
    slices,
    unjudged,
)
from tests.support.page_text import Element, read_page
from tests.support.report_cases import (
    ATTRIBUTES,
    FACTS,
    INPUTS,
    RUNS,
    compared,
    material,
    moved_between,
)

NOTHING = {query: {"nowhere": 1.0} for query in RUNS["old"]}


def table(html: str, name: str) -> Element:
    (found,) = (t for t in read_page(html).all("table") if t.attributes["id"] == name)
    return found


def heads(of: Element) -> list[str]:
    return [head.text for head in of.all("th")]


@pytest.mark.parametrize("old", [RUNS["old"], NOTHING], ids=["alike", "apart"])
def test_every_comparison_with_the_baseline(old: Any) -> None:
    found = compared({"old": old, "new": RUNS["new"]}, ["ndcg@5", "num_rel_ret"], no_overlap="zero")
    assert found.table["significant"].any() == (old is NOTHING)
    of = table(details(found), "pairs")
    for cells, row in zip(of.rows(), found.table.to_dicts(), strict=True):
        metric = found.metric(row["metric"])
        by_head = dict(zip(heads(of), cells, strict=True))
        assert by_head["metric"] == row["metric"]
        assert by_head["system"] == "new"
        assert by_head["value"] == number_text(row["value"], metric)
        assert by_head["difference"] == signed_text(row["difference"], metric)
        assert by_head["W/T/L"] == f"{row['wins']}/{row['ties']}/{row['losses']}"
        assert by_head["p"].rstrip("*") == p_text(row["p_corrected"])
        assert by_head["p"].endswith("*") == row["significant"]
        assert by_head["raw p"] == p_text(row["p_value"])
        assert by_head["judged"] == share_text(row["judged"])


def test_what_the_star_means_is_said_below() -> None:
    found = compared(metrics=["ndcg@5"], queries=ATTRIBUTES, by="half")
    for shown in (details(found), slices(found, {})):
        notes = [p.text for p in read_page(shown).all("p")]
        assert any(note.startswith("* corrected p below 0.05. ") for note in notes)


def test_slices_of_one_system_or_of_pairs() -> None:
    options: dict[str, Any] = {"queries": ATTRIBUTES, "by": "half", "metrics": ["ndcg@5"]}
    of = table(slices(compared(**options), {}), "slice-pairs")
    assert [row[1] for row in of.rows()] == ["half: one few", "half: other few"]
    alone = compared({"old": RUNS["old"]}, **options)
    of = table(slices(alone, {}), "slice-values")
    values = alone.systems.filter(pl.col("by").is_not_null())["value"]
    assert [row[1] for row in of.rows()] == ["half: one (few)", "half: other (few)"]
    assert [row[2] for row in of.rows()] == [f"{value:.4f}" for value in values]


def test_slices_are_drawn_above_their_table() -> None:
    found = compared(queries=ATTRIBUTES, by="half", metrics=["ndcg@5"])
    tree = read_page(slices(found, {"slices": rf.plot.discounts(3)}))
    assert tree.one("figcaption").text == "ndcg@5 by slice, with intervals"
    assert len(tree.all("svg")) == 1
    assert not read_page(slices(found, {})).all("svg")


def test_what_depends_on_unjudged_documents() -> None:
    found = compared()
    of = table(unjudged(material(found)), "bounds")
    expected = [
        [row["metric"], row["system"], share_text(row["judged"]),
         *("–" if row[n] is None else f"{row[n]:.4f}"
           for n in ("value", *HOLE_COLUMNS))]
        for row in found.systems.to_dicts()
    ]  # fmt: skip
    assert of.rows() == expected


def test_the_ledger_is_one_table_and_zeros_are_folded_away() -> None:
    found = compared()
    html = data_summary(found)
    shown, zeros = table(html, "ledger"), table(html, "ledger-zeros")
    assert heads(shown) == heads(zeros) == ["counted", "all", "old", "new", "meaning"]
    values = {
        (row["system"], row["item"]): row["value"] for row in found.ledger.to_dicts()
        if row["value"] is not None
    }  # fmt: skip
    for of in (shown, zeros):
        for item, *cells, _ in of.rows():
            for system, cell in zip((None, "old", "new"), cells, strict=True):
                value = values.get((system, item.replace(" ", "_")))
                if value is not None:
                    assert cell == count_text(value)
    listed = {row[0].replace(" ", "_") for of in (shown, zeros) for row in of.rows()}
    assert {item for _, item in values if not item.startswith("caveat_")} <= listed
    assert all(set(row[1:4]) <= {"", "0"} for row in zeros.rows())
    assert read_page(html).all("details")


def test_a_page_says_of_what_it_was_made_and_how() -> None:
    html = provenance(material(compared(k_max=7)))
    tree = read_page(html)
    said = dict(
        zip([e.text for e in tree.all("dt")], [e.text for e in tree.all("dd")], strict=True)
    )
    assert (said["k max"], said["test"], said["baseline"]) == (
        "the top 7",
        "t, hypothesis: equal means",
        "old",
    )
    assert (said["made"], said["with"]) == ("2026-01-02 03:04 UTC", "rankframe 9.9")
    assert said["command"] == "rankframe report qrels.parquet old.parquet"
    assert table(html, "inputs").rows() == [["run old", "the run dict", "", "", ""]]


def test_every_metric_is_defined() -> None:
    own = (pl.col("rank") <= 2).any().alias("<own>")
    tree = read_page(definitions(compared(metrics=["ndcg@5", "lag", own])))
    folds = tree.all("details")
    assert [fold.one("summary").all("code")[0].text for fold in folds] == ["ndcg@5", "lag", "<own>"]
    assert "Higher is better." in folds[0].text
    assert "Lower is better." in folds[1].text
    assert "An expression of yours. Higher is better." in folds[2].text
    assert "dcg@k ÷ dcg@k of the ideal list" in folds[0].text


JUDGED = {"q1": {"a": 3, "b": 1, "z": 0}, "q2": {"a": 1}}
BEFORE = {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
AFTER = {"q1": {"a": 3.0, "z": 2.0, "b": 1.0}, "q2": {"u": 2.0, "a": 1.0}}
KNOWN = pl.DataFrame({"query_id": ["q1", "q2"], "kind": ["<i>", "new"], "traffic": [2.0, 30.0]})


def small(texts: dict[str, str] | None = None, weight: str | None = None, **told: Any) -> Material:
    found = rf.compare(JUDGED, {"old": BEFORE, "new": AFTER}, ["ndcg@3"], baseline="old", ci=None)
    moved = moved_between(JUDGED, BEFORE, AFTER, "ndcg@3", weight=weight, **told)
    return Material(found, {}, {"new": moved}, texts or {}, FACTS, INPUTS, found, weight=weight)


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
    monkeypatch.setattr(sections, "MOST_QUERIES", 7)
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
    tree = read_page(sample(Material(found, {}, {}, {}, FACTS, INPUTS, found)))
    assert tree.rows() == [["p", "1.0000", "2.0000"], ["q", "–", "3.0000"]]
