"""The same rows give the same numbers from CSV, TSV, JSON Lines and Parquet, for every input."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

INPUTS = {
    "qrels": pl.DataFrame(
        {
            "query_id": ["q1", "q1", "q2", "q2"],
            "doc_id": ["a", "b", "c", "a"],
            "relevance": [2, 1, 1, 0],
            "group": ["s", "t", "s", "t"],
            "group_weight": [0.7, 0.3, 0.6, 0.4],
        }
    ),
    "run": pl.DataFrame(
        {
            "query_id": ["q1"] * 3 + ["q2"] * 3,
            "doc_id": ["b", "a", "c", "a", "c", "b"],
            "score": [9.0, 10.0, 100.0, 1.5, 0.25, -2.0],
        }
    ),
    "train": pl.DataFrame(
        {"query_id": ["q1", "q2", "q2"], "doc_id": ["a", "b", "a"], "count": [10, 9, 100]}
    ),
    "items": pl.DataFrame(
        {
            "doc_id": ["a", "b", "c", "d"],
            "price": [9, 100, 10, 1],
            "size": [0.5, 1.5, 10.25, None],
            "code": ["007", "010", "007", "1"],
        }
    ),
    "reference": pl.DataFrame(
        {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "score": [9, 10, 1]}
    ),
    "queries": pl.DataFrame(
        {"query_id": ["q1", "q2", "q3"], "traffic": [9, 10, 100], "year": [10, 9, 100]}
    ),
}
METRICS: list[Any] = [
    "ndcg(average=weighted)@2", "ndcg@2", "err_ia@3", "efd@2", "long_tail@2", "unexpectedness@2",
    "diversity(by=price)@3", "diversity(by=size)@3", "exposure_share(by=price, value=10)@3",
    "exposure_share(by=code, value=007)@3",
    rf.metric(pl.col("price").filter(pl.col("rank") <= 2).sum(), "revenue"),
]  # fmt: skip


def write(table: pl.DataFrame, path: Path) -> Path:
    match path.suffix:
        case ".csv":
            table.write_csv(path)
        case ".tsv":
            table.write_csv(path, separator="\t")
        case ".jsonl":
            table.write_ndjson(path)
        case _:
            table.write_parquet(path)
    return path


def evaluate(ending: str, folder: Path, **options: Any) -> rf.Result:
    paths = {name: write(table, folder / f"{name}{ending}") for name, table in INPUTS.items()}
    return rf.evaluate(
        **paths, metrics=METRICS, by="year", weight="traffic", items_by=["price", "size", "code"],
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("limit", [None, "170MB"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_every_input_gives_the_same_numbers(ending: str, limit: str | None, tmp_path: Path) -> None:
    expected = evaluate(".parquet", tmp_path)
    result = evaluate(ending, tmp_path, max_memory=limit)
    assert result.means == expected.means
    assert result.slices.equals(expected.slices)
    assert expected.slices["slice"].unique(maintain_order=True).to_list() == ["9", "10"]
    assert result.items.equals(expected.items)
    prices = expected.items.filter(pl.col("by") == "price")["slice"].to_list()
    assert prices == ["1", "9", "10", "100"]


def test_an_open_file_gives_the_same_numbers(tmp_path: Path) -> None:
    text = io.BytesIO(INPUTS["items"].write_csv().encode())
    sides: dict[str, Any] = {"train": INPUTS["train"], "items": INPUTS["items"]}
    metrics = "diversity(by=price)@3"
    expected = rf.evaluate(INPUTS["qrels"], INPUTS["run"], metrics, **sides, items_by="price")
    sides["items"] = text
    result = rf.evaluate(INPUTS["qrels"], INPUTS["run"], metrics, **sides, items_by="price")
    assert result.items.equals(expected.items)
