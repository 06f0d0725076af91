"""Turn attributes of documents into arrays, and compute columns about the attributes of lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Flags, Floats, Ints, Keys
from rankframe.core.errors import OptionError
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
_FEW_CELLS, _ROOM = 1 << 16, 4  # of a table that may be mostly empty, and for each row
_MOST_BITS, _MOST_PLACES = 64, 256  # of values in a number, and of a list


@dataclass(frozen=True)
class Values:
    """Hold the values of an attribute as numbers in their order: none, one or more per document."""

    # the first value of each document, how many there are, and the values of all documents
    starts: Ints
    lengths: Ints
    numbers: Ints
    # the values as text, in order of their numbers
    names: pl.Series
    # whether a document can have several
    several: bool

    @classmethod
    def from_series(cls, attribute: pl.Series) -> Values:
        """Number the values of a column, or of a column of lists."""
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
        """Return the least common multiple of the numbers of values, or None if it is large."""
        scale = math.lcm(*np.unique(self.lengths[self.lengths > 0]).tolist())
        return scale if scale <= _LARGEST_SCALE else None

    @cached_property
    def owners(self) -> Ints:
        """Return the document of each value."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def masks(self) -> Keys:
        """Return the values of each document as bits, of no more than 64 values in all."""
        masks = np.zeros(len(self.starts), np.uint64)
        np.bitwise_or.at(masks, self.owners, np.uint64(1) << self.numbers.astype(np.uint64))
        return masks

    def with_value(self, name: str) -> Flags:
        """Flag the documents that have a value."""
        flags = np.zeros(len(self.starts), np.bool_)
        number = self.names.index_of(name)
        if number is not None:
            flags[self.owners[self.numbers == number]] = True
        return flags

    def look_up(self, docs: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the rows of known documents, how many values each has, and these values.

        `docs` are numbers of documents, -1 for unknown ones.
        """
        rows = np.flatnonzero(docs >= 0)
        docs = docs[rows]
        lengths = self.lengths[docs]
        return rows, lengths, self.numbers[ranges(self.starts[docs], lengths)]


@dataclass(frozen=True)
class ValueSets:
    """Group documents by the set of values that they have; set 0 is the empty one."""

    names: pl.Series
    # the set of each document of the catalogue
    of_documents: Ints
    # each pair of a set and one of its values, by value
    sets: Ints
    numbers: Ints
    # how many values each set has
    lengths: Ints

    @classmethod
    def from_values(cls, values: Values) -> ValueSets:
        """Number the sets in an order of their values."""
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
        """Count the sets, with the empty one."""
        return len(self.lengths)

    def look_up(self, docs: Ints) -> Ints:
        """Return the sets of documents; the empty one for -1, an unknown document."""
        return np.append(self.of_documents, 0)[docs]

    def shares(self, per_set: NDArray[np.number]) -> Floats:
        """Divide the number of each set equally among its values; return the sum of each value."""
        parts = per_set[self.sets] / self.lengths[self.sets]
        sums = np.bincount(self.numbers, weights=parts, minlength=len(self.names))
        return sums.astype(np.float64, copy=False)

    def wholes(self, per_set: Ints) -> Ints:
        """Give the number of each set to each of its values; return the sum of each value."""
        sums = np.zeros(len(self.names), np.int64)
        np.add.at(sums, self.numbers, per_set[self.sets])
        return sums

    def by_set(self, per_document: NDArray[Any]) -> NDArray[Any]:
        """Add up the numbers of the catalogue's documents by set."""
        sums = np.zeros(self.count, per_document.dtype)
        np.add.at(sums, self.of_documents, per_document)
        return sums


@dataclass(frozen=True)
class Vectors:
    """Hold a vector of length 1 for each document; zeros for documents without a vector."""

    units: Floats
    present: Flags

    @classmethod
    def from_series(cls, attribute: pl.Series) -> Vectors:
        """Read a column of lists of numbers."""
        kind, name = attribute.dtype, attribute.name
        if not isinstance(kind, pl.List | pl.Array) or not kind.inner.is_numeric():  # pyright: ignore[reportAttributeAccessIssue]
            raise OptionError(f"{name!r} is no column of vectors, lists of numbers: it is {kind}.")
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


@dataclass(frozen=True)
class ListedValues:
    """Compute columns about the values of the documents of lists; rows are by list, then rank."""

    values: Values
    # the list of each row, and its document, -1 where that is unknown
    code: Ints
    docs: Ints

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Return the pairs of a row and one of its values, by list and value.

        Each with its row, the first pair with this list and value, and how many rows of the list
        above have the value.
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
        """Count the values of each row."""
        return np.append(self.values.lengths, 0)[self.docs]

    def new(self) -> Ints:
        """Count the values of each row that no row above has."""
        starts = segment_starts(self.code)
        lengths = segment_lengths(starts, len(self.code))
        deepest = int(lengths.max(initial=0))
        if len(self.values.names) > _MOST_BITS or deepest > _MOST_PLACES:
            row, _, above = self._pairs
            return np.bincount(row[above == 0], minlength=len(self.code))
        # All lists at the same time, from their first rows down.
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
        """Sum up (c + 1) log2(c + 1) − c log2 c over a row's values, which c rows above have."""
        row, _, above = self._pairs
        steps = np.arange(int(above.max(initial=0)) + 2, dtype=np.float64)
        worth = steps * np.log2(np.maximum(steps, 1))
        gains = np.diff(worth)[above]
        by_row = np.argsort(row, kind="stable")
        sums = np.bincount(row[by_row], weights=gains[by_row], minlength=len(self.code))
        return sums.astype(np.float64)

    def pairs(self) -> Ints:
        """Count the rows above that have a value, where the row has one itself."""
        return rows_above(self.counts > 0, self.code)

    def unlike(self) -> Floats:
        """Sum up the Jaccard distances of a row's values to the rows that `pairs` counts."""
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
    """Sum up the cosines of each row's vector with the vectors of the rows above in its list.

    A loop over places: each list is added up in its own order, whatever other lists there are.
    `present` flags the rows with a vector.
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
    """Compute Steck's Σ p ln(p / q̃) of each list; NaN where p or q has no values.

    Args:
        values: The values of the catalogue's documents.
        retrieved: List and document of each row, by list; q is their distribution of values.
        train: List and document of each row in train, and how often it is there; for p.
        lists: How many lists there are.
        kept: The share of q in q̃; the rest is p.
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
    """Return list × value for each value of each document, and its part of the document.

    Parts are whole numbers where these are not too large, as sums of them are the same in any
    order; otherwise rows are sorted by list, value and document.
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
    """Return the distinct keys, which are below `cells`, in order, and the sum of each."""
    if cells <= max(_FEW_CELLS, _ROOM * len(key)):
        total = np.asarray(np.bincount(key, weights=weights, minlength=cells), np.float64)
        keys = np.flatnonzero(total)
        return keys, total[keys]
    order = sort_order(key)
    key = key[order]
    firsts = segment_starts(key)
    total = np.bincount(number_segments(firsts, len(key)), weights=weights[order])
    return key[firsts], np.asarray(total, np.float64)
