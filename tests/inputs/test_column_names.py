"""Columns are known by their usual names, or by those that were asked for; and what is missing or
in doubt is said.
"""

from collections.abc import Callable
from datetime import date
from typing import Any

import polars as pl
import pytest

import rankframe as rf

METRICS = ["ndcg@3", "map", "mrr"]
QRELS = pl.DataFrame(
    {
        "query_id": ["q2", "q1", "q1", "q1", "q3"],
        "doc_id": ["a", "a", "b", "é", "z"],
        "relevance": [1, 3, 0, 2, 1],
    }
)
RUN = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q1", "q1", "q2"],
        "doc_id": ["b", "a", "é", "x", "y"],
        "score": [0.5, -1.0, 0.25, 0.5, 1e-3],
    }
)


@pytest.mark.parametrize(
    ("names", "of_qrels", "of_run"),
    [
        (["qid", "docno"], "rel", "sim"),
        (["Query_ID", "DOC_ID"], "Relevance", "SCORE"),
        (["user_id", "item_id"], "rating", "prediction"),
        (["topic", "document"], "label", "weight"),
        (["qid", "docno"], "rel", "_score"),
        (["qid", "docno"], "rel", "Probability"),
        (["qid", "docno"], "rel", "logits"),
    ],
)
def test_usual_names_of_columns_are_known(names: list[str], of_qrels: str, of_run: str) -> None:
    qrels, run = QRELS.clone(), RUN.clone()
    qrels.columns, run.columns = [*names, of_qrels], [*names, of_run]
    assert rf.evaluate(qrels, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


def test_a_column_under_its_own_name_wins_over_a_synonym() -> None:
    run = RUN.with_columns(topic=pl.lit("other"), weight=pl.lit("not a number"))
    assert rf.evaluate(QRELS, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


NAMES = {"query_id": "who", "doc_id": "what"}


@pytest.mark.parametrize(
    "columns",
    [
        NAMES,
        {"qrels": NAMES, "run": NAMES},
        {"query_id": "who", "qrels": {"doc_id": "what"}, "run": {"doc_id": "what"}},
    ],
    ids=["flat", "per side", "both"],
)  # fmt: skip
def test_columns_are_named_once_or_for_each_side(columns: dict[str, Any]) -> None:
    result = rf.evaluate(QRELS.rename(NAMES), RUN.rename(NAMES), METRICS, columns=columns)
    assert result.means == rf.evaluate(QRELS, RUN, METRICS).means


def test_a_column_can_be_mapped_to_one_that_would_be_taken_for_another() -> None:
    run = RUN.rename({"score": "rank"})
    result = rf.evaluate(QRELS, run, METRICS, columns={"run": {"score": "rank"}})
    assert result.means == rf.evaluate(QRELS, RUN, METRICS).means


HAS = "it has 'query_id', 'doc_id', 'score'."


@pytest.mark.parametrize(
    ("run", "columns", "message"),
    [
        (RUN.rename({"query_id": "qid"}).with_columns(topic=1), None,
         ("run has 2 columns that may be query_id: 'qid', 'topic'. "
          'Say which: columns={"query_id": "qid"}.')),
        (RUN.rename({"doc_id": "doc_idx"}), None,
         ("run has no doc_id column; it has 'query_id', 'doc_idx', 'score'. "
          "Did you mean 'doc_idx'?")),
        (RUN.rename({"doc_id": "x"}), None,
         ("run has no doc_id column; it has 'query_id', 'x', 'score'. "
          'Name it: columns={"doc_id": "your_column"}.')),
        (RUN, {"run": {"score": "scores"}},
         f"run has no column 'scores' (asked for as score); {HAS} Did you mean 'score'?"),
        (RUN, {"querry_id": "q"},
         ("columns= names 'querry_id', which is not a column of rankframe. Did you mean "
          "'query_id'? It takes 'query_id', 'doc_id', 'relevance', 'score', 'distance', 'rank', "
          "each mapped to a name in your data.")),
        (RUN.with_columns(doc_id=pl.struct("doc_id")), None,
         ("run column 'doc_id' has type Struct({'doc_id': String}); "
          "it must hold ids (text or numbers).")),
        (RUN.with_columns(score=pl.lit(date(2024, 1, 1))), None,
         "run column 'score' has type Date; it must hold numbers."),
        (pl.DataFrame(), None,
         ("run has no query_id column; it has nothing. "
          'Name it: columns={"query_id": "your_column"}.')),
    ],
    ids=["ambiguous", "near", "missing", "asked for", "mapping", "id", "score", "no columns"],
)  # fmt: skip
def test_what_is_wrong_with_a_column_is_said_in_full(
    run: pl.DataFrame, columns: Any, message: str, refusal: Callable[..., str]
) -> None:
    assert refusal(rf.evaluate, QRELS, run, "map", columns=columns) == message


def test_a_run_in_the_place_of_the_judgments_is_noticed(refusal: Callable[..., str]) -> None:
    assert refusal(rf.evaluate, RUN, QRELS, "map") == (
        f"qrels has no relevance column; {HAS} Is this the run? The judgments come first."
    )


def test_judgments_without_grades_get_the_advice_to_add_them(refusal: Callable[..., str]) -> None:
    assert refusal(rf.evaluate, QRELS.drop("relevance"), RUN, "map") == (
        "qrels has no relevance column; it has 'query_id', 'doc_id'. "
        "If every row is a relevant pair, add one that is 1 everywhere."
    )


@pytest.mark.parametrize("columns", ["query_id", {"run": "score"}, ["query_id"]])
def test_a_mapping_that_is_none_is_refused(columns: Any, refusal: Callable[..., str]) -> None:
    assert "columns" in refusal(rf.evaluate, QRELS, RUN, "map", columns=columns)


@pytest.mark.parametrize("columns", [{5: "x"}, {None: "x"}, {"run": {5: "x"}}, {"run": 5}], ids=str)
def test_columns_are_called_by_text(columns: Any, refusal) -> None:
    said = refusal(rf.evaluate, QRELS, RUN, "map", columns=columns)
    assert said.startswith("columns= takes a mapping such as")


def test_each_of_two_rankings_has_a_mapping_of_its_columns(refusal) -> None:
    said = refusal(rf.agree, RUN, RUN, columns={"a": 5})
    assert said.startswith("columns= takes a mapping such as")
