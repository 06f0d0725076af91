"""`rankframe tune`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cli.shell import BM25, DENSE, QRELS, rankframe

ARGS = ("tune", QRELS, BM25, DENSE, "--replicates", 100)


def test_tune_prints_fits_and_stores(tmp_path: Path) -> None:
    args = (*ARGS, "--method", "wsum", "--method", "rrf", "--grid", "weights=0.25", "--top", 3)
    code, out, err = rankframe(*args, "-m", "mrr@10", "--ledger", "-o", tmp_path / "found")
    assert (code, err.count("[queries_missing]")) == (0, 1)
    said = " ".join(out.split())
    assert "out of fold" in said
    assert "over the best single run (dense), 95%" in said
    assert "dense by itself" in out
    assert "Not shown: 10 candidates" in said
    assert "queries_tuned_by" in out
    assert max(map(len, out.splitlines())) <= 100
    assert pl.read_parquet(tmp_path / "found" / "candidates.parquet").height == 13
    narrow = rankframe(*args, width=60)[1]
    assert "Hidden (terminal too narrow): its interval" in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 60


def test_tune_is_the_function() -> None:
    code, out, _ = rankframe(
        *ARGS, "--method", "wsum", "--norm", "zmuv", "--norm", "rank", "--grid", "weights=0.5",
        "--folds", 3, "--seed", 4, "--depth", 50, "--k-max", 20, "--test", "sign",
        "--format", "json",
    )  # fmt: skip
    assert code == 0
    found = json.loads(out)
    expected = rf.tune(
        QRELS, {"bm25": BM25, "dense": DENSE}, "wsum", norms=["zmuv", "rank"],
        grid={"weights": 0.5}, folds=3, seed=4, depth=50, k_max=20, test="sign", replicates=100,
    )  # fmt: skip
    assert found["headline"] == expected.headline
    assert found["candidates"] == expected.candidates.to_dicts()
    assert found["against"] == expected.against.to_dicts()


@pytest.mark.parametrize(
    ("style", "start"), [("csv", "fusion,norm,method,weights,value,"), ("markdown", "**rrf(k=")]
)
def test_tune_speaks_other_formats(style: str, start: str) -> None:
    _, out, _ = rankframe(*ARGS, "--method", "rrf", "--grid", "k=10,60", "--format", style)
    assert out.startswith(start)


def test_runs_have_names() -> None:
    _, out, _ = rankframe(
        "tune", QRELS, f"words={BM25}", f"vectors={DENSE}", "--method", "rrf(k=60)", "--ci", "none"
    )
    assert "words by itself" in out
    assert "no improvement" not in out


def test_what_cannot_be_tuned_is_one_line(refused) -> None:
    refused("tune", QRELS, BM25)
    refused(*ARGS, "--method", "wsun")
    refused(*ARGS, "--grid", "k")
    refused(*ARGS, "--folds", 3000)
    refused("tune", QRELS, f"a={BM25}", f"a={DENSE}")


def test_help_has_examples() -> None:
    _, out, _ = rankframe("tune", "--help")
    assert "rankframe tune qrels.parquet bm25.parquet dense.parquet" in out
