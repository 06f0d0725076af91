"""Train, items, catalogue, base, units and queries are read, and refused, as judgments and runs."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError, UnreadableInputError
from rankframe.frames.catalogue import Catalogue
from rankframe.io.inputs import units_of
from rankframe.io.queries import read_attributes

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUN = {"q1": {"a": 0.5, "b": 0.7}, "q2": {"c": 0.4, "a": 0.2}}
# Each side input as CSV, and an evaluation that reads it.
SIDES: dict[str, tuple[str, dict[str, Any]]] = {
    "train": ("query_id,doc_id,count\nq1,a,3\nq2,b,1\n", {"metrics": "novelty@2"}),
    "reference": ("query_id,doc_id,score\nq1,a,3\nq2,b,1\n", {"metrics": "unexpectedness@2"}),
    "items": ("doc_id,genre\na,x\nb,y\nc,x\n", {"metrics": "coverage@2"}),
    "catalogue": ("doc_id\na\nb\nc\n", {"metrics": "coverage@2"}),
    "unit": ("doc_id,unit\na,a\nb,a\nc,c\n", {"metrics": "ndcg@2"}),
    "queries": (
        "query_id,device,weight\nq1,x,3\nq2,y,1\n",
        {"metrics": "ndcg(average=weighted)@2", "weight": "weight", "by": "device"},
    ),
}


def evaluate(side: str, path: Path) -> rf.Result:
    return rf.evaluate(QRELS, RUN, **{side: str(path)}, **SIDES[side][1])


@pytest.mark.parametrize("side", SIDES)
def test_a_side_input_that_cannot_be_decoded_is_refused(side: str, tmp_path: Path) -> None:
    text, path = SIDES[side][0], tmp_path / "side.csv"
    path.write_bytes(text.replace("a", "\xe9", 1).encode("latin-1") + b"\xe9,\xe9,\xe9\n")
    with pytest.raises(RankframeError):
        evaluate(side, path)
    path.write_bytes(gzip.compress(text.encode())[:-12])
    with pytest.raises(UnreadableInputError):
        evaluate(side, path)


@pytest.mark.parametrize("side", SIDES)
def test_a_damaged_parquet_file_is_refused(side: str, tmp_path: Path) -> None:
    path = tmp_path / "side.parquet"
    pl.read_csv(SIDES[side][0].encode()).write_parquet(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:40] + bytes(60) + content[100:]):
        path.write_bytes(damaged)
        with pytest.raises(RankframeError):
            evaluate(side, path)


@pytest.mark.parametrize("side", ["train", "reference", "queries"])
def test_text_in_a_column_of_numbers_is_quoted(side: str, tmp_path: Path, refusal) -> None:
    path = tmp_path / "side.csv"
    path.write_text(SIDES[side][0].replace("3", "1_000"))
    refusal(evaluate, side, path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "jsonl"])
def test_counts_of_train_are_the_same_in_all_formats(ending: str, tmp_path: Path) -> None:
    train = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "count": [3, 1]})
    path = tmp_path / f"train.{ending}"
    if ending == "parquet":
        train.write_parquet(path)
    elif ending == "jsonl":
        train.write_ndjson(path)
    else:
        text = train.write_csv(separator="\t" if ending == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    metrics = ["efd@2", "long_tail@2", "novelty@2"]
    expected = rf.evaluate(QRELS, RUN, metrics, train=train).means
    assert rf.evaluate(QRELS, RUN, metrics, train=str(path)).means == expected
    ignored = rf.evaluate(QRELS, RUN, metrics, train=train.drop("count")).means
    assert ignored != expected


def test_what_is_held_as_a_whole_is_bounded(tmp_path: Path, refusal) -> None:
    rows = 200_000
    ids = [f"document-{number:012}" for number in range(rows)]
    items = pl.DataFrame({"doc_id": ids, "unit": ids, "title": "x" * 100})
    path = tmp_path / "items.csv.gz"
    path.write_bytes(gzip.compress(items.write_csv().encode()))
    limit = 1 << 24
    refusal(Catalogue.from_inputs, None, str(path), None, limit=limit)
    refusal(units_of, str(path), limit // 4)
    queries = items.rename({"doc_id": "query_id"})
    refusal(read_attributes, queries.lazy(), by="title", limit=limit)
    assert units_of(str(path), 1 << 30).height == rows


def test_a_long_id_is_shortened(refusal) -> None:
    run = {"q1": {"a" * 1_000_000: 1.0}}
    said = refusal(rf.evaluate, QRELS, run, "ndcg", unit={"b": "x"})
    assert len(said) < 500
