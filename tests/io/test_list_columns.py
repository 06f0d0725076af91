"""One row per query with lists of documents: the numbers of the long form, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.engine.convert import convert_file
from rankframe.io.opening import open_table

METRICS = ["ndcg@10", "map", "mrr", "recall@5", "rbp"]
QRELS = pl.DataFrame({"user": ["u1", "u2", "u3"], "relevant_items": [["a", "b"], ["c"], ["x"]]})
RUN = pl.DataFrame(
    {
        "scores": [[1.0, 3.0, 2.0], [2.0, 5.0], []],
        "recommendations": [["z", "a", "b"], ["c", "b"], []],
        "user": ["u1", "u2", "u3"],
    }
)
ONLY_LISTS = RUN.drop("scores")
LONG_QRELS = pl.DataFrame(
    {"query_id": ["u1", "u1", "u2", "u3"], "doc_id": ["a", "b", "c", "x"], "relevance": [1] * 4}
)
LONG_RUN = pl.DataFrame(
    {
        "query_id": ["u1"] * 3 + ["u2"] * 2,
        "doc_id": ["z", "a", "b", "c", "b"],
        "score": [1.0, 3.0, 2.0, 2.0, 5.0],
    }
)
LISTED = LONG_RUN.drop("score")


def per_query(qrels: Any, run: Any, **options: Any) -> pl.DataFrame:
    return rf.evaluate(qrels, run, METRICS, ci=None, **options).per_query


@pytest.fixture(scope="module")
def many() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A long run and judgments, with lists of 0 to 60 documents."""
    rng = np.random.default_rng(5)
    queries = [f"q{at:04}" for at in range(3_000)]
    sizes = rng.integers(0, 60, len(queries))
    docs = np.concatenate([rng.permutation(90)[:size] for size in sizes])
    names = np.repeat(queries, sizes)
    run = pl.DataFrame({"query_id": names, "doc_id": docs, "score": rng.random(len(docs))})
    judged = pl.DataFrame(
        {
            "query_id": np.repeat(queries, 5),
            "doc_id": np.concatenate([rng.permutation(90)[:5] for _ in queries]),
            "relevance": rng.integers(0, 4, 5 * len(queries)),
        }
    )
    return judged, run


def in_lists(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("query_id", maintain_order=True).agg(pl.all())


def test_lists_with_scores_are_ordered_by_them() -> None:
    assert_frame_equal(per_query(QRELS, RUN), per_query(LONG_QRELS, LONG_RUN))


def test_lists_alone_are_in_the_order_of_the_ranking() -> None:
    expected = per_query(LONG_QRELS, LISTED, order="rows")
    assert_frame_equal(per_query(QRELS, ONLY_LISTS), expected)
    assert_frame_equal(per_query(QRELS, RUN, order="rows"), expected)
    ledger = dict(rf.evaluate(QRELS, ONLY_LISTS, "mrr").ledger.select("item", "note").rows())
    assert ledger["run_order"] == "as the lists stand"


def test_both_sides_may_be_in_one_table() -> None:
    both = RUN.join(QRELS, on="user", maintain_order="left")
    assert_frame_equal(per_query(both, both), per_query(QRELS, RUN))


def test_an_empty_list_retrieves_nothing_as_an_empty_dict_does() -> None:
    run = {"u1": {"z": 1.0, "a": 3.0, "b": 2.0}, "u2": {"c": 2.0, "b": 5.0}, "u3": {}}
    nulls = RUN.with_columns(
        pl.when(pl.col("user") != "u3").then(pl.col("scores", "recommendations"))
    )
    expected = rf.evaluate(LONG_QRELS, run, METRICS)
    for given in (RUN, nulls, {"u1": ["z", "a", "b"], "u2": ["c", "b"], "u3": []}):
        found = rf.evaluate(QRELS, given, METRICS)
        counted = {"run_queries": 2, "queries_missing": 1, "run_rows": 5}
        for result in (expected, found):
            items = dict(result.ledger.select("item", "value").rows())
            assert {item: items[item] for item in counted} == counted
    assert per_query(QRELS, nulls, missing="skip")["query_id"].to_list() == ["u1", "u2"]


GRADED = pl.DataFrame({"qid": ["q1", "q2"], "docs": [["a", "b"], ["c"]], "grades": [[2, 0], [1]]})


@pytest.mark.parametrize("grades", ["grades", "labels", "ratings", "Relevance"])
def test_grades_beside_the_documents(grades: str) -> None:
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
    long = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
    found = per_query(GRADED.rename({"grades": grades}), run)
    assert_frame_equal(found, per_query(long, run))


@pytest.mark.parametrize(
    "name",
    ["items", "recs", "docs", "documents", "item_ids", "Doc-IDs", "doc_id", "retrieved", "topK"],
)
def test_names_of_lists_of_documents(name: str) -> None:
    run = ONLY_LISTS.rename({"recommendations": name})
    assert_frame_equal(per_query(QRELS, run), per_query(QRELS, ONLY_LISTS))


def test_a_name_of_lists_means_nothing_where_there_are_none() -> None:
    run = LONG_RUN.with_columns(pl.lit("some text").alias("documents"))
    assert_frame_equal(per_query(LONG_QRELS, run), per_query(LONG_QRELS, LONG_RUN))
    wide = LONG_RUN.with_columns(pl.Series("documents", [["t"]] * 5))
    assert_frame_equal(per_query(LONG_QRELS, wide), per_query(LONG_QRELS, LONG_RUN))


def test_any_name_can_be_given() -> None:
    run = RUN.rename({"recommendations": "shelf", "scores": "liking"})
    columns = {"run": {"doc_id": "shelf", "score": "liking"}}
    assert_frame_equal(per_query(QRELS, run, columns=columns), per_query(QRELS, RUN))


def test_flags_beside_documents_are_grades() -> None:
    judged = pl.DataFrame({"q": ["q1"], "docs": [["a", "b"]], "relevant": [[False, True]]})
    found = rf.evaluate(judged, {"q1": ["a", "b"]}, "mrr", columns={"qrels": {"query_id": "q"}})
    assert found["mrr"] == 0.5


STRUCTS = RUN.select(
    "user",
    pl.Series(
        "hits",
        [
            [{"item": i, "score": s, "user": "?"} for i, s in zip(items, scores, strict=True)]
            for items, scores in RUN.select("recommendations", "scores").rows()
        ],
        pl.List(pl.Struct({"item": pl.String, "score": pl.Float64, "user": pl.String})),
    ).list.eval(pl.struct(pl.element().struct.field("item"), pl.element().struct.field("score"))),
)


def test_lists_of_structs() -> None:
    assert_frame_equal(per_query(QRELS, STRUCTS), per_query(QRELS, RUN))
    assert_frame_equal(
        per_query(QRELS, STRUCTS.with_columns(score=7.0, extra=pl.lit("x"))), per_query(QRELS, RUN)
    )


def test_a_list_of_structs_under_any_name_with_fields_of_any_name() -> None:
    inner = pl.col("hits").list.eval(
        pl.struct(
            pl.element().struct.field("item").alias("movie"),
            pl.element().struct.field("score").alias("rating"),
        )
    )
    run = STRUCTS.select("user", inner.alias("found"))
    assert_frame_equal(
        per_query(QRELS, run, columns={"run": {"doc_id": "movie", "score": "rating"}}),
        per_query(QRELS, RUN),
    )
    # without it they are as they stand
    found = per_query(QRELS, run, columns={"run": {"doc_id": "movie"}})
    assert_frame_equal(found, per_query(QRELS, ONLY_LISTS))


def test_two_lists_of_structs_are_ambiguous(refusal: Callable[..., str]) -> None:
    run = STRUCTS.with_columns(pl.col("hits").alias("results"))
    refusal(rf.evaluate, QRELS, run)


def test_what_is_known_of_queries_may_have_lists_of_its_own() -> None:
    hits = pl.Series([[{"query_id": "?"}]] * 3)
    queries = pl.DataFrame({"user": ["u1", "u2", "u3"], "kind": ["x", "x", "y"]}).with_columns(
        hits=hits, results=hits
    )
    found = rf.evaluate(QRELS, RUN, "mrr", queries=queries, by="kind")
    assert found.slices["queries"].to_list() == [2, 1]


def test_arrays_are_lists_of_one_length() -> None:
    run = pl.DataFrame(
        {"user": [1, 2], "items": np.array([[3, 1], [2, 4]]), "scores": np.array([[1, 2], [4, 3]])}
    )
    judged = {1: {1}, 2: {4}}
    assert isinstance(run.schema["items"], pl.Array)
    long = {1: {3: 1, 1: 2}, 2: {2: 4, 4: 3}}
    assert_frame_equal(per_query(judged, run), per_query(judged, long))


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "arrow", "pandas", "lazy"])
def test_wherever_the_table_lies(kind: str, tmp_path: Path) -> None:
    def held(frame: pl.DataFrame, name: str) -> Any:
        path = tmp_path / f"{name}.{kind}"
        if kind in ("parquet", "jsonl"):
            (frame.write_parquet if kind == "parquet" else frame.write_ndjson)(path)
            return path
        return {"arrow": frame.to_arrow, "pandas": frame.to_pandas, "lazy": frame.lazy}[kind]()

    for run in (RUN, ONLY_LISTS, STRUCTS):
        found = per_query(held(QRELS, "qrels"), held(run, "run"))
        assert_frame_equal(found, per_query(QRELS, run))


def test_categories_in_a_file_of_lists(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    RUN.cast({"user": pl.Categorical, "recommendations": pl.List(pl.Categorical)}).write_parquet(
        path
    )
    assert_frame_equal(per_query(QRELS, path), per_query(QRELS, RUN))


def test_a_data_frame_of_pandas_with_arrays_in_its_cells() -> None:
    run = pd.DataFrame({"user_id": [1, 2], "items": [np.array([3, 1]), np.array([2])]})
    assert rf.evaluate({1: {1}, 2: {2}}, run, "mrr")["mrr"] == 0.75


@pytest.mark.parametrize("max_memory", [None, "8MB"])
@pytest.mark.parametrize("scored", [True, False])
def test_the_same_bits_as_the_long_form(
    many: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path, max_memory: str | None, scored: bool
) -> None:
    judged, run = many
    run = run if scored else run.drop("score")
    path = tmp_path / "run.parquet"
    in_lists(run).write_parquet(path, row_group_size=700)
    options: Any = {"order": "columns" if scored else "rows"}
    expected = rf.evaluate(judged, run, METRICS, **options)
    found = rf.evaluate(in_lists(judged), path, METRICS, max_memory=max_memory)
    assert_frame_equal(found.per_query, expected.per_query)
    assert_frame_equal(found.summary, expected.summary)
    same = ~pl.col("item").str.contains("policy|unused|_order")
    assert_frame_equal(found.ledger.filter(same), expected.ledger.filter(same))


def test_rows_are_counted_and_the_first_ones_read_without_the_rest(
    many: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    run = many[1]
    opened = open_table(in_lists(run).vstack(in_lists(run).clear()), "run")
    assert opened.count() == run.height
    assert abs(opened.count(estimated=True) - run.height) < 2
    assert not opened.seekable
    assert_frame_equal(
        opened.frame.head(50).select("query_id", "doc_id").collect(),
        run.head(50).select("query_id", pl.col("doc_id").cast(pl.String)),
    )
    assert opened.frame.head(0).collect().height == 0
    empty_first = pl.concat([RUN[2:], RUN[2:], RUN[:1]])
    assert open_table(empty_first, "run").frame.head(2).collect()["doc_id"].to_list() == ["z", "a"]


def test_a_filter_is_applied_to_what_was_unrolled() -> None:
    found = open_table(RUN, "run").frame.filter(pl.col("doc_id") == "b").collect()
    assert found["query_id"].to_list() == ["u1", "u2"]


def test_every_function_takes_lists() -> None:
    other = ONLY_LISTS.with_columns(pl.col("recommendations").list.reverse())
    long_other = LISTED.reverse().sort("query_id", maintain_order=True)
    rows: dict[str, Any] = {"order": "rows"}

    def same(function: Callable[..., Any], *parts: str, **options: Any) -> None:
        found = function(QRELS, ONLY_LISTS, other, **options)
        expected = function(LONG_QRELS, LISTED, long_other, **options, **rows)
        for part in parts:
            assert_frame_equal(getattr(found, part), getattr(expected, part))

    def compare(qrels: Any, a: Any, b: Any, **options: Any) -> Any:
        return rf.compare(qrels, {"a": a, "b": b}, ["mrr", "map"], **options)

    same(compare, "table", "systems")
    same(lambda q, a, b, **o: rf.diff(q, a, b, "mrr", **o), "per_query", "documents")
    same(lambda _, a, b, **o: rf.agree(a, b, ["rbo", "kendall_tau"], **o), "per_query")
    assert_frame_equal(
        rf.judge(QRELS, ONLY_LISTS).collect(), rf.judge(LONG_QRELS, LISTED, **rows).collect()
    )
    assert_frame_equal(
        rf.pair(ONLY_LISTS, other).collect(), rf.pair(LISTED, long_other, **rows).collect()
    )
    assert_frame_equal(
        rf.curve(QRELS, RUN, "precision_recall"), rf.curve(LONG_QRELS, LONG_RUN, "precision_recall")
    )
    before = rf.evaluate(QRELS, other, "mrr")
    assert rf.gate(QRELS, ONLY_LISTS, before, "mrr: no worse than -1%").status


def test_a_converted_file_is_long(tmp_path: Path) -> None:
    for source, kind in ((RUN, "run"), (ONLY_LISTS, "run"), (QRELS, "qrels"), (GRADED, "qrels")):
        target = tmp_path / f"{kind}.trec"
        assert convert_file(source, target, overwrite=True)[0] == kind
    convert_file(ONLY_LISTS, tmp_path / "run.parquet")
    found = pl.read_parquet(tmp_path / "run.parquet")
    assert found.rows() == [
        (q, d, r) for (q, d), r in zip(LISTED.rows(), (1, 2, 3, 1, 2), strict=True)
    ]


@pytest.mark.parametrize(
    ("qrels", "run", "parts"),
    [
        (
            QRELS,
            RUN.with_columns(scores=pl.Series([[1.0, 2.0], [1.0, 2.0, 3.0], []])),
            ["run has 2 rows with lists of different lengths, e.g. row 1 (user_id 'u1'): 3 in "],
        ),
        (
            QRELS,
            RUN.with_columns(scores=pl.Series([[1.0, 2.0, 3.0], None, []])),
            ["run has 1 row with lists of different lengths, e.g. row 2 (user_id 'u2'): 2 in"],
        ),
        (
            QRELS.with_columns(grades=pl.Series([[1], [1], [1]])),
            RUN,
            ["qrels has 1 row with lists of different lengths, e.g. row 1"],
        ),
        (
            QRELS,
            RUN.with_columns(score=pl.lit(1.0)).drop("scores"),
            ["'score' has type Float64; it must hold a list of numbers", "list 'recommendations'"],
        ),
        (
            QRELS,
            RUN.with_columns(recommendations=pl.Series([["z", None, "b"], ["c", None], []])),
            ["run has 2 rows with a null item_id, e.g. user_id 'u1'"],
        ),
        (
            QRELS,
            RUN.with_columns(scores=pl.Series([[1.0, None, 2.0], [1.0, float("nan")], []])),
            ["run has 1 row with a null score, e.g. user_id 'u1', item_id 'a'"],
        ),
        (
            QRELS,
            RUN.with_columns(recommendations=pl.Series([["z", "b", "b"], ["c", "b"], []])),
            ["run has 1 duplicate (user_id, item_id) pair, e.g. ('u1', 'b'). Keep one"],
        ),
        (
            pl.concat([QRELS, QRELS]),
            RUN,
            ["qrels has 4 duplicate (user_id, item_id) pairs, e.g. ('u1', 'a'). Keep one"],
        ),
        (
            QRELS,
            pl.concat([ONLY_LISTS, ONLY_LISTS[:1]]),
            ["run has 1 duplicate user_id, e.g. ('u1') at rows 1 and 4. Keep one of each."],
        ),
        (QRELS, RUN.with_columns(pl.concat_list("user")), ["it must hold ids"]),
        (
            QRELS,
            ONLY_LISTS.with_columns(pl.Series("recommendations", [[["a"]], [["b"]], []])),
            ["it must hold ids"],
        ),
        (QRELS, RUN[2:], ["run is empty"]),
        (QRELS, RUN[:0], ["run is empty"]),
        (RUN, QRELS, ["qrels has no", "'recommendations', 'user'"]),
        (RUN.rename({"recommendations": "items"}), RUN, ["Is this the run? The judgments come"]),
        (QRELS.rename({"user": "who"}), RUN, ["qrels has no query_id column"]),
        (QRELS, RUN.with_columns(recs=pl.col("recommendations")), ["2 columns that may be doc_id"]),
    ],
    ids=["ragged", "null beside", "grades", "one score", "null id", "null score", "duplicate",
         "qrels twice", "query twice", "query list", "nested", "all empty", "no rows", "swapped",
         "swapped, by scores", "no query", "two lists"],
)  # fmt: skip
def test_what_is_refused(
    qrels: pl.DataFrame, run: pl.DataFrame, parts: list[str], refusal: Callable[..., str]
) -> None:
    text = refusal(rf.evaluate, qrels, run, "map")
    assert [part for part in parts if part not in text] == []
    assert refusal(rf.compare, qrels, {"a": run, "b": RUN}, "map")


def test_scored_lists_of_one_query_in_two_rows_are_one_ranking() -> None:
    split = pl.DataFrame(
        {"user": ["u1", "u2", "u1"], "items": [["z"], ["c", "b"], ["a", "b"]],
         "scores": [[1.0], [2.0, 5.0], [3.0, 2.0]]}
    )  # fmt: skip
    assert_frame_equal(per_query(QRELS, split), per_query(QRELS, RUN))
