"""Encode attributes of documents as arrays, and compute columns about attributes of whole lists."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Flags, Floats, Ints, Keys
from rankframe.core.errors import OptionError
from rankframe.core.records import record
from rankframe.kernel.segments import (
    number_segments,
    position,
    ranges,
    running_count,
    segment_lengths,
    segment_starts,
    sort_order,
)

_LARGEST_SCALE, _EXACT = 1 << 24, 2.0**53
# Sums are computed in a dense table up to this many cells, or up to this many cells per row.
_FEW_CELLS, _ROOM = 1 << 16, 4
# Bit masks are used up to this many distinct values, and up to this depth of the lists.
_MOST_BITS, _MOST_PLACES = 64, 256


@record
class Values:
    """Hold an attribute of documents, dictionary-encoded: zero, one or more values per document.

    Distinct values are numbered in ascending order of their text.
    """

    # for each document: the position of its first value in `numbers`, and how many values it has
    starts: Ints
    lengths: Ints
    # the values of all documents, as indices into `names`
    numbers: Ints
    # the distinct values as text, ascending
    names: pl.Series
    # whether a document can have several values
    several: bool

    @classmethod
    def from_series(cls, attribute: pl.Series) -> Values:
        """Dictionary-encode a column of values, or of lists of values."""
        kind, several = attribute.dtype, False
        if isinstance(kind, pl.List | pl.Array):
            kind, several = kind.inner, True
        if isinstance(kind, pl.DataType) and (kind.is_nested() or kind == pl.Object):
            raise OptionError(f"{attribute.name!r} has neither values nor lists of them: {kind}.")
        rows = pl.DataFrame({"value": attribute}).with_row_index("doc")
        if several:
            rows = rows.explode("value")
        rows = rows.with_columns(pl.col("value").cast(pl.String)).drop_nulls().unique()
        number = (pl.col("value").rank("dense").cast(pl.Int64) - 1).alias("number")
        rows = rows.with_columns(number).sort("doc", "number")
        counts = np.bincount(rows["doc"].to_numpy(), minlength=len(attribute)).astype(np.int64)
        names = rows["value"].unique().sort()
        return cls(np.cumsum(counts) - counts, counts, rows["number"].to_numpy(), names, several)

    @cached_property
    def scale(self) -> int | None:
        """Return the least common multiple of all documents' `lengths`, or None if it is large."""
        scale = math.lcm(*np.unique(self.lengths[self.lengths > 0]).tolist())
        return scale if scale <= _LARGEST_SCALE else None

    @cached_property
    def owners(self) -> Ints:
        """Return, for each entry of `numbers`, the index of its document."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def masks(self) -> Keys:
        """Return each document's values as a 64-bit mask; the attribute has up to 64 values."""
        masks = np.zeros(len(self.starts), np.uint64)
        np.bitwise_or.at(masks, self.owners, np.uint64(1) << self.numbers.astype(np.uint64))
        return masks

    def with_value(self, name: str) -> Flags:
        """Flag the documents that have the value `name`."""
        flags = np.zeros(len(self.starts), np.bool_)
        number = self.names.index_of(name)
        if number is not None:
            flags[self.owners[self.numbers == number]] = True
        return flags

    def look_up(self, docs: Ints) -> tuple[Ints, Ints, Ints]:
        """Look up the attribute values of the document in each row; unknown documents have none.

        `docs` has the number of the document in each row, or -1 if the document is unknown. Returns
        the rows with known documents, how many values each of these rows has, and the numbers of
        the values, row by row.
        """
        rows = np.flatnonzero(docs >= 0)
        docs = docs[rows]
        lengths = self.lengths[docs]
        return rows, lengths, self.numbers[ranges(self.starts[docs], lengths)]


@record
class ValueSets:
    """Group documents by the set of their attribute values; set 0 is the empty set."""

    # the distinct values as text
    names: pl.Series
    # the number of each catalogue document's set
    of_documents: Ints
    # pairs of a set and one of its values, sorted by value: the set, and the value's number
    sets: Ints
    numbers: Ints
    # the number of values in each set
    lengths: Ints

    @classmethod
    def from_values(cls, values: Values) -> ValueSets:
        """Find and number the distinct sets of attribute values that documents have."""
        rows = pl.DataFrame({"doc": values.owners, "number": values.numbers})
        key = pl.col("number").cast(pl.String).str.join(" ").alias("key")
        keyed = rows.group_by("doc", maintain_order=True).agg(key)
        sets = keyed["key"].unique().sort()
        of_documents = np.zeros(len(values.lengths), np.int64)
        of_documents[keyed["doc"].to_numpy()] = sets.search_sorted(keyed["key"]).to_numpy() + 1
        pairs = pl.DataFrame({"number": sets.str.split(" ")}).with_row_index("set", offset=1)
        pairs = pairs.explode("number").cast(pl.Int64).drop_nulls().sort("number", "set")
        set_numbers, numbers = pairs["set"].to_numpy(), pairs["number"].to_numpy()
        lengths = np.bincount(set_numbers, minlength=len(sets) + 1).astype(np.int64)
        return cls(values.names, of_documents, set_numbers, numbers, lengths)

    @property
    def count(self) -> int:
        """Count the sets, including the empty set."""
        return len(self.lengths)

    def look_up(self, docs: Ints) -> Ints:
        """Return the number of each document's set; unknown documents (-1) have the empty set."""
        return np.append(self.of_documents, 0)[docs]

    def shares(self, per_set: NDArray[np.number]) -> Floats:
        """Split each set's amount equally among its values; return the total of each value."""
        parts = per_set[self.sets] / self.lengths[self.sets]
        sums = np.bincount(self.numbers, weights=parts, minlength=len(self.names))
        return sums.astype(np.float64, copy=False)

    def wholes(self, per_set: Ints) -> Ints:
        """Credit each value with the whole amount of each of its sets; return the totals."""
        sums = np.zeros(len(self.names), np.int64)
        np.add.at(sums, self.numbers, per_set[self.sets])
        return sums

    def by_set(self, per_document: NDArray[Any]) -> NDArray[Any]:
        """Sum `per_document`, one amount for each catalogue document, over each set of values."""
        sums = np.zeros(self.count, per_document.dtype)
        np.add.at(sums, self.of_documents, per_document)
        return sums


@record
class Vectors:
    """Hold a unit vector for each document; a zero vector for documents without a vector."""

    units: Floats
    present: Flags

    @classmethod
    def from_series(cls, attribute: pl.Series) -> Vectors:
        """Read a vector per document from a column of lists of numbers, scaled to length 1."""
        kind, name = attribute.dtype, attribute.name
        if not isinstance(kind, pl.List | pl.Array) or not kind.inner.is_numeric():  # pyright: ignore[reportAttributeAccessIssue]
            raise OptionError(f"the column {name!r} must hold lists of numbers, not {kind}.")
        lists = attribute.cast(pl.List(pl.Float64))
        vectors = lists.drop_nulls()
        sizes = vectors.list.len().unique().sort().to_list()
        if len(sizes) != 1 or not sizes[0]:
            raise OptionError(f"the vectors in {name!r} have different lengths: {sizes[:5]}.")
        if vectors.list.eval(pl.element().is_null() | ~pl.element().is_finite()).list.any().any():
            raise OptionError(f"some vector in {name!r} has a value that is no finite number.")
        flat = lists.fill_null([0.0] * sizes[0]).explode().to_numpy()
        rows = flat.reshape(len(attribute), sizes[0])
        lengths = np.sqrt((rows * rows).sum(axis=1))
        present = lengths > 0
        return cls(rows / np.where(present, lengths, 1.0)[:, None], present)

    def look_up(self, docs: Ints) -> Flags:
        """Flag the documents that have a vector; -1 stands for an unknown document."""
        return np.append(self.present, False)[docs]


@record
class ListedValues:
    """Compute columns about attribute values of retrieved documents, sorted by list and rank."""

    values: Values
    # the number of each row's list, and the number of its document (-1 if unknown)
    code: Ints
    docs: Ints

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Return all pairs of a row and an attribute value, sorted by list, value and rank.

        Returns three arrays over the pairs: the row, the position of the first pair with the same
        list and value, and how many rows above in the same list have the value.
        """
        rows, lengths, number = self.values.look_up(self.docs)
        row = np.repeat(rows, lengths)
        key = self.code[row] * max(len(self.values.names), 1) + number
        order = sort_order(key)
        row, key = row[order], key[order]
        above = position(segment_starts(key), len(key)).astype(np.int64)
        return row, np.arange(len(key)) - above, above

    @cached_property
    def counts(self) -> Ints:
        """Count, for each row, the attribute values of its document."""
        return np.append(self.values.lengths, 0)[self.docs]

    def new(self) -> Ints:
        """Count, for each row, the attribute values that no document above it in its list has."""
        starts = segment_starts(self.code)
        lengths = segment_lengths(starts, len(self.code))
        deepest = int(lengths.max(initial=0))
        if len(self.values.names) > _MOST_BITS or deepest > _MOST_PLACES:
            row, _, above = self._pairs
            return np.bincount(row[above == 0], minlength=len(self.code))
        # Loop over ranks, and process all lists at once.
        counts = np.zeros(len(self.code), np.int64)
        masks = np.append(self.values.masks, np.uint64(0))[self.docs]
        met = np.zeros(len(starts), np.uint64)
        for place in range(deepest):
            lists = np.flatnonzero(lengths > place)
            rows = starts[lists] + place
            fresh = masks[rows] & ~met[lists]
            counts[rows] = np.bitwise_count(fresh)
            met[lists] |= fresh
        return counts

    def crowd(self) -> Floats:
        """Sum, over a row's values, (c + 1) log2(c + 1) − c log2 c; c rows above have the value."""
        row, _, above = self._pairs
        steps = np.arange(int(above.max(initial=0)) + 2, dtype=np.float64)
        worth = steps * np.log2(np.maximum(steps, 1))
        gains = np.diff(worth)[above]
        by_row = np.argsort(row, kind="stable")
        sums = np.bincount(row[by_row], weights=gains[by_row], minlength=len(self.code))
        return sums.astype(np.float64)

    def pairs(self) -> Ints:
        """Count, for each row with attribute values, the rows above with any; 0 for other rows."""
        return rows_above(self.counts > 0, self.code)

    def unlike(self) -> Floats:
        """Sum, for each row, the Jaccard distances of its values to those of each row above.

        Only pairs of rows that both have values count (see `pairs`).
        """
        row, first, above = self._pairs
        pairs, rows = self.pairs(), len(self.code)
        if not self.values.several:
            same = np.zeros(rows, np.int64)
            same[row] = above
            return (pairs - same).astype(np.float64)
        lower, upper = np.repeat(row, above), row[ranges(first, above)]
        keys, common = np.unique(lower * rows + upper, return_counts=True)
        lower, upper = np.divmod(keys, rows)
        alike = common / (self.counts[lower] + self.counts[upper] - common)
        return pairs - np.bincount(lower, weights=alike, minlength=rows).astype(np.float64)


def rows_above(flags: Flags, code: Ints) -> Ints:
    """Count the flagged rows above each flagged row in its list; 0 for other rows."""
    count = running_count(flags, segment_starts(code)).astype(np.int64)
    return np.where(flags, count - flags, 0)


def cosines(vectors: Vectors, present: Flags, code: Ints, docs: Ints) -> Floats:
    """Sum the cosines of each row's vector with the vectors of the rows above it in its list.

    `present` flags the rows with a vector. The function loops over ranks, so that the order of
    summation within a list does not depend on other lists.
    """
    rows = np.flatnonzero(present)
    cosines = np.zeros(len(docs))
    place = rows_above(present, code)[rows]
    sums = np.zeros((int(code.max(initial=-1)) + 1, vectors.units.shape[1]))
    order = np.argsort(place, kind="stable")
    begin = 0
    for end in np.cumsum(np.bincount(place)).tolist():
        place_rows = rows[order[begin:end]]
        units, lists = vectors.units[docs[place_rows]], code[place_rows]
        cosines[place_rows] = (units * sums[lists]).sum(axis=1)
        sums[lists] += units
        begin = end
    return cosines


def divergence(
    values: Values,
    retrieved: tuple[Ints, Ints],
    train: tuple[Ints, Ints, Floats],
    lists: int,
    *,
    kept: float = 0.99,
) -> Floats:
    """Compute Steck's calibration divergence Σ p ln(p / q̃) of each list.

    p is the distribution of values in train, q that of the retrieved documents, and q̃ a mixture of
    both. The result is NaN if p or q has no values.

    Args:
        values: The values of the catalogue's documents.
        retrieved: The list and the document of each retrieved row, sorted by list.
        train: The list, the document and the count of each row of train.
        lists: The number of lists.
        kept: The weight of q in q̃; p has the rest.
    """
    size = max(len(values.names), 1)
    keys, p = _sum_weights(*_weigh_values(values, *train, size), lists * size)
    once = np.ones(len(retrieved[0]))
    keys_q, q = _sum_weights(*_weigh_values(values, *retrieved, once, size), lists * size)
    owners = keys // size
    total_p = np.bincount(owners, weights=p, minlength=lists)
    total_q = np.bincount(keys_q // size, weights=q, minlength=lists)
    places = np.searchsorted(keys_q, keys)
    in_q = np.append(keys_q, -1)[places] == keys
    q = np.where(in_q, np.append(q, 0.0)[places], 0.0)
    p = p / total_p[owners]
    q = np.divide(q, total_q[owners], out=np.zeros(len(q)), where=total_q[owners] > 0)
    terms = p * np.log(p / (kept * q + (1 - kept) * p))
    sums = np.bincount(owners, weights=terms, minlength=lists)
    return np.where((total_p > 0) & (total_q > 0), sums, np.nan)


def _weigh_values(
    values: Values, lists: Ints, docs: Ints, times: Floats, size: int
) -> tuple[Ints, Floats]:
    """Return, for each attribute value in each row, a key of list and value, and a weight.

    A document's weight is split equally among its values. Weights are scaled to whole numbers if
    these are small enough: such sums are exact in any order. Otherwise, the result is sorted by
    list, value and document, so that the order of summation is fixed.
    """
    rows, lengths, number = values.look_up(docs)
    key = np.repeat(lists[rows] * size, lengths)
    key += number
    scale = values.scale
    if scale is not None and times.sum() * scale < _EXACT:
        return key, np.repeat(times[rows] * (scale // np.maximum(lengths, 1)), lengths)
    row = np.repeat(rows, lengths)
    order = np.lexsort((times[row], docs[row], key))
    row = row[order]
    return key[order], times[row] / values.lengths[docs[row]]


def _sum_weights(key: Ints, weights: Floats, cells: int) -> tuple[Ints, Floats]:
    """Sum `weights` by `key` (below `cells`); return the distinct keys, ascending, and sums."""
    if cells <= max(_FEW_CELLS, _ROOM * len(key)):
        total = np.asarray(np.bincount(key, weights=weights, minlength=cells), np.float64)
        keys = np.flatnonzero(total)
        return keys, total[keys]
    order = sort_order(key)
    key = key[order]
    firsts = segment_starts(key)
    total = np.bincount(number_segments(firsts, len(key)), weights=weights[order])
    return key[firsts], np.asarray(total, np.float64)
