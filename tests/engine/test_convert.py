"""From one format to another: whole numbers where they all are, and ranks for TREC text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rankframe.engine.convert import convert_file
from rankframe.io.opening import open_table

RUN = {"q2": {"a": 0.5, "b": 0.5, "c": 0.25}, "q1": {"z": 1.0}}
QRELS = {"q": {"a": 2, "b": 0}}


def test_a_run_as_trec_text_is_ranked_query_by_query(tmp_path: Path) -> None:
    target = tmp_path / "x.trec"
    assert convert_file(RUN, target, "run") == ("run", 4)
    assert [line.split()[:5] for line in target.read_text().splitlines()] == [
        ["q1", "Q0", "z", "1", "1.0"],
        # equal scores by doc_id descending, as trec_eval places them
        ["q2", "Q0", "b", "1", "0.5"],
        ["q2", "Q0", "a", "2", "0.5"],
        ["q2", "Q0", "c", "3", "0.25"],
    ]


def test_a_table_keeps_the_order_of_rows_and_gets_no_ranks(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    assert convert_file(RUN, target, "run") == ("run", 4)
    assert pl.read_csv(target).rows() == [
        ("q2", "a", 0.5), ("q2", "b", 0.5), ("q2", "c", 0.25), ("q1", "z", 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("grades", "dtype"), [([2.0, 0.0], pl.Int64), ([2.0, 0.5], pl.Float64)])
def test_grades_are_whole_numbers_where_they_all_are(
    grades: list[float], dtype: pl.DataType, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": grades})
    target = tmp_path / "x.parquet"
    assert convert_file(frame, target) == ("qrels", 2)
    assert pl.read_parquet(target)["relevance"].dtype == dtype
    assert (
        open_table(target, "qrels")
        .frame.collect()
        .equals(open_table(frame, "qrels").frame.collect())
    )


def test_what_a_source_holds_is_seen_by_its_columns(tmp_path: Path) -> None:
    judged = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    both = judged.with_columns(score=pl.lit(1.0))
    placed = judged.drop("relevance").with_columns(rank=pl.lit(1))
    far = judged.with_columns(distance=pl.lit(1.0))
    found = [
        convert_file(frame, tmp_path / "x.csv", overwrite=True)[0]
        for frame in (judged, both, placed, far)
    ]
    assert found == ["qrels", "run", "run", "run"]
    assert convert_file(both, tmp_path / "x.csv", "qrels", overwrite=True)[0] == "qrels"


@pytest.mark.parametrize("ending", ["csv", "parquet", "trec"])
def test_a_run_in_the_order_of_its_rows_gets_ranks(ending: str, tmp_path: Path, refusal) -> None:
    run = pl.DataFrame({"query_id": ["q", "p", "q"], "doc_id": ["a", "a", "b"], "price": [1, 2, 3]})
    target = tmp_path / f"x.{ending}"
    refusal(convert_file, run, target)
    assert not target.exists()
    assert convert_file(run, target, order="rows") == ("run", 3)
    written = open_table(target, "run").frame.select("query_id", "doc_id", "rank").collect()
    assert written.rows() == [("p", "a", 1), ("q", "a", 1), ("q", "b", 2)]


def test_a_target_without_a_format_is_refused_and_nothing_is_written(
    tmp_path: Path, refusal
) -> None:
    refusal(convert_file, QRELS, tmp_path / "x.doc", "qrels")
    twice = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "score": [1.0, 2.0]})
    refusal(convert_file, twice, tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())
    assert convert_file(twice, tmp_path / "x.csv", duplicates="keep_best") == ("run", 1)
    assert pl.read_csv(tmp_path / "x.csv")["score"].to_list() == [2.0]
