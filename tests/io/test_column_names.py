"""Columns are known by their usual names, or by those that were asked for; and what is missing or
in doubt is said.
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import SYNONYMS, plain_name
from rankframe.engine.convert import convert_file
from rankframe.trec_eval.evaluate import evaluate_trec

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
        (["search_term", "chunk_id"], "rel", "score"),
    ],
)
def test_usual_names_of_columns_are_known(names: list[str], of_qrels: str, of_run: str) -> None:
    qrels, run = QRELS.clone(), RUN.clone()
    qrels.columns, run.columns = [*names, of_qrels], [*names, of_run]
    assert rf.evaluate(qrels, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


def test_a_column_under_its_own_name_wins_over_a_synonym() -> None:
    run = RUN.with_columns(topic=pl.lit("other"), weight=pl.lit("not a number"))
    assert rf.evaluate(QRELS, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


def test_names_that_stand_beside_others_are_taken_last() -> None:
    run = RUN.rename({"query_id": "qid", "doc_id": "docno"})
    run = run.with_columns(search_term=pl.lit("red shoes"), chunk_id=pl.lit(3))
    assert rf.evaluate(QRELS, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


def test_lists_that_are_written_as_text_are_refused(refusal: Callable[..., str]) -> None:
    run = pl.DataFrame({"user": ["q1"], "recommendations": ["['a', 'b']"]})
    refusal(rf.evaluate, QRELS, run, "map")
    run = run.with_columns(recommendations=pl.lit("a"))
    columns = {"run": {"doc_id": "recommendations"}}
    assert rf.evaluate(QRELS, run, "mrr", columns=columns, order="rows")["mrr"] == pytest.approx(
        1 / 3
    )


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


@pytest.mark.parametrize(
    ("run", "columns"),
    [
        (RUN.rename({"query_id": "qid"}).with_columns(topic=1), None),
        (RUN.rename({"doc_id": "doc_idx"}), None),
        (RUN.rename({"doc_id": "x"}), None),
        (RUN, {"run": {"score": "scores"}}),
        (RUN, {"querry_id": "q"}),
        (RUN.with_columns(doc_id=pl.struct("doc_id")), None),
        (RUN.with_columns(score=pl.lit(date(2024, 1, 1))), None),
        (pl.DataFrame(), None),
    ],
    ids=["ambiguous", "near", "missing", "asked for", "mapping", "id", "score", "no columns"],
)  # fmt: skip
def test_what_is_wrong_with_a_column_is_said_in_full(
    run: pl.DataFrame, columns: Any, refusal: Callable[..., str]
) -> None:
    refusal(rf.evaluate, QRELS, run, "map", columns=columns)


def test_a_run_in_the_place_of_the_judgments_is_noticed(refusal: Callable[..., str]) -> None:
    refusal(rf.evaluate, RUN, QRELS, "map")


def test_judgments_without_grades_get_the_advice_to_add_them(refusal: Callable[..., str]) -> None:
    refusal(rf.evaluate, QRELS.drop("relevance"), RUN, "map")


@pytest.mark.parametrize("columns", ["query_id", {"run": "score"}, ["query_id"]])
def test_a_mapping_that_is_none_is_refused(columns: Any, refusal: Callable[..., str]) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", columns=columns)


@pytest.mark.parametrize("columns", [{5: "x"}, {None: "x"}, {"run": {5: "x"}}, {"run": 5}], ids=str)
def test_columns_are_called_by_text(columns: Any, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", columns=columns)


def test_each_of_two_rankings_has_a_mapping_of_its_columns(refusal) -> None:
    refusal(rf.agree, RUN, RUN, columns={"a": 5})


@pytest.mark.parametrize("name", ["Query-ID", "QUERY ID", "queryId", "query__id", "_query_id"])
def test_names_are_compared_without_case_dashes_underscores_and_blanks(name: str) -> None:
    expected = rf.evaluate(QRELS, RUN, METRICS).means
    run = RUN.rename({"query_id": name})
    assert rf.evaluate(QRELS, run, METRICS).means == expected
    theirs = RUN.rename({"doc_id": "The Sku"})
    assert rf.evaluate(QRELS, theirs, METRICS, columns={"doc_id": "the-sku"}).means == expected


def test_no_two_columns_have_a_name_in_common() -> None:
    known = [plain_name(name) for ours, names in SYNONYMS.items() for name in {ours, *names}]
    of = {plain_name(name): ours for ours, names in SYNONYMS.items() for name in (ours, *names)}
    assert set(known) == set(of)
    assert {of[plain_name(name)] == ours for ours, names in SYNONYMS.items() for name in names} == {
        True
    }


def test_names_that_are_written_alike_are_in_doubt(refusal: Callable[..., str]) -> None:
    run = RUN.with_columns(pl.col("query_id").alias("Query-ID"))
    refusal(rf.evaluate, QRELS, run, "map")
    asked = {"run": {"query_id": "Query-ID"}}
    assert rf.evaluate(QRELS, run, METRICS, columns=asked).means
    refusal(rf.evaluate, QRELS, run, "map", columns={"query_id": "QUERY_ID"})


def test_a_name_with_an_underscore_in_front_stands_back() -> None:
    run = RUN.with_columns(_score=-pl.col("score"), _id=pl.lit("x"))
    assert rf.evaluate(QRELS, run, METRICS).means == rf.evaluate(QRELS, RUN, METRICS).means


QUERIES = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "locale": ["de", "fr", "de"]})


@pytest.mark.parametrize(
    ("columns", "of_qrels", "of_run", "of_queries"),
    [
        ({"doc_id": "_id"}, {}, {"doc_id": "_id"}, {}),
        ({"doc_id": "_id"}, {"doc_id": "_id"}, {}, {}),
        ({"query_id": "who"}, {}, {}, {"query_id": "who"}),
        ({"query_id": "who"}, {"query_id": "who"}, {"query_id": "topic"}, {"query_id": "who"}),
        ({"queries": {"query_id": "who"}}, {}, {}, {"query_id": "who"}),
        ({"doc_id": "_id", "run": {"doc_id": "what"}}, {"doc_id": "_id"}, {"doc_id": "what"}, {}),
        ({"query_id": "who", "queries": {"query_id": "whom"}}, {}, {"query_id": "who"},
         {"query_id": "whom"}),
        ({"score": "bm", "relevance": "stars"}, {"relevance": "stars"}, {"score": "bm"}, {}),
    ],
)  # fmt: skip
def test_one_mapping_is_for_the_sides_that_have_the_column(
    columns: dict[str, Any],
    of_qrels: dict[str, str],
    of_run: dict[str, str],
    of_queries: dict[str, str],
) -> None:
    sides = QRELS.rename(of_qrels), RUN.rename(of_run)
    found = rf.evaluate(
        *sides, METRICS, columns=columns, queries=QUERIES.rename(of_queries), by="locale"
    )
    expected = rf.evaluate(QRELS, RUN, METRICS, queries=QUERIES, by="locale")
    assert found.per_query.equals(expected.per_query)
    assert found.slices.equals(expected.slices)


def test_a_side_without_the_column_and_without_a_usual_one_is_told_how_to_name_its_own(
    refusal: Callable[..., str],
) -> None:
    columns = {"doc_id": "_id"}
    run = RUN.rename({"doc_id": "_id"})
    refusal(rf.evaluate, QRELS.rename({"doc_id": "x"}), run, columns=columns)
    refusal(rf.evaluate, QRELS, RUN.rename({"score": "x"}), columns={"score": "bm"})


def test_what_is_said_of_one_side_must_be_there(refusal: Callable[..., str]) -> None:
    for side in ("qrels", "run", "queries"):
        columns = {side: {"query_id": "nowhere"}}
        refusal(rf.evaluate, QRELS, RUN, "map", columns=columns, queries=QUERIES, by="locale")


CALLS: dict[str, Callable[..., object]] = {
    "evaluate": lambda path, **how: rf.evaluate(QRELS, RUN, "map", **how),
    "judge": lambda path, **how: rf.judge(QRELS, RUN, **how),
    "compare": lambda path, **how: rf.compare(QRELS, {"x": RUN, "y": RUN}, "map", **how),
    "diff": lambda path, **how: rf.diff(QRELS, RUN, RUN, "map", **how),
    "curve": lambda path, **how: rf.curve(QRELS, RUN, "roc", **how),
    "report": lambda path, **how: rf.report(
        QRELS, {"x": RUN}, "map", output=path / "x.html", **how
    ),
    "gate": lambda path, **how: rf.gate(
        QRELS, RUN, rf.evaluate(QRELS, RUN, "map"), ["map: at least 0"], **how
    ),
    "trec_eval": lambda path, **how: evaluate_trec(QRELS, RUN, ["map"], **how),
    "agree": lambda path, **how: rf.agree(RUN, RUN, **how),
    "pair": lambda path, **how: rf.pair(RUN, RUN, **how),
    "convert": lambda path, **how: convert_file(RUN, path / "x.csv", **how),
    "stored": lambda path, **how: rf.compare(
        None,
        {name: rf.evaluate(QRELS, RUN, "map") for name in "xy"},
        queries=QUERIES,
        by="locale",
        **how,
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_column_that_no_side_has_is_refused_wherever_columns_are_named(
    call: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    refusal(CALLS[call], tmp_path, columns={"query_id": "nowhere"})


def test_a_column_of_one_side_is_looked_for_there(refusal: Callable[..., str]) -> None:
    for asked in ("score", "rank", "relevance"):
        refusal(rf.evaluate, QRELS, RUN, "map", columns={asked: "nowhere"})


def test_each_of_two_rankings_has_the_columns_that_it_has() -> None:
    other = RUN.rename({"doc_id": "_id"})
    expected = rf.agree(RUN, RUN).means
    for columns in ({"doc_id": "_id"}, {"b": {"doc_id": "_id"}}):
        assert rf.agree(RUN, other, columns=columns).means == expected


PAIRS = QRELS.filter(pl.col("relevance") > 0).drop("relevance")


@pytest.mark.parametrize("grade", [1, 1.0, 2.5])
def test_judgments_that_are_pairs_get_the_grade_that_is_given(grade: float) -> None:
    graded = PAIRS.with_columns(relevance=pl.lit(float(grade)))
    for kind in (lambda f: f, pl.DataFrame.lazy, lambda f: f.cast({pl.String: pl.Categorical})):
        found = rf.evaluate(kind(PAIRS), RUN, [*METRICS, "dcg"], relevance=grade)
        expected = rf.evaluate(graded, RUN, [*METRICS, "dcg"])
        assert found.per_query.equals(expected.per_query)
    notes = dict(found.ledger.select("item", "note").rows())
    assert notes["policy_relevance"] == f"{grade:g} for every pair"
    assert "policy_relevance" not in expected.ledger["item"]
    judged = rf.judge(PAIRS, RUN, relevance=grade).collect()
    assert judged.equals(rf.judge(graded, RUN).collect())


def test_pairs_from_a_file_with_categories(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    PAIRS.cast({pl.String: pl.Categorical}).write_parquet(path)
    found = rf.evaluate(path, RUN, "map", relevance=1)
    assert found.means == rf.evaluate(PAIRS, RUN, "map", relevance=1).means


def test_a_grade_for_judgments_that_have_grades_is_refused(refusal: Callable[..., str]) -> None:
    refusal(rf.evaluate, QRELS.rename({"relevance": "Label"}), RUN, relevance=1.0)
    refusal(rf.evaluate, PAIRS, RUN, relevance="1")


def test_pairs_become_judgments_with_grades_by_convert(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    target = tmp_path / "qrels.csv"
    assert convert_file(PAIRS, target, relevance=1) == ("qrels", PAIRS.height)
    assert pl.read_csv(target)["relevance"].to_list() == [1] * PAIRS.height
    refusal(convert_file, PAIRS, target, "run", relevance=1)
