"""Sorted numbers within many queries at once, and how many come before a given one.

Queries of about the same length are sorted as the rows of one rectangle, far faster than by one
sort of all their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankframe.kernel.segments import ranges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ascending:
    """Some queries with their numbers in ascending order, as rows of a rectangle."""

    # which queries these are
    queries: Ints
    # padded with infinity
    values: Floats
    lengths: Ints

    @property
    def repeats(self) -> int:
        """How many numbers are the same as the one before them."""
        same = self.values[:, 1:] == self.values[:, :-1]
        if int(self.lengths.min(initial=0)) < self.values.shape[1]:
            same &= np.isfinite(self.values[:, 1:])
        return int(np.count_nonzero(same))

    def repeated(self, rows: Ints, places: Ints) -> NDArray[np.bool_]:
        """Whether the number at such a place of a row is the same as the next one."""
        depth = self.values.shape[1]
        if depth < 2:
            return np.zeros(len(rows), np.bool_)
        flat, at = self.values.ravel(), rows * depth + np.minimum(places, depth - 2)
        return (places < depth - 1) & (flat.take(at) == flat.take(at + 1))

    def before(self, rows: Ints, values: Floats, *, equal: bool) -> Ints:
        """How many numbers of the rectangle's row are smaller than this one (or `equal` to it)."""
        depth = self.values.shape[1]
        flat, base = self.values.ravel(), rows * depth
        found = np.zeros(len(values), np.int64)
        step = 1 << (depth.bit_length() - 1)
        while step:
            tried = found + step
            there = flat.take(base + np.minimum(tried, depth) - 1)
            ok = there <= values if equal else there < values
            ok &= tried <= depth
            found = np.where(ok, tried, found)
            step >>= 1
        return found


def ascending(values: Floats, starts: Ints, lengths: Ints) -> Iterator[Ascending]:
    """Sort each query's (finite) numbers, queries of about the same length together."""
    depth = int(lengths.max(initial=0))
    if depth * len(lengths) <= 2 * len(values):
        yield _rectangle(values, np.arange(len(lengths)), starts, lengths)
        return
    # No row is more than half padding.
    size = np.frexp(lengths.astype(np.float64))[1].astype(np.int16)
    for width in np.flatnonzero(np.bincount(size)).tolist():
        some = np.flatnonzero(size == width)
        yield _rectangle(values, some, starts[some], lengths[some])


def _rectangle(values: Floats, queries: Ints, starts: Ints, lengths: Ints) -> Ascending:
    depth, rows, filled = int(lengths.max()), len(queries), int(lengths.sum())
    some = values if filled == len(values) else values[ranges(starts, lengths)]
    if filled < rows * depth:
        padded = np.full(rows * depth, np.inf)
        padded[ranges(np.arange(rows) * depth, lengths)] = some
        some = padded
    return Ascending(queries, np.sort(some.reshape(rows, depth), axis=1), lengths)
