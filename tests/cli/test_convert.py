"""`rankframe convert`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.shell import BM25, QRELS, ended, rankframe
from tests.support.engine_responses import elastic


def test_convert_keeps_every_value_on_the_way_round(tmp_path: Path, message) -> None:
    steps = [BM25, *(tmp_path / f"run.{e}" for e in ("trec.gz", "csv", "jsonl", "tsv", "parquet"))]
    for source, target in itertools.pairwise(steps):
        code, out, err = rankframe("convert", source, target)
        assert (code, out) == (0, "")
        message(err)
    key = ["query_id", "doc_id"]
    before, after = (pl.read_parquet(p).sort(key) for p in (BM25, steps[-1]))
    assert after.select(before.columns).equals(before)


def test_convert_knows_judgments(tmp_path: Path) -> None:
    target = tmp_path / "qrels.trec"
    _, _, err = rankframe("convert", QRELS, target)
    assert err.endswith("27,370 rows of qrels\n")
    assert target.read_text().startswith("q0001 0 sku-")


def test_convert_refuses_ids_that_trec_text_cannot_hold(tmp_path: Path, refused) -> None:
    source = tmp_path / "run.csv"
    source.write_text("query_id,doc_id,score\nq 1,d1,1.0\n")
    refused("convert", source, tmp_path / "run.trec")
    assert not (tmp_path / "run.trec").exists()


def test_convert_replaces_no_file_unasked(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, message
) -> None:
    source, target = tmp_path / "run.csv", tmp_path / "run.jsonl"
    source.write_text("query_id,doc_id,score\nq,d,1.0\n")
    target.write_text("mine")
    assert ended(monkeypatch, "convert", source, target) == 2
    said = f"rankframe: {target} already exists. Pass --overwrite to replace it.\n"
    assert capsys.readouterr() == ("", said)
    assert target.read_text() == "mine"
    assert ended(monkeypatch, "convert", source, target, "--overwrite") == 0
    message(capsys.readouterr().err)
    assert pl.read_ndjson(target).rows() == [("q", "d", 1.0)]
    (tmp_path / "nowhere.csv").symlink_to("/dev/null")
    assert ended(monkeypatch, "convert", source, tmp_path / "nowhere.csv") == 0


def test_convert_keeps_the_best_of_what_is_there_twice(tmp_path: Path, refused) -> None:
    source, target = tmp_path / "run.csv", tmp_path / "run.jsonl"
    source.write_text("user,doc_id,score\nq,d,1.0\nq,d,2.0\n")
    asked = ("convert", source, target, "-c", "query_id=user")
    refused(*asked)
    assert rankframe(*asked, "--duplicates", "keep_best")[0] == 0
    assert pl.read_ndjson(target).rows() == [("q", "d", 2.0)]


def test_responses_that_do_not_say_which_query_they_answer(tmp_path: Path, refused) -> None:
    source, names, target = (tmp_path / name for name in ("r.jsonl", "names.txt", "run.csv"))
    source.write_text("\n".join(json.dumps(elastic(docs, [2.0, 1.0])) for docs in ("ab", "ba")))
    refused("convert", source, target)
    names.write_text("red shoes\nblue shoes\n")
    code, _, err = rankframe("convert", source, target, "--queries", names)
    assert (code, err) == (0, f"{target}: 4 rows of run\n")
    assert pl.read_csv(target).select("query_id", "doc_id", "rank").rows() == [
        ("red shoes", "a", 1), ("red shoes", "b", 2),
        ("blue shoes", "b", 1), ("blue shoes", "a", 2),
    ]  # fmt: skip
    names.write_text("one\n")
    refused("convert", source, target, "--queries", names, "--overwrite")
    refused("convert", source, target, "--queries", tmp_path / "none", "--overwrite")
