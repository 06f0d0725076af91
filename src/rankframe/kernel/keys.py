"""Which rows of two tables speak of the same query and document: one hash and one sort a side.

Each row's keys are hashed once; the leading bits of the hash, with the row number in the trailing
bits, are sorted as plain integers. Neighbours that are equal are duplicates, and two such arrays
are joined by a merge. Whatever the hash finds is then compared by its strings, so a collision
changes nothing. (10M rows against 3M: 0.9 CPU seconds in all, where a join on two strings took 1.6
and a separate check for duplicates 0.9.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import xor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import TEXTS

_TABLE_BITS = 26  # 64 MB at the most
_NO_HASH = np.uint64(2**64 - 1)  # larger than what is left of a hash without its trailing bits
_LOW_HALF = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True)
class Keyed:
    """A table with query_id (doc_id, group), whose keys are hashed and sorted once."""

    frame: pl.DataFrame

    @property
    def names(self) -> list[str]:
        """Its key columns."""
        return [name for name in TEXTS if name in self.frame.columns]

    @cached_property
    def row_bits(self) -> int:
        """How many trailing bits of a sorted key are its row number."""
        return max(self.frame.height - 1, 1).bit_length()

    @cached_property
    def sorted_keys(self) -> NDArray[np.uint64]:
        """Leading bits of each row's hash, then its row number; ascending."""
        hashed = reduce(xor, (pl.col(name).hash(seed) for seed, name in enumerate(self.names)))
        keys = self.frame.select(hashed).to_series().to_numpy(writable=True)
        keys &= np.uint64((1 << 64) - (1 << self.row_bits))
        keys |= np.arange(self.frame.height, dtype=np.uint64)
        keys.sort()
        return keys

    def rows_at(self, places: NDArray[np.integer] | slice) -> NDArray[np.int64]:
        """The row numbers of some of the sorted keys."""
        return (self.sorted_keys[places] & np.uint64((1 << self.row_bits) - 1)).astype(np.int64)

    def possible_duplicates(self) -> NDArray[np.int64]:
        """Rows that share their hash with another: every duplicate, and now and then a stranger."""
        hashes = self.sorted_keys >> np.uint64(self.row_bits)
        second = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
        return np.sort(self.rows_at(np.union1d(second - 1, second)))


def match(left: Keyed, right: Keyed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of all pairs of rows with equal keys, ascending on the left."""
    bits = np.uint64(max(left.row_bits, right.row_bits))
    places = _likely(left, right)
    hashes = left.sorted_keys[places] >> bits
    wanted = np.append(right.sorted_keys >> bits, _NO_HASH)
    at = np.searchsorted(wanted, hashes)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    # Once for each time that a hash occurs on the right: a few times at the most.
    while len(at):
        equal = np.flatnonzero(wanted[at] == hashes)
        at, hashes, places = at[equal], hashes[equal], places[equal]
        found.append((left.rows_at(places), right.rows_at(at)))
        at = at + 1
    ours, theirs = _by_left_row(found)
    really = np.ones(len(ours), np.bool_)
    for name in left.names:
        really &= (left.frame[name][ours] == right.frame[name][theirs]).to_numpy()
    return ours[really], theirs[really]


def _by_left_row(
    found: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs in the order of the table: strings are then compared as they lie in memory, which is
    five times as fast as in the order of their hashes.
    """
    pairs = np.concatenate(
        [np.empty(0, np.uint64), *((left << 32 | right).view(np.uint64) for left, right in found)]
    )
    pairs.sort()
    return (pairs >> np.uint64(32)).view(np.int64), (pairs & _LOW_HALF).view(np.int64)


def _likely(left: Keyed, right: Keyed) -> NDArray[np.int64]:
    """Places of sorted keys on the left whose leading bits occur on the right.

    Most of a run was never judged; a table of the leading bits, walked through in order, passes
    over it at the speed of memory.
    """
    width = min(max(len(right.sorted_keys).bit_length() + 4, 8), _TABLE_BITS)
    shift = np.uint64(64 - width)
    table = np.zeros(1 << width, np.bool_)
    table[right.sorted_keys >> shift] = True
    return np.flatnonzero(table[left.sorted_keys >> shift])
