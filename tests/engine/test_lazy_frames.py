"""Lazy frames for users: every column by hand, in an order that no input order shows through."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.columns import DOCUMENTS_FRAME, JUDGED_FRAME, PAIR_FRAME, QUERY
from rankframe.metrics import REGISTRY, names_over
from tests.support.oracles import random_case
from tests.support.rankings import two_rankings
from tests.support.retrieved import NAMES, shop

JUDGED = JUDGED_FRAME.schema

# In rank order: x (unjudged), a, b, d and c (tied), y (unjudged), g. Not retrieved: e and f.
GRADES = {"c": 1, "f": 0, "a": 2, "b": 0, "d": -1, "e": 3, "g": 0.5}
SCORES = {"a": 8.0, "b": 7.0, "c": 6.0, "d": 6.0, "g": 4.0, "x": 9.0, "y": 5.0}
JUDGED_BY_HAND: dict[str, list[Any]] = {
    "query_id": ["q"] * 7,
    "doc_id": ["a", "b", "d", "c", "g", "e", "f"],
    "relevance": [2, 0, -1, 1, 0.5, 3, 0],
    "relevant": [True, False, False, True, True, True, False],
    "rank": [2, 3, 4, 5, 7, None, None],
    "ideal_rank": [2, 5, 7, 3, 4, 1, 6],
    "ideal_rank_retrieved": [1, 4, 5, 2, 3, None, None],
    "found": [1, 1, 1, 2, 3, None, None],
    "nonrelevant_above": [0, 0, 1, 1, 1, None, None],
    "judged_above": [0, 1, 2, 3, 4, None, None],
    "judged_by_ideal_rank": [1, 4, 5, 2, 3, 0, 4],
    "tied_rank": [2, 3, 4.5, 4.5, 7, None, None],
    "retrieved": [7] * 7,
    "relevant_total": [4] * 7,
    "nonrelevant_total": [2] * 7,
    "max_grade": [3] * 7,
    "pooled_wins": [3, 2.5, 1.5, 1.5, 0, None, None],
    "pooled_nonrelevant": [4] * 7,
}
AT_LEVEL_2: dict[str, list[Any]] = {
    "relevant": [True, False, False, False, False, True, False],
    "found": [1, 1, 1, 1, 1, None, None],
    "nonrelevant_above": [0, 0, 1, 1, 2, None, None],
    "relevant_total": [2] * 7,
    "nonrelevant_total": [4] * 7,
    "pooled_wins": [5, 4.5, 3, 3, 0.5, None, None],
    "pooled_nonrelevant": [6] * 7,
}


def _judge(**options: Any) -> pl.LazyFrame:
    return rf.judge({"q": GRADES}, {"q": SCORES}, **options)


def test_the_example_covers_every_column() -> None:
    assert list(JUDGED_BY_HAND) == list(JUDGED)
    assert set(AT_LEVEL_2) == {
        name for name, column in JUDGED_FRAME.columns.items() if column.parameters
    }


@pytest.mark.parametrize("column", JUDGED_BY_HAND)
def test_each_column_is_as_by_hand(column: str) -> None:
    values = _judge().select(column).collect()
    assert values.schema == {column: JUDGED[column]}
    assert values[column].to_list() == JUDGED_BY_HAND[column]


def test_all_columns_come_together_and_in_order() -> None:
    frame = _judge().collect()
    assert_frame_equal(frame, pl.DataFrame(JUDGED_BY_HAND, schema=JUDGED))
    assert _judge().collect_schema() == frame.schema


@pytest.mark.parametrize("column", AT_LEVEL_2)
def test_rel_says_which_grades_are_relevant(column: str) -> None:
    assert _judge(rel=2).collect()[column].to_list() == AT_LEVEL_2[column]


@pytest.mark.parametrize("column", AT_LEVEL_2)
def test_a_level_has_columns_of_its_own(column: str) -> None:
    frame = _judge(levels=[2, 0.5]).collect()
    assert frame[f"{column}_rel2"].to_list() == AT_LEVEL_2[column]
    assert frame[f"{column}_rel0.5"].to_list() == JUDGED_BY_HAND[column]
    assert frame[column].to_list() == JUDGED_BY_HAND[column]


def test_metrics_with_a_level_are_computed_from_the_columns_of_that_level() -> None:
    values = (
        _judge(levels=[2]).group_by(QUERY).agg(rf.recall(k=2, rel=2), rf.average_precision(rel=2))
    )
    assert values.collect().row(0)[1:] == (0.5, 0.25)


def test_counts_start_again_with_every_query() -> None:
    qrels = {"q2": {"a": 1, "b": 0, "c": 1}, "q1": {"a": 0, "b": 1}, "q3": {"z": 1}}
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0, "b": 2.0}, "q9": {"a": 1.0}}
    columns = ["query_id", "doc_id", "rank", "found", "nonrelevant_above", "retrieved"]
    assert rf.judge(qrels, run).select(columns).collect().rows() == [
        ("q1", "a", 1, 0, 0, 2),
        ("q1", "b", 2, 1, 1, 2),
        ("q2", "b", 1, 0, 0, 2),
        ("q2", "c", 2, 1, 1, 2),
        ("q2", "a", None, None, None, 2),
        ("q3", "z", None, None, None, 0),
    ]


@pytest.mark.parametrize("columns", [["rank", "found", "doc_id"], ["tied_rank"]], ids=len)
def test_explain_shows_that_only_the_asked_for_columns_are_computed(columns: list[str]) -> None:
    assert f"PROJECT {len(columns)}/{len(JUDGED)} COLUMNS" in _judge().select(columns).explain()


def test_explain_shows_what_a_metric_needs() -> None:
    plan = _judge().group_by(QUERY).agg(rf.recall(k=1)).explain()
    assert f"PROJECT 3/{len(JUDGED)} COLUMNS" in plan


def test_a_filter_and_a_head_give_the_rows_they_ask_for() -> None:
    wanted = _judge().filter(pl.col("found") >= 2, pl.col("relevance") < 2).select("doc_id", "rank")
    assert wanted.collect().rows() == [("c", 5), ("g", 7)]
    assert wanted.head(1).collect().rows() == [("c", 5)]
    assert _judge().head(2).filter(pl.col("relevant")).select("doc_id").collect().rows() == [("a",)]
    assert _judge().head(3).collect().equals(_judge().collect().head(3))
    assert _judge().select(pl.len()).collect().item() == 7


def test_a_frame_can_be_collected_twice() -> None:
    reader = (
        pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).to_arrow().to_reader()
    )
    frame = rf.judge({"q": {"a": 1}}, reader)
    assert frame.collect().equals(frame.collect())


def test_shuffled_rows_give_the_same_frame() -> None:
    qrels = pl.DataFrame(
        {
            "query_id": [f"q{n % 13}" for n in range(400)],
            "doc_id": [f"d{n}" for n in range(400)],
            "relevance": [n % 3 for n in range(400)],
        }
    )
    run = qrels.filter(pl.int_range(pl.len()) % 4 == 0).select(
        "query_id", "doc_id", score=pl.col("relevance") * 0.5
    )
    expected = rf.judge(qrels, run).collect()
    for seed in range(3):
        shuffled = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (qrels, run))
        assert_frame_equal(rf.judge(*shuffled).collect(), expected, check_exact=True)


def test_a_missing_file_is_refused_at_once_and_a_bad_value_when_read(qrels, run, refusal) -> None:
    refusal(rf.judge, qrels, "missing.parquet")
    refusal(rf.judge, qrels, run.drop("doc_id"))
    frame = rf.judge(qrels, run.with_columns(score=pl.lit(float("nan"))))
    refusal(frame.collect)
    refusal(frame.select("rank").collect)


@pytest.mark.parametrize(
    "options",
    [{"ties": "finest"}, {"k_max": 0}, {"levels": ["high"]}, {"duplicates": "no"}],
    ids=str,
)
def test_a_bad_option_is_refused(options: dict[str, Any], qrels, run, refusal) -> None:
    refusal(lambda: rf.judge(qrels, run, **options).collect())


def test_k_max_cuts_before_judged_only_closes_the_gaps() -> None:
    qrels = {"q": {"a": 1, "b": 1, "n": -1}}
    run = {"q": {"x": 5.0, "a": 4.0, "n": 3.0, "b": 2.0}}

    def ranks(**options: Any) -> dict[str, int | None]:
        frame = rf.judge(qrels, run, **options).select("doc_id", "rank").collect()
        return dict(frame.iter_rows())

    assert ranks() == {"a": 2, "n": 3, "b": 4}
    assert ranks(k_max=3) == {"a": 2, "n": 3, "b": None}
    # A negative grade says: in the pool, but not judged.
    assert ranks(judged_only=True) == {"a": 1, "b": 2, "n": None}
    assert ranks(k_max=3, judged_only=True) == {"a": 1, "b": None, "n": None}


def test_k_max_and_judged_only_change_how_many_were_retrieved() -> None:
    assert _judge(k_max=4).collect()["retrieved"][0] == 4
    assert _judge(judged_only=True).collect()["retrieved"][0] == 4
    assert _judge(judged_only=True, k_max=2).collect()["retrieved"][0] == 1


@pytest.mark.parametrize("drop", [[], ["doc_id"], ["pooled_wins", "pooled_nonrelevant"]], ids=len)
def test_a_run_without_scores_has_no_pooled_columns(drop: list[str]) -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"]})
    frame = rf.judge({"q": GRADES}, run, order="rows").drop(drop).collect()
    assert frame["rank"].drop_nulls().to_list() == [1, 2]
    if "pooled_wins" in frame.columns:
        assert frame["pooled_wins"].null_count() == frame["pooled_nonrelevant"].null_count() == 7


def test_inputs_are_read_each_time_it_is_collected(tmp_path) -> None:
    qrels, run = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    frame = None
    for number in (1.0, 2.0):
        ids = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
        ids.with_columns(relevance=pl.lit(number)).write_parquet(qrels)
        ids.with_columns(score=pl.Series([number, 1.5])).write_parquet(run)
        frame = frame if frame is not None else rf.judge(qrels, run)
        rows = frame.filter(doc_id="a").select("relevance", "rank").collect().rows()
        assert rows == [(number, 2 if number < 1.5 else 1)]


SHOP = shop(3, users=40)


def test_metrics_are_expressions_over_it() -> None:
    frame = rf.retrieved(
        SHOP.run, SHOP.qrels, train=SHOP.train, items=SHOP.items, reference=SHOP.base
    )
    own = {
        "novelty@10": rf.novelty(k=10),
        "repeated@3": rf.repeated(k=3),
        "diversity(by=genres, kind=pairs)@10": rf.diversity(k=10, by="genres", kind="pairs"),
        "ild(vector=vector)@10": rf.ild(k=10, vector="vector"),
        "serendipity@10": rf.serendipity(k=10),
        "calibration(by=genre)": rf.calibration(by="genre"),
        "revenue": pl.col("price").sum(),
    }
    found = frame.group_by("query_id").agg(**own).sort("query_id").collect()
    names = [one for one in own if one in NAMES]
    wanted = SHOP.evaluated(names).per_query.select("query_id", *names)
    wanted = wanted.filter(pl.col("query_id").is_in(found["query_id"].implode()))
    assert_frame_equal(found.select("query_id", *names), wanted, abs_tol=1e-12)


def test_it_has_the_columns_that_there_is_something_for() -> None:
    bare = rf.retrieved({"u": ["a", "b"]}, k=1)
    assert bare.collect_schema().names() == ["query_id", "doc_id", "rank", "score", "retrieved"]
    assert bare.collect().rows() == [("u", "a", 1, None, 2)]
    trained = rf.retrieved({"u": ["a"]}, train={"u": ["a"]}).collect_schema()
    assert {"seen", "popularity", "in_catalogue"} <= set(trained)
    assert not {"relevance", "reference_rank"} & set(trained)


def test_attributes_that_are_called_like_its_columns() -> None:
    items = pl.DataFrame({"doc_id": ["a"], "score": [7], "values": ["x"]})
    frame = rf.retrieved({"u": {"a": 1.0}}, items=items).collect()
    assert frame.select("score", "items.score", "values", "new_of_values").row(0) == (
        1.0,
        7,
        "x",
        1,
    )


def test_a_cutoff_that_is_none(refusal) -> None:
    refusal(rf.retrieved, {"u": ["a"]}, k=0)


A = {"q1": {"x": 3.0, "y": 2.0, "z": 2.0}, "q2": {"x": 1.0}}
B = {"q1": {"y": 9.0, "w": 9.0, "x": 1.0}}


def test_the_columns_of_a_small_pair() -> None:
    frame = rf.pair(A, B).filter(pl.col("query_id") == "q1").collect()
    assert frame["doc_id"].to_list() == ["x", "z", "y", "w"]
    for name, expected in {
        "rank_a": [1, 2, 3, None],
        "rank_b": [3, None, 1, 2],
        "score_a": [3.0, 2.0, 2.0, None],
        "score_b": [1.0, None, 9.0, 9.0],
        "n_a": [3] * 4,
        "n_b": [3] * 4,
        "n_shared": [2] * 4,
        "depth": [1, 2, 3, 4],
        "overlap": [0, 0, 2, 2],
        "compared": [True, False, True, False],
        "concordant": [0, 0, 0, 0],
        "discordant": [0, 0, 1, 0],
        "deviation_a": [0.5, None, -0.5, None],
    }.items():
        assert frame[name].to_list() == expected, name


def test_a_missing_document_may_stand_at_the_bottom() -> None:
    frame = rf.pair(A, B, missing="bottom").filter(pl.col("query_id") == "q1").collect()
    assert frame["compared"].all()
    # a: x, then z = y, then w; b: y = w, then x, then z
    assert dict(zip(frame["doc_id"], frame["mean_rank_b"], strict=True)) == {
        "x": 3.0, "z": 4.0, "y": 1.5, "w": 1.5,
    }  # fmt: skip
    assert frame["tied_in_b"].to_list() == [0, 0, 0, 1]


def under_ties(column: str) -> list[str]:
    ties = "wab" if "ties" in PAIR_FRAME.columns[column].parameters else ""
    return [column, *(f"{column}_{tie}" for tie in ties)]


def test_it_is_lazy_and_has_every_column() -> None:
    lazy = rf.pair(A, B, cutoffs=[2])
    assert isinstance(lazy, pl.LazyFrame)
    schema = lazy.collect_schema()
    assert list(schema) == [
        *(name for column in PAIR_FRAME.columns for name in under_ties(column)),
        *(
            f"{name}_top2"
            for column in PAIR_FRAME.columns
            if "k" in PAIR_FRAME.columns[column].parameters
            for name in under_ties(column)
        ),
    ]
    assert lazy.collect().schema == schema
    assert lazy.select("compared_top2").collect().to_series().to_list() == [False] * 5
    assert lazy.head(2).select("doc_id").collect().height == 2


@pytest.mark.parametrize("missing", ["shared", "bottom"])
@pytest.mark.parametrize("k", [None, 3])
def test_the_plain_expression_agrees_with_agree(missing, k: int | None) -> None:
    a, b = two_rankings()
    names = [n for n in names_over("pair") if k is None or "k" in REGISTRY[n].parameters]
    built = {n: getattr(rf, n)(**({} if k is None else {"k": k})) for n in names}
    plain = (
        rf.pair(a, b, missing=missing, cutoffs=[] if k is None else [k])
        .group_by("query_id")
        .agg(expression.alias(name) for name, expression in built.items())
        .sort("query_id")
        .collect()
    )
    labels = names if k is None else [f"{n}@{k}" for n in names]
    agreed = rf.agree(a, b, labels, missing=missing).per_query.drop("n_a", "n_b", "n_shared")
    agreed.columns = plain.columns
    assert_frame_equal(plain, agreed, rel_tol=0, abs_tol=1e-12)


def test_own_expressions_are_metrics() -> None:
    same_top = ((pl.col("rank_a") == 1) & (pl.col("rank_b") == 1)).any().alias("same top")
    result = rf.agree(A, A, [same_top, "rbo"])
    assert result.means == {"same top": 1.0, "rbo": pytest.approx(1.0)}


def test_bad_options_are_refused(refusal) -> None:
    refusal(rf.pair, A, B, missing="top")
    refusal(rf.pair, A, B, cutoffs=[0])
    refusal(rf.agree, A, B, pl.col("relevance").sum().alias("x"))


CASE = random_case(3)
TRAIN = pl.DataFrame(
    {
        "user_id": ["u1", "u1", "u2", "u3"],
        "item_id": ["a", "b", "a", "z"],
        "count": [2, 1, 3, 1],
    }
)
RUN = {"u1": ["a", "b", "c"], "u2": ["b", "x"], "u3": ["a"]}


def rows(frame: pl.LazyFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select("doc_id", *columns).collect().rows()


@pytest.mark.parametrize("k", [None, 1, 3])
def test_counts_are_those_of_the_lists(k: int | None, tmp_path: Path) -> None:
    ordered = [sorted(docs, key=lambda doc: (docs[doc], doc))[::-1] for docs in CASE.run.values()]
    tops = [docs[:k] for docs in ordered if docs]
    expected = Counter(doc for top in tops for doc in top)
    found = rf.exposure(CASE.run, k=k)
    assert rows(found, "retrieved", "lists") == [
        (doc, expected[doc], len(tops)) for doc in sorted(expected)
    ]
    assert found.collect_schema()["in_catalogue"] == pl.Boolean
    known = found.select("in_catalogue", "popularity", "interactions").collect()
    assert known.null_count().row(0) == (len(expected),) * 3
    table = pl.DataFrame(
        [(q, doc, score) for q, docs in CASE.run.items() for doc, score in docs.items()],
        ["query_id", "doc_id", "score"],
        orient="row",
    )
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "run.parquet")
    assert rf.exposure(tmp_path / "run.parquet", k=k).collect().equals(found.collect())


def test_what_is_known_of_documents_stands_beside() -> None:
    found = rf.exposure(RUN, train=TRAIN, items=["a", "b", "c", "d"], k=2)
    assert rows(found, "in_catalogue", "popularity", "interactions", "retrieved") == [
        ("a", True, 2, 5.0, 2),
        ("b", True, 1, 1.0, 2),
        ("c", True, 0, 0.0, 0),
        ("d", True, 0, 0.0, 0),
        ("x", False, 0, 0.0, 1),
        ("z", False, 1, 1.0, 0),
    ]
    own = rf.exposure(RUN, train=TRAIN)
    assert own.filter("in_catalogue").select("doc_id").collect()["doc_id"].to_list() == [
        "a", "b", "z",
    ]  # fmt: skip
    few = rf.exposure(RUN, train=TRAIN, catalogue=["c"], exclude_seen=True)
    assert rows(few.filter(pl.col("retrieved") > 0), "in_catalogue", "retrieved") == [
        ("a", False, 1), ("b", False, 1), ("c", True, 1), ("x", False, 1),
    ]  # fmt: skip


def test_metrics_over_documents_are_expressions_over_it() -> None:
    names = ["coverage@2", "gini@2", "entropy@2", "personalisation@2"]
    result = rf.evaluate(None, RUN, names, train=TRAIN, ci=None)
    counted = rf.exposure(RUN, train=TRAIN, k=2)
    values = counted.select(
        rf.coverage(k=2),
        gini=rf.gini(k=2),
        entropy=rf.entropy(k=2),
        personalisation=rf.personalisation(k=2),
    ).collect()
    assert values.row(0) == tuple(result[name] for name in names)
    assert counted.select(rf.coverage()).collect().item() == values.row(0)[0]


def test_only_what_is_asked_for_is_there() -> None:
    assert rf.exposure(RUN).collect_schema().names() == list(DOCUMENTS_FRAME.columns)
    assert rf.exposure(RUN, k=3).collect_schema().names()[-2:] == ["retrieved_top3", "lists_top3"]


def test_what_is_wrong_is_refused(refusal) -> None:
    def documents(**options: Any) -> pl.LazyFrame:
        return rf.exposure(RUN, **options)

    refusal(lambda: documents(k=0))
    refusal(lambda: documents(exclude_seen=True))
    refusal(lambda: documents(ties="finest"))
    refusal(lambda: documents(items=[]).collect())
