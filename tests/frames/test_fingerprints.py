"""Fingerprints of tables: the same for the same rows, others for others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.frames.judgments import Fingerprint, IndexedJudgments, differ, hash_kind
from rankframe.kernel.batch import hashed

TABLE = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "ü", "ü", "q1"],
        "doc_id": ["a", "b", "a", "", "long " * 20, "c"],
        "relevance": [0.0, 1.0, 2.0, -1.0, 0.5, 3.0],
    }
)
NUMBERS = pl.DataFrame({"query_id": [1, 1, 20, 3], "doc_id": [5, 60, 7, 8], "relevance": 1.0})


def fingerprint(table: pl.DataFrame) -> Fingerprint:
    return IndexedJudgments.from_hashed(hashed(table.lazy()).collect()).fingerprint


def test_it_does_not_depend_on_the_order_of_rows() -> None:
    for seed in range(5):
        assert fingerprint(TABLE.sample(fraction=1, shuffle=True, seed=seed)) == fingerprint(TABLE)


def test_those_of_pieces_add_up() -> None:
    parts = TABLE.partition_by("query_id")
    whole = Fingerprint()
    for part in parts:
        whole += fingerprint(part)
    assert whole == fingerprint(TABLE)


@pytest.mark.parametrize("dtype", [pl.String, pl.UInt8, pl.Categorical], ids=str)
def test_ids_are_text_whatever_their_type(dtype: type[pl.DataType]) -> None:
    text = NUMBERS.cast({"query_id": pl.String, "doc_id": pl.String})
    other = text.cast({"query_id": dtype, "doc_id": dtype})
    for table in (other, text.with_columns(other["doc_id"]), text.with_columns(other["query_id"])):
        shuffled = table.sample(fraction=1, shuffle=True, seed=2)
        assert fingerprint(table) == fingerprint(shuffled) == fingerprint(NUMBERS)


def test_minus_zero_is_zero() -> None:
    table = TABLE.with_columns(relevance=pl.lit(-0.0))
    assert fingerprint(table) == fingerprint(table.with_columns(relevance=pl.lit(0.0)))


@pytest.mark.parametrize(
    "other",
    [
        TABLE[1:],
        TABLE.with_columns(pl.col("relevance") + 1),
        TABLE.with_columns(pl.col("relevance").reverse()),
        TABLE.with_columns(pl.col("doc_id").shift(1, fill_value="c")),
        TABLE.with_columns(pl.col("query_id").replace("q2", "q3")),
        TABLE.with_columns(pl.col("doc_id").replace("a", "A")),
    ],
    ids=["fewer", "other grades", "grades exchanged", "documents moved", "query", "document"],
)
def test_anything_else_changes_it(other: pl.DataFrame) -> None:
    ours, theirs = str(fingerprint(TABLE)), str(fingerprint(other))
    assert differ(ours, theirs)
    assert not differ(ours, ours)


def test_hashes_of_other_versions_of_polars_are_not_compared() -> None:
    plain, kind, hashes = str(fingerprint(TABLE)).split("-")
    assert kind == hash_kind()
    assert not differ(f"{plain}-{kind}-{hashes}", f"{plain}-0000-{hashes[::-1]}")
    assert differ(f"{plain}-{kind}-{hashes}", f"{plain}-{kind}-{hashes[::-1]}")
    assert differ(f"{plain}-{kind}-{hashes}", f"{plain[::-1]}-0000-{hashes}")


def test_what_is_plain_of_it_is_the_same_everywhere() -> None:
    """The sum of what it is said to be: numbers' bits, letters, rows."""
    bits = np.float64(1.0).view(np.uint64)
    letters = sum(map(len, ["1", "1", "20", "3", "5", "60", "7", "8"]))
    plain = int(bits) * 4 + letters * 0x9E37_79B9_7F4A_7C15 + 4 * 0xBF58_476D_1CE4_E5B9
    assert fingerprint(NUMBERS).plain == plain % 2**64
    assert str(fingerprint(NUMBERS)).startswith(f"{plain % 2**64:016x}-")
