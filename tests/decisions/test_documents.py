"""Metrics over documents, and of what was shown, where something is decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.support.shown import shop

SHOP = shop(7)
# Every fifth place goes to one document.
OTHER = SHOP.run.with_columns(
    pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("d9")).otherwise("doc_id").alias("doc_id")
).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
RUNS = {"old": SHOP.run, "new": OTHER}
BESIDE: Any = {"train": SHOP.train, "items": SHOP.items}
NAMES = ["novelty@5", "gini@5", "ndcg@10", "coverage@5"]


def compared(qrels: Any = SHOP.qrels, names: Any = NAMES, **options: Any) -> rf.Comparison:
    options = {"no_overlap": "zero", **BESIDE, **options}
    return rf.compare(qrels, RUNS, names, baseline="old", **options)


def test_values_are_those_of_each_alone() -> None:
    found = compared(queries=SHOP.users, by="segment")
    alone = {name: rf.evaluate(SHOP.qrels, run, NAMES, no_overlap="zero", **BESIDE,
                               queries=SHOP.users, by="segment")
             for name, run in RUNS.items()}  # fmt: skip
    assert found.table["metric"].unique(maintain_order=True).to_list() == NAMES
    for row in found.table.filter(pl.col("by").is_null()).to_dicts():
        assert row["baseline_value"] == alone["old"][row["metric"]]
        assert row["value"] == alone["new"][row["metric"]]
    gini = found.table.filter(metric="gini@5")
    assert gini["wins"].null_count() == gini.height
    whole = gini.row(0, named=True)
    assert whole["significant"]
    assert whole["ci_low"] < whole["difference"] < whole["ci_high"]
    sliced = gini.filter(slice="new").row(0, named=True)
    own = alone["new"].slices.filter(slice="new", metric="gini@5")["value"][0]
    assert (sliced["value"], sliced["p_value"]) == (own, None)


def test_equal_systems_do_not_differ() -> None:
    found = rf.compare(None, {"a": SHOP.run, "b": SHOP.run}, ["gini@5"], **BESIDE)
    row = found.table.row(0, named=True)
    assert (row["difference"], row["p_value"], row["significant"]) == (0.0, 1.0, False)


def test_without_judgments_and_in_text() -> None:
    found = compared(None, ["coverage@5", "popularity@5"])
    assert "coverage@5" in str(found)
    assert "gini@5" in compared(None, ["gini@5", "novelty@5"]).to_markdown()


def test_stored_results_do_not_keep_counts(tmp_path: Path) -> None:
    before = rf.evaluate(SHOP.qrels, SHOP.run, NAMES, no_overlap="zero", **BESIDE)
    before.write(tmp_path / "old")
    options: Any = {"no_overlap": "zero", **BESIDE}
    rules = ["novelty@5: no worse than -50%", "coverage@5: at least 0.5", "gini@5: at most 0.01"]
    verdict = rf.gate(SHOP.qrels, OTHER, tmp_path / "old", rules, **options)
    assert verdict.checks["status"].to_list() == ["pass", "pass", "fail"]
    with pytest.raises(rf.RankframeError, match="does not keep"):
        rf.gate(SHOP.qrels, OTHER, tmp_path / "old", "gini@5: no worse than -1%", **options)
    with pytest.raises(rf.RankframeError, match="no values of 'gini@5'"):
        rf.compare(None, {"a": tmp_path / "old", "b": before}, ["gini@5"])


def test_diff_and_report(tmp_path: Path) -> None:
    change = rf.diff(SHOP.qrels, SHOP.run, OTHER, "popularity@5", train=SHOP.train)
    assert change.summary["wins"][0] + change.summary["losses"][0] > 0
    with pytest.raises(rf.RankframeError, match="looks at documents"):
        rf.diff(SHOP.qrels, SHOP.run, OTHER, "gini@5", train=SHOP.train)
    page = rf.report(
        SHOP.qrels, RUNS, ["ndcg@10", *NAMES[:2]], output=tmp_path / "page.html",
        no_overlap="zero", **BESIDE,
    )  # fmt: skip
    assert "gini@5" in page.read_text(encoding="utf-8")
    with pytest.raises(rf.RankframeError, match="about its first metric"):
        rf.report(SHOP.qrels, RUNS, ["gini@5"], output=tmp_path / "no.html", **BESIDE)
