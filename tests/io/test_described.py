"""What is known of queries and documents besides judgments and rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankframe.io.queries import Described, Texts

QUERIES = pl.DataFrame(
    {"query_id": ["q1", "q2"], "text": ["red\n shoes", None], "locale": ["de", "fr"],
     "traffic": [5, 1], "tags": [["a"], []]}
)  # fmt: skip
SOURCES = {
    "mapping": {"d1": "One", "d2": "Two"},
    "frame": pl.DataFrame({"doc_id": ["d1", "d2"], "title": ["One", "Two"], "price": [1, 2]}),
    "lazy": pl.LazyFrame({"_id": ["d1", "d2"], "title": ["One", "Two"], "text": ["x", "y"]}),
    "numbers": pl.DataFrame({"SKU": ["d1", "d2"], "label_of_it": ["One", "Two"], "n": [1, 2]}),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_titles_in_any_form(source: Any) -> None:
    texts = Texts.from_source(source, "doc_id", "titles")
    assert texts.among(pl.Series(["d2", "d3", "d2"])) == {"d2": "Two"}


def test_titles_in_a_file_by_ids_that_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "titles.csv"
    pl.DataFrame({"doc_id": [1, 2], "title": ["One", "Two"]}).write_csv(path)
    assert Texts.from_source(path, "doc_id", "titles").among(pl.Series(["2"])) == {"2": "Two"}


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame({"x": ["a"], "title": ["b"]}),
        pl.DataFrame({"doc_id": ["a"], "n": [1]}),
        "nowhere.parquet",
    ],
)
def test_what_has_no_texts_is_refused(source: Any, refusal) -> None:
    refusal(Texts.from_source, source, "doc_id", "titles")


def test_attributes_weights_and_words_of_queries() -> None:
    told = Described.from_sources(QUERIES, weight="traffic")
    ids = pl.Series("query_id", ["q2", "q1"])
    assert told.attributes(ids).to_dict(as_series=False) == {
        "query_id": ["q2", "q1"],
        "locale": ["fr", "de"],
    }
    weights = told.weights(ids)
    assert weights is not None
    assert weights.to_list() == [1.0, 5.0]
    assert told.texts(ids) == {"q1": "red shoes"}
    assert Described().attributes(ids).columns == ["query_id"]
    assert Described().weights(ids) is None


def test_texts_of_their_own_go_before_those_of_the_table() -> None:
    told = Described.from_sources(QUERIES, query_text={"q1": "blue"})
    assert told.texts(pl.Series(["q1", "q2"])) == {"q1": "blue"}


def test_weights_that_are_not_there_are_refused(refusal) -> None:
    refusal(Described.from_sources, weight="traffic")
    refusal(Described.from_sources, QUERIES, weight="trafic")
    told = Described.from_sources(QUERIES, weight="traffic")
    refusal(told.weights, pl.Series("query_id", ["q1", "q9"]))
