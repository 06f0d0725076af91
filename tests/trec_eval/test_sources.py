"""Judgments and runs as trec_eval reads them: whole grades, and the names of runs."""

from __future__ import annotations

import gzip
import io
import os
import threading
from math import log2
from pathlib import Path

import polars as pl
import pytest

from rankframe.io.opening import open_table
from rankframe.trec_eval.evaluate import evaluate_trec
from rankframe.trec_eval.sources import open_trec_judgments, open_trec_run, rename_documents
from tests.support.oracles import about


def _values(qrels: object, run: object, measures: list[str]) -> dict[str, float]:
    (values,) = evaluate_trec(qrels, run, measures).values.to_dicts()
    return values


# Grades


@pytest.mark.parametrize("as_text", [False, True])
def test_grades_are_cut_off_towards_0(as_text: bool, tmp_path: Path) -> None:
    qrels = {"q": {"a": 1.9, "b": 0.9, "c": -0.9, "d": -1.5, "e": 2.0}}
    source: object = qrels
    if as_text:
        rows = "".join(f"q,{doc},{grade}\n" for doc, grade in qrels["q"].items())
        (tmp_path / "qrels.csv").write_text("query_id,doc_id,relevance\n" + rows)
        source = tmp_path / "qrels.csv"
    run = {"q": dict(zip("abcde", (5.0, 4.0, 3.0, 2.0, 1.0), strict=True))}
    measures = ["num_rel", "num_nonrel_judged_ret", "dcg", "P.5", "unj.5"]
    found = _values(source, run, measures)
    assert (found["num_rel"], found["num_nonrel_judged_ret"]) == (2, 2)
    assert found["dcg"] == about(1 + 2 / log2(6))
    assert (found["P_5"], found["unj_5"]) == (0.4, 0.2)


WRITTEN = {"a": "1e3", "b": "15e-1", "c": "2.9", "d": "-1.5", "e": ".7", "f": "+2", "g": "3rd",
           "h": "nan", "i": "007", "j": "-0"}  # fmt: skip
CUT = {"a": 1, "b": 15, "c": 2, "d": -1, "e": 0, "f": 2, "g": 3, "h": 0, "i": 7, "j": 0}


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("way", ["file", "stream", "glob"])
def test_grades_of_a_text_are_cut_as_c_cuts_them(
    even: bool, packed: bool, way: str, tmp_path: Path
) -> None:
    line = "q 0 {} {}\n" if even else "q\t0\t{}\t  {}\n"
    text = "".join(line.format(*item) for item in WRITTEN.items()).encode()
    content = gzip.compress(text) if packed else text
    path = tmp_path / "qrels.tsv"
    path.write_bytes(content)
    source = {"file": path, "stream": io.BytesIO(content), "glob": str(tmp_path / "*.tsv")}[way]
    found = open_trec_judgments(source, None).frame.collect()
    assert dict(found.select("doc_id", "relevance").iter_rows()) == CUT


def test_a_grade_that_begins_with_no_number_is_refused_by_its_line(tmp_path: Path, refusal) -> None:
    path = tmp_path / "x.qrels"
    path.write_text("q 0 a 1\nq 0 b high\n")
    refusal(open_trec_judgments, path, None)
    with path.open("rb") as file:
        refusal(open_trec_judgments, file, None)


def test_grades_of_other_sources_are_cut_too() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a", "b"], "relevance": [1.9, -0.5]})
    for kind in (pl.Float32, pl.Decimal(10, 2), pl.String):
        source = frame.with_columns(pl.col("relevance").cast(kind))
        found = open_trec_judgments(source, None).frame.collect()["relevance"].to_list()
        assert found == [1, 0]
    whole = frame.with_columns(pl.col("relevance").cast(pl.Int8))
    assert open_trec_judgments(whole, None).frame.collect()["relevance"].to_list() == [1, 0]


def test_only_the_drop_in_cuts_grades(tmp_path: Path) -> None:
    path = tmp_path / "x.qrels"
    path.write_text("q 0 a 1e3\n")
    assert open_table(path, "qrels").frame.collect()["relevance"].to_list() == [1000]


# The name of a run


LINES = "q Q0 a 1 2.0 mine\nq Q0 b 2 1.0 yours\n"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("run.txt", LINES.encode(), "yours"),
        ("run.txt.gz", gzip.compress(LINES.encode(), mtime=0), "yours"),
        ("run.unknown", f"{LINES}\n# the end\n".encode(), "yours"),
        ("run.tsv", LINES.replace(" ", "\t").replace("yours", "yours\tand more").encode(), "yours"),
        ("run.csv", LINES.encode(), "yours"),
        ("run.csv", b"query_id,doc_id,score\nq,a,1\n", "run"),
        ("run.csv", b"query_id,doc_id,score,run_id\nq,a,1,theirs\n", "theirs"),
    ],
    ids=["text", "gzip", "no ending", "tabs and words", "text as csv", "csv", "csv with a name"],
)
def test_a_run_is_called_as_its_last_line_says(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert evaluate_trec({"q": {"a": 1}}, tmp_path / name).run_id == expected
    piped = io.BytesIO(content)
    called = "rankframe" if expected == "run" else expected
    assert evaluate_trec({"q": {"a": 1}}, piped).run_id == called


def test_a_long_run_is_called_as_its_last_line_says(tmp_path: Path) -> None:
    lines = "".join(f"q Q0 d{i} 1 {i} first\n" for i in range(20_000)) + "q Q0 a 1 0.5 last\n"
    for name, content in (("r.run", lines.encode()), ("r.run.gz", gzip.compress(lines.encode()))):
        (tmp_path / name).write_bytes(content)
        assert evaluate_trec({"q": {"a": 1}}, tmp_path / name).run_id == "last"


def test_a_frame_has_no_name() -> None:
    assert open_trec_run({"q": {"a": 1.0}}, None)[1] == "rankframe"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_read_once_for_its_rows_and_its_name(tmp_path: Path) -> None:
    pipe = tmp_path / "63"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[LINES])
    writer.start()
    run, name = open_trec_run(pipe, None)
    writer.join()
    assert (run.frame.collect().height, name) == (2, "yours")


def test_an_unmatched_run_has_the_same_queries_and_other_documents() -> None:
    run, _ = open_trec_run({"q": {"a": 1.0, "b": 0.5}}, None)
    found = rename_documents(run).frame.collect()
    assert found["query_id"].to_list() == ["q", "q"]
    assert not set(found["doc_id"]) & {"a", "b"}
    assert found["score"].to_list() == [1.0, 0.5]
