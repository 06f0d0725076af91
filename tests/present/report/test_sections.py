"""The sections of a report say what the comparison found, number by number."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.comparison import HOLE_COLUMNS
from rankframe.core.wording import count_text, number_text, p_text, share_text, signed_text
from rankframe.present.report.sections import (
    data_summary,
    definitions,
    details,
    provenance,
    slices,
    unjudged,
)
from tests.support.page_text import Element, read_page
from tests.support.report_cases import ATTRIBUTES, RUNS, compared, material

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
    assert {item for _, item in values} <= listed
    assert all(set(row[1:4]) <= {"", "0"} for row in zeros.rows())
    assert read_page(html).all("details")


def test_a_page_says_of_what_it_was_made_and_how() -> None:
    html = provenance(material(compared(k_max=7)))
    tree = read_page(html)
    said = dict(
        zip([e.text for e in tree.all("dt")], [e.text for e in tree.all("dd")], strict=True)
    )
    assert (said["k max"], said["test"], said["baseline"]) == ("the top 7", "t", "old")
    assert (said["made"], said["with"]) == ("2026-01-02 03:04 UTC", "rankframe 9.9")
    assert said["command"] == "rankframe report qrels.parquet old.parquet"
    assert said["values of old"] == "0123456789ab"
    assert len(said["judgments, whatever their order"]) > 10
    assert table(html, "inputs").rows() == [
        ["judgments", "qrels.parquet", "1,234", "56.8 kB", "abababababab"],
        ["run old", "the run dict", "", "", ""],
    ]


def test_every_metric_is_defined() -> None:
    own = (pl.col("rank") <= 2).any().alias("<own>")
    tree = read_page(definitions(compared(metrics=["ndcg@5", "lag", own])))
    folds = tree.all("details")
    assert [fold.one("summary").all("code")[0].text for fold in folds] == ["ndcg@5", "lag", "<own>"]
    assert "Higher is better." in folds[0].text
    assert "Lower is better." in folds[1].text
    assert "An expression of yours. Higher is better." in folds[2].text
    assert "dcg@k ÷ dcg@k of the ideal list" in folds[0].text
