"""Sort, count and compare rows that belong to queries, where polars has no fast function.

Every function works on the whole table at once. `code` is the number of a row's query. Within
queries, rows are sorted as the rows of rectangles that hold queries of about the same length:
several times as fast as one sort of all rows by query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints, Keys


def sort_order(*keys: AnyInts) -> Ints:
    """Return the permutation that sorts by non-negative integer keys, the first one foremost.

    Rows that are equal in all keys stay in order. One sort of 64-bit integers that hold the keys
    and, last, the row number, where these fit (the usual case: three times as fast as an argsort),
    a lexicographic sort otherwise.
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
    packed <<= np.uint64(row_bits)
    packed |= np.arange(rows, dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << row_bits) - 1)
    return packed.view(np.int64)


def segment_starts(*keys: NDArray[Any]) -> Ints:
    """Return the first row of each query in a table sorted by query, or by several keys."""
    if not len(keys[0]):
        return np.empty(0, np.int64)
    differ = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        differ |= key[1:] != key[:-1]
    return np.concatenate(([0], np.flatnonzero(differ) + 1)).astype(np.int64)


def number_segments(starts: AnyInts, rows: int) -> Codes:
    """Return the number of each row's segment. (A running count of flags takes far longer.)"""
    return spread(np.arange(len(starts), dtype=np.int32), starts, rows)


def segment_lengths(starts: AnyInts, rows: int) -> Ints:
    """Count the rows of each query, given its first row. (`np.diff` takes ten times as long for
    the few queries of a batch.)
    """
    lengths = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = rows - starts[-1:]
    return lengths


def spread(per_segment: NDArray[Any], starts: AnyInts, rows: int) -> NDArray[Any]:
    """Repeat a value of each query on each of its rows."""
    return np.repeat(per_segment, segment_lengths(starts, rows))


def running_count(flags: Flags, starts: AnyInts) -> Codes:
    """Count the flags that are set in the query down to each row, itself included."""
    total = np.cumsum(flags, dtype=np.int32)
    before = total[starts] - flags[starts]
    total -= spread(before, starts, len(flags))
    return total


def position(starts: AnyInts, rows: int) -> Codes:
    """Return the place of each row within its query, from 0."""
    place = np.arange(rows, dtype=np.int32)
    place -= spread(starts.astype(np.int32), starts, rows)
    return place


def descending_bits(values: Floats) -> Keys:
    """Return unsigned integers that sort ascending as the (finite) floats sort descending."""
    bits = (values + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0: equal floats, equal bits
    # Negative floats grow in magnitude with their bits; the bits of positive ones are turned round.
    turned = bits >> 63
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF_FFFF_FFFF
    turned ^= bits
    return turned.view(np.uint64)


def ranges(firsts: AnyInts, lengths: AnyInts) -> Ints:
    """Concatenate the ranges that begin with `firsts` and have these lengths.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    whole = np.repeat(firsts - (ends - lengths), lengths)
    whole += np.arange(len(whole))
    return whole


def query_blocks(starts: Ints, rows: int, block_rows: int) -> list[tuple[int, int]]:
    """Divide queries into blocks of about `block_rows` rows: the first query, and the end.

    >>> query_blocks(np.array([0, 3, 4, 9]), 12, 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    cuts = np.searchsorted(starts, np.arange(block_rows, rows, block_rows))
    return list(pairwise(np.unique([0, *cuts, len(starts)]).tolist()))


# Up to this number of rows of a query are compared with each other; more are sorted. A power of 2.
_COMPARED = 128
_PADDED = 1.25  # cells of a rectangle for each of its rows, beyond which lengths are kept apart


@dataclass(frozen=True)
class Rectangle:
    """Lay out queries of about the same length as rows of a rectangle, padded at their ends."""

    shape: tuple[int, int]
    # which queries these are; None: all
    lists: Ints | None
    # of the table, and where each of them lies in the rectangle; None: all, as they are
    rows: Ints | None
    cells: Ints | None

    def filled(self, values: NDArray[Any], padding: Any) -> NDArray[Any]:
        """Fill the rectangle with a value for each row of the table."""
        part = values if self.rows is None else values[self.rows]
        if self.cells is None:
            return part.reshape(self.shape)
        cells = np.full(self.shape[0] * self.shape[1], padding, values.dtype)
        cells[self.cells] = part
        return cells.reshape(self.shape)

    def put(self, into: NDArray[Any], cells: NDArray[Any]) -> None:
        """Write the cells of the rectangle to the rows of a table."""
        part = cells.ravel()
        if self.cells is not None:
            part = part[self.cells]
        if self.rows is None:
            into[:] = part
        else:
            into[self.rows] = part


def rectangles(starts: Ints, lengths: Ints) -> Iterator[Rectangle]:
    """Lay out queries by length; a query may have no rows."""
    rows, longest = int(lengths.sum()), int(lengths.max(initial=0))
    if not rows:
        return
    if len(lengths) * longest <= _PADDED * rows:
        full = len(lengths) * longest == rows
        shape = len(lengths), longest
        cells = None if full else ranges(np.arange(len(lengths)) * longest, lengths)
        yield Rectangle(shape, None, None, cells)
        return
    size = np.frexp(lengths.astype(np.float64))[1]
    for width in (np.flatnonzero(np.bincount(size)[1:]) + 1).tolist():
        queries = np.flatnonzero(size == width)
        length = lengths[queries]
        longest = int(length.max())
        cells = ranges(np.arange(len(queries)) * longest, length)
        yield Rectangle((len(queries), longest), queries, ranges(starts[queries], length), cells)


@dataclass(frozen=True)
class Ascending:
    """Hold numbers of queries in ascending order, as rows of a rectangle."""

    # which queries these are
    queries: Ints
    # padded with infinity
    values: Floats
    lengths: Ints

    @property
    def repeats(self) -> int:
        """Count the numbers that equal the number before them."""
        same = self.values[:, 1:] == self.values[:, :-1]
        if int(self.lengths.min(initial=0)) < self.values.shape[1]:
            same &= np.isfinite(self.values[:, 1:])
        return int(np.count_nonzero(same))

    def repeated(self, rows: Ints, places: Ints) -> Flags:
        """Flag places of rows whose number equals the next one."""
        depth = self.values.shape[1]
        if depth < 2:
            return np.zeros(len(rows), np.bool_)
        flat, cells = self.values.ravel(), rows * depth + np.minimum(places, depth - 2)
        return (places < depth - 1) & (flat.take(cells) == flat.take(cells + 1))

    def before(self, rows: Ints, values: Floats, *, equal: bool) -> Ints:
        """Count the numbers of each row that are smaller than a value (or `equal` to it)."""
        depth = self.values.shape[1]
        flat, base = self.values.ravel(), rows * depth
        count = np.zeros(len(values), np.int64)
        step = 1 << (depth.bit_length() - 1)
        while step:
            tried = count + step
            there = flat.take(base + np.minimum(tried, depth) - 1)
            ok = there <= values if equal else there < values
            ok &= tried <= depth
            count = np.where(ok, tried, count)
            step >>= 1
        return count


def ascending(values: Floats, starts: Ints, lengths: Ints) -> Iterator[Ascending]:
    """Sort the (finite) numbers of each query, queries of about the same length together."""
    for group in rectangles(starts, lengths):
        cells = group.filled(values, np.inf)
        lists = np.arange(len(lengths)) if group.lists is None else group.lists
        yield Ascending(lists, np.sort(cells, axis=1), lengths[lists])


def order_within(starts: Ints, lengths: Ints, *keys: AnyInts) -> Ints:
    """Return the permutation that sorts each query's rows by non-negative integer keys.

    The first key is foremost. Rows that are equal in all keys stay in order.

    >>> order_within(np.array([0, 3]), np.array([3, 2]), np.array([5, 1, 5, 8, 7]))
    array([1, 0, 2, 4, 3])
    """
    rows = len(keys[0])
    bits = [int(key.max(initial=0)).bit_length() for key in keys]
    place_bits = max(int(lengths.max(initial=0)) - 1, 0).bit_length()
    if sum(bits) + place_bits > 64:
        return np.lexsort((*keys[::-1], number_segments(starts, rows)))
    kind = np.uint32 if sum(bits) + place_bits <= 32 else np.uint64
    packed = keys[0].astype(kind)
    for key, width in zip(keys[1:], bits[1:], strict=True):
        packed <<= kind(width)
        packed |= key.astype(kind)
    return _sorted_places(packed << kind(place_bits), place_bits, starts, lengths)


def order_by_lead(lead: Keys, starts: Ints, lengths: Ints) -> tuple[Ints, Flags]:
    """Return the permutation that sorts each query's rows by the leading bits of numbers.

    As many bits count as leave room for the row's place. Returns also which of the sorted rows have
    a neighbour with the same bits.
    """
    place_bits = np.uint64(max(int(lengths.max(initial=0)) - 1, 0).bit_length())
    keys = (lead >> place_bits) << place_bits
    order = _sorted_places(keys, int(place_bits), starts, lengths)
    keys >>= place_bits
    return order, equal_neighbours(keys, starts)


def equal_neighbours(keys: NDArray[Any], starts: Ints) -> Flags:
    """Flag rows with the key of the row above or below, in the same query."""
    equal = np.zeros(len(keys), np.bool_)
    equal[1:] = keys[1:] == keys[:-1]
    equal[starts] = False
    equal[:-1] |= equal[1:]
    return equal


def _sorted_places(
    keys: NDArray[np.unsignedinteger], place_bits: int, starts: Ints, lengths: Ints
) -> Ints:
    """Return the permutation that sorts each query's rows by their keys, and sort the keys.

    The trailing `place_bits` of a key are free, and will hold the row's place in its query.
    """
    kind = keys.dtype.type
    keys |= position(starts, len(keys)).astype(keys.dtype)
    for rectangle in rectangles(starts, lengths):
        cells = rectangle.filled(keys, np.iinfo(keys.dtype).max)
        cells.sort(axis=1)  # which are the keys themselves, where nothing is padded
        rectangle.put(keys, cells)
    order = (keys & kind((1 << place_bits) - 1)).astype(np.int64)
    order += spread(starts, starts, len(keys))
    return order


def inversions(values: AnyInts, starts: Ints, lengths: Ints) -> Ints:
    """Count the rows above each row, in its query, with a larger value (of numbers from 0 on).

    >>> inversions(np.array([3, 1, 2, 5, 4]), np.array([0, 3]), np.array([3, 2]))
    array([0, 1, 1, 0, 1])
    """
    found = np.zeros(len(values), np.int64)
    largest = int(values.max(initial=0))
    for rectangle in rectangles(starts, lengths):
        width = rectangle.shape[1]
        blocks = -(-width // _COMPARED) if width > _COMPARED else 1
        place_bits = (blocks * _COMPARED).bit_length()
        kind = _smallest((largest + 1).bit_length() + (place_bits if blocks > 1 else 0))
        cells = rectangle.filled(values.astype(kind), kind(largest + 1))
        if blocks == 1:
            rectangle.put(found, _compared(cells.T).T)
            continue
        padded = np.full((len(cells), blocks * _COMPARED), largest + 1, kind)
        padded[:, :width] = cells
        parts = padded.reshape(-1, _COMPARED)
        near = _compared(parts.T).T.reshape(padded.shape)
        rectangle.put(found, (near + _from_before(padded, place_bits))[:, :width])
    return found


def _smallest(bits: int) -> type[np.unsignedinteger]:
    return next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if bits <= 8 * k().itemsize)


def _compared(columns: NDArray[np.unsignedinteger]) -> NDArray[np.uint8]:
    """Count larger values above for a few rows of each query (the first axis), by comparing all."""
    columns = np.ascontiguousarray(columns)
    larger = np.zeros(columns.shape, np.uint8)
    for place in range(len(columns) - 1):
        larger[place + 1 :] += columns[place] > columns[place + 1 :]
    return larger


def _from_before(rows: NDArray[np.unsignedinteger], place_bits: int) -> Codes:
    """Count the larger values in the blocks before the block of each value.

    Blocks are joined two by two. Sorted, a value has moved past all smaller values: those in its
    own block, whose number is known, and those in the other.
    """
    kind = rows.dtype.type
    height, width = rows.shape
    found = np.zeros(rows.shape, np.int32)
    keys = (rows << kind(place_bits)) | np.arange(width, dtype=rows.dtype)
    mask = kind((1 << place_bits) - 1)
    base = (np.arange(height) * width)[:, None]
    size, within = _COMPARED, _places(keys, _COMPARED, mask, base)
    while size < width:
        joined = _places(keys, 2 * size, mask, base)
        within -= joined
        within += np.int32(size)
        within *= np.arange(width, dtype=np.int32) // size % 2  # only what is in a second block
        found += within
        size, within = 2 * size, joined
    return found


def _places(
    keys: NDArray[np.unsignedinteger], size: int, mask: np.unsignedinteger, base: Ints
) -> Codes:
    """Return the place of each value in its sorted block of `size` values."""
    height, width = keys.shape
    places = np.empty(height * width, np.int32)
    whole = width // size * size
    for begin, end, step in ((0, whole, size), (whole, width, width - whole)):
        if begin == end:
            continue
        ordered = np.sort(keys[:, begin:end].reshape(height, -1, step), axis=2)
        position = (ordered & mask).reshape(height, -1).astype(np.int64) + base
        places[position] = np.arange(end - begin, dtype=np.int32) % step
    return places.reshape(height, width)
