"""The judged frame: every column by hand, lazily, in an order that no input order shows through."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.columns import JUDGED_FRAME, QUERY

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
    assert "no such file" in refusal(rf.judge, qrels, "missing.parquet")
    assert "has no doc_id column" in refusal(rf.judge, qrels, run.drop("doc_id"))
    frame = rf.judge(qrels, run.with_columns(score=pl.lit(float("nan"))))
    assert "4 rows with a NaN score" in refusal(frame.collect)
    assert "4 rows with a NaN score" in refusal(frame.select("rank").collect)


@pytest.mark.parametrize(
    "options", [{"ties": "best"}, {"k_max": 0}, {"levels": ["high"]}, {"duplicates": "no"}], ids=str
)
def test_a_bad_option_is_refused(options: dict[str, Any], qrels, run, refusal) -> None:
    (name,) = options
    assert name in refusal(lambda: rf.judge(qrels, run, **options).collect())


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
