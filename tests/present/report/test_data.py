"""All of a report comes from one evaluation, and of many queries some are drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.present.report import data as gathered
from rankframe.present.report.data import in_order
from tests.support.page_text import read_page
from tests.support.report_cases import ATTRIBUTES, QRELS, RUNS, compared


def test_slices_stand_as_asked_and_others_follow() -> None:
    known = pl.DataFrame({"query_id": list(QRELS), "size": ["s", "m", "l", "xl"] * 10})
    found = compared(queries=known, by="size")
    assert slices(found.table) == ["l", "m", "s", "xl"]
    sorted_ones = in_order(found, {"size": ["s", "m", "l"]})
    assert slices(sorted_ones.table) == slices(sorted_ones.systems) == ["s", "m", "l", "xl"]
    assert sorted_ones.table.filter(pl.col("by").is_null()).equals(
        found.table.filter(pl.col("by").is_null())
    )
    assert sorted_ones.table.sort(pl.all()).equals(found.table.sort(pl.all()))
    assert in_order(found, {}) is found


def slices(frame: pl.DataFrame) -> list[str]:
    return frame["slice"].drop_nulls().unique(maintain_order=True).to_list()


def test_numbers_and_enums_have_an_order_of_their_own() -> None:
    sizes = pl.Enum(["tiny", "big", "average"])
    known = pl.DataFrame({
        "query_id": list(QRELS), "words": [10, 9, 1, 2] * 10,
        "size": pl.Series(["big", "tiny", "average", "tiny"] * 10, dtype=sizes),
    })  # fmt: skip
    found = compared(queries=known, by=["words", "size"])
    assert slices(found.table) == ["1", "2", "9", "10", "tiny", "big", "average"]


def test_an_order_of_nothing_is_refused(refusal) -> None:
    found = compared(queries=ATTRIBUTES, by="half")
    assert "by which nothing is sliced. There is 'half'" in refusal(in_order, found, {"x": []})
    assert "takes a list of slices" in refusal(in_order, found, {"half": "one"})


def test_of_many_queries_curves_are_of_a_sample_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rf.report(QRELS, RUNS, "ndcg@5", output=tmp_path / "whole.html", date="now")
    monkeypatch.setattr(gathered, "_CURVE_QUERIES", 15)
    monkeypatch.setattr(gathered, "_BOUND_QUERIES", 6)
    some = rf.report(QRELS, RUNS, "ndcg@5", output=tmp_path / "some.html", date="now")
    before, after = (read_page(page.read_text("utf-8")) for page in (whole, some))
    said = "a sample of 15 of 40 queries"
    assert said not in before.text
    captions = [one.text for one in after.all("figcaption")]
    assert sum(said in one for one in captions) == 3
    assert f"curves are drawn of {said}." in [one.text for one in after.all("li")]
    assert "All of this is of a sample of 6 of 40 queries." in after.text
    # All that decides is of every query.
    for name in ("headline", "pairs", "sample", "ledger"):
        tables = [
            next(t for t in page.all("table") if t.attributes["id"] == name).rows()
            for page in (before, after)
        ]
        assert tables[0] == tables[1], name
    movers = [[e.text for e in page.all("details") if e.attributes["class"] == "mover"]
              for page in (before, after)]  # fmt: skip
    assert movers[0] == movers[1]


def test_a_verdict_on_every_run_beside_the_baseline(tmp_path: Path, refusal) -> None:
    rules = {"rules": ["ndcg@5: no worse than -90%", "map: better than 500% per half"],
             "min_queries": 5, "min_judged@3": 0.01}  # fmt: skip
    target = tmp_path / "page.html"
    runs = {**RUNS, "again": RUNS["old"]}
    rf.report(QRELS, runs, "ndcg@5", output=target, rules=rules, queries=ATTRIBUTES)
    page = read_page(target.read_text("utf-8"))
    boxes = [e for e in page.all("div") if (e.attributes.get("class") or "")[:7] == "verdict"]
    stored = rf.evaluate(QRELS, RUNS["old"], ["ndcg@5", "map", "judged@3"])
    verdicts = {
        name: rf.gate(QRELS, runs[name], stored, rules, queries=ATTRIBUTES).headline
        for name in ("new", "again")
    }
    for box, (name, said) in zip(boxes, verdicts.items(), strict=True):
        word, _, counted = said.partition(": ")
        assert box.text.startswith(f"{word} {name}: {counted}")
    assert "give two runs or more" in refusal(
        rf.report, QRELS, {"old": RUNS["old"]}, output=target, rules=rules
    )
