"""`rankframe diff`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe


def test_a_diff_is_of_one_metric() -> None:
    code, _, err = rankframe("diff", QRELS, BM25, DENSE, "-m", "map", "-m", "mrr")
    assert code == 2
    assert "-m is taken once here, not 2 times: map, mrr." in " ".join(err.split())


def test_diff_shows_what_moved(tmp_path: Path, refused) -> None:
    moved = tmp_path / "moved.csv"
    code, out, _ = rankframe(
        "diff", QRELS, BM25, DENSE, "-m", "ndcg@10", "--most", 1, "--documents", moved
    )
    assert code == 0
    assert "1,171 better" in out
    assert "q0755  0.0000 → 1.0000  (+1.0000)" in out
    assert "entered" in out
    assert pl.read_csv(moved).height == 18
    asked = rankframe("diff", QRELS, BM25, DENSE, "--query", "q1038", "--format", "json")[1]
    assert [row["query_id"] for row in json.loads(asked)["movers"]] == ["q1038"]
    refused("diff", QRELS, BM25, DENSE, "--query", "q10388")


def test_diff_takes_every_policy(tmp_path: Path) -> None:
    target = tmp_path / "changes.parquet"
    policies = ("--k-max", 2, "--judged-only", "--no-overlap", "zero", "--missing", "skip")
    code, _, err = rankframe(
        "diff", QRELS, BM25, DENSE, "-m", "map", *policies, "--per-query", target
    )
    assert code == 0
    assert "[queries_missing]" in err
    how = {"k_max": 2, "judged_only": True, "missing": "skip"}
    before, after = (rf.evaluate(QRELS, run, "map", **how)["map"] for run in (BM25, DENSE))
    changes = pl.read_parquet(target)
    assert changes["bm25"].mean() == pytest.approx(before)
    assert changes["dense"].mean() == pytest.approx(after)


def test_regressions_by_traffic_under_the_names_of_runs(tmp_path: Path) -> None:
    titles = tmp_path / "titles.csv"
    pl.read_parquet(DENSE).select("doc_id").unique().with_columns(
        title=pl.lit("A thing called ") + pl.col("doc_id")
    ).write_csv(titles)
    options = ("--worse", "--queries", SHOP / "queries.parquet", "--weight", "traffic")
    options += ("--most", 2, "--titles", titles)
    code, out, err = rankframe("diff", QRELS, "old=" + str(BM25), DENSE, *options)
    assert (code, err.count("\n")) == (0, 1)
    assert "q1351  0.6658 → 0.1456  (-0.5202)" in out
    assert "schal günstig" in out
    assert "locale de" in " ".join(out.split())
    assert "A thing called" in out
    _, out, _ = rankframe("diff", QRELS, f"old={BM25}", DENSE, *options, "--format", "csv")
    header, first, *_ = out.splitlines()
    assert header == "query_id,old,dense,delta,better,weight,weighted,text,locale,device"
    assert first.startswith("q1351,")
