"""Accumulators: counts, sums and values of different queries merge."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pytest

from rankframe.core.options import Policies
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.counts import Counts, first
from rankframe.engine.evaluation import Evaluation
from rankframe.engine.prepare import evaluate_judged
from rankframe.engine.slice_sums import WHOLE
from rankframe.io.opening import open_table
from rankframe.io.queries import read_attributes
from rankframe.metrics.names import resolve
from tests.support.pieces import MICRO, shop_like


@dataclass(frozen=True)
class Seen(Counts):
    """Counts of every kind: a number, one that may not be counted, and an example."""

    left: int
    right: int
    maybe: int | None = None
    example: str | None = first()

    @property
    def rows(self) -> tuple[int, int]:
        return self.left, self.right


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Seen(1, 2), Seen(3, 4), Seen(4, 6)),
        (Seen(0, 0, 5), Seen(0, 0, 7), Seen(0, 0, 12)),
        (Seen(0, 0, 5), Seen(0, 0), Seen(0, 0, 5)),
        (Seen(0, 0), Seen(0, 0, 0), Seen(0, 0, 0)),
        (Seen(0, 0, None, "b"), Seen(0, 0, None, "a"), Seen(0, 0, None, "a")),
        (Seen(0, 0, None, "b"), Seen(0, 0), Seen(0, 0, None, "b")),
    ],
)
def test_counts_add_up_and_the_first_name_is_kept(one: Seen, other: Seen, expected: Seen) -> None:
    assert one.merge(other) == other.merge(one) == expected
    assert one.merge(other).rows == (one.left + other.left, one.right + other.right)


def sides() -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = shop_like()
    return open_table(qrels, "qrels").frame.collect(), open_table(run, "run").frame.collect()


def evaluation() -> Evaluation:
    metrics = resolve(["ndcg@5", "lag", MICRO])
    known = pl.DataFrame(
        {"query_id": list(map(str, range(60))), "half": [i < 30 for i in range(60)]}
    )
    attributes = read_attributes(known, by="half", metrics=metrics)
    return evaluate_judged(metrics, Policies(), attributes=attributes).with_max_grade(3.0)


def in_parts(of: Evaluation, count: int) -> list[Accumulator]:
    number = pl.col("query_id").cast(pl.Int64) % count
    return [
        of.evaluate_partition(*(side.filter(number == at) for side in sides()))
        for at in range(count)
    ]


def merged(of: Evaluation, parts: list[Accumulator]) -> Accumulator:
    whole = of.empty()
    for part in parts:
        whole.merge(part)
    return whole


def test_nothing_is_merged_into_nothing() -> None:
    nothing = evaluation().empty()
    nothing.merge(evaluation().empty())
    assert nothing.join().values.is_empty()
    assert nothing.counts.rows == (0, 0)
    assert nothing.slices == evaluation().empty().slices


@pytest.mark.parametrize("count", [1, 2, 5])
def test_partitions_are_the_same_as_all_at_once(count: int) -> None:
    of = evaluation()
    alone, whole = of.evaluate_partition(*sides()), merged(of, in_parts(of, count))
    for one, other in zip(whole.join().frames, alone.join().frames, strict=True):
        assert one.equals(other)
    assert whole.counts == alone.counts
    assert set(whole.slices) == set(alone.slices) == {WHOLE, (0, 0), (0, 1)}
    for key, sums in alone.slices.items():
        assert whole.slices[key].sums == sums.sums
        finished = (
            part.finish(of.averages.metrics, of.averages.intervals)
            for part in (sums, whole.slices[key])
        )
        assert len({part.bounds for part in finished}) == 1


def test_a_slice_that_only_one_partition_has_is_kept() -> None:
    of = evaluation()
    half = pl.col("query_id").cast(pl.Int64) < 30
    parts = [of.evaluate_partition(*(s.filter(some) for s in sides())) for some in (half, ~half)]
    assert [set(part.slices) for part in parts] == [{WHOLE, (0, 1)}, {WHOLE, (0, 0)}]
    for order in (parts, parts[::-1]):
        whole = merged(of, order)
        assert set(whole.slices) == {WHOLE, (0, 0), (0, 1)}
        assert whole.join().values.equals(of.evaluate_partition(*sides()).join().values)
