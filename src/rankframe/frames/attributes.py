"""Attributes of documents as arrays, and what a list of documents makes of them."""

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
    segment_lengths,
    segment_starts,
    sort_order,
)

_LARGEST_SCALE, _EXACT = 1 << 24, 2.0**53
_FEW_CELLS, _ROOM = 1 << 16, 4  # of a table that may be mostly empty, and for each row
_MOST_BITS, _MOST_PLACES = 64, 256  # of values in a number, and of a list


@dataclass(frozen=True)
class Values:
    """The values of an attribute, numbered in their order: of each document none, one or more."""

    # where those of each document begin, how many there are, and all of them
    starts: Ints
    lengths: Ints
    numbers: Ints
    # what they are, as text
    names: pl.Series
    # whether a document can have several
    several: bool

    @classmethod
    def of(cls, attribute: pl.Series) -> Values:
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
        """What every number of values divides; None where it is large."""
        scale = math.lcm(*np.unique(self.lengths[self.lengths > 0]).tolist())
        return scale if scale <= _LARGEST_SCALE else None

    @cached_property
    def masks(self) -> Keys:
        """A bit for each value of each document; for no more than 64 values in all."""
        owner = np.repeat(np.arange(len(self.starts)), self.lengths)
        masks = np.zeros(len(self.starts), np.uint64)
        np.bitwise_or.at(masks, owner, np.uint64(1) << self.numbers.astype(np.uint64))
        return masks

    def with_value(self, name: str) -> Flags:
        """Which documents have a value."""
        found = np.zeros(len(self.starts), np.bool_)
        at = self.names.index_of(name)
        if at is not None:
            owner = np.repeat(np.arange(len(self.starts)), self.lengths)
            found[owner[self.numbers == at]] = True
        return found

    def of_rows(self, docs: Ints) -> tuple[Ints, Ints, Ints]:
        """Of some documents, -1 for unknown ones: the rows of those that are known, how many values
        each has, and these.
        """
        known = np.flatnonzero(docs >= 0)
        docs = docs[known]
        lengths = self.lengths[docs]
        return known, lengths, self.numbers[ranges(self.starts[docs], lengths)]


@dataclass(frozen=True)
class ValueSets:
    """Documents by the set of values that they have; set 0 is that of those without any."""

    names: pl.Series
    # the set of each document of the catalogue
    of_documents: Ints
    # every value of every set, by value
    sets: Ints
    numbers: Ints
    # how many values each set has
    lengths: Ints

    @classmethod
    def of(cls, values: Values) -> ValueSets:
        """Number the sets in an order of their values."""
        docs = np.repeat(np.arange(len(values.lengths)), values.lengths)
        rows = pl.DataFrame({"doc": docs, "number": values.numbers})
        key = pl.col("number").cast(pl.String).str.join(" ").alias("key")
        keyed = rows.group_by("doc", maintain_order=True).agg(key)
        sets = keyed["key"].unique().sort()
        of_documents = np.zeros(len(values.lengths), np.int64)
        of_documents[keyed["doc"].to_numpy()] = sets.search_sorted(keyed["key"]).to_numpy() + 1
        flat = pl.DataFrame({"number": sets.str.split(" ")}).with_row_index("set", offset=1)
        flat = flat.explode("number").cast(pl.Int64).drop_nulls().sort("number", "set")
        lengths = np.bincount(flat["set"].to_numpy(), minlength=len(sets) + 1)
        return cls(
            values.names, of_documents, flat["set"].to_numpy(), flat["number"].to_numpy(),
            lengths.astype(np.int64),
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many sets there are, that of no values included."""
        return len(self.lengths)

    def of_rows(self, numbers: Ints) -> Ints:
        """The sets of some documents, -1 for unknown ones."""
        if not len(self.of_documents):
            return np.zeros(len(numbers), np.int64)
        return np.where(numbers >= 0, self.of_documents[numbers], 0)

    def shares(self, of_sets: NDArray[np.number]) -> Floats:
        """What each value gets of numbers by set, those with several giving equal parts."""
        parts = of_sets[self.sets] / self.lengths[self.sets]
        found = np.bincount(self.numbers, weights=parts, minlength=len(self.names))
        return found.astype(np.float64, copy=False)

    def wholes(self, of_sets: Ints) -> Ints:
        """The same, where each value gets all of it."""
        found = np.zeros(len(self.names), np.int64)
        np.add.at(found, self.numbers, of_sets[self.sets])
        return found

    def by_set(self, of_documents: NDArray[Any]) -> NDArray[Any]:
        """Numbers of documents of the catalogue, added up by set."""
        found = np.zeros(self.count, of_documents.dtype)
        np.add.at(found, self.of_documents, of_documents)
        return found


@dataclass(frozen=True)
class Vectors:
    """Vectors of length 1; those of documents without one are 0."""

    units: Floats
    known: Flags

    @classmethod
    def of(cls, attribute: pl.Series) -> Vectors:
        """Of a column of lists of numbers."""
        kind, name = attribute.dtype, attribute.name
        if not isinstance(kind, pl.List | pl.Array) or not kind.inner.is_numeric():  # pyright: ignore[reportAttributeAccessIssue]
            raise OptionError(f"{name!r} is no column of vectors, lists of numbers: it is {kind}.")
        lists = attribute.cast(pl.List(pl.Float64))
        there = lists.drop_nulls()
        sizes = there.list.len().unique().sort().to_list()
        if len(sizes) != 1 or not sizes[0]:
            raise OptionError(f"the vectors in {name!r} have different lengths: {sizes[:5]}.")
        if there.list.eval(pl.element().is_null() | ~pl.element().is_finite()).list.any().any():
            raise OptionError(f"some vector in {name!r} has a value that is no finite number.")
        flat = lists.fill_null([0.0] * sizes[0]).explode().to_numpy()
        rows = flat.reshape(len(attribute), sizes[0])
        lengths = np.sqrt((rows * rows).sum(axis=1))
        known = lengths > 0
        return cls(rows / np.where(known, lengths, 1.0)[:, None], known)

    def of_rows(self, docs: Ints) -> Flags:
        """Which of some documents, -1 for unknown ones, have a vector."""
        found = np.zeros(len(docs), np.bool_)
        there = np.flatnonzero(docs >= 0)
        found[there] = self.known[docs[there]]
        return found


@dataclass(frozen=True)
class Mix:
    """The values of the documents of some lists: rows by list, then rank.

    `code` is the number of a row's list, `docs` of its document, -1 where that is unknown.
    """

    values: Values
    code: Ints
    docs: Ints

    @cached_property
    def _flat(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Of each value of each row, by list and value: row, key, place of the first, how many
        rows of the list above have the value.
        """
        known, lengths, number = self.values.of_rows(self.docs)
        row = np.repeat(known, lengths)
        key = self.code[row] * max(len(self.values.names), 1) + number
        order = sort_order(key)
        row, key = row[order], key[order]
        starts = segment_starts(key)
        above = position(starts, len(key)).astype(np.int64)
        return row, key, np.arange(len(key)) - above, above

    @cached_property
    def counts(self) -> Ints:
        """How many values each row has."""
        known = self.docs >= 0
        return np.where(known, np.append(self.values.lengths, 0).take(self.docs), 0)

    def new(self) -> Ints:
        """How many of them no row above has."""
        if len(self.values.names) <= _MOST_BITS:
            found = self._new_bits()
            if found is not None:
                return found
        row, _, _, above = self._flat
        return np.bincount(row[above == 0], minlength=len(self.code))

    def _new_bits(self) -> Ints | None:
        """The same, all lists side by side, from their first rows down; None for long lists."""
        starts = segment_starts(self.code)
        lengths = segment_lengths(starts, len(self.code))
        deepest = int(lengths.max(initial=0))
        if deepest > _MOST_PLACES:
            return None
        found = np.zeros(len(self.code), np.int64)
        masks = np.append(self.values.masks, np.uint64(0)).take(self.docs)
        met = np.zeros(len(starts), np.uint64)
        for place in range(deepest):
            there = np.flatnonzero(lengths > place)
            at = starts[there] + place
            fresh = masks[at] & ~met[there]
            found[at] = np.bitwise_count(fresh)
            met[there] |= fresh
        return found

    def crowd(self) -> Floats:
        """Σ over its values of (c + 1) log2(c + 1) − c log2 c, c: rows above with the value."""
        row, _, _, above = self._flat
        steps = np.arange(int(above.max(initial=0)) + 2, dtype=np.float64)
        worth = steps * np.log2(np.maximum(steps, 1))
        gains = np.diff(worth)[above]
        by_row = np.argsort(row, kind="stable")
        found = np.bincount(row[by_row], weights=gains[by_row], minlength=len(self.code))
        return found.astype(np.float64)

    def pairs(self) -> Ints:
        """Rows above that have a value, where it has one itself."""
        return rows_above(self.counts > 0, self.code)

    def unlike(self) -> Floats:
        """Σ over these of the Jaccard distance of the values."""
        row, _, first, above = self._flat
        pairs = self.pairs()
        if not self.values.several:
            same = np.zeros(len(self.code), np.int64)
            same[row] = above
            return (pairs - same).astype(np.float64)
        mine = np.repeat(row, above)
        theirs = row[ranges(first, above)]
        both, common = np.unique(mine * len(self.code) + theirs, return_counts=True)
        mine, theirs = np.divmod(both, len(self.code))
        counts = self.counts
        alike = common / (counts[mine] + counts[theirs] - common)
        shared = np.bincount(mine, weights=alike, minlength=len(self.code)).astype(np.float64)
        return pairs - shared


def rows_above(known: Flags, code: Ints) -> Ints:
    """How many known rows of its list stand above each known row; 0 for others."""
    starts = segment_starts(code)
    total = np.cumsum(known)
    before = np.repeat((total - known)[starts], segment_lengths(starts, len(code)))
    return np.where(known, total - known - before, 0)


def cosines(vectors: Vectors, known: Flags, code: Ints, docs: Ints) -> Floats:
    """Σ over the known rows above in the list of the cosine with this one.

    A loop over places: each list is added up in its own order, whatever lists are beside it.
    """
    rows = np.flatnonzero(known)
    found = np.zeros(len(docs))
    place = rows_above(known, code)[rows]
    running = np.zeros((int(code.max(initial=-1)) + 1, vectors.units.shape[1]))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place)) if len(rows) else np.empty(0, np.int64)
    begin = 0
    for end in ends.tolist():
        some = rows[order[begin:end]]
        units, of = vectors.units[docs[some]], code[some]
        found[some] = (units * running[of]).sum(axis=1)
        running[of] += units
        begin = end
    return found


def divergence(
    values: Values,
    shown: tuple[Ints, Ints],
    train: tuple[Ints, Ints, Floats],
    lists: int,
    *,
    kept: float = 0.99,
) -> Floats:
    """Steck's Σ p ln(p / q̃) of each of so many lists; NaN where either side has no values.

    `shown`: list and document of every row in order; `train`: the same of rows in train, and how
    often each is there.
    """
    size = max(len(values.names), 1)
    keys, p = _summed(*_weights(values, *train, size), lists * size)
    once = np.ones(len(shown[0]))
    keys_q, q = _summed(*_weights(values, *shown, once, size), lists * size)
    of = keys // size
    total_p = np.bincount(of, weights=p, minlength=lists)
    total_q = np.bincount(keys_q // size, weights=q, minlength=lists)
    at = np.searchsorted(keys_q, keys)
    here = np.append(keys_q, -1).take(at) == keys
    q = np.where(here, np.append(q, 0.0).take(at), 0.0)
    p = p / total_p[of]
    q = np.divide(q, total_q[of], out=np.zeros(len(q)), where=total_q[of] > 0)
    terms = p * np.log(p / (kept * q + (1 - kept) * p))
    both = (total_p > 0) & (total_q > 0)
    return np.where(both, np.bincount(of, weights=terms, minlength=lists), np.nan)


def _weights(
    values: Values, lists: Ints, docs: Ints, often: Floats, size: int
) -> tuple[Ints, Floats]:
    """List × value of every value of every document, and its part of the document: in whole
    numbers, which add up alike in any order; else by list, value and document.
    """
    known, lengths, number = values.of_rows(docs)
    key = np.repeat(lists[known] * size, lengths)
    key += number
    scale = values.scale
    if scale is not None and often.sum() * scale < _EXACT:
        return key, np.repeat(often[known] * (scale // np.maximum(lengths, 1)), lengths)
    row = np.repeat(known, lengths)
    order = np.lexsort((often[row], docs[row], key))
    row = row[order]
    return key[order], often[row] / values.lengths[docs[row]]


def _summed(key: Ints, weights: Floats, cells: int) -> tuple[Ints, Floats]:
    """The keys that there are, of so many, in order; and what the weights of each add up to."""
    if cells <= max(_FEW_CELLS, _ROOM * len(key)):
        total = np.asarray(np.bincount(key, weights=weights, minlength=cells), np.float64)
        keys = np.flatnonzero(total)
        return keys, total[keys]
    order = sort_order(key)
    key = key[order]
    firsts = segment_starts(key)
    total = np.bincount(number_segments(firsts, len(key)), weights=weights[order])
    return key[firsts], np.asarray(total, np.float64)
