"""Many metrics in one pass: shared parts, values per query, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl

import rankframe as rf
from rankframe.core.columns import JUDGED_FRAME, PAIR_FRAME
from rankframe.core.options import Policies
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.plan import compile_plan, concat_values, empty_values, metric_values
from rankframe.io.opening import open_table
from rankframe.metrics.metric import ABOVE, BELOW
from rankframe.metrics.names import resolve
from tests.support.pieces import MICRO, assert_same, in_pieces, shop_like


def test_own_expressions_give_the_same_bits() -> None:
    # Enough queries, of enough rows, for polars to share a plain sum out to its threads.
    rows = 60_000
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {"query_id": rng.integers(0, 1500, rows), "doc_id": np.arange(rows) % 977}
    ).unique(maintain_order=True)
    qrels = table.with_columns(relevance=pl.Series(rng.random(table.height)))
    run = table.with_columns(score=pl.Series(rng.random(table.height)))
    own = (pl.col("relevance") / pl.col("rank")).sum().alias("own")
    whole = rf.evaluate(qrels, run, [own])
    for pieces in (1, 3):
        shuffled = [f.sample(fraction=1, shuffle=True, seed=pieces) for f in (qrels, run)]
        assert_same(whole, in_pieces(shuffled[0], shuffled[1], pieces, [own]))


def per_query(ids: str, **sums: list[float]) -> pl.DataFrame:
    """Values 0, 1, … of some queries, and sums of a micro average."""
    values = pl.DataFrame({"query_id": list(ids), "m": [float(at) for at in range(len(ids))]})
    return values.with_columns(pl.Series(f"m\0{side}", numbers) for side, numbers in sums.items())


def test_values_of_metrics_are_without_their_sums() -> None:
    values = per_query("ab", above=[1.0, 2.0], below=[4.0, 5.0])
    assert metric_values(values).rows() == [("a", 0.0), ("b", 1.0)]
    assert concat_values([per_query("b"), per_query("a")]).rows() == [("a", 0.0), ("b", 0.0)]


def test_values_of_pieces_are_joined_in_byte_order_with_their_sums() -> None:
    parts = [
        per_query("bé", above=[1.0, 2.0], below=[3.0, 4.0]),
        per_query("aZ", above=[5.0, 6.0], below=[7.0, 8.0]),
    ]
    joined = concat_values(parts)
    assert joined["query_id"].to_list() == ["Z", "a", "b", "é"]
    assert joined["m"].to_list() == [1.0, 0.0, 0.0, 1.0]
    assert joined["m" + ABOVE].to_list() == [6.0, 5.0, 1.0, 2.0]
    assert joined["m" + BELOW].to_list() == [8.0, 7.0, 3.0, 4.0]


def test_parts_that_metrics_share_are_computed_once() -> None:
    one = compile_plan(resolve("precision@5"), JUDGED_FRAME)
    both = compile_plan(resolve(["precision@5", "hits@5", "recall@5"]), JUDGED_FRAME)
    alone = compile_plan(resolve("recall@5"), JUDGED_FRAME)
    assert len(both.parts) < len(one.parts) + len(alone.parts)
    assert both.labels == ["precision@5", "hits@5", "recall@5"]
    assert not both.over_rows


def test_only_the_columns_that_metrics_look_at_are_needed() -> None:
    assert compile_plan(resolve("recall@5"), JUDGED_FRAME).columns == {"relevant", "rank"}
    own = (pl.col("relevance") * pl.col("found_rel2")).sum().alias("own")
    assert compile_plan(resolve([own]), JUDGED_FRAME).columns == {"relevance", "found_rel2"}


def test_the_values_of_no_query_have_the_columns_of_all() -> None:
    metrics = resolve(["map", MICRO])
    none = empty_values(metrics)
    assert metric_values(none).schema == pl.Schema(
        {"query_id": pl.String, "map": pl.Float64, MICRO: pl.Float64}
    )
    assert {MICRO + ABOVE, MICRO + BELOW} <= set(none.columns)
    some = prepare_evaluation(metrics, Policies()).evaluate_partition(
        *(
            open_table(side, role).frame.collect()
            for side, role in zip(shop_like(), ("qrels", "run"), strict=True)
        )
    )
    joined = concat_values([none, some.join()])
    assert joined.equals(some.join())


def test_an_expression_over_no_column_of_the_frame_is_refused(refusal) -> None:
    own = pl.col("grade").sum().alias("own")
    refusal(compile_plan, resolve([own]), JUDGED_FRAME)
    refusal(compile_plan, resolve([pl.col("relevance").sum().alias("x")], "pair"), PAIR_FRAME)
