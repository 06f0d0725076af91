"""Ranks of rows of a batch and the order of all rows, against plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankframe.core.options import Ties
from rankframe.kernel.batch import Batch
from rankframe.kernel.ranking import RankedBatch, rank_documents

TIES: list[Ties] = ["doc_desc", "doc_asc", "as_given"]
FORMS = [("score",), ("rank",), ("score", "rank"), ()]
ODD = [0.0, -0.0, 1.0, 1.0000000000000002, 5e-324, -5e-324, 1.7e308, -1.7e308, 2.0**53]

queries = st.lists(
    st.lists(st.tuples(st.sampled_from(ODD), st.integers(1, 6)), min_size=1, max_size=9),
    min_size=1,
    max_size=8,
)


def run_of(some: list[list[tuple[float, float]]]) -> pl.DataFrame:
    """Queries as lists of (score, rank); documents in no order of their ids."""
    rows = [
        (f"q{query}", f"{place * 7 % 11}-{place}é"[: 3 + place % 3], float(score), float(rank))
        for query, docs in enumerate(some)
        for place, (score, rank) in enumerate(docs)
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64, "rank": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(doc_id=pl.col("doc_id") + pl.int_range(pl.len()).cast(pl.String))


def expected_ranks(run: pl.DataFrame, ties: Ties) -> list[tuple[int, int, int]]:
    """The rank of each row, and those of the first and the last row with the same score."""
    found = [(0, 0, 0)] * run.height
    by_query: dict[str, list[tuple[Any, ...]]] = {}
    for row, (query, doc) in enumerate(run.select("query_id", "doc_id").rows()):
        value = run["score"][row] if "score" in run.columns else row
        if "score" not in run.columns:
            value = -run["rank"][row] if "rank" in run.columns else -row
        by_query.setdefault(query, []).append((value, str(doc).encode(), row))
    for docs in by_query.values():
        if ties != "as_given":
            docs.sort(key=lambda doc: doc[1], reverse=ties == "doc_desc")
        docs.sort(key=lambda doc: doc[0], reverse=True)
        values = [value for value, *_ in docs]
        for place, (value, _, row) in enumerate(docs, 1):
            first = values.index(value) + 1
            found[row] = place, first, first + values.count(value) - 1
    return found


def check(run: pl.DataFrame, ties: Ties, some: np.ndarray | None = None) -> None:
    batch = Batch.from_table(run)
    every = expected_ranks(run, ties)
    found = rank_documents(batch, some, ties=ties)
    expected = every if some is None else [every[row] for row in some]
    assert [*zip(found.rank, found.first, found.last, strict=True)] == expected
    assert found.tied == sum(rank > first for rank, first, _ in every)
    assert found.contradicting == contradictions(run)


def check_order(run: pl.DataFrame, ties: Ties) -> None:
    every = expected_ranks(run, ties)
    ranked = RankedBatch.from_batch(Batch.from_table(run), ties)
    rows = ranked.take(np.arange(run.height))
    assert ranked.rank.tolist() == [every[row][0] for row in rows]
    assert ranked.tied_rank.tolist() == [sum(every[row][1:]) / 2 for row in rows]
    assert ranked.tied == sum(rank > first for rank, first, _ in every)


def contradictions(run: pl.DataFrame) -> int | None:
    """Count queries in which a document has a better rank than one that scores higher."""
    if not {"score", "rank"} <= set(run.columns):
        return None
    found = 0
    for docs in run.partition_by("query_id"):
        by_score = docs.group_by(pl.col("score") + 0.0).agg(
            best=pl.col("rank").min(), worst=pl.col("rank").max()
        )
        above = by_score.sort("score", descending=True).select(
            (pl.col("best") < pl.col("worst").cum_max().shift()).any()
        )
        found += bool(above.item())
    return found


def in_order(run: pl.DataFrame, ties: Ties) -> pl.DataFrame:
    """The rows of each query as they are ranked, or, with its ties the wrong way round, nearly."""
    rank = pl.Series("_rank", [rank for rank, *_ in expected_ranks(run, ties)], pl.Int64)
    return run.with_columns(rank_=rank).sort("query_id", "rank_", maintain_order=True).drop("rank_")


@settings(deadline=None)
@given(queries, st.sampled_from(TIES), st.sampled_from(TIES), st.sampled_from(FORMS), st.data())
def test_any_run_is_ranked_as_a_whole_run_is(some, ties: Ties, other: Ties, form, data) -> None:
    run = run_of(some).select("query_id", "doc_id", *form)
    wanted = data.draw(st.lists(st.integers(0, run.height - 1), unique=True))
    check(run, ties)
    check_order(run, ties)
    check(run, ties, np.array(wanted, np.int64))
    check(in_order(run, other), ties)


def large(kind: str, lengths: list[int]) -> pl.DataFrame:
    random = np.random.default_rng(2)
    scores = {
        "distinct": random.permutation,
        "ties": lambda n: random.integers(0, 5, n),
        "equal": np.zeros,
        "tiny": lambda n: random.integers(-3, 4, n) * 5e-324,
        "huge": lambda n: random.integers(-3, 4, n) * 5e307,
        "near": lambda n: 1 + random.integers(0, 40, n) * 2.0**-52,
    }[kind]
    return run_of(
        [list(zip(scores(n).tolist(), random.integers(1, 9, n), strict=True)) for n in lengths]
    )


@pytest.mark.parametrize("kind", ["distinct", "ties", "equal", "tiny", "huge", "near"])
@pytest.mark.parametrize(
    "lengths",
    [[3000], [1] * 300, [500, 1, 1, 1, 30, 2], [40] * 20],
    ids=["deep", "single", "uneven", "even"],
)
def test_deep_uneven_and_tied_queries(lengths: list[int], kind: str) -> None:
    run = large(kind, lengths)
    few = np.flatnonzero(np.random.default_rng(5).random(run.height) < 0.05)
    for form, ties in product(FORMS, TIES):
        some = run.select("query_id", "doc_id", *form)
        check(some, ties)
        check(some, ties, few)
        check(in_order(some, "doc_asc"), ties, few)


@pytest.mark.parametrize("ties", TIES)
def test_one_row_of_a_deep_query_where_all_scores_are_equal(ties: Ties) -> None:
    run = large("equal", [20_000]).drop("rank")
    for row in (0, 11_111, 19_999):
        check(run, ties, np.array([row]))


def test_ranks_that_follow_the_scores_do_not_disagree() -> None:
    run = run_of([[(3.0, 1), (2.0, 2), (2.0, 3)], [(1.0, 1)]])
    check(run, "doc_asc")
    check(run.reverse(), "doc_asc")
    chunk = Batch.from_table(run)
    for rows in (None, np.arange(4)):
        assert rank_documents(chunk, rows, ties="doc_desc").contradicting == 0


@pytest.mark.parametrize(
    "dtype", [pl.Int64(), pl.Categorical(), pl.Enum(list(map(str, range(99))))]
)
def test_ties_go_by_ids_as_they_are_written(dtype: Any) -> None:
    ids = pl.Series("doc_id", ["10", "9", "1", "2"]).cast(dtype)
    frame = pl.DataFrame({"query_id": ["q"] * 4, "doc_id": ids, "score": [1.0] * 4})
    chunk = Batch.from_table(frame)
    for rows in (None, np.arange(4)):
        assert rank_documents(chunk, rows, ties="doc_asc").rank.tolist() == [2, 4, 1, 3]
        assert rank_documents(chunk, rows, ties="doc_desc").rank.tolist() == [3, 1, 4, 2]


def test_ranks_of_very_different_sizes_are_each_compared_as_they_are() -> None:
    small, large = [(1.0, 2.0), (2.0, 1.0)], [(1.0, 1.7e18 + 4096), (2.0, 1.7e18)]
    check(run_of([small, *[large] * 300]), "doc_asc")


def test_the_best_are_left_by_a_cut() -> None:
    run = pl.DataFrame(
        {
            "query_id": ["q", "q", "q", "r"],
            "doc_id": list("xyzx"),
            "rank": [7.0, 1.0, 1.0, 1.0],
        }
    )
    ranked = RankedBatch.from_batch(Batch.from_table(run), "doc_desc", k_max=1)
    assert ranked.rows is not None
    assert ranked.rows.tolist() == [2, 3]  # z before y: ids in descending order
    assert ranked.places is not None
    assert ranked.places.tolist() == [-1, -1, 0, 1]
    assert (ranked.tied, ranked.renumbered) == (1, 0)
    assert ranked.tied_rank.tolist() == [1.0, 1.0]
    assert RankedBatch.from_batch(Batch.from_table(run), "doc_desc").renumbered == 1
    assert rank_documents(Batch.from_table(run), ties="doc_desc").renumbered == 1


def test_no_rows_have_no_ranks_and_contradict_nothing() -> None:
    ranks = rank_documents(Batch.from_table(run_of([])), ties="doc_desc")
    assert (ranks.rank.tolist(), ranks.contradicting) == ([], 0)
