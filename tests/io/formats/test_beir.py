"""Collections of BEIR and MTEB: their folder is their judgments, whose grade is called score."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.opening import open_table

JUDGED = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d9", 1)]
RUN = {"q1": {"d2": 1.0, "d1": 0.5}, "q2": {"d9": 1.0}}
NAMES = ("query-id", "corpus-id", "score")
TSV = "\t".join(NAMES) + "\n" + "".join("\t".join(map(str, row)) + "\n" for row in JUDGED)
LINES = "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in JUDGED)


def collection(folder: Path, *splits: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for split in splits:
        (folder / "qrels" / split).write_text(LINES if split.endswith("jsonl") else TSV)
    texts = '{"_id": "d1", "title": "", "text": "about"}\n'
    for name in ("corpus.jsonl", "queries.jsonl"):
        (folder / name).write_text(texts)
    return folder


@pytest.mark.parametrize("split", ["test.tsv", "test.jsonl"])
def test_a_folder_stands_for_its_only_split(split: str, tmp_path: Path) -> None:
    folder = collection(tmp_path / "scifact", split)
    for source in (folder, folder / "qrels", folder / "qrels" / split):
        assert rf.evaluate(source, RUN, "mrr")["mrr"] == 0.75
        assert open_table(source, "qrels").frame.collect().rows() == JUDGED


def test_several_splits_are_named(tmp_path: Path, refusal) -> None:
    folder = collection(tmp_path / "nfcorpus", "dev.tsv", "test.tsv")
    refusal(rf.evaluate, folder, RUN)


def test_a_collection_is_no_run(tmp_path: Path, refusal) -> None:
    folder = collection(tmp_path / "scifact", "test.tsv")
    refusal(rf.evaluate, folder, folder)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_texts_are_no_data(name: str, tmp_path: Path, refusal) -> None:
    folder = collection(tmp_path / "scifact", "test.tsv")
    for sides in ((folder / name, RUN), (folder, folder / name)):
        refusal(rf.evaluate, *sides)


def test_a_folder_of_parquet_files_may_be_called_qrels(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    frame = pl.DataFrame(JUDGED, ["query_id", "doc_id", "relevance"], orient="row")
    for at in range(2):
        frame[at::2].write_parquet(tmp_path / "qrels" / f"{at}.parquet")
    assert rf.evaluate(tmp_path / "qrels", RUN, "mrr")["mrr"] == 0.75


def test_a_folder_without_splits_is_no_collection(tmp_path: Path, refusal) -> None:
    folder = collection(tmp_path / "scifact")
    refusal(rf.evaluate, folder, RUN)


def test_a_score_is_a_grade_beside_a_corpus_id_alone(tmp_path: Path, refusal) -> None:
    frame = pl.LazyFrame({"query-id": ["q"], "corpus-id": ["d"], "score": [1]})
    assert open_table(frame, "qrels").mapping["relevance"] == "score"
    graded = frame.with_columns(grade=2)
    assert open_table(graded, "qrels").mapping["relevance"] == "grade"
    refusal(open_table, frame.drop("score"), "qrels")
    refusal(rf.evaluate, frame.rename({"corpus-id": "doc_id"}), RUN)


def test_judgments_are_known_as_such_without_a_role(tmp_path: Path) -> None:
    folder = collection(tmp_path / "scifact", "test.tsv")
    for source in (folder, folder / "qrels" / "test.tsv"):
        scanned = open_table(source, None)
        assert scanned.role == "qrels"
        assert scanned.frame.collect().rows() == JUDGED
    assert open_table(folder, None, {"score": "score"}).role == "run"


def test_a_run_may_have_these_names_too(tmp_path: Path) -> None:
    (tmp_path / "run.tsv.bz2").write_bytes(bz2.compress(TSV.encode()))
    result = rf.evaluate({"q1": {"d2": 1}}, tmp_path / "run.tsv.bz2", "mrr")
    assert result["mrr"] == 0.5
