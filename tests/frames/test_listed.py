"""Documents of judged queries: judged or not, however they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.core.options import Policies
from rankframe.engine.lookup import Lookup
from rankframe.frames.matches import Listed, unlisted_holes
from rankframe.io.opening import open_table

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}, "q3": {"a": 2}}
RUN = {"q1": {"x": 3.0, "a": 2.0, "y": 2.0}, "q2": {"z": 1.0}, "other": {"a": 1.0}}


def listed(run: Any = RUN, **options: Any) -> Listed:
    policies = Policies(**options)
    sides = (
        open_table(QRELS, "qrels"),
        open_table(run, "run", order=policies.order, ranks=policies.ranks),
    )
    found = Lookup.from_inputs(*sides, policies, ["tied_rank"], listed=True, ids=True).found()
    assert found.listing is not None
    return found.listing.all()


def rows(of: Listed) -> set[tuple[Any, ...]]:
    assert of.docs is not None
    assert of.tied_rank is not None
    columns = (of.docs, of.query, of.judgment, of.rank, of.tied_rank)
    return set(zip(*(column.to_list() if isinstance(column, pl.Series) else column.tolist()
                     for column in columns), strict=True))  # fmt: skip


def test_every_document_of_a_judged_query() -> None:
    of = listed()
    assert rows(of) == {("x", 0, -1, 1, 1.0), ("y", 0, -1, 2, 2.5), ("a", 0, 0, 3, 2.5),
                        ("z", 1, -1, 1, 1.0)}  # fmt: skip
    assert of.value is not None
    assert sorted(of.value.tolist()) == [1, 2, 2, 3]


def test_no_deeper_than_asked() -> None:
    assert rows(listed(k_max=2)) == {("x", 0, -1, 1, 1.0), ("y", 0, -1, 2, 2.0),
                                     ("z", 1, -1, 1, 1.0)}  # fmt: skip


def test_rows_in_any_order() -> None:
    run = pl.DataFrame([(q, d, s) for q, docs in RUN.items() for d, s in docs.items()],
                       ["query_id", "doc_id", "score"], orient="row")  # fmt: skip
    assert rows(listed(run[[3, 0, 4, 2, 1]])) == rows(listed())


def test_without_scores_values_are_ranks_and_without_these_nothing() -> None:
    run = pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["a", "x"], "rank": [7, 4]})
    of = listed(run)
    assert of.value is not None
    assert dict(zip(of.rank.tolist(), of.value.tolist(), strict=True)) == {1: 4.0, 2: 7.0}
    assert listed(run.drop("rank"), order="rows").value is None
    assert rows(listed(run, ranks="kept")) == {("a", 0, 0, 7, 7.0), ("x", 0, -1, 4, 4.0)}


def test_nothing_retrieved() -> None:
    of = listed({"other": {"a": 1.0}})
    assert rows(of) == set()


@pytest.mark.parametrize("seed", range(3))
def test_holes_are_the_ranks_that_are_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    retrieved = rng.integers(0, 5, 20)
    lists = [rng.permutation(np.arange(-2, n) + 1)[: rng.integers(1, n + 3)] for n in retrieved]
    rank = np.maximum(np.concatenate(lists), 0).astype(np.int32)
    lengths = np.array([len(one) for one in lists])
    holes = unlisted_holes(np.cumsum(lengths) - lengths, rank, retrieved)
    expected = [(q, r) for q, n in enumerate(retrieved) for r in range(1, n + 1)
                if r not in lists[q]]  # fmt: skip
    assert list(zip(holes.query.tolist(), holes.rank.tolist(), strict=True)) == expected
    assert (holes.judgment == -1).all()
