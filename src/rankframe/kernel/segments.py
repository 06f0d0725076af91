"""Numpy primitives over rows that belong to queries, for which polars has no fast function.

Every function works on the whole table at once. `code` is the number of a row's query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]


def sort_order(*keys: Ints) -> NDArray[np.int64]:
    """Return the permutation that sorts by non-negative integer keys, the first one foremost; rows
    that are equal in all of them stay in order.

    One sort of 64-bit integers that hold the keys and, last, the row number, where these fit (the
    usual case: three times as fast as an argsort), a lexicographic sort otherwise.
    """
    rows = len(keys[0])
    packed = np.zeros(rows, np.uint64)
    bits = [int(key.max()).bit_length() if rows else 0 for key in keys]
    row_bits = max(rows - 1, 0).bit_length()
    if sum(bits) + row_bits > 64:
        return np.lexsort(keys[::-1])
    for key, width in zip(keys, bits, strict=True):
        if width:
            packed <<= np.uint64(width)
            packed |= key.astype(np.uint64)
    return order_by(packed, row_bits)


def order_by(keys: NDArray[np.uint64], row_bits: int) -> NDArray[np.int64]:
    """Return the permutation that sorts keys with `row_bits` free leading bits; spoils the keys."""
    keys <<= np.uint64(row_bits)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    keys &= np.uint64((1 << row_bits) - 1)
    return keys.view(np.int64)


def segment_starts(code: Ints) -> NDArray[np.int64]:
    """Return the first row of each query in a table sorted by query."""
    if not len(code):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(code[1:] != code[:-1]) + 1)).astype(np.int64)


def number_segments(starts: Ints, rows: int) -> NDArray[np.int32]:
    """Return the number of each row's segment. (A running count of flags takes far longer.)"""
    return spread(np.arange(len(starts), dtype=np.int32), starts, rows)


def segment_lengths(starts: Ints, rows: int) -> NDArray[np.int64]:
    """Count the rows of each query, given its first row. (`np.diff` takes ten times as long for
    the few queries of a batch.)
    """
    lengths = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = rows - starts[-1:]
    return lengths


def spread(per_segment: NDArray[Any], starts: Ints, rows: int) -> NDArray[Any]:
    """Repeat a value of each query on each of its rows."""
    return np.repeat(per_segment, segment_lengths(starts, rows))


def running_count(flags: NDArray[np.bool_], starts: Ints) -> NDArray[np.int32]:
    """Count the flags that are set in the query down to each row, itself included."""
    total = np.cumsum(flags, dtype=np.int32)
    before = total[starts] - flags[starts]
    total -= spread(before, starts, len(flags))
    return total


def position(starts: Ints, rows: int) -> NDArray[np.int32]:
    """Return the place of each row within its query, from 0."""
    place = np.arange(rows, dtype=np.int32)
    place -= spread(starts.astype(np.int32), starts, rows)
    return place


def descending_bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return unsigned integers that sort ascending as the (finite) floats sort descending."""
    bits = (values + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0: equal floats, equal bits
    # Negative floats grow in magnitude with their bits; the bits of positive ones are turned round.
    turned = bits >> 63
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF_FFFF_FFFF
    turned ^= bits
    return turned.view(np.uint64)


def ranges(firsts: Ints, lengths: Ints) -> NDArray[np.int64]:
    """Concatenate the ranges that begin with `firsts` and have these lengths.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    whole = np.repeat(firsts - (ends - lengths), lengths)
    whole += np.arange(len(whole))
    return whole
