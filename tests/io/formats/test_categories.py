"""Categories in Parquet files are read as text: the same rows, in order, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyarrow import ArrowInvalid
from pyarrow.parquet import ParquetFile

import rankframe as rf
from rankframe.io.formats.registry import PARQUET
from rankframe.io.raw_table import InputRequest

ROWS = pl.DataFrame(
    {
        "query_id": ["q2", "q2", "q1", "q1", None, "q3"],
        "doc_id": ["a", "", "ä", "b", "a", "b"],
        "score": [3.0, 2.0, 5.0, 4.0, 1.0, 0.5],
        "n": [1, 2, 3, None, 5, 6],
    },
    schema_overrides={"query_id": pl.Categorical, "doc_id": pl.Categorical},
)
PLAIN = ROWS.with_columns(pl.col("query_id", "doc_id").cast(pl.String))


TextOf = Callable[..., pl.LazyFrame]


@pytest.fixture(params=[None, 1], ids=["in memory", "by pyarrow"])
def text_of(request: pytest.FixtureRequest) -> TextOf:
    """Return a function that opens files, given a memory limit."""

    def opened(*files: Path) -> pl.LazyFrame:
        asked = InputRequest("run", "the run", limit=request.param)
        found = PARQUET.open([str(file) for file in files], asked)
        assert pl.Categorical not in found.frame.collect_schema().dtypes()
        return found.frame

    return opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    ROWS.write_parquet(tmp_path / "rows.parquet", row_group_size=2)
    return tmp_path / "rows.parquet"


def test_every_row_in_order(text_of: TextOf, file: Path) -> None:
    assert text_of(file).collect().equals(PLAIN, null_equal=True)
    assert text_of(file).collect_schema() == PLAIN.schema
    batches = pl.concat(text_of(file).collect_batches())
    assert batches.equals(PLAIN, null_equal=True)


def test_some_columns_some_rows(text_of: TextOf, file: Path) -> None:
    assert (
        text_of(file)
        .select("score", "doc_id")
        .head(3)
        .collect()
        .equals(PLAIN.select("score", "doc_id").head(3))
    )
    some = text_of(file).filter(pl.col("doc_id") == "b").select("query_id", "n").collect()
    assert some.equals(PLAIN.filter(doc_id="b").select("query_id", "n"))
    assert text_of(file).select(pl.len()).collect().item() == len(ROWS)


def test_several_files_with_other_categories(text_of: TextOf, file: Path, tmp_path: Path) -> None:
    other = ROWS.with_columns(doc_id=pl.Series(list("zyxwvu"), dtype=pl.Categorical))
    other.write_parquet(tmp_path / "other.parquet")
    both = text_of(file, tmp_path / "other.parquet").collect()
    expected = pl.concat([PLAIN, other.cast({"query_id": pl.String, "doc_id": pl.String})])
    assert both.equals(expected, null_equal=True)
    assert text_of(file, tmp_path / "other.parquet").head(7).collect().height == 7


def test_without_categories_there_is_nothing_to_gain(text_of: TextOf, tmp_path: Path) -> None:
    PLAIN.write_parquet(tmp_path / "plain.parquet")
    plan = text_of(tmp_path / "plain.parquet").explain()
    assert "Parquet SCAN" in plan


def test_results_are_those_of_text(tmp_path: Path) -> None:
    run = PLAIN.drop_nulls("query_id").filter(pl.col("doc_id") != "").drop("n")
    qrels = run.select("query_id", "doc_id", relevance=pl.Series([1, 0, 2, 1]))
    results = []
    for name, kind in (("text", pl.String), ("categories", pl.Categorical)):
        ids = pl.col("query_id", "doc_id").cast(kind)
        run.with_columns(ids).write_parquet(tmp_path / f"{name}-run.parquet")
        qrels.with_columns(ids).write_parquet(tmp_path / f"{name}-qrels.parquet")
        results.append(
            rf.evaluate(tmp_path / f"{name}-qrels.parquet", tmp_path / f"{name}-run.parquet")
        )
    assert results[0].per_query.equals(results[1].per_query)
    assert results[0].summary.equals(results[1].summary)


def test_a_file_that_is_cut_short_is_refused_in_a_sentence(
    file: Path, tmp_path: Path, refusal
) -> None:
    """The end of the file is there, so that it opens; its rows are not."""
    content = bytearray(file.read_bytes())
    content[4:60] = bytes(56)
    (tmp_path / "bad.parquet").write_bytes(content)
    refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "bad.parquet")


def test_what_pyarrow_cannot_read_is_an_error_of_polars(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as numbers that point to no category, which it says in its own way."""

    def fail(*_: object, **__: object) -> None:
        raise ArrowInvalid("Index not in dictionary bounds")

    monkeypatch.setattr(ParquetFile, "iter_batches", fail)
    frame = PARQUET.open([str(file)], InputRequest("run", "the run", limit=1)).frame
    with pytest.raises(pl.exceptions.ComputeError, match="Index not in dictionary bounds"):
        frame.collect()


def test_types_that_only_arrow_declares_stay(tmp_path: Path) -> None:
    """A Parquet file declares no durations: without the types of Arrow, they would be numbers."""
    rows = ROWS.with_columns(age=pl.duration(days=pl.col("n")))
    rows.write_parquet(tmp_path / "rows.parquet")
    asked = InputRequest("run", "the run")
    frame = PARQUET.open([str(tmp_path / "rows.parquet")], asked).frame
    assert frame.collect_schema() == rows.cast({pl.Categorical: pl.String}).schema
    assert frame.select("age").collect().equals(rows.select("age"), null_equal=True)
