"""`rankframe report`: a page in a file. The page itself: tests/reporting."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe


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


def test_a_page_has_an_ending(tmp_path: Path, refused) -> None:
    refused("report", QRELS, BM25, "-o", tmp_path / "page.txt")


def test_a_page_has_a_verdict_titles_and_its_command(tmp_path: Path) -> None:
    target, titles = tmp_path / "page.html", tmp_path / "titles.csv"
    titles.write_text("doc_id,title\nd00001,A thing\n", encoding="utf-8")
    code, _, err = rankframe(
        "report", QRELS, BM25, DENSE, "-m", "ndcg@10", "-o", target, "--rule",
        "ndcg@10: no worse than -2% per locale", "--queries", SHOP / "queries.parquet",
        "--weight", "traffic", "--by", "device", "--slice-order", "device=tablet,mobile",
        "--titles", titles, "--storage-option", "aws_secret=hidden",
    )  # fmt: skip
    assert (code, err) == (0, "")
    page = target.read_text(encoding="utf-8")
    assert "rankframe report " in page
    assert "aws_secret=***" in page
    assert "aws_secret=hidden" not in page
    assert ">FAIL</b> <b>dense</b>" in page
    assert "by change × traffic" in page
    slices = page[page.index('id="slices"') :]
    assert slices.index(">device: tablet<") < slices.index(">device: mobile<")


def test_an_order_that_is_none_is_refused(tmp_path: Path, refused) -> None:
    refused("report", QRELS, BM25, "-o", tmp_path / "x.html", "--slice-order", "device")
