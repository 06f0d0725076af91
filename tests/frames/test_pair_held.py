"""A ranking in memory: the rows of whatever queries are asked for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.frames.pair_held import HeldRanking
from rankframe.kernel.batch import hashed

ROWS = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q1", "q3", "q2"],
        "doc_id": ["a", "b", "c", "d", "e"],
        "score": [5.0, 4.0, 3.0, 2.0, 1.0],
    }
)


def held(rows: pl.DataFrame = ROWS) -> HeldRanking:
    return HeldRanking.of(hashed(rows.lazy()).collect())


def test_the_rows_of_some_queries_come_together() -> None:
    ranking = held()
    names = ranking.indexed.queries.to_list()
    wanted = [names.index("q2"), -1, names.index("q1")]
    side = ranking.side(np.array(wanted))
    assert side.has is not None
    assert side.has.tolist() == [0, 2]
    assert (side.queries, side.read) == (3, 4)
    assert side.chunk.frame().rows() == [
        ("q2", "b", 4.0), ("q2", "e", 1.0), ("q1", "a", 5.0), ("q1", "c", 3.0),
    ]  # fmt: skip
    assert side.spread(side.chunk.lengths).tolist() == [2, 0, 2]
    assert side.code.tolist() == [0, 0, 2, 2]


@pytest.mark.parametrize("number", ["rank", None])
def test_ranks_or_nothing_may_order_it(number: str | None) -> None:
    rows = ROWS.drop("score") if number is None else ROWS.rename({"score": number})
    numbers = held(rows).side(np.arange(3)).chunk.numbers
    assert list(numbers) == ([] if number is None else [number])


def test_queries_that_did_not_come_are_left() -> None:
    ranking = held()
    came = ranking.indexed.queries.to_numpy() == "q3"
    for rows, stretches in ((1, 2), (2, 2), (100, 1)):
        left = ranking.lacking(came, rows)
        assert len(left) == stretches
        assert sorted(np.concatenate(left)) == np.flatnonzero(~came).tolist()
    assert ranking.lacking(np.ones(3, np.bool_), 5) == []
