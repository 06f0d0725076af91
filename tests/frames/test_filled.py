"""Judgments and unjudged documents, brought together query by query."""

from __future__ import annotations

import numpy as np

from rankframe.core.options import Policies
from rankframe.engine.lookup import Lookup
from rankframe.frames.matches import MatchedJudgments, WithHoles
from rankframe.io.opening import open_table
from rankframe.kernel.segments import query_blocks

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 3}, "q3": {"a": 2}}
RUN = {"q1": {"x": 3.0, "a": 2.0, "y": 1.0}, "q3": {"z": 1.0}, "other": {"a": 1.0}}


def filled() -> MatchedJudgments:
    sides = open_table(QRELS, "qrels"), open_table(RUN, "run")
    columns = ["tied_rank", "pooled_wins"]
    found = Lookup.from_inputs(*sides, Policies(), columns, listed=True, ids=True).found()
    assert found.listing is not None
    holes = found.listing.all()
    holes = holes.select(holes.judgment < 0)
    assert holes.docs is not None
    grades = {"x": 7.0, "y": 8.0, "z": 9.0}
    part = found.select()
    return WithHoles.from_listed(part, holes).filled(np.array([grades[doc] for doc in holes.docs]))


def rows(part: MatchedJudgments) -> list[set[tuple[str, float, int, float, float]]]:
    """Of each query: document, grade, rank, mean rank and score."""
    assert part.tied_rank is not None
    assert part.score is not None
    numbers = [column.tolist() for column in (part.grades, part.rank, part.tied_rank, part.score)]
    every = list(zip(part.docs.to_list(), *numbers, strict=True))
    ends = [*part.starts[1:].tolist(), len(every)]
    return [set(every[a:b]) for a, b in zip(part.starts.tolist(), ends, strict=True)]


EXPECTED = [
    {("a", 1.0, 2, 2.0, 2.0), ("b", 0.0, 0, 0.0, 0.0), ("x", 7.0, 1, 1.0, 3.0),
     ("y", 8.0, 3, 3.0, 1.0)},
    {("c", 3.0, 0, 0.0, 0.0)},
    {("a", 2.0, 0, 0.0, 0.0), ("z", 9.0, 1, 1.0, 1.0)},
]  # fmt: skip


def test_holes_join_the_judgments_of_their_query() -> None:
    part = filled()
    assert part.queries.to_list() == list(QRELS)
    assert rows(part) == EXPECTED
    assert part.retrieved.tolist() == [3, 0, 1]


def test_stretches_of_queries() -> None:
    part = filled()
    assert query_blocks(part.starts, len(part.rank), 100) == [(0, 3)]
    assert [at for a, b in query_blocks(part.starts, len(part.rank), 2) for at in range(a, b)] == [
        0,
        1,
        2,
    ]
    assert len(query_blocks(part.starts, len(part.rank), 2)) > 1
    pieces = [
        row
        for a, b in query_blocks(part.starts, len(part.rank), 2)
        for row in rows(part.slice_queries(a, b))
    ]
    assert pieces == EXPECTED
