"""Every refusal: what is wrong, how much of it, an example, what to do; never a polars error."""

import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

Refusal = Callable[..., str]
HEADER = "query_id,doc_id,score\n"


def _set(frame: pl.DataFrame, column: str, values: dict[int, Any]) -> pl.DataFrame:
    """The frame with some rows (from 0) of a column changed."""
    changed = frame[column].to_list()
    for row, value in values.items():
        changed[row] = value
    return frame.with_columns(pl.Series(column, changed, dtype=frame.schema[column]))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("query_id", {1: None, 3: None}),
        ("doc_id", {2: None}),
        ("query_id", {0: ""}),
        ("doc_id", {3: ""}),
        ("score", {0: None, 1: None}),
        ("score", {3: math.nan}),
        ("score", {1: math.inf, 2: -math.inf}),
    ],
)  # fmt: skip
def test_a_bad_value_in_a_run_is_counted_and_shown(
    qrels: pl.DataFrame, run: pl.DataFrame, column: str, values: dict[int, Any], refusal: Refusal
) -> None:
    refusal(rf.evaluate, qrels, _set(run, column, values), "map")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("query_id", {3: None}),
        ("doc_id", {0: ""}),
        ("relevance", {0: math.nan, 1: math.nan}),
        ("relevance", {2: None}),
        ("relevance", {2: -math.inf}),
    ],
)  # fmt: skip
def test_a_bad_value_in_judgments_is_counted_and_shown(
    qrels: pl.DataFrame, run: pl.DataFrame, column: str, values: dict[int, Any], refusal: Refusal
) -> None:
    bad = _set(qrels.cast({"relevance": pl.Float64}), column, values)
    refusal(rf.evaluate, bad, run, "map")


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_bad_rank_is_refused(qrels: pl.DataFrame, value: Any, refusal: Refusal) -> None:
    columns = {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "rank": [1.0, value]}
    run = pl.DataFrame(columns, schema_overrides={"rank": pl.Float64})
    refusal(rf.evaluate, qrels, run, "map")


def test_duplicates_in_a_run_are_counted_and_shown(qrels, run, refusal: Refusal) -> None:
    twice = pl.concat([run, run[1:3], run[1:2]])
    refusal(rf.evaluate, qrels, twice, "map")


def test_duplicates_in_judgments_are_counted_and_shown(qrels, run, refusal: Refusal) -> None:
    twice = pl.concat([qrels, qrels[3:].with_columns(relevance=pl.lit(0, pl.Int64))])
    refusal(rf.evaluate, twice, run, "map")


def test_the_same_document_for_two_queries_is_no_duplicate(qrels) -> None:
    run = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    assert rf.evaluate(qrels, run, "mrr")["mrr"] == 0.5


def test_ids_that_read_the_same_when_put_together_are_no_duplicates() -> None:
    run = {"ab": {"c": 1.0}, "a": {"bc": 2.0, "b c": 3.0}, "a b": {"c": 1.0}}
    assert rf.evaluate({"ab": {"c": 1}}, run, "mrr").count("run_rows") == 4


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("score", [5.0, 1.0, 3.0], 1.0),
        ("score", [1.0, 5.0, 3.0], 1.0),
        ("score", [1.0, 2.0, 3.0], 0.5),
        ("rank", [1.0, 3.0, 2.0], 1.0),
        ("rank", [3.0, 1.0, 2.0], 1.0),
        ("rank", [3.0, 2.0, 1.0], 0.5),
    ],
)
def test_keep_best_keeps_the_best_score_or_rank(
    column: str, values: list[float], expected: float
) -> None:
    columns = {"query_id": ["q"] * 3, "doc_id": ["a", "a", "x"], column: values}
    result = rf.evaluate({"q": {"a": 1}}, pl.DataFrame(columns), "mrr", duplicates="keep_best")
    assert result["mrr"] == expected


def test_keep_best_keeps_the_first_place_where_there_is_only_an_order() -> None:
    run = pl.DataFrame({"query_id": ["q"] * 4, "doc_id": ["x", "a", "y", "a"]})
    result = rf.evaluate({"q": {"a": 1, "y": 1}}, run, "map", duplicates="keep_best", order="rows")
    assert result["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize("grades", [[2, 0, 1], [0, 2, 1], [1, 0, 2]])
def test_keep_best_keeps_the_best_grade(grades: list[int]) -> None:
    qrels = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a"] * 3, "relevance": grades})
    result = rf.evaluate(qrels, {"q": {"a": 1.0}}, ["cg", "num_relevant"], duplicates="keep_best")
    assert result.means == {"cg": 2, "num_relevant": 1}


@pytest.mark.parametrize("clean", [True, False])
def test_keep_best_leaves_other_rows_alone(qrels, run, clean: bool) -> None:
    given = run if clean else pl.concat([run, run[:1].with_columns(score=pl.lit(-9.0))])
    judged = rf.judge(qrels, given, duplicates="keep_best").collect()
    assert judged.equals(rf.judge(qrels, run).collect())


def test_text_where_scores_should_be_is_counted_and_shown(qrels, tmp_path, refusal) -> None:
    path = tmp_path / "run.csv"
    path.write_text(HEADER + "q1,a,1\nq1,b,high\nq1,c, 2 \nq1,d,1;5\n")
    refusal(rf.evaluate, qrels, path, "map")


def test_text_where_grades_should_be_is_counted_and_shown(run, refusal: Refusal) -> None:
    qrels = pl.DataFrame({"qid": ["q1"], "doc": ["a"], "grade": ["yes"], "_row": [1]})
    refusal(rf.evaluate, qrels, run, "map")


def test_a_frame_without_rows_is_refused(qrels, run, tmp_path: Path, refusal: Refusal) -> None:
    empty = tmp_path / "empty.parquet"
    run.head(0).write_parquet(empty)
    for bad in (run.head(0), {}, {"q1": {}}):
        refusal(rf.evaluate, qrels, bad, "map")
    refusal(rf.evaluate, qrels, empty, "map")
    refusal(rf.evaluate, qrels.head(0), run, "map")


def test_queries_that_do_not_match_are_shown_from_both_sides(refusal: Refusal) -> None:
    qrels = {f"query{n}": {"a": 1} for n in range(9)}
    run = {str(n): {"a": 1.0} for n in range(9)}
    refusal(rf.evaluate, qrels, run, "map")


def test_documents_that_do_not_match_are_shown_from_shared_queries(refusal: Refusal) -> None:
    qrels = {"other": {"a": 1}, "q": {"doc17": 1, "doc18": 0}}
    run = {"mine": {"a": 1.0}, "q": {"17": 1.0}}
    refusal(rf.evaluate, qrels, run, "map")


def test_examples_of_ids_are_each_shown_once(refusal: Refusal) -> None:
    refusal(rf.evaluate, {"q1": dict.fromkeys("abc", 1), "q2": {"a": 1}}, {"1": {"a": 1}}, "map")


def test_a_cut_that_leaves_no_judged_document_is_no_mistake_of_keys() -> None:
    result = rf.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "mrr", k_max=1)
    assert result["mrr"] == 0


_BAD_FILES: dict[str, tuple[str, bytes, list[str]]] = {
    "text as parquet": ("x.parquet", b"q1 Q0 a 1 1.0 t\n" * 9, ["not a Parquet file"]),
    "cut parquet": ("x.parquet", b"PAR1" + bytes(200), ["not a Parquet file, or a truncated one"]),
    "tiny parquet": ("x.parquet", b"PA", ["not a Parquet file, or a truncated one"]),
    "0 bytes": ("x.csv", b"", ["run is empty", "no rows"]),
    "blank csv": ("x.csv", b"\n\n", ["x.csv", "empty"]),
    "empty csv.gz": ("x.csv.gz", gzip.compress(b""), ["x.csv.gz", "empty"]),
    "only a header": ("x.csv", HEADER.encode(), ["run is empty", "no rows"]),
    "row too long": ("x.csv", HEADER.encode() + b"q1,a,1\nq1,b,1,2\n", ["x.csv", "more fields"]),
    "row too short": ("x.csv", HEADER.encode() + b"q1,a,1\nq1,b\n", ["null score", "row 2"]),
    "latin-1 csv": ("x.csv", (HEADER + "q1,é,1\n").encode("latin-1"), ["x.csv", "UTF-8"]),
    "open quote": ("x.csv", HEADER.encode() + b'q1,"a,1\nq1,b,2\n', ["x.csv"]),
    "bad json": ("x.jsonl", b'{"query_id": "q1", "doc_id": "a", "score": 1}\n{"q', ["x.jsonl"]),
    "json array": ("x.jsonl", b"[1, 2]\n", ["x.jsonl"]),
    "cut gzip": ("x.csv.gz", gzip.compress(HEADER.encode() * 99)[:40], ["x.csv.gz"]),
    "cut gzip, no ending": ("x", gzip.compress(HEADER.encode() * 99)[:40], ["cannot read", "x"]),
    "bad gzip, no ending": ("x", gzip.compress(b"")[:10] + b"\xff" * 50, ["cannot read", "x"]),
    "unknown ending": ("x.xlsx", b"PK\x03\x04" + bytes(99), ["looks like a zip archive"]),
    "strange ending": ("x.docx", b"what\n", ["its ending", ".parquet", ".jsonl"]),
}


@pytest.mark.parametrize("kind", _BAD_FILES)
def test_a_file_that_is_not_what_it_claims_is_refused(
    kind: str, qrels: pl.DataFrame, tmp_path: Path, refusal: Refusal
) -> None:
    name, content, parts = _BAD_FILES[kind]
    path = tmp_path / name
    path.write_bytes(content)
    text = refusal(rf.evaluate, qrels, path, "map")
    assert [part for part in parts if part not in text] == []


def test_a_truncated_parquet_file_is_refused(qrels, run, tmp_path, refusal: Refusal) -> None:
    path = tmp_path / "run.parquet"
    run.write_parquet(path)
    path.write_bytes(path.read_bytes()[:-7])
    refusal(rf.evaluate, qrels, path, "map")


def test_a_parquet_file_damaged_in_the_middle_is_refused(qrels, tmp_path, refusal) -> None:
    path = tmp_path / "run.parquet"
    rows = [str(n * 7919 % 10007) for n in range(20_000)]
    pl.DataFrame({"query_id": rows, "doc_id": rows, "score": rows}).write_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[:1000] + bytes(2000) + content[3000:])
    refusal(rf.evaluate, qrels, path, "map")


def test_one_bad_file_of_several_is_named(qrels, run, tmp_path: Path, refusal: Refusal) -> None:
    run.write_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").write_text("not parquet, but text")
    refusal(rf.evaluate, qrels, f"{tmp_path}/*.parquet", "map")


def test_an_unknown_choice_is_refused(qrels, run, refusal: Refusal) -> None:
    refusal(rf.evaluate, qrels, run, "map", duplicates="keepbest")


def test_hashes_that_collide_change_nothing(qrels, run, monkeypatch, refusal: Refusal) -> None:
    expected = rf.judge(qrels, run, judged_only=True).collect()
    twice = pl.concat([run, run[2:]])

    real = pl.Expr.hash

    def few(column: pl.Expr, seed: int = 0, *_: int) -> pl.Expr:
        """Of few bits, but for the one that confirms that two queries are one."""
        if seed == 3:
            return real(column, seed)
        return (column.str.len_bytes() % 2).cast(pl.UInt64) * 2**62

    monkeypatch.setattr(pl.Expr, "hash", few)
    assert rf.judge(qrels, run, judged_only=True).collect().equals(expected)
    refusal(rf.evaluate, qrels, twice, "map")
    kept = rf.judge(qrels, twice, judged_only=True, duplicates="keep_best").collect()
    assert kept.equals(expected)


@pytest.mark.parametrize("grade", [1e308, -1e200])
def test_grades_that_would_overflow_are_refused(grade: float, refusal) -> None:
    qrels = {"q": {"a": 1, "b": grade, "c": -grade}}
    refusal(rf.evaluate, qrels, {"q": {"a": 1.0}}, "ndcg@10")
    small = {"q": {"a": 1e99, "b": 1}}
    assert rf.evaluate(small, {"q": {"a": 1.0}}, "recall@1")["recall@1"] == 0.5
