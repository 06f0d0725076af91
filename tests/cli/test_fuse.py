"""`rankframe fuse`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import rankframe as rf
from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.norms import NORMS
from tests.cli.shell import BM25, DENSE, QRELS, rankframe


def test_fuse_writes_what_the_function_gives(tmp_path: Path, message) -> None:
    target = tmp_path / "hybrid.parquet"
    code, out, err = rankframe(
        "fuse", BM25, DENSE, "--method", "wsum", "--norm", "zmuv", "--weights", ".3,.7",
        "--depth", 50, "--k-max", 10, "-o", target,
    )  # fmt: skip
    assert (code, out) == (0, "")
    expected = rf.fuse(
        [BM25, DENSE], "wsum", norm="zmuv", weights=[0.3, 0.7], depth=50, k_max=10
    ).collect()
    assert pl.read_parquet(target).equals(expected)
    message(err)


def test_names_weights_by_name_and_judgments(tmp_path: Path, refused, message) -> None:
    target = tmp_path / "hybrid.csv"
    code, _, err = rankframe(
        "fuse", f"words={BM25}", f"vectors={DENSE}", "--method", "wsum",
        "--weights", "vectors=.7,words=.3", "-o", target,
    )  # fmt: skip
    assert code == 0, err
    message(err)
    refused("fuse", BM25, DENSE, "-o", target)
    code, _, err = rankframe(
        "fuse", BM25, DENSE, "--method", "posfuse", "--qrels", QRELS, "-o", target, "--overwrite"
    )
    assert code == 0, err
    assert "posfuse of bm25, dense" in err


def test_what_is_refused(tmp_path: Path, refused) -> None:
    target = tmp_path / "x.parquet"
    refused("fuse", BM25, "-o", target)
    refused("fuse", BM25, DENSE, "--method", "rff", "-o", target)
    refused("fuse", BM25, DENSE, "--method", "wsum", "-o", target)
    refused("fuse", BM25, DENSE, "--method", "wsum", "--weights", "a,b", "-o", target)
    refused("fuse", BM25, DENSE, "--method", "wsum", "--weights", "bm25=1,2", "-o", target)
    refused("fuse", BM25, DENSE, "--method", "mapfuse", "-o", target)
    refused("fuse", BM25, DENSE, "-o", BM25, "--overwrite")
    refused("fuse", BM25, DENSE)
    assert not target.exists()


def test_help_has_examples() -> None:
    code, out, _ = rankframe("fuse", "--help")
    assert code == 0
    assert "rankframe fuse bm25.parquet dense.parquet" in out
    assert "--weights" in out


def test_fusions_lists_all_and_explains_one(refused) -> None:
    _, out, _ = rankframe("fusions")
    assert all(one.signature in out for one in METHODS.values())
    assert all(name in out for name in NORMS)
    _, page, _ = rankframe("fusions", "RRF")
    assert "Σ 1/(k + r)" in page
    assert "a number from 0 to 1e+09" in page
    _, page, _ = rankframe("fusions", "posfuse")
    assert "judgments (--qrels)" in page
    refused("fusions", "rff")


def test_norms_are_explained_too_also_where_a_method_has_the_name() -> None:
    _, page, _ = rankframe("fusions", "zmuv")
    assert "(s − mean) / σ" in page
    _, page, _ = rankframe("fusions", "sum")
    assert "Σs" in page
    assert "(s − min) / (Σs − L·min)" in page
