"""Pieces of work and what adds up: counts, tallies, and values of different queries as one."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pytest

from rankframe.core.options import Policies
from rankframe.engine.job import Job, judged_plan
from rankframe.engine.tally import WHOLE
from rankframe.engine.work import Additive, Piece, merged
from rankframe.io.opening import open_table
from rankframe.io.queries import read_attributes
from rankframe.metrics.names import resolve
from tests.support.pieces import MICRO, shop_like


@dataclass(frozen=True)
class Seen(Additive):
    """Counts of every kind: a number, one that may not be counted, and an example."""

    left: int
    right: int
    maybe: int | None = None
    example: str | None = None

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
    assert one + other == other + one == expected
    assert (one + other).rows == (one.left + other.left, one.right + other.right)


def sides() -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = shop_like()
    return open_table(qrels, "qrels").frame.collect(), open_table(run, "run").frame.collect()


def job() -> Job:
    metrics = resolve(["ndcg@5", "lag", MICRO])
    known = pl.DataFrame(
        {"query_id": list(map(str, range(60))), "half": [i < 30 for i in range(60)]}
    )
    attributes = read_attributes(known, by="half", metrics=metrics)
    return Job(judged_plan(metrics), Policies(), max_grade=3.0, attributes=attributes)


def in_parts(work: Job, count: int) -> list[Piece]:
    number = pl.col("query_id").cast(pl.Int64) % count
    return [work.piece(*(side.filter(number == at) for side in sides())) for at in range(count)]


def test_nothing_is_merged_into_nothing() -> None:
    assert merged([]) is None
    assert merged(iter(()), ordered=True) is None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_pieces_of_different_queries_are_the_same_as_all_at_once(count: int) -> None:
    work = job()
    alone, whole = work.piece(*sides()), merged(in_parts(work, count))
    assert whole is not None
    for one, other in zip(whole.computed.frames, alone.computed.frames, strict=True):
        assert one.equals(other)
    assert whole.counts == alone.counts
    assert set(whole.tallies) == set(alone.tallies) == {WHOLE, (0, 0), (0, 1)}
    for key, tally in alone.tallies.items():
        assert whole.tallies[key].sums == tally.sums
        bounds = (
            part.bounds(work.plan.metrics, work.intervals) for part in (tally, whole.tallies[key])
        )
        assert len(set(bounds)) == 1


def test_a_slice_that_only_one_piece_has_is_kept() -> None:
    work = job()
    first = pl.col("query_id").cast(pl.Int64) < 30
    parts = [work.piece(*(s.filter(of) for s in sides())) for of in (first, ~first)]
    assert [set(part.tallies) for part in parts] == [{WHOLE, (0, 1)}, {WHOLE, (0, 0)}]
    for pieces in (parts, parts[::-1]):
        whole = merged(pieces)
        assert whole is not None
        assert set(whole.tallies) == {WHOLE, (0, 0), (0, 1)}
        assert whole.values.equals(work.piece(*sides()).values)
