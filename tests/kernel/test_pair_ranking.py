"""One of two rankings: its rows best first, and on the rows of the pair frame."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.core.options import PairPolicies
from rankframe.kernel.batch import Batch, hashed
from rankframe.kernel.keys import Keyed
from rankframe.kernel.pair_ranking import Ranked, Ranking
from rankframe.kernel.rank import rank_run


def chunk_of(frame: pl.DataFrame) -> Batch:
    return Batch.of(hashed(frame.lazy()).collect())


def some_run(order: str) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = pl.DataFrame(
        {
            "query_id": np.repeat([f"q{i}" for i in range(40)], 9),
            "doc_id": [f"d{i}" for i in rng.permutation(360)],
            "score": rng.integers(0, 6, 360).astype(np.float64),
        }
    )
    return {
        "any": rows,
        "score": rows.sort("query_id", "score", descending=[False, True], maintain_order=True),
        "ids": rows.sort("query_id", "score", "doc_id", descending=[False, True, True]),
        "ranks": rows.with_columns(rank=pl.col("score") + 1).drop("score"),
        "none": rows.drop("score"),
    }[order]


@pytest.mark.parametrize("order", ["any", "score", "ids", "ranks", "none"])
@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
def test_rows_are_ranked_as_a_run_is(order: str, ties) -> None:
    run = some_run(order)
    ranked = Ranked.of(chunk_of(run), PairPolicies(ties=ties))
    expected = rank_run(Keyed(run), ties=ties, tied_rank=True)
    assert ranked.rank.tolist() == ranked.picked(expected.rank).tolist()
    assert expected.tied_rank is not None
    assert ranked.tied_rank.tolist() == ranked.picked(expected.tied_rank).tolist()
    assert ranked.tied == expected.tied
    assert (ranked.anew is None) == (order != "ranks")


def test_the_best_are_left_by_a_cut() -> None:
    run = pl.DataFrame(
        {
            "query_id": ["q", "q", "q", "r"],
            "doc_id": list("xyzx"),
            "rank": [7.0, 1.0, 1.0, 1.0],
        }
    )
    ranked = Ranked.of(chunk_of(run), PairPolicies(k_max=1))
    assert ranked.rows is not None
    assert ranked.rows.tolist() == [2, 3]  # z before y: ids in descending order
    assert ranked.places is not None
    assert ranked.places.tolist() == [-1, -1, 0, 1]
    assert (ranked.tied, ranked.anew) == (1, 0)
    assert ranked.tied_rank.tolist() == [1.0, 1.0]
    assert Ranked.of(chunk_of(run), PairPolicies()).anew == 1


def test_a_ranking_has_nothing_where_it_lacks_a_document() -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["x", "y"], "score": [2.0, 2.0]})
    ranked = Ranked.of(chunk_of(run), PairPolicies())
    at = np.array([1, -1, 0])
    ranking = Ranking(ranked, np.array([2]), np.array([2, 0, 1], np.int32), lambda: at)
    assert ranking.present.tolist() == [True, False, True]
    assert ranking.tied_rank.tolist() == [1.5, 0.0, 1.5]
    assert ranking.score is not None
    assert ranking.score.tolist() == [2.0, 0.0, 2.0]
