"""Of each unit the best row, by score or by rank."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.core.options import Policies
from rankframe.frames.units import by_rank, one_of_each_unit
from rankframe.kernel.keys import Keyed

ROWS = pl.DataFrame(
    {"query_id": ["q"] * 4, "doc_id": ["u", "v", "u", "w"], "score": [2.0, 2.0, 2.0, 1.0]}
)


def test_scores_stay_beside_the_best_rank() -> None:
    found = by_rank(ROWS, np.array([3, 1, 2, 4])).frame
    assert found.select("doc_id", "score", "rank").rows() == [
        ("v", 2.0, 1.0), ("u", 2.0, 2.0), ("w", 1.0, 4.0),
    ]  # fmt: skip


def test_gaps_are_closed_or_kept() -> None:
    closed, policies = one_of_each_unit(Keyed(ROWS), Policies(unit="units"))
    assert closed.frame["doc_id"].to_list() == ["u", "v", "w"]
    assert policies.ranks == "renumbered"
    kept, policies = one_of_each_unit(Keyed(ROWS), Policies(unit="units", gaps="kept"))
    assert dict(zip(kept.frame["doc_id"], kept.frame["rank"], strict=True)) == {
        "v": 1, "u": 2, "w": 4,
    }  # fmt: skip
    assert policies.ranks == "kept"
