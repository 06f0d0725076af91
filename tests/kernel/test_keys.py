"""Keys of two tables: every pair with equal ids, however often, whatever the hashes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.kernel.keys import Keyed, match

Rows = list[tuple[str, str]]
rows = st.lists(
    st.tuples(st.sampled_from(["p", "q", "pq"]), st.text("abé", max_size=2)), max_size=25
)


def keyed(ids: Rows) -> Keyed:
    return Keyed(
        pl.DataFrame(ids, schema={"query_id": pl.String, "doc_id": pl.String}, orient="row")
    )


def pairs(left: Rows, right: Rows) -> set[tuple[int, int]]:
    return {(i, j) for i, one in enumerate(left) for j, other in enumerate(right) if one == other}


@given(rows, rows)
def test_every_pair_of_equal_rows_is_found_once(left: Rows, right: Rows) -> None:
    ours, theirs = match(keyed(left), keyed(right))
    assert ours.tolist() == sorted(ours.tolist())
    found = list(zip(ours.tolist(), theirs.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == pairs(left, right)


def test_ids_that_read_the_same_when_put_together_are_others() -> None:
    ours, _ = match(keyed([("ab", "c")]), keyed([("a", "bc"), ("c", "ab")]))
    assert not len(ours)


@given(rows)
def test_every_duplicate_is_among_the_possible_ones(ids: Rows) -> None:
    table = keyed(ids)
    possible = table.possible_duplicates().tolist()
    assert possible == sorted(set(possible))
    assert {at for at, row in enumerate(ids) if ids.count(row) > 1} <= set(possible)


def test_rows_are_found_again_by_their_sorted_keys() -> None:
    table = keyed([("q", str(n)) for n in range(1000)])
    assert sorted(table.rows_at(slice(None)).tolist()) == list(range(1000))
    assert table.names == ["query_id", "doc_id"]
    assert Keyed(table.frame.select("query_id")).names == ["query_id"]


@pytest.mark.parametrize("buckets", [1, 2, 3])
def test_hashes_that_collide_change_nothing(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pl.Expr.hash

    def poor(self: pl.Expr, seed: int = 0) -> pl.Expr:
        return real(self, seed) % buckets * (2**64 // 4)

    monkeypatch.setattr(pl.Expr, "hash", poor)
    left = pl.DataFrame({"query_id": [f"q{n % 7}" for n in range(100)]})
    left = left.with_columns(doc_id=pl.Series([f"d{n}" for n in range(100)]))
    right = left.sample(30, seed=1, shuffle=True)
    ours, theirs = match(Keyed(left), Keyed(right))
    assert left[ours].equals(right[theirs])
    assert sorted(theirs) == list(range(30))
