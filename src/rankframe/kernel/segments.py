"""Sort, count and compare rows within segments (the rows of a query), where polars is slow.

Every function processes all segments of a table at once. `code` is the number of a row's query,
`starts` the first row of each query. To sort within queries, queries of similar length are padded
to rows of a 2-D array (`Rectangle`), whose rows are sorted: several times as fast as one sort of
all rows by query.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints, Keys
from rankframe.core.records import record


def sort_order(*keys: AnyInts) -> Ints:
    """Return the permutation that sorts by non-negative integer keys; the first key is primary.

    The sort is stable. If all keys and the row number fit in 64 bits together (the usual case),
    they are packed into one integer and sorted: three times as fast as an argsort. Otherwise, this
    is a lexicographic sort.
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
    """Return the first row of each segment: adjacent rows that are equal in all `keys`."""
    if not len(keys[0]):
        return np.empty(0, np.int64)
    differ = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        differ |= key[1:] != key[:-1]
    return np.concatenate(([0], np.flatnonzero(differ) + 1)).astype(np.int64)


def number_segments(starts: AnyInts, rows: int) -> Codes:
    """Return, for each row, the index of its segment.

    A cumulative sum of flags takes far longer.
    """
    return spread(np.arange(len(starts), dtype=np.int32), starts, rows)


def segment_lengths(starts: AnyInts, rows: int) -> Ints:
    """Return each segment's number of rows, given the first rows and the number of all rows.

    (`np.diff` takes ten times as long for the few queries of a batch.)
    """
    lengths = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = rows - starts[-1:]
    return lengths


def spread(per_segment: NDArray[Any], starts: AnyInts, rows: int) -> NDArray[Any]:
    """Broadcast one value per segment to all rows of the segment."""
    return np.repeat(per_segment, segment_lengths(starts, rows))


def running_count(flags: Flags, starts: AnyInts) -> Codes:
    """Count, for each row, the flags that are set in its segment down to the row, inclusive."""
    total = np.cumsum(flags, dtype=np.int32)
    before = total[starts] - flags[starts]
    total -= spread(before, starts, len(flags))
    return total


def position(starts: AnyInts, rows: int) -> Codes:
    """Return the position of each row within its segment, from 0."""
    place = np.arange(rows, dtype=np.int32)
    place -= spread(starts.astype(np.int32), starts, rows)
    return place


def descending_bits(values: Floats) -> Keys:
    """Return unsigned integers that sort ascending as the (finite) floats sort descending."""
    bits = (values + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0: equal floats, equal bits
    # As unsigned integers, negative floats sort descending already; invert bits of positive floats.
    turned = bits >> 63
    np.invert(turned, out=turned)
    turned &= 0x7FFF_FFFF_FFFF_FFFF
    turned ^= bits
    return turned.view(np.uint64)


def ranges(firsts: AnyInts, lengths: AnyInts) -> Ints:
    """Concatenate integer ranges, given the first number and the length of each.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    whole = np.repeat(firsts - (ends - lengths), lengths)
    whole += np.arange(len(whole))
    return whole


def query_blocks(starts: Ints, rows: int, block_rows: int) -> list[tuple[int, int]]:
    """Divide queries into blocks of about `block_rows` rows; return (first query, end) pairs.

    >>> query_blocks(np.array([0, 3, 4, 9]), 12, 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    if 0 < rows <= block_rows:
        return [(0, len(starts))]
    cuts = np.searchsorted(starts, np.arange(block_rows, rows, block_rows))
    return list(pairwise(np.unique([0, *cuts, len(starts)]).tolist()))


# `inversions` compares all pairs of up to this number of rows, and sorts longer queries. Must be a
# power of 2.
_COMPARED = 128
# All queries share one rectangle if it has at most this number of cells per row of the table;
# otherwise, there is a rectangle for each power of 2 of the length.
_PADDED = 1.25


@record
class Rectangle:
    """Lay out queries of similar length as the rows of a 2-D array, padded at the end."""

    shape: tuple[int, int]
    # the queries in the rectangle; None: all
    lists: Ints | None
    # the table rows in the rectangle; None: all
    rows: Ints | None
    # the flat index of the cell of each of these rows; None: there is no padding
    cells: Ints | None

    def filled(self, values: NDArray[Any], padding: Any) -> NDArray[Any]:
        """Arrange `values`, one per table row, as a padded 2-D array with a query per row."""
        part = values if self.rows is None else values[self.rows]
        if self.cells is None:
            return part.reshape(self.shape)
        cells = np.full(self.shape[0] * self.shape[1], padding, values.dtype)
        cells[self.cells] = part
        return cells.reshape(self.shape)

    def put(self, into: NDArray[Any], cells: NDArray[Any]) -> None:
        """Write a 2-D array with a query per row back to `into`, with one value per table row."""
        part = cells.ravel()
        if self.cells is not None:
            part = part[self.cells]
        if self.rows is None:
            into[:] = part
        else:
            into[self.rows] = part


def rectangles(starts: Ints, lengths: Ints) -> Iterator[Rectangle]:
    """Yield 2-D layouts, each of queries of similar length; empty queries may be left out."""
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


@record
class Ascending:
    """Hold the sorted numbers of some queries: a 2-D array with one row per query."""

    # the query of each row
    queries: Ints
    # ascending in each row, padded with infinity
    values: Floats
    lengths: Ints

    @property
    def repeats(self) -> int:
        """Count the numbers that equal the previous number of the same query."""
        same = self.values[:, 1:] == self.values[:, :-1]
        if int(self.lengths.min(initial=0)) < self.values.shape[1]:
            same &= np.isfinite(self.values[:, 1:])
        return int(np.count_nonzero(same))

    def repeated(self, rows: Ints, places: Ints) -> Flags:
        """Tell, for each pair of a row and a column, if the number there equals the next."""
        depth = self.values.shape[1]
        if depth < 2:
            return np.zeros(len(rows), np.bool_)
        flat, cells = self.values.ravel(), rows * depth + np.minimum(places, depth - 2)
        return (places < depth - 1) & (flat.take(cells) == flat.take(cells + 1))

    def before(self, rows: Ints, values: Floats, *, equal: bool) -> Ints:
        """Count, for each pair of a row and a value, the row's numbers below the value.

        With `equal`, numbers that equal the value count, too.
        """
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
    """Sort the (finite) numbers of each query; yield groups of queries of similar length."""
    for group in rectangles(starts, lengths):
        cells = group.filled(values, np.inf)
        lists = np.arange(len(lengths)) if group.lists is None else group.lists
        yield Ascending(lists, np.sort(cells, axis=1), lengths[lists])


def order_within(starts: Ints, lengths: Ints, *keys: AnyInts) -> Ints:
    """Return the permutation that sorts each query's rows by non-negative integer keys.

    The first key is primary. The sort is stable.

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
    """Return the permutation that sorts each query's rows by the leading bits of `lead`.

    The trailing bits are replaced by the row's position in its query, and do not count. Also
    returns flags of the sorted rows that share the leading bits with a neighbour.
    """
    place_bits = np.uint64(max(int(lengths.max(initial=0)) - 1, 0).bit_length())
    keys = (lead >> place_bits) << place_bits
    order = _sorted_places(keys, int(place_bits), starts, lengths)
    keys >>= place_bits
    return order, equal_neighbours(keys, starts)


def equal_neighbours(keys: NDArray[Any], starts: Ints) -> Flags:
    """Flag rows with the same key as the row above or below in the same query."""
    equal = np.zeros(len(keys), np.bool_)
    equal[1:] = keys[1:] == keys[:-1]
    equal[starts] = False
    equal[:-1] |= equal[1:]
    return equal


def _sorted_places(
    keys: NDArray[np.unsignedinteger], place_bits: int, starts: Ints, lengths: Ints
) -> Ints:
    """Return the permutation that sorts each query's rows by key; also sort `keys` in place.

    The trailing `place_bits` bits of each key must be 0: they will hold the row's position in its
    query.
    """
    kind = keys.dtype.type
    keys |= position(starts, len(keys)).astype(keys.dtype)
    for rectangle in rectangles(starts, lengths):
        cells = rectangle.filled(keys, np.iinfo(keys.dtype).max)
        cells.sort(axis=1)  # without padding, `cells` may be a view of `keys`
        rectangle.put(keys, cells)
    order = (keys & kind((1 << place_bits) - 1)).astype(np.int64)
    order += spread(starts, starts, len(keys))
    return order


def inversions(values: AnyInts, starts: Ints, lengths: Ints) -> Ints:
    """Count, for each row, the rows above it in its query with a larger (non-negative) value.

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
    """Count, for each value, the larger values above it in its column, by comparing all pairs."""
    columns = np.ascontiguousarray(columns)
    larger = np.zeros(columns.shape, np.uint8)
    for place in range(len(columns) - 1):
        larger[place + 1 :] += columns[place] > columns[place + 1 :]
    return larger


def _from_before(rows: NDArray[np.unsignedinteger], place_bits: int) -> Codes:
    """Count, for each value, the larger values in earlier blocks of its row, by merging blocks.

    Blocks of a row are merged in pairs, as in merge sort. The position of a value in the merged
    block, less its position in its own sorted block, is the number of values in the other block
    that are not larger. For a value of the second block, the rest of the first block is larger.
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
        within *= np.arange(width, dtype=np.int32) // size % 2  # count for second blocks only
        found += within
        size, within = 2 * size, joined
    return found


def _places(
    keys: NDArray[np.unsignedinteger], size: int, mask: np.unsignedinteger, base: Ints
) -> Codes:
    """Return the position that each value would have if its block of `size` values were sorted."""
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
