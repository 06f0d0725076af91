"""`rankframe diff`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cli.shell import BM25, DENSE, QRELS, rankframe, refused


def test_a_diff_is_of_one_metric() -> None:
    code, _, err = rankframe("diff", QRELS, BM25, DENSE, "-m", "map", "-m", "mrr")
    assert code == 2
    assert "-m is taken once here, not 2 times: map, mrr." in " ".join(err.split())


def test_diff_shows_what_moved(tmp_path: Path) -> None:
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
    assert "Did you mean" in refused("diff", QRELS, BM25, DENSE, "--query", "q10388")


def test_diff_takes_every_policy(tmp_path: Path) -> None:
    target = tmp_path / "changes.parquet"
    policies = ("--k-max", 2, "--judged-only", "--no-overlap", "zero", "--missing", "skip")
    code, _, err = rankframe(
        "diff", QRELS, BM25, DENSE, "-m", "map", *policies, "--per-query", target
    )
    assert (code, err) == (0, "")
    how = {"k_max": 2, "judged_only": True, "missing": "skip"}
    before, after = (rf.evaluate(QRELS, run, "map", **how)["map"] for run in (BM25, DENSE))
    changes = pl.read_parquet(target)
    assert changes["a"].mean() == pytest.approx(before)
    assert changes["b"].mean() == pytest.approx(after)
