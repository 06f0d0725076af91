"""`rankframe plot`: a chart in a file. The charts themselves: tests/plot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe


@pytest.mark.parametrize(
    ("kind", "args", "shown"),
    [
        ("discounts", [], "The weight of each rank"),
        ("roc", [QRELS, BM25, "--rel", "2"], "bm25"),
        ("slices", [QRELS, BM25, "--queries", SHOP / "queries.parquet", "--by", "locale"], "es"),
    ],
)
def test_a_chart_is_drawn(tmp_path: Path, kind: str, args: list[object], shown: str) -> None:
    target = tmp_path / "chart.svg"
    assert rankframe("plot", kind, *args, "-o", target) == (0, "", "")
    drawn = target.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert shown in drawn


def test_what_cannot_be_drawn_is_refused(tmp_path: Path, refused) -> None:
    refused("plot", "roc", "-o", tmp_path / "x.svg")
    refused("plot", "roc", QRELS, BM25, "-o", tmp_path / "x.txt")
    refused("plot", "differences", QRELS, DENSE)


def test_a_list_in_every_format_with_its_look(tmp_path: Path) -> None:
    look = ("--title", "My list", "--width", "300", "--height", "60", "--theme", "dark")
    for ending, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".html", b"<!DOCTYPE")):
        target = tmp_path / f"x{ending}"
        assert rankframe("plot", "strip", "--list", "1,0,-,1", *look, "-o", target) == (0, "", "")
        assert target.read_bytes().lstrip().startswith(start)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "My list" in page
    assert 'src="http' not in page


@pytest.mark.parametrize(
    ("kind", "args", "shown"),
    [
        ("bump", [BM25, DENSE, "--query", "q0001", "-k", "5"], "bm25"),
        ("agreement", [BM25, f"mine={DENSE}", "-m", "rbo"], "mine"),
        ("forest", [QRELS, BM25, DENSE, "-m", "ndcg@10", "-m", "map"], "Differences from bm25"),
        ("precision_at", [QRELS, BM25, "-k", "8", "-m", "recall@3"], "recall at each rank"),
    ],
)
def test_charts_of_rankings_and_of_several_metrics(
    tmp_path: Path, kind: str, args: list[object], shown: str
) -> None:
    target = tmp_path / "chart.svg"
    assert rankframe("plot", kind, *args, "-o", target) == (0, "", "")
    assert shown in target.read_text(encoding="utf-8")


def test_options_that_do_not_fit_are_refused(tmp_path: Path, refused) -> None:
    target = ("-o", tmp_path / "x.svg")
    refused("plot", "strip", "--list", "a,b", *target)
    refused("plot", "roc", "--list", "1,0", *target)
    refused("plot", "scatter", QRELS, BM25, DENSE, "-m", "map", "-m", "mrr", *target)
    refused("plot", "discounts", "--width", "3", *target)
    refused("plot", "history", *target)
    assert not list(tmp_path.iterdir())
