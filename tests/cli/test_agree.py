"""`rankframe agree`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

import rankframe as rf
from tests.cli.shell import BM25, DENSE, QRELS, rankframe


def test_agree_compares_two_rankings(tmp_path: Path, message) -> None:
    target = tmp_path / "pq.parquet"
    code, out, err = rankframe(
        "agree", BM25, DENSE, "-m", "rbo", "-m", "kendall_tau@10", "--per-query", target
    )
    assert (code, err) == (0, "")
    assert "bm25 ~ dense: 2,000 queries compared, 30 only in the first ranking" in out
    expected = rf.agree(BM25, DENSE, ["rbo", "kendall_tau@10"])
    assert pl.read_parquet(target).drop("run").equals(expected.per_query)
    code, out, _ = rankframe("agree", QRELS, BM25, "-m", "fcp", "--format", "json")
    assert json.loads(out)[0]["metrics"] == {"fcp": rf.agree(QRELS, BM25, "fcp")["fcp"]}
    code, out, err = rankframe("agree", BM25, DENSE, "-m", "ndcg@10")
    assert (code, out) == (2, "")
    message(err)
