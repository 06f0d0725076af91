"""Two rankings side by side: whatever the order of their rows, and whatever their hashes."""

from __future__ import annotations

from typing import Any

import polars as pl
import polars.selectors as cs
import pytest

import rankframe as rf
from rankframe.core.options import PairPolicies, Progress
from rankframe.engine.pair_evaluation import Pairing
from rankframe.io.inputs import open_ranking
from tests.support.looked_up import POOR_HASHES, layouts
from tests.support.rankings import two_rankings

METRICS = ["rbo", "kendall_tau", "spearman", "pearson"]
LAYOUTS = ["sorted", "grouped", "scattered"]


def text() -> list[pl.DataFrame]:
    return [side.cast({"query_id": pl.String, "doc_id": pl.String}) for side in two_rankings()]


def agreed() -> rf.Result:
    a, b = text()
    return rf.agree(a, b, METRICS)


@pytest.fixture(scope="module")
def expected() -> rf.Result:
    return agreed()


def assert_same(one: rf.Result, other: rf.Result) -> None:
    for name in ("per_query", "summary", "ledger"):
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.mark.parametrize("theirs", LAYOUTS)
@pytest.mark.parametrize("ours", LAYOUTS)
@pytest.mark.parametrize("rows", [1, 7, 1 << 16])
def test_any_order_of_rows(
    rows: int, ours: str, theirs: str, expected: rf.Result, set_batch_rows
) -> None:
    set_batch_rows(rows)
    a, b = text()
    assert_same(expected, rf.agree(layouts(a)[ours], layouts(b)[theirs], METRICS))


@pytest.mark.parametrize("poor", POOR_HASHES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hashes_that_collide_change_nothing(
    layout: str, poor: str, expected: rf.Result, set_batch_rows, set_hash
) -> None:
    set_batch_rows(50)
    set_hash(POOR_HASHES[poor])
    a, b = text()
    assert_same(expected, rf.agree(layouts(a)[layout], layouts(b)[layout], METRICS))


@pytest.mark.parametrize("in_a", [True, False])
def test_a_query_that_comes_again_at_the_very_end(in_a: bool, set_batch_rows) -> None:
    set_batch_rows(20)
    a, b = text()
    query = b["query_id"][0] if in_a else "only in b"
    late = pl.DataFrame({"query_id": [query], "doc_id": ["late"], "score": [0.5]})
    first = pl.DataFrame({"query_id": [query], "doc_id": ["first"], "score": [9.5]})
    b = b.select(late.columns).cast(late.schema)
    again = rf.agree(a, pl.concat([first, b, late]), METRICS)
    assert_same(rf.agree(a, pl.concat([first, late, b]), METRICS), again)
    assert again.per_query.filter(query_id=query)["n_b"].item() >= 2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("side", [0, 1])
def test_duplicates_are_said_of_the_whole(side: int, layout: str, refusal, set_batch_rows) -> None:
    sides: list[Any] = text()
    rows = layouts(sides[side])[layout]
    rows = pl.concat([rows, rows[[40, 41]]])
    if layout == "sorted":
        rows = rows.sort("query_id", maintain_order=True)
    sides[side] = rows
    said = refusal(rf.agree, *sides, "rbo")
    set_batch_rows(30)
    assert refusal(rf.agree, *sides, "rbo") == said
    best = rf.agree(sides[0], sides[1], METRICS, duplicates="keep_best")
    assert best.per_query.equals(agreed().per_query)
    assert best.count(f"{'ab'[side]}_duplicates_dropped") == 2
    assert best.count(f"{'ab'[side]}_rows") == rows.height
    assert best.count(f"{'ba'[side]}_duplicates_dropped") == 0


@pytest.mark.parametrize("kind", ["integers", "mixed", "categories"])
def test_ids_of_any_type(kind: str) -> None:
    a, b = (f.with_columns(pl.col("query_id").hash() % 1000, pl.col("doc_id").hash() % 9_000)
            for f in text())  # fmt: skip
    a, b = (f.unique(["query_id", "doc_id"], maintain_order=True) for f in (a, b))
    a, b = (f.cast({"query_id": pl.Int64, "doc_id": pl.Int64}) for f in (a, b))
    ids = cs.by_name("query_id", "doc_id")
    expected = rf.agree(a.cast({ids: pl.String}), b.cast({ids: pl.String}), METRICS)
    if kind == "mixed":
        b = b.cast({ids: pl.String})
    if kind == "categories":
        categories = pl.Categorical(pl.Categories("some ids"))
        a, b = (f.cast({ids: pl.String}).cast({ids: categories}) for f in (a, b))
    assert_same(expected, rf.agree(a, b, METRICS))


def test_each_query_is_worked_on_once() -> None:
    a, b = text()
    pairing = Pairing.from_rankings(open_ranking(a, "a"), open_ranking(b, "b"), PairPolicies())
    seen = [query for pairs in pairing.each(lambda pairs: pairs) for query in pairs.queries]
    assert sorted(seen) == sorted({*a["query_id"], *b["query_id"]})


def test_whoever_wants_to_know_is_told(set_batch_rows) -> None:
    set_batch_rows(30)
    a, b = text()
    told: list[Progress] = []
    rf.agree(a, b, "rbo", progress=told.append)
    total = a.height + b.height
    assert {step.total_rows for step in told} == {total}
    assert [step.rows for step in told] == sorted(step.rows for step in told)
    assert (told[-1].stage, told[-1].rows) == ("evaluating", total)


def test_what_is_wrong_stops_the_work(refusal, set_batch_rows) -> None:
    set_batch_rows(20)
    a, b = text()
    broken = b.with_columns(score=pl.when(pl.int_range(pl.len()) > 300).then("score"))
    refusal(rf.agree, a, broken, "rbo")
    refusal(rf.agree, broken, a, "rbo")
