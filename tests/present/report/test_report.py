"""The report: one page, whole, harmless whatever is in it, and alive in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.opening import open_table
from rankframe.present.report import report as gathered
from rankframe.present.report.report import in_order
from tests.present.report.conftest import RUNS as SHOP_RUNS
from tests.present.report.conftest import SHOP, WHEN
from tests.support.counted import Counted
from tests.support.oracles import random_case
from tests.support.page_text import read_page
from tests.support.report_cases import ATTRIBUTES, QRELS, RUNS, compared

CASE = random_case(1, missing=False)
CASES = {"old": CASE.run, "new": random_case(2, missing=False).run}


def test_the_page_is_one_small_file_that_fetches_nothing(shop: Path) -> None:
    page = shop.read_text(encoding="utf-8")
    assert shop.stat().st_size < 3_000_000
    assert [path.name for path in shop.parent.iterdir()] == ["report.html"]
    # Names of XML dialects are no addresses to fetch.
    addresses = set(re.findall(r"https?://[^\"'\s<>)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_page_says_what_was_found(shop: Path) -> None:
    page = shop.read_text(encoding="utf-8")
    found = rf.compare(SHOP / "qrels.parquet", SHOP_RUNS, ["ndcg@10"], baseline="bm25")
    for value in found.systems["value"]:
        assert f"{value:.4f}" in page
    for part in ("Shop search", "locale: de", "Policies", "corrected p below 0.05", "kaffee",
                 "dcg@k ÷ dcg@k of the ideal list", "500 of 1,960 queries", "if all relevant",
                 "1,171 better", "is better</b> than bm25: ndcg@10 +", "but worse in locale de -16",
                 WHEN, f"rankframe {rf.__version__}", "Caveats", "values of bm25", "qrels.parquet",
                 "judgments, whatever their order"):  # fmt: skip
        assert part in page, part


def test_the_same_data_gives_the_same_page(shop: Path, tmp_path: Path) -> None:
    again = rf.report(
        SHOP / "qrels.parquet",
        {name: pl.read_parquet(run).sample(fraction=1, shuffle=True, seed=1) if name != "hybrid"
         else run for name, run in SHOP_RUNS.items()},
        ["ndcg@10", "map", "lag", "num_rel_ret"],
        output=tmp_path / "again.html", title="Shop search", queries=SHOP / "queries.parquet",
        by=["locale"], date=WHEN,
    )  # fmt: skip
    # all but what inputs are called
    named = re.compile(r'<table id="inputs".*?</table>', re.DOTALL)
    pages = [named.sub("", page.read_text(encoding="utf-8")) for page in (again, shop)]
    assert pages[0] == pages[1]


def test_a_page_needs_a_run_and_no_non_relevant_document(tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.html"
    assert "one run or more" in refusal(lambda: rf.report({"q": {"a": 1}}, {}, output=target))
    rf.report({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}}, output=target)
    page = target.read_text("utf-8")
    assert "ROC of retrieved" not in page
    assert "Precision at eleven points" in page


def test_one_run_alone_has_a_page_too(tmp_path: Path) -> None:
    page = rf.report(
        SHOP / "qrels.parquet", {"bm25": SHOP_RUNS["bm25"]}, ["ndcg@10", "map"],
        output=tmp_path / "one.html", queries=SHOP / "queries.parquet", by="locale",
    ).read_text(encoding="utf-8")  # fmt: skip
    assert "bm25: 1,960 queries compared" in page
    assert "<b>bm25</b>: ndcg@10 0.4" in page
    assert "locale: de" in page
    assert "Against" not in page
    assert "differs from" not in page


def test_hostile_names_stay_text(hostile: Path) -> None:
    page = hostile.read_text(encoding="utf-8")
    assert page.count("<script>") == 1  # its own
    assert "<img" not in page
    assert "<b>bold" not in page
    assert "<h1>owned" not in page
    assert hostile.stat().st_size < 3_000_000
    assert r"a\x00\x01\x07\x0b\x0c\x1b[31m\x9b\ufffe" in page
    assert r"a\nb\u2028c\u2029d" in page
    assert {c for c in page if not c.isprintable()} <= {"\n", "\u200d"}  # a joint of emoji
    assert page.count("x" * 60) < 200


@pytest.mark.parametrize(
    "output",
    ["report.pdf", "none/report.html"],
)
def test_bad_targets_are_refused_first(tmp_path: Path, output: str, refusal) -> None:
    refusal(rf.report, "nowhere", {}, output=tmp_path / output)
    assert not list(tmp_path.iterdir())


def test_a_failed_report_leaves_nothing(tmp_path: Path, refusal) -> None:
    target = tmp_path / "report.html"
    refusal(rf.report, SHOP / "qrels.parquet", {"x": SHOP / "queries.parquet"}, output=target)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("policies", [{"k_max": 3}, {"k_max": 5, "judged_only": True}], ids=str)
def test_a_report_of_lists_that_are_cut(policies: dict[str, Any], tmp_path: Path) -> None:
    asked: dict[str, Any] = {"metrics": ["ndcg@10", "recall@100"], **policies}
    page = read_page(
        rf.report(CASE.qrels, CASES, output=tmp_path / "cut.html", **asked).read_text("utf-8")
    )
    found = rf.compare(CASE.qrels, CASES, baseline="old", **asked)
    (summary,) = (t for t in page.all("table") if t.attributes["id"] == "headline")
    values = {(row["metric"], row["system"]): row["value"] for row in found.systems.to_dicts()}
    for name, *cells in summary.rows():
        for label, cell in zip(asked["metrics"], cells, strict=False):
            assert cell.startswith(f"{values[label, name]:.4f}")
    # movers are ranked in the list as it is cut
    ranks = [int(e.text) for e in page.all("span") if e.attributes.get("class") == "rank"]
    assert max(ranks) <= policies["k_max"]
    grades = [e.text for e in page.all("span") if (e.attributes.get("class") or "")[:5] == "grade"]
    assert ("?" in grades) != ("judged_only" in policies)
    assert f"the top {policies['k_max']}" in [e.text for e in page.all("dd")]


def test_a_report_keeps_the_best_of_duplicates_everywhere(tmp_path: Path, refusal) -> None:
    frames = {name: open_table(run, "run").frame.collect() for name, run in CASES.items()}
    worse = {name: run.with_columns(pl.col("score") - 100) for name, run in frames.items()}
    twice = {name: pl.concat([worse[name], run]) for name, run in frames.items()}
    graded = open_table(CASE.qrels, "qrels").frame.collect()
    judged = pl.concat([graded, graded.with_columns(pl.col("relevance") - 1)])
    refusal(rf.report, judged, twice, output=tmp_path / "x.html")
    assert not list(tmp_path.iterdir())
    pages = []
    for qrels, runs in ((graded, frames), (judged, twice)):
        target = rf.report(qrels, runs, "ndcg@5", output=tmp_path / "x.html",
                           duplicates="keep_best", date=WHEN)  # fmt: skip
        pages.append(target.read_text(encoding="utf-8"))
    # all but how many rows were read, and dropped
    counts = (
        r"<tr><td[^>]*>(qrels|run)_(rows|duplicates_dropped)</td>(?:(?!</tr>).)*</tr>"
        r"|\d+ counts that are 0 everywhere|<table id=\"inputs\".*?</table>"
    )
    plain, kept = (re.sub(counts, "", page, flags=re.DOTALL) for page in pages)
    assert plain == kept
    assert pages[0] != pages[1]


def test_every_input_is_read_once(tmp_path: Path) -> None:
    qrels = Counted(SHOP / "qrels.parquet", "qrels")
    runs = {name: Counted(path, "run") for name, path in SHOP_RUNS.items()}
    frames = {name: run.frame for name, run in runs.items()}
    rf.report(qrels.frame, frames, ["ndcg@10"], output=tmp_path / "report.html")
    assert [source.reads for source in (qrels, *runs.values())] == [1, 1, 1, 1]


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
    refusal(in_order, found, {"x": []})
    refusal(in_order, found, {"half": "one"})


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
    refusal(rf.report, QRELS, {"old": RUNS["old"]}, output=target, rules=rules)
