"""`rankframe report`: a page in a file. The page itself: tests/reporting."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shell import BM25, DENSE, QRELS, rankframe, refused


def test_a_page_is_written(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    code, out, err = rankframe(
        "report", QRELS, BM25, DENSE, "-m", "ndcg@10", "-o", target, "--title", "Old and new"
    )
    assert (code, out, err) == (0, f"{target}\n", "")
    assert "Old and new" in target.read_text(encoding="utf-8")


def test_a_page_takes_what_a_comparison_does(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    policies = ("--k-max", "5", "--judged-only", "--no-overlap", "zero", "--unpaired", "zero")
    statistics = ("--ci", "t", "--replicates", "200", "--test", "randomisation")
    drawn = ("--permutations", "500", "--correction", "bh", "--seed", "7")
    code, _, err = rankframe(
        "report", QRELS, BM25, DENSE, "-m", "map", "-o", target, *policies, *statistics, *drawn
    )
    assert (code, err) == (0, "")
    page = target.read_text(encoding="utf-8")
    assert "the top 5" in page
    assert "500" in page


def test_a_page_has_an_ending(tmp_path: Path) -> None:
    assert ".html" in refused("report", QRELS, BM25, "-o", tmp_path / "page.txt")
