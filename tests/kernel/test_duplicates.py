"""Documents that are there twice for a query: refused, or the best row is kept."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.core.errors import DuplicateError
from rankframe.core.options import Policies
from rankframe.kernel.batch import Batch
from rankframe.kernel.duplicates import (
    deduplicate,
    deduplicate_batch,
    possible_duplicates,
)

ROWS = pl.DataFrame(
    {"query_id": ["q"] * 4, "doc_id": ["u", "v", "u", "w"], "score": [2.0, 2.0, 2.0, 1.0]}
)
Rows = list[tuple[str, str]]
rows = st.lists(
    st.tuples(st.sampled_from(["p", "q", "pq"]), st.text("ab\u00e9", max_size=2)), max_size=25
)


def table_of(ids: Rows) -> pl.DataFrame:
    return pl.DataFrame(ids, schema={"query_id": pl.String, "doc_id": pl.String}, orient="row")


@given(rows)
def test_every_duplicate_is_among_the_possible_ones(ids: Rows) -> None:
    possible = possible_duplicates(table_of(ids)).tolist()
    assert possible == sorted(set(possible))
    assert {at for at, row in enumerate(ids) if ids.count(row) > 1} <= set(possible)


@given(rows)
def test_the_first_of_equal_rows_is_kept(ids: Rows) -> None:
    assert deduplicate(table_of(ids), "run", "keep_best").rows() == list(dict.fromkeys(ids))
    if len(set(ids)) == len(ids):
        assert deduplicate(table_of(ids), "run", "error").rows() == ids
    else:
        with pytest.raises(DuplicateError):
            deduplicate(table_of(ids), "run", "error")


def test_hashes_that_collide_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rankframe.kernel.duplicates.hash_of", lambda name, *_: pl.col(name).hash() * 0
    )
    ids = [("q", "a"), ("q", "b"), ("p", "a"), ("q", "a")]
    assert deduplicate(table_of(ids), "run", "keep_best").rows() == ids[:3]


def test_errors_say_how_many_and_where() -> None:
    with pytest.raises(DuplicateError) as refused:
        deduplicate(ROWS, "run", "error")
    assert refused.value.count == 1
    assert refused.value.example == {"query_id": "q", "doc_id": "u"}


def test_scores_stay_beside_the_best_rank() -> None:
    policies = Policies(unit="units", unit_ranks="kept")
    kept, _, _ = deduplicate_batch(Batch.from_table(ROWS), policies)
    assert kept.frame().select("doc_id", "score", "rank").sort("rank").rows() == [
        ("v", 2.0, 1.0), ("u", 2.0, 2.0), ("w", 1.0, 4.0),
    ]  # fmt: skip


def test_gaps_are_closed_or_kept() -> None:
    batch = Batch.from_table(ROWS)
    closed, ranks, above = deduplicate_batch(batch, Policies(unit="units"))
    assert closed.frame()["doc_id"].to_list() == ["u", "v", "w"]
    assert (ranks, above) == ("renumbered", None)
    kept, ranks, above = deduplicate_batch(batch, Policies(unit="units", unit_ranks="kept"))
    assert dict(kept.frame().select("doc_id", "rank").iter_rows()) == {"v": 1, "u": 2, "w": 4}
    assert ranks == "kept"
    assert above is not None
    assert above.tied == 2
