"""Numpy primitives over a table whose rows belong to queries: what polars has no fast word for.

Every function works on the whole table at once. `code` is the number of a row's query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]


def sort_order(*keys: Ints) -> NDArray[np.int64]:
    """The permutation that sorts by several non-negative integer keys, the first one foremost.

    One unstable sort of packed 64-bit keys where they fit (the usual case, and by far the
    fastest), a lexicographic sort otherwise. Rows equal in all keys come in no fixed order.
    """
    bits = [int(key.max()).bit_length() if len(key) else 0 for key in keys]
    if sum(bits) > 64:
        return np.lexsort(keys[::-1])
    packed = np.zeros(len(keys[0]), np.uint64)
    for key, width in zip(keys, bits, strict=True):
        if width:
            packed <<= np.uint64(width)
            packed |= key.astype(np.uint64)
    return np.argsort(packed)


def segment_starts(code: Ints) -> NDArray[np.int64]:
    """The first row of each query in a table sorted by query."""
    if not len(code):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(code[1:] != code[:-1]) + 1)).astype(np.int64)


def segment_lengths(starts: Ints, rows: int) -> NDArray[np.int64]:
    """How many rows each query has, from where each starts."""
    return np.diff(starts, append=rows)


def spread(per_segment: NDArray[Any], starts: Ints, rows: int) -> NDArray[Any]:
    """One value per query, repeated on each of its rows."""
    return np.repeat(per_segment, segment_lengths(starts, rows))


def running_count(flags: NDArray[np.bool_], starts: Ints) -> NDArray[np.int64]:
    """How many flags are set from the start of the query down to each row, itself included."""
    total = np.cumsum(flags, dtype=np.int64)
    before = total[starts] - flags[starts]
    return total - spread(before, starts, len(flags))


def position(starts: Ints, rows: int) -> NDArray[np.int64]:
    """The place of each row within its query, from 0."""
    return np.arange(rows, dtype=np.int64) - spread(starts, starts, rows)


def descending_bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Unsigned integers that sort ascending as the (finite) floats sort descending."""
    bits = (values + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0: equal floats, equal bits
    # Negative floats grow in magnitude with their bits; the bits of positive ones are turned round.
    turned = bits >> 63
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF_FFFF_FFFF
    turned ^= bits
    return turned.view(np.uint64)
