"""`rankframe compare`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe, stored_result


def test_compare_prints_fits_and_stores(tmp_path: Path) -> None:
    args = ("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "-m", "lag", "--baseline", "bm25")
    code, out, err = rankframe(*args, "--bounds", "--ledger", "-o", tmp_path / "found")
    assert code == 0
    assert "dense: 1.5% of the judged queries are not in the run" in err
    assert "+0.0582" in out
    assert "if all" in out
    assert "queries_compared" in out
    assert max(map(len, out.splitlines())) <= 100
    assert sorted(p.name for p in (tmp_path / "found").iterdir()) == [
        "ledger.parquet", "systems.parquet", "table.parquet",
    ]  # fmt: skip
    narrow = rankframe(*args, width=70)[1]
    assert "Hidden (terminal too narrow): W/T/L" in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 70


def test_compare_does_without_a_correction() -> None:
    args = ("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "-m", "lag")
    plain = rankframe(*args, "--correction", "none", "--ci", "none")[1]
    assert "p values not corrected" in plain
    assert "* p below 0.05." in plain
    assert "raw p" not in plain
    assert "raw p" in rankframe(*args)[1]


@pytest.mark.parametrize(
    ("style", "start"),
    [
        ("latex", "\\begin{table}"),
        ("markdown", "| metric | system | value | diff | % | interval | p | raw p |"),
        ("csv", "metric,by,slice,"),
        ("json", "{"),
    ],
)
def test_compare_speaks_other_formats(style: str, start: str) -> None:
    _, out, _ = rankframe("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "--format", style)
    assert out.startswith(start)


def test_compare_takes_stored_values(tmp_path: Path) -> None:
    folders = [stored_result(tmp_path, run, "ndcg@10") for run in (BM25, DENSE)]
    live = rankframe("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "--format", "csv")[1]
    stored = rankframe("compare", "--stored", *folders, "--format", "csv")[1]
    columns = pl.exclude("judged", "judged_baseline")
    one, other = (pl.read_csv(text.encode()).select(columns) for text in (live, stored))
    assert one.equals(other)
    both = tmp_path / "both.parquet"
    rankframe("evaluate", QRELS, BM25, DENSE, "-m", "ndcg@10", "--per-query", both)
    stacked = rankframe("compare", "--stored", both, "--format", "csv")[1]
    assert pl.read_csv(stacked.encode()).select(columns).equals(one)


def test_gaps_between_slices_are_compared(refused) -> None:
    gap = ("-m", "gap(ndcg@10, by=locale)")
    args = ("compare", QRELS, BM25, DENSE, *gap)
    code, out, err = rankframe(*args, "--queries", SHOP / "queries.parquet")
    assert (code, err.count("\n")) == (0, 1)
    assert "gap(ndcg@10, by=locale)" in out
    assert "W/T/L" not in out
    refused(*args)
    refused("diff", QRELS, BM25, DENSE, *gap)
