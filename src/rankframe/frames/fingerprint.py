"""Tell tables apart by sums over their rows, whatever the order of rows and the types of ids.

Of every row, the ids as text and the bits of its number count. One sum is of numbers and lengths
alone, and means the same everywhere. The other is of polars' hashes, which cost nothing where keys
are there already; since they may change with a version of polars, `hash_kind` says which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY
from rankframe.kernel.batch import as_text, text_hashes

_MASK = (1 << 64) - 1
_FACTORS = np.array([0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9], np.uint64)
_BLOCK = 1 << 15  # rows: what fits in the cache


class Rows(NamedTuple):
    """Hold a table, query by query."""

    # each query, and how many rows it has
    queries: pl.Series
    lengths: NDArray[np.int64]
    # as read, and where each row was read; None: in this order
    docs: pl.Series
    order: NDArray[np.int64] | None
    numbers: NDArray[np.float64]
    key: NDArray[np.uint64]


@dataclass(frozen=True)
class Fingerprint:
    """Hold sums over rows; sums over different rows add up."""

    # of the bits of numbers, and of how long the ids are
    plain: int = 0
    # of hashes of whole rows
    hashes: int = 0

    @classmethod
    def of(cls, rows: Rows) -> Fingerprint:
        """Sum up the rows of a table."""
        bits = (rows.numbers + 0.0).view(np.uint64)  # -0.0 is 0.0
        queries, docs = as_text(rows.queries), as_text(rows.docs)
        letters = int(docs.str.len_bytes().cast(pl.UInt64).sum())
        letters += int(queries.str.len_bytes().to_numpy() @ rows.lengths)
        plain = int(bits.sum()) + letters * int(_FACTORS[0]) + len(bits) * int(_FACTORS[1])
        return cls(plain & _MASK, _mixed(_text_key(rows), bits))

    @classmethod
    def of_parts(
        cls,
        rows: Rows,
        of: NDArray[np.int64],
        names: NDArray[np.uint64],
        letters: NDArray[np.integer],
        numbers: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> Fingerprint:
        """Sum up what belongs to rows of a table: the row that each is `of`, the hash and the
        length of its name, and two numbers.
        """
        bits, others = ((some + 0.0).view(np.uint64) for some in numbers)
        plain = int(bits.sum()) + int(others.sum()) + int(letters.sum()) * int(_FACTORS[1])
        key = _text_key(rows)[of] ^ names * _FACTORS[0]
        return cls(plain & _MASK, _mixed(key, bits ^ others * _FACTORS[1]))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint((self.plain + other.plain) & _MASK, (self.hashes + other.hashes) & _MASK)

    def __str__(self) -> str:
        return f"{self.plain:016x}-{hash_kind()}-{self.hashes:016x}"


def _text_key(rows: Rows) -> NDArray[np.uint64]:
    """Return the key of each row, by the text of its ids."""
    if rows.queries.dtype == rows.docs.dtype == pl.String:
        return rows.key
    key = text_hashes(DOC, rows.docs)
    key = key if rows.order is None else key[rows.order]
    return key ^ np.repeat(text_hashes(QUERY, rows.queries), rows.lengths)


def differ(one: str, other: str) -> bool:
    """Return whether two fingerprints, as text, are of different tables."""
    (plain, *hashes), (others, *their_hashes) = one.split("-"), other.split("-")
    return plain != others or (hashes[:1] == their_hashes[:1] and hashes != their_hashes)


@cache
def hash_kind() -> str:
    """Return what identifies the hash function of polars: the hash of a text."""
    return f"{int(text_hashes(DOC, pl.Series(['a document']))[0]) >> 48:04x}"


def _mixed(key: NDArray[np.uint64], bits: NDArray[np.uint64]) -> int:
    total = 0
    for at in range(0, len(key), _BLOCK):
        rows = bits[at : at + _BLOCK] * _FACTORS[0]
        rows ^= key[at : at + _BLOCK]
        rows *= _FACTORS[1]
        rows ^= rows >> np.uint64(32)
        rows *= _FACTORS[0]
        rows ^= rows >> np.uint64(29)
        total += int(rows.sum())
    return total & _MASK
