"""The first screen: sentences, a small table, verdicts and limits."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from rankframe.core.wording import number_text, percent_text
from rankframe.present.report.summary import headline, summary
from tests.support.page_text import read_page
from tests.support.report_cases import METRICS, QRELS, RUNS, compared, material

NOTHING = {query: {"nowhere": 1.0} for query in RUNS["old"]}


def test_the_table_has_a_row_a_system_and_a_column_a_metric() -> None:
    found = compared(ci="t")
    tree = read_page(headline(found))
    assert [head.text for head in tree.all("th")] == ["system", *METRICS, "queries"]
    assert [row[0] for row in tree.rows()] == ["old", "new"]
    for name, *cells, _ in tree.rows():
        for label, cell in zip(METRICS, cells, strict=True):
            one, metric = pl.col("metric") == label, found.metric(label)
            row = found.systems.row(by_predicate=one & (pl.col("system") == name), named=True)
            low, high = (number_text(row[side], metric) for side in ("ci_low", "ci_high"))
            share = ""
            if name == "new":
                pair = found.table.row(by_predicate=one, named=True)
                share = f" {percent_text(pair['relative'])}"
            plain = cell.replace("▲ ", "").replace("▼ ", "")
            assert plain == f"{number_text(row['value'], metric)}{share}{low} to {high}"


def test_the_best_is_bold_and_what_differs_is_marked() -> None:
    found = compared({"old": NOTHING, "new": RUNS["new"]}, ["ndcg@5", "lag"], no_overlap="zero")
    tree = read_page(headline(found))
    old, new = tree.one("tbody").all("tr")
    assert next(e.attributes["class"] for e in new.all("td")[1].all("span")) == "best"
    assert not [e for e in old.all("span") if e.attributes.get("class") == "best"]
    # undefined for the old one: there is nothing to be better than
    assert old.all("td")[2].text == "undefined"
    assert "▲" in new.all("td")[1].text
    assert "better or worse than old (corrected p below 0.05, holm; test: t, " in tree.text


def test_what_is_doubtful_stands_where_the_decision_is_read() -> None:
    fewer = dict(list(RUNS["new"].items())[:-3])
    found = compared({"old": RUNS["old"], "new": fewer}, ["ndcg@5"])
    (warned,) = [str(said) for said in found.caveats if said.code == "queries_missing"]
    assert warned.startswith("new: ")
    tree = read_page(summary(material(found, sampled="a sample of 7 of 40 queries")))
    limits = tree.all("ul")[1]
    items = {item.text: item.attributes.get("class") for item in limits.all("li")}
    assert items[f"{warned}."] == "warning"
    assert items["curves are drawn of a sample of 7 of 40 queries."] is None
    assert tree.all("li")[0].one("b").text == "new"


def test_the_verdict_of_rules_comes_first() -> None:
    before = rf.evaluate(QRELS, RUNS["old"], "ndcg@5")
    verdict = rf.gate(QRELS, RUNS["new"], before, "ndcg@5: better than 500%")
    tree = read_page(summary(material(verdicts={"<new>": verdict})))
    box = next(e for e in tree.all("div") if (e.attributes.get("class") or "")[:7] == "verdict")
    assert box.attributes["class"] == "verdict fail"
    assert box.text.startswith("FAIL <new>: 1 failed")
    assert box.rows()[0][:2] == ["fail", "ndcg@5: better than 500%"]
