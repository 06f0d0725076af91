"""Tables with a header and without: what can be told is, and what cannot is refused."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.formats.delimited import (
    fields_of,
    first_line,
    is_named,
    is_row,
    open_delimited,
    separator_of,
)
from rankframe.io.opening import open_table
from rankframe.io.raw_table import InputRequest

QRELS = {"1048585": {"7187158": 1.0}, "524332": {"1534580": 1.0}}
# As MS MARCO's baselines are exchanged: query, passage, rank.
RUN = "1048585\t7187157\t1\n1048585\t7187158\t2\n524332\t1534580\t1\n"
COLUMNS = {"run": {"query_id": "column_1", "doc_id": "column_2", "score": "column_3"}}


def order_of(result: rf.Result) -> str:
    return result.ledger.filter(pl.col("item") == "run_order")["note"][0]


@pytest.mark.parametrize("name", ["run.tsv", "run", "run.txt", "run.dev.small.tsv", "run.res"])
def test_three_columns_of_ms_marco_are_a_run(name: str, tmp_path: Path, message) -> None:
    (tmp_path / name).write_text(RUN)
    result = rf.evaluate(QRELS, tmp_path / name, "mrr")
    assert result["mrr"] == 0.75
    message(order_of(result))
    assert rf.evaluate(QRELS, io.BytesIO(RUN.encode()), "mrr")["mrr"] == 0.75


@pytest.mark.parametrize("separator", ["\t", ",", ";", " "])
def test_four_columns_are_judgments(separator: str, tmp_path: Path) -> None:
    lines = ["1048585 0 7187158 1", "524332 0 1534580 1"]
    name = "qrels.csv" if separator in ",;" else "qrels.dev.tsv"
    (tmp_path / name).write_text("\n".join(lines).replace(" ", separator) + "\n")
    assert rf.evaluate(tmp_path / name, QRELS, "mrr")["mrr"] == 1


def test_three_columns_of_judgments_end_with_the_grade(tmp_path: Path) -> None:
    (tmp_path / "qrels.csv").write_text("q1,d1,2\nq1,d2,0\nq2,d7,2\n")
    scanned = open_table(tmp_path / "qrels.csv", "qrels")
    assert scanned.frame.collect().rows() == [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d7", 2)]


def test_six_columns_are_a_run(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("q1,Q0,d1,1,0.5,tag\nq1,Q0,d2,2,0.25,tag\n")
    result = rf.evaluate({"q1": {"d2": 1}}, tmp_path / "run.csv", "mrr")
    assert result["mrr"] == 0.5


def test_ranks_may_begin_with_0_and_stand_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "run.tsv").write_text("q1\td2\t1\nq2\td9\t0\nq1\td1\t0\n")
    assert rf.evaluate({"q1": {"d2": 1}}, tmp_path / "run.tsv", "mrr")["mrr"] == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "q1\td1\t0.75\nq1\td2\t0.5\n",  # scores, or distances
        "q1\td1\t17\nq1\td2\t12\n",
        "q1\td1\t1\nq1\td2\t1\n",
        "q1\td1\t1\nq1\td2\t3\n",
        "q1\td1\t1\nq1\td2\n",  # cut short
        "q1\td1\t1\nq1\td2\tx\n",
        "q1\td1\tx1\n",
        "q1\td1\t1\t0.5\n",
        "q1\td1\t1\t0.5\t7\n",
    ],
)
def test_columns_that_cannot_be_told_are_refused(text: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "run.csv").write_text(text.replace("\t", ","))
    refusal(rf.evaluate, {"q1": {"d2": 1}}, tmp_path / "run.csv", "mrr")


def test_columns_are_named_by_their_numbers(tmp_path: Path, message) -> None:
    (tmp_path / "run.csv").write_text("alice,apple,0.5\nalice,pear,0.75\n")
    result = rf.evaluate({"alice": {"apple": 1}}, tmp_path / "run.csv", "mrr", columns=COLUMNS)
    assert result["mrr"] == 0.5
    message(order_of(result))


def test_a_header_may_have_such_names(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("column_1,column_2,column_3\nq1,a,1\n")
    result = rf.evaluate({"q1": {"a": 1}}, tmp_path / "run.csv", "mrr", columns=COLUMNS)
    assert result["mrr"] == 1
    assert result.ledger.filter(item="run_rows")["value"].item() == 1


def test_pairs_lack_an_order_or_a_grade(tmp_path: Path, refusal) -> None:
    (tmp_path / "pairs.tsv").write_text("1048585\t7187158\n524332\t1534580\n")
    refusal(rf.evaluate, QRELS, tmp_path / "pairs.tsv")
    assert rf.evaluate(QRELS, tmp_path / "pairs.tsv", "mrr", order="rows")["mrr"] == 1
    refusal(rf.evaluate, tmp_path / "pairs.tsv", QRELS)


def test_a_run_in_the_place_of_judgments_is_noticed(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.tsv").write_text("q1\td1\t1\nq1\td2\t2\nq1\td3\t3\n")
    refusal(rf.evaluate, tmp_path / "run.tsv", {"q1": {"d1": 1}})


@pytest.mark.parametrize(
    "text",
    ["kunde,artikel,2024\nk1,a1,3\n", "alice,apple,0.5\n", "2019,2020,year\n1,2,3\n"],
)
def test_of_other_first_lines_it_is_said_how_to_go_on(text: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "run.csv").write_text(text)
    refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "run.csv")


def test_a_matrix_is_called_one(tmp_path: Path, refusal) -> None:
    for row in (",".join(map(str, range(40_000))), ",".join(["word"] * 40_000)):
        (tmp_path / "x.csv").write_text(f"{row}\n" * 2)
        said = refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "x.csv")
        assert len(said) < 400


def test_rows_that_are_too_long_or_short(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.tsv").write_text(f"{RUN}524332\t7\t2\t9\n")
    refusal(rf.evaluate, QRELS, tmp_path / "run.tsv")
    (tmp_path / "qrels.csv").write_text("q1,d1,2\nq1\n")
    refusal(rf.evaluate, tmp_path / "qrels.csv", {"q1": {"d1": 1}})


def test_a_table_of_queries_has_a_header() -> None:
    table = open_delimited(
        [io.BytesIO(b"f1,f2\n1,2\n")], InputRequest("queries", "it"), separators=",;"
    )
    assert not table.note
    assert table.frame.collect_schema().names() == ["f1", "f2"]


@pytest.mark.parametrize(
    ("line", "row", "named"),
    [
        ("query_id,doc_id,score", False, True),
        ("Query-ID,x1,x2", False, True),
        ("q1,d1,3", True, False),
        ("17,18", True, False),
        ("17", False, False),
        ("q1,,3", False, False),
        ("kunde,a1,3", False, False),
        ('"q,1","d1",3', True, False),
    ],
)
def test_what_a_first_line_is(line: str, row: bool, named: bool) -> None:
    fields = fields_of(f"\ufeff{line}\nnext".encode(), ",")
    assert (is_row(fields), is_named(fields)) == (row, named)
    assert not is_row(fields, [fields[0]])


def test_separators_are_found_in_the_first_line_that_says_something() -> None:
    assert first_line(b"\n# made today\n\n a,b \n") == "a,b"
    assert separator_of(b"# a\tb\na;b\n") == ";"
    assert [separator_of(text) for text in (b"", b"one", b'{"a": 1, "b": 2}', b"[1,2]")] == [
        None
    ] * 4


def test_numbers_that_fall_may_be_scores(tmp_path: Path, refusal) -> None:
    run = tmp_path / "run.tsv"
    run.write_text("".join(f"{q}\t{100 * q + n}\t{3 - n}\n" for q in (1, 2) for n in range(3)))
    refusal(rf.evaluate, {"1": {"100": 1}}, run, "mrr")
    asked = {"run": {"query_id": "column_1", "doc_id": "column_2", "score": "column_3"}}
    assert rf.evaluate({"1": {"100": 1}}, run, "mrr", columns=asked)["mrr"] == 1


@pytest.mark.parametrize("header", ["query_id\tdoc_id\trelevance", "search\tsku\tstars"])
def test_columns_by_number_are_of_the_side_without_a_header(tmp_path: Path, header: str) -> None:
    run, qrels = tmp_path / "run.tsv", tmp_path / "qrels.tsv"
    run.write_text("1\t7\t20.5\n1\t8\t20.0\n")
    qrels.write_text(f"{header}\n1\t8\t1\n")
    names = {"query_id": "column_1", "doc_id": "column_2", "score": "column_3"}
    columns = {"run": names, "qrels": {"query_id": header.split("\t", maxsplit=1)[0]}}
    found = rf.evaluate(qrels, run, "mrr", columns=columns)
    assert (found["mrr"], found.per_query.height) == (0.5, 1)
