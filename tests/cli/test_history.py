"""`rankframe history`: stored results in the order of time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from tests.cli.shell import BM25, DENSE, rankframe, stored_result


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("results")
    found = [stored_result(place, run, "ndcg@10", "map") for run in (BM25, DENSE)]
    for at, folder in enumerate(found):
        os.utime(folder / "summary.parquet", (1.8e9 - at * 86_400, 1.8e9 - at * 86_400))
    return found


def test_a_table_a_file_and_a_chart(folders: list[Path], tmp_path: Path) -> None:
    code, out, err = rankframe(
        "history", *folders, "-m", "ndcg@10", "-o", tmp_path / "h.parquet",
        "--plot", tmp_path / "h.svg", "--margin=-1%", width=80,
    )  # fmt: skip
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "2027-01-" in line] == ["dense", "bm25"]
    assert pl.read_parquet(tmp_path / "h.parquet")["metric"].unique().to_list() == ["ndcg@10"]
    assert "beyond the margin" in (tmp_path / "h.svg").read_text(encoding="utf-8")


def test_other_formats_and_names(folders: list[Path]) -> None:
    code, out, _ = rankframe(
        "history", f"old={folders[0]}", f"new={folders[1]}", "--order", "given", "--format", "json"
    )
    assert code == 0
    rows = json.loads(out)
    assert [row["result"] for row in rows] == ["old", "old", "new", "new"]
    assert rows[0]["date"].startswith("2027-01-15T")
    code, out, _ = rankframe("history", *folders, "--format", "csv")
    assert out.splitlines()[0].startswith("result,date,metric,value")


def test_what_cannot_be_read_or_drawn_is_refused(
    folders: list[Path], tmp_path: Path, refused
) -> None:
    refused("history", tmp_path)
    refused("history", folders[0], "--plot", tmp_path / "x.txt")
    refused("history", folders[0], "-m", "mrr")
