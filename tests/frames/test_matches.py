"""What is found chunk by chunk: in any order of chunks, cut, condensed, and only once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.frames.judgments import IndexedJudgments
from rankframe.frames.matches import RunMatches
from rankframe.kernel.batch import Batch, hashed
from tests.support.looked_up import by_hand, looked_up

QRELS = pl.DataFrame(
    {
        "query_id": [*"pppp", *"qqq", "r"],
        "doc_id": [*"abcd", *"aby", "a"],
        "relevance": [1.0, 0.0, -1.0, 2.0, 1.0, 1.0, 0.0, 1.0],
    }
)
RUN = pl.DataFrame(
    {
        "query_id": [*"ppppp", *"qqq", *"ss"],
        "doc_id": [*"acxdb", *"bya", *"ab"],
        "score": [3.0, 2.0, 2.0, 2.0, 1.0, 5.0, 5.0, 4.0, 1.0, 1.0],
    }
)


def new(qrels: pl.DataFrame = QRELS, **policies: Any) -> RunMatches:
    table = IndexedJudgments.from_hashed(hashed(qrels.lazy()).collect())
    return RunMatches(table, Policies(**policies), tied_rank=True, scores=True)


def chunk_of(run: pl.DataFrame) -> Batch:
    return Batch.from_table(run)


def by_query(run: pl.DataFrame) -> list[pl.DataFrame]:
    return run.partition_by("query_id", maintain_order=True)


@pytest.mark.parametrize(
    "policies",
    [{}, {"k_max": 3}, {"judged_only": True}, {"k_max": 3, "judged_only": True},
     {"ties": "doc_asc"}, {"ties": "as_given", "k_max": 2}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("backwards", [False, True])
def test_chunks_in_any_order_give_what_one_gives(policies: Any, backwards: bool) -> None:
    expected = by_hand(QRELS, RUN, Policies(**policies))
    whole, parts = new(**policies), new(**policies)
    whole.add(chunk_of(RUN))
    for part in by_query(RUN)[:: -1 if backwards else 1]:
        parts.add(chunk_of(part))
    assert looked_up(whole) == looked_up(parts) == expected


def test_by_hand() -> None:
    found = new()
    found.add(chunk_of(RUN))
    part = found.select(0, 3)
    # p: a, then x, d and c (2.0, ids descending), then b; q: y and b (5.0), then a; r is missing.
    assert part.rank.tolist() == [1, 5, 4, 3, 3, 2, 1, 0]
    assert part.tied_rank is not None
    assert part.tied_rank.tolist() == [1, 5, 3, 3, 3, 1.5, 1.5, 0]
    assert part.retrieved.tolist() == [5, 3, 0]
    assert part.in_run.tolist() == [True, True, False]
    assert part.pool is not None
    assert part.pool.tolist() == [1, 2, 2, 2, 3, 4, 5, 5]
    assert part.score is not None
    assert part.score.tolist() == [3, 1, 2, 2, 4, 5, 5, 0]


def test_stretches_of_queries_are_parts_of_the_whole() -> None:
    for judged_only in (False, True):
        found = new(judged_only=judged_only)
        found.add(chunk_of(RUN))
        whole, parts = found.select(0, 3), [found.select(0, 1), found.select(1, 3)]
        for name in ("rank", "tied_rank", "retrieved", "in_run", "grades"):
            joined = np.concatenate([getattr(part, name) for part in parts])
            assert joined.tolist() == getattr(whole, name).tolist()
        assert [doc for part in parts for doc in part.docs] == whole.docs.to_list()
        assert [query for part in parts for query in part.queries] == whole.queries.to_list()


@pytest.mark.parametrize("query", ["p", "s"])
def test_a_document_that_is_there_twice_is_refused(query: str, refusal) -> None:
    run = RUN.filter(query_id=query)
    twice = chunk_of(pl.concat([run, run[1:2]]))
    refusal(new().add, twice)


@pytest.mark.parametrize("column", ["score", "rank", None])
def test_the_best_of_two_is_kept(column: str | None) -> None:
    docs = ["b", "a", "x", "a", "b"]
    run = pl.DataFrame({"query_id": ["p"] * 5, "doc_id": docs})
    numbers = {"score": [1.0, 2.0, 3.0, 4.0, 1.0], "rank": [4.0, 3.0, 2.0, 1.0, 9.0]}
    if column is not None:
        run = run.with_columns(pl.Series(column, numbers[column]))
    policies = {"duplicates": "keep_best"}
    scores = column == "score"
    found = RunMatches(new().judgments, Policies(**policies), tied_rank=True, scores=scores)  # pyright: ignore[reportArgumentType]
    found.add(chunk_of(run))
    assert looked_up(found) == by_hand(QRELS, run, Policies(**policies))  # pyright: ignore[reportArgumentType]
    ranks = dict(zip("abcd", found.whole.rank.tolist(), strict=False))
    assert ranks == {"a": 1 if column else 2, "b": 3 if column else 1, "c": 0, "d": 0}
    assert found.counts.rows == 5


def test_many_chunks_at_once() -> None:
    random = np.random.default_rng(0)
    run = pl.DataFrame({"query_id": np.repeat(np.arange(600), 12), "doc_id": [*range(12)] * 600})
    run = run.cast(pl.String).with_columns(score=pl.Series(random.integers(0, 5, 7200) / 2))
    qrels = run.select("query_id", "doc_id", relevance=pl.lit(1.0))[::5]
    found = new(qrels)
    with ThreadPoolExecutor(4) as pool:
        chunks = (chunk_of(run[at : at + 36]) for at in range(0, 7200, 36))
        list(pool.map(found.add, chunks))
    assert looked_up(found) == by_hand(qrels, run, Policies())


METRICS = ["ndcg@3", "map", "mrr", "precision@3", "recall@3", "bpref", "judged@3", "rbp", "auc",
           "num_retrieved", "map(denominator=retrieved)", "lag"]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"k_max": 3}, {"judged_only": True},
                                     {"k_max": 4, "judged_only": True}], ids=str)  # fmt: skip
@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("max_memory", [None, "1MB"])
def test_ranks_that_are_kept_are_as_if_unjudged_documents_stood_in_the_gaps(
    options: dict[str, Any], max_memory: str | None, *, scores: bool
) -> None:
    random = np.random.default_rng(7)
    rows, filled = [], []
    qrels: dict[str, dict[str, int]] = {}
    for query in (f"q{number}" for number in range(40)):
        ranks = np.sort(random.choice(np.arange(1, 9), random.integers(1, 6), replace=False))
        rows += [(query, f"d{rank}", int(rank)) for rank in ranks]
        filled += [
            (query, f"d{rank}" if rank in ranks else f"filler{rank}", rank)
            for rank in range(1, int(ranks[-1]) + 1)
        ]
        qrels[query] = {f"d{rank}": int(random.integers(-1, 3)) for rank in range(1, 9, 2)}
    schema = ["query_id", "doc_id", "rank"]
    run = pl.DataFrame(rows, schema, orient="row").sample(fraction=1, shuffle=True, seed=3)
    if scores:
        run = run.with_columns(score=pl.col("rank") * 1.0)
    found = rf.evaluate(
        qrels, run, METRICS, ranks="kept", ci=None, max_memory=max_memory, **options
    )
    whole = rf.evaluate(qrels, pl.DataFrame(filled, schema, orient="row"), METRICS, ci=None,
                        **options)  # fmt: skip
    assert found.per_query.equals(whole.per_query)
    assert found.count("judged_share_top_10") == whole.count("judged_share_top_10")
    assert "queries_renumbered" not in found.ledger["item"]
    assert found.ledger.filter(item="policy_ranks")["note"].to_list() == ["kept"]
    anew = rf.evaluate(qrels, run.select(schema), METRICS, ci=None, **options)
    assert anew.per_query.equals(whole.per_query) == ("judged_only" in options and len(options) < 2)


@pytest.mark.parametrize(
    "columns",
    [
        {"rank": [1.0, 2.5]},
        {"rank": [0.0, 1.0]},
        {"rank": [3.0, 3.0]},
        {"score": [3.0, 2.0]},
    ],
    ids=["fraction", "zero", "tied", "none"],
)
def test_ranks_that_cannot_be_kept_are_refused(
    columns: dict[str, Any], refusal: Callable[..., str]
) -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], **columns})
    qrels = {"q": {"a": 1}}
    refusal(rf.evaluate, qrels, run, "map", ranks="kept")
    refusal(rf.diff, qrels, run, run, "map", ranks="kept")
    refusal(rf.evaluate, qrels, run, "map", ranks="kept", order="rows")


def test_ranks_are_kept_wherever_documents_are_shown() -> None:
    run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("abc"), "rank": [2, 5, 9]})
    qrels = {"q": {"b": 1, "c": 1}}
    judged = rf.judge(qrels, run, ranks="kept").select("doc_id", "rank", "retrieved").collect()
    assert judged.rows() == [("b", 5, 9), ("c", 9, 9)]
    other = run.with_columns(rank=pl.Series([2, 4, 9]))
    moved = rf.diff(qrels, run, other, "map", ranks="kept", k_max=6).documents
    assert moved.select("doc_id", "rank_a", "rank_b").rows() == [("a", 2, 2), ("b", 5, 4)]
    points = rf.curve(qrels, run, "roc", ranks="kept", k_max=6)
    assert points["threshold"].to_list()[1:] == [2, 5]
    bounds = rf.compare(qrels, {"x": run, "y": run}, "mrr", ranks="kept", bounds=True).systems
    assert bounds["value"].to_list() == [0.2, 0.2]
    assert bounds["upper_bound"].to_list() == [0.5, 0.5]
