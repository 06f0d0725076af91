"""`rankframe plot`: a chart in a file. The charts themselves: tests/plot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe, refused


@pytest.mark.parametrize(
    ("kind", "args", "shown"),
    [
        ("discounts", [], "rank"),
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


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    assert "give QRELS and RUN" in refused("plot", "roc", "-o", tmp_path / "x.svg")
    assert "should end in .png" in refused("plot", "roc", QRELS, BM25, "-o", tmp_path / "x.txt")
    assert "of two runs, not 1" in refused("plot", "differences", QRELS, DENSE)
