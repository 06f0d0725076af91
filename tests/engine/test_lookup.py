"""A run looked up in judgments, against plain Python: layouts, policies, collisions, odd inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.lookup import Lookup
from rankframe.io.opening import open_table
from tests.support.counted import Changing
from tests.support.looked_up import POOR_HASHES, ByHand, by_hand, layouts, looked_up
from tests.support.pieces import assert_same, in_pieces, shop_like

COLUMNS = ["rank", "tied_rank", "pooled_wins"]
POLICIES: list[dict[str, Any]] = [
    {}, {"k_max": 2}, {"judged_only": True}, {"k_max": 3, "judged_only": True},
    {"ties": "doc_asc", "k_max": 1}, {"ties": "as_given", "judged_only": True},
]  # fmt: skip
LAYOUTS = ["sorted", "grouped", "scattered"]

numbers = st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, -1.0])
pairs = st.tuples(st.sampled_from("pqrst"), st.sampled_from("abcdefgh"))
rows = st.lists(st.tuples(pairs, numbers, numbers), min_size=1, max_size=40)
Rows = list[tuple[tuple[str, str], float, float]]


def frame_of(some: Rows, *names: str, once: bool = True) -> pl.DataFrame:
    if once:
        some = list({row[0]: row for row in some}.values())
    schema = {"query_id": pl.String, "doc_id": pl.String, "one": pl.Float64, "two": pl.Float64}
    frame = pl.DataFrame([(*pair, *both) for pair, *both in some], schema=schema, orient="row")
    given = zip(names, ("one", "two"), strict=False)
    return frame.select("query_id", "doc_id", *(pl.col(of).alias(name) for name, of in given))


def lookup(qrels: Any, run: Any, **policies: Any) -> Lookup:
    return Lookup.from_inputs(
        open_table(qrels, "qrels"), open_table(run, "run"), Policies(**policies), COLUMNS
    )


def check(qrels: pl.DataFrame, run: pl.DataFrame, **policies: Any) -> None:
    assert looked_up(lookup(qrels, run, **policies).found()) == by_hand(
        qrels, run, Policies(**policies)
    )


@settings(deadline=None)
@given(rows, rows, st.sampled_from(POLICIES), st.sampled_from(LAYOUTS), st.integers(0, 2))
def test_any_run_is_looked_up_as_by_hand(
    judged: Rows, retrieved: Rows, policies: dict[str, Any], layout: str, form: int
) -> None:
    qrels = frame_of(judged, "relevance")
    run = frame_of(retrieved, *(("score",), ("score", "rank"), ())[form])
    check(qrels, layouts(run)[layout], **policies)
    check(layouts(qrels)[layout], run, **policies)


@settings(deadline=None)
@given(rows, rows, st.sampled_from(POLICIES), st.sampled_from(LAYOUTS))
def test_the_best_of_duplicates_is_kept_as_by_hand(
    judged: Rows, retrieved: Rows, policies: dict[str, Any], layout: str
) -> None:
    qrels = frame_of(judged, "relevance", once=False)
    run = layouts(frame_of(retrieved, "score", once=False))[layout]
    check(qrels, run, **policies, duplicates="keep_best")


def large(queries: int = 20, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Missing and unjudged queries, negative grades, ties, and a query with half of all rows."""
    random = np.random.default_rng(seed)
    query = np.append(
        random.integers(0, queries, queries * 15), np.full(queries * 15, queries // 2)
    )
    doc = np.append(random.integers(0, 30, queries * 15), np.arange(queries * 15))
    keys = pl.DataFrame({"query_id": query, "doc_id": doc}).unique(maintain_order=True)
    keys = keys.cast(pl.String).with_columns(
        relevance=pl.Series(random.integers(-1, 4, keys.height) * 0.5),
        score=pl.Series(random.integers(0, 9, keys.height) / 3),
        rank=pl.Series(random.integers(1, 30, keys.height).astype(float)),
    )
    number = pl.col("query_id").cast(pl.Int64)
    qrels = keys.filter(pl.Series(random.random(keys.height) < 0.3), number % 7 != 0)
    run = keys.filter(pl.Series(random.random(keys.height) < 0.8), number % 11 != 0)
    return qrels.drop("score", "rank"), run.drop("relevance")


@pytest.fixture(scope="module")
def expected() -> ByHand:
    return by_hand(*large(), Policies())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 2, 7, 100, 1 << 16])
def test_batches_of_any_length(rows: int, layout: str, expected: ByHand, set_batch_rows) -> None:
    set_batch_rows(rows)
    qrels, run = large()
    found = lookup(qrels, layouts(run)[layout]).found()
    assert looked_up(found) == expected


@pytest.mark.parametrize("policies", POLICIES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_policies_in_every_layout(layout: str, policies: dict[str, Any], set_batch_rows) -> None:
    set_batch_rows(50)
    qrels, run = large()
    check(layouts(qrels)[layout], layouts(run)[layout], **policies)


@pytest.mark.parametrize("poor", POOR_HASHES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [29, 1 << 16])
def test_hashes_that_collide_change_nothing(
    rows: int, layout: str, poor: str, expected: ByHand, set_batch_rows, set_hash
) -> None:
    set_batch_rows(rows)
    set_hash(POOR_HASHES[poor])
    qrels, run = large()
    assert looked_up(lookup(qrels, layouts(run)[layout]).found()) == expected
    assert looked_up(lookup(layouts(qrels)[layout], run).found()) == expected


@pytest.mark.parametrize("poor", [None, *POOR_HASHES])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_duplicates_are_all_counted_and_named_by_their_rows(
    layout: str,
    poor: str | None,
    refusal: Callable[..., str],
    set_batch_rows,
    set_hash,
) -> None:
    qrels, run = large()
    run = layouts(run)[layout]
    twice = pl.concat([run, run[[-1, 40, 7]]])
    together = twice.sort("query_id", maintain_order=True)
    set_batch_rows(60)
    if poor is not None:
        set_hash(POOR_HASHES[poor])
    refusal(lookup(qrels, twice).found)
    refusal(lookup(qrels, together).found)
    judged_twice = pl.concat([qrels, qrels[[3, -1]]])
    refusal(lookup, judged_twice, run)


def test_only_what_is_asked_for_is_kept() -> None:
    qrels, run = large()
    sides = open_table(qrels, "qrels"), open_table(run, "run")
    found = Lookup.from_inputs(*sides, Policies(), ["rank"]).found()
    assert found.whole.tied_rank is None
    assert found.whole.score is None
    assert found.pool is None
    found = lookup(qrels, run.drop("score")).found()
    assert found.whole.tied_rank is not None
    assert found.pool is None


def test_one_pass_is_enough_only_where_the_rows_of_each_query_are_together(expected) -> None:
    qrels, run = large()
    for layout, some in layouts(run).items():
        found = lookup(qrels, some).found_if_contiguous()
        assert (found is None) == (layout == "scattered")
        assert found is None or looked_up(found) == expected


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("rows", [7, 64, 1 << 16])
def test_a_query_that_comes_again_at_the_very_end(rows: int, judged: bool, set_batch_rows) -> None:
    set_batch_rows(rows)
    qrels, run = large()
    run = run.sort("query_id", maintain_order=True)
    # 7 is not judged.
    again = pl.col("query_id") == ("8" if judged else "7")
    mine = run.filter(again)
    assert mine.height > 4
    check(qrels, pl.concat([mine[:-2], run.filter(~again), mine[-2:]]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_thousands_of_queries_of_one_row(layout: str, set_batch_rows) -> None:
    set_batch_rows(1000)
    run = pl.DataFrame({"query_id": pl.int_range(5_000, eager=True).cast(pl.String)})
    run = run.with_columns(doc_id=pl.lit("d"), score=pl.lit(1.0))
    run = run.sample(fraction=1, shuffle=True, seed=3) if layout != "sorted" else run
    if layout == "scattered":
        run = pl.concat([run, run[:9].with_columns(doc_id=pl.lit("e"))])
    qrels = run.select("query_id", "doc_id", relevance=pl.lit(1.0))[::3]
    check(qrels, run)


@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_scores_equal(layout: str, ties: str) -> None:
    qrels, run = large()
    check(qrels, layouts(run.with_columns(score=pl.lit(0.0)))[layout], ties=ties)


def test_ids_of_a_megabyte() -> None:
    long = "x" * 1_000_000
    run = pl.DataFrame(
        {"query_id": [long + "1"] * 3 + [long + "2"] * 2, "doc_id": [long + c for c in "abcab"]}
    ).with_columns(score=pl.lit(1.0))
    qrels = run[[0, 2, 4]].select("query_id", "doc_id", relevance=pl.lit(1.0))
    for some in layouts(run).values():
        check(qrels, some)


def test_a_batch_without_rows_is_no_batch(tmp_path) -> None:
    qrels, run = large()
    run = run.sort("query_id", maintain_order=True)
    run.with_columns(part=pl.int_range(pl.len()) // 50).write_parquet(
        tmp_path / "run.parquet", row_group_size=50
    )
    some = pl.scan_parquet(tmp_path / "run.parquet").filter(pl.col("part") % 3 == 2).drop("part")
    assert looked_up(lookup(qrels, some).found()) == by_hand(qrels, some.collect(), Policies())


@pytest.mark.parametrize("reads", range(6))
@pytest.mark.parametrize("fault", ["twice", "NaN"])
def test_judgments_that_change_are_refused_or_right(fault: str, reads: int) -> None:
    qrels, run = large()
    expected = rf.evaluate(qrels, run, "map", order="score").per_query
    bad = qrels.with_columns(relevance=pl.lit(float("nan")))
    if fault == "twice":
        bad = pl.concat([qrels, qrels])
    source = Changing(*[bad] * reads, qrels, schema=qrels.schema).frame
    try:
        values = rf.evaluate(source, run, "map", order="score").per_query
    except rf.RankframeError:
        return
    assert values.equals(expected)


def some_ids() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Whole numbers, whose order is not that of the same as text; all scores tie."""
    qrels, run = shop_like()
    return qrels, run.with_columns(score=(pl.col("score") > 1).cast(pl.Float64))


BEYOND = pl.col("query_id", "doc_id").cast(pl.UInt64) + 2**63
CATEGORIES = [str(number) for number in range(100)]
DAY = pl.col("query_id", "doc_id").cast(pl.Int32).cast(pl.Date)


def ids(dtype: pl.DataType) -> pl.Expr:
    through = pl.col("query_id", "doc_id").cast(pl.String)
    return through.cast(dtype)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pl.col("doc_id"), pl.col("doc_id")),
        (ids(pl.Int8()), ids(pl.UInt32())),
        (ids(pl.UInt64()), ids(pl.Int64())),
        (ids(pl.Int128()), ids(pl.Int64())),
        (pl.col("doc_id"), ids(pl.String())),
        (ids(pl.String()), pl.col("doc_id")),
        (BEYOND, BEYOND),
        (ids(pl.Categorical()), ids(pl.Categorical())),
        (ids(pl.Categorical()), ids(pl.String())),
        (pl.col("doc_id"), ids(pl.Categorical())),
        (ids(pl.Enum(CATEGORIES)), ids(pl.Enum(CATEGORIES))),
        (ids(pl.Enum(CATEGORIES)), ids(pl.Enum(CATEGORIES[::-1]))),
        (ids(pl.Enum(CATEGORIES)), ids(pl.Categorical())),
        (ids(pl.Categorical()), ids(pl.Categorical(pl.Categories("other")))),
        (DAY, DAY),
        (pl.col("doc_id").cast(pl.Float64), pl.col("doc_id").cast(pl.Float64)),
    ],
    ids=["integers", "small and unsigned", "large and not", "huge and not", "integers and text",
         "text and integers", "beyond Int64", "categories", "categories and text",
         "integers and categories", "Enum", "other Enum", "Enum and categories",
         "other categories", "dates", "floats"],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["grouped", "scattered"])
def test_ids_of_any_type_give_what_the_same_as_text_give(
    left: pl.Expr, right: pl.Expr, layout: str
) -> None:
    qrels, run = some_ids()
    qrels, run = qrels.with_columns(left), layouts(run)[layout].with_columns(right)
    text = pl.col("query_id", "doc_id").cast(pl.String)
    as_text = qrels.with_columns(text), run.with_columns(text)
    metrics: list[str | pl.Expr] = ["map", "ndcg@3", "auc", "bpref"]
    for policies in ({}, {"ties": "doc_asc", "judged_only": True}):
        whole = rf.evaluate(*as_text, metrics, **policies)
        assert_same(whole, rf.evaluate(qrels, run, metrics, **policies))
    assert_same(whole, in_pieces(qrels, run, 2, metrics, **policies))
    columns = ["query_id", "doc_id", "rank", "tied_rank"]
    judged = rf.judge(qrels, run).select(columns).collect()
    assert judged.equals(rf.judge(*as_text).select(columns).collect())


def test_true_and_false_may_be_ids() -> None:
    run = pl.DataFrame(
        {"query_id": [True, True, False, False], "doc_id": [True, False] * 2, "score": 1.0}
    )
    qrels = run[[0, 3]].select("query_id", "doc_id", relevance=pl.lit(1))
    text = pl.col("query_id", "doc_id").cast(pl.String)
    whole = rf.evaluate(qrels.with_columns(text), run.with_columns(text), "map")
    assert_same(whole, rf.evaluate(qrels, run, "map"))
    assert whole.per_query["query_id"].to_list() == ["false", "true"]


def test_judgments_serve_several_runs_whatever_the_type_of_their_ids() -> None:
    qrels, run = some_ids()
    text = pl.col("query_id", "doc_id").cast(pl.String)
    expected = by_hand(qrels.with_columns(text), run.with_columns(text), Policies())
    opened = open_table(qrels, "qrels")
    for some in (run, run.with_columns(text), run.with_columns(ids(pl.Categorical())), run):
        found = Lookup.from_inputs(opened, open_table(some, "run"), Policies(), COLUMNS).found()
        assert looked_up(found) == expected


def test_judgments_that_serve_several_runs_are_kept_by_their_rule_for_duplicates(refusal) -> None:
    qrels, run = large()
    opened, side = open_table(pl.concat([qrels, qrels[:2]]), "qrels"), open_table(run, "run")
    best = Policies(duplicates="keep_best")
    for _ in range(2):
        assert looked_up(Lookup.from_inputs(opened, side, best, COLUMNS).found()) == by_hand(
            qrels, run, Policies()
        )
        refusal(Lookup.from_inputs, opened, side, Policies(), COLUMNS)


def test_what_was_found_in_a_run_that_is_looked_at_again_is_kept() -> None:
    left = replace(open_table({"q": {"a": 1}}, "qrels"), cache={})
    right = replace(open_table({"q": {"x": 2.0, "a": 1.0}}, "run"), cache={})
    first = Lookup.from_inputs(left, right, Policies(), []).found()
    assert Lookup.from_inputs(left, right, Policies(missing="skip"), []).found() is first
    assert Lookup.from_inputs(left, right, Policies(k_max=1), []).found() is not first
    more = Lookup.from_inputs(left, right, Policies(), [], listed=True).found()
    assert more is not first
    assert Lookup.from_inputs(left, right, Policies(), []).found() is more
    assert Lookup.from_inputs(left, right, Policies(), ["tied_rank"]).found() is not more


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
def test_one_deep_query_among_shallow_ones_all_scores_equal(layout: str, ties: str) -> None:
    random = np.random.default_rng(2)
    query = np.where(random.random(6_000) < 0.5, 0, random.integers(1, 2_000, 6_000))
    run = pl.DataFrame({"query_id": query.astype(str)}).with_columns(
        doc_id=(pl.int_range(pl.len()) * 7_919 % 6_007).cast(pl.String), score=pl.lit(1.0)
    )
    run = layouts(run)[layout]
    check(run[::5].select("query_id", "doc_id", relevance=pl.lit(1.0)), run, ties=ties)


def texts() -> pl.DataFrame:
    return shop_like(queries=20)[1].with_columns(pl.col("query_id", "doc_id").cast(pl.String))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_row_groups_of_one_row_and_files_of_none(layout: str, tmp_path: Path) -> None:
    run = layouts(texts().head(150))[layout]
    for at in range(0, 150, 10):
        end = at if at % 30 == 0 else at + 10
        run[at:end].write_parquet(tmp_path / f"{at:03}.parquet", row_group_size=1)
    read = pl.concat([run[at : at + 10] for at in range(0, 150, 10) if at % 30])
    qrels = run[::4].select("query_id", "doc_id", relevance=pl.lit(1.0))
    found = looked_up(lookup(qrels, tmp_path).found())
    assert found == by_hand(qrels, read, Policies())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("column", "bad"), [("score", None), ("query_id", None), ("doc_id", "")])
def test_what_is_wrong_in_the_last_row_group_is_said(
    layout: str, column: str, bad: object, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    run = layouts(texts())[layout]
    last = pl.int_range(pl.len()) == run.height - 1
    wrong = pl.when(last).then(pl.lit(bad)).otherwise(pl.col(column)).alias(column)
    run.with_columns(wrong).write_parquet(tmp_path / "run.parquet", row_group_size=20)
    qrels = run[::4].select("query_id", "doc_id", relevance=pl.lit(1.0))
    for limit in (None, 20_000):
        refusal(rf.evaluate, qrels, tmp_path / "run.parquet", "map", max_memory=limit)
