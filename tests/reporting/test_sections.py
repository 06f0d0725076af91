"""The sections of a report say what the comparison found, number by number."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.base.wording import number_text, p_text, share_text, signed_text
from rankframe.decisions.comparison import HOLE_COLUMNS
from rankframe.reporting.sections import counted, definitions, details, headline, holes, slices
from tests.support.page_text import Element, read_page
from tests.support.report_cases import ATTRIBUTES, METRICS, RUNS, compared

NOTHING = {query: {"nowhere": 1.0} for query in RUNS["old"]}


def table(html: str, name: str) -> Element:
    (found,) = (t for t in read_page(html).all("table") if t.attributes["id"] == name)
    return found


def heads(of: Element) -> list[str]:
    return [head.text for head in of.all("th")]


def test_the_summary_has_a_row_a_metric_and_a_column_a_system() -> None:
    found = compared(ci="t")
    of = table(headline(found), "headline")
    assert heads(of) == ["metric", "old", "new", "queries"]
    rows = of.rows()
    assert [row[0] for row in rows] == METRICS
    for row in rows:
        for name, cell in zip(found.names, row[1:3], strict=True):
            one = found.systems.row(
                by_predicate=(pl.col("metric") == row[0]) & (pl.col("system") == name), named=True
            )
            low, high = (
                number_text(one[side], found.metric(row[0])) for side in ("ci_low", "ci_high")
            )
            shown = number_text(one["value"], found.metric(row[0]))
            assert cell.replace("†", "") == f"{shown}{low} to {high}"


def test_the_best_is_bold_and_what_differs_is_marked() -> None:
    found = compared({"old": NOTHING, "new": RUNS["new"]}, ["ndcg@5", "lag"], no_overlap="zero")
    tree = read_page(headline(found))
    rows = tree.one("tbody").all("tr")
    marks = [[bool(c.all("sup")) for c in row.all("td")[1:3]] for row in rows]
    assert marks == [[False, True], [False, False]]
    best = [
        [s.attributes.get("class") for c in row.all("td")[1:3] for s in c.all("span")]
        for row in rows
    ]
    assert best[0][:1] == [None]
    assert "best" in best[0]
    # undefined for the old one: there is nothing to be better than
    assert rows[1].all("td")[1].text == "undefined"
    assert "differs from old (corrected p below 0.05, holm; test: t)" in tree.text


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
        assert by_head["W / T / L"] == f"{row['wins']} / {row['ties']} / {row['losses']}"
        assert by_head["p"].rstrip("*") == p_text(row["p_corrected"])
        assert by_head["p"].endswith("*") == row["significant"]
        assert by_head["raw p"] == p_text(row["p_value"])
        assert by_head["judged"] == share_text(row["judged"])


def test_what_the_star_means_and_what_is_doubtful_stand_where_the_decision_is_read() -> None:
    fewer = dict(list(RUNS["new"].items())[:-3])
    found = compared({"old": RUNS["old"], "new": fewer}, ["ndcg@5"], queries=ATTRIBUTES, by="half")
    (warned,) = [said for said in found.warnings if said.startswith("new lacks")]
    for shown in (headline(found), details(found)):
        assert f"Warning: {warned}." in [p.text for p in read_page(shown).all("p")]
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
    of = table(holes(found), "bounds")
    expected = [
        [row["metric"], row["system"], share_text(row["judged"]),
         *("–" if row[n] is None else f"{row[n]:.4f}"
           for n in ("value", *HOLE_COLUMNS))]
        for row in found.systems.to_dicts()
    ]  # fmt: skip
    assert of.rows() == expected


def test_the_ledger_in_words_and_policies_once() -> None:
    found = compared(k_max=7)
    tree = read_page(counted(found))
    items = found.ledger.filter(~pl.col("item").str.starts_with("policy_"))
    assert [
        (row[0], row[1].replace(" ", "_")) for row in table(counted(found), "ledger").rows()
    ] == [(system or "all", item) for system, item in items.select("system", "item").rows()]
    said = dict(
        zip([e.text for e in tree.all("dt")], [e.text for e in tree.all("dd")], strict=True)
    )
    assert len(said) == len(tree.all("dt"))
    assert (said["k max"], said["test"], said["baseline"]) == ("the top 7", "t", "old")


def test_every_metric_is_defined() -> None:
    own = (pl.col("rank") <= 2).any().alias("<own>")
    tree = read_page(definitions(compared(metrics=["ndcg@5", "lag", own])))
    folds = tree.all("details")
    assert [fold.one("summary").all("code")[0].text for fold in folds] == ["ndcg@5", "lag", "<own>"]
    assert "Higher is better." in folds[0].text
    assert "Lower is better." in folds[1].text
    assert "An expression of yours. Higher is better." in folds[2].text
    assert "dcg@k ÷ dcg@k of the ideal list" in folds[0].text
