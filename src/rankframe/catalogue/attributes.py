"""Attributes of documents as arrays, and what a list of documents makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.segments import (
    number_segments,
    position,
    ranges,
    segment_lengths,
    segment_starts,
    sort_order,
)
from rankframe.base.errors import OptionError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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

    def with_value(self, name: str) -> NDArray[np.bool_]:
        """Which documents have a value."""
        found = np.zeros(len(self.starts), np.bool_)
        at = self.names.index_of(name)
        if at is not None:
            owner = np.repeat(np.arange(len(self.starts)), self.lengths)
            found[owner[self.numbers == at]] = True
        return found

    def of_rows(self, docs: Ints) -> tuple[Ints, Ints]:
        """Of some documents, -1 for unknown ones: the row of each value, and the value."""
        known = np.flatnonzero(docs >= 0)
        lengths = self.lengths[docs[known]]
        at = ranges(self.starts[docs[known]], lengths)
        return np.repeat(known, lengths), self.numbers[at]


@dataclass(frozen=True)
class Vectors:
    """Vectors of length 1; those of documents without one are 0."""

    units: Floats
    known: NDArray[np.bool_]

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

    def of_rows(self, docs: Ints) -> NDArray[np.bool_]:
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
        row, number = self.values.of_rows(self.docs)
        key = self.code[row] * max(len(self.values.names), 1) + number
        order = sort_order(key)
        row, key = row[order], key[order]
        starts = segment_starts(key)
        above = position(starts, len(key)).astype(np.int64)
        return row, key, np.arange(len(key)) - above, above

    @cached_property
    def counts(self) -> Ints:
        """How many values each row has."""
        return np.bincount(self._flat[0], minlength=len(self.code))

    def new(self) -> Ints:
        """How many of them no row above has."""
        row, _, _, above = self._flat
        return np.bincount(row[above == 0], minlength=len(self.code))

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


def rows_above(known: NDArray[np.bool_], code: Ints) -> Ints:
    """How many known rows of its list stand above each known row; 0 for others."""
    starts = segment_starts(code)
    total = np.cumsum(known)
    before = np.repeat((total - known)[starts], segment_lengths(starts, len(code)))
    return np.where(known, total - known - before, 0)


def cosines(vectors: Vectors, known: NDArray[np.bool_], code: Ints, docs: Ints) -> Floats:
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
    key_p, weight_p = _weights(values, train[0], train[1], train[2], size)
    key_q, weight_q = _weights(values, shown[0], shown[1], np.ones(len(shown[0])), size)
    firsts = segment_starts(key_p)
    keys = key_p[firsts]
    p = np.bincount(number_segments(firsts, len(key_p)), weights=weight_p, minlength=len(keys))
    at = np.searchsorted(keys, key_q)
    here = np.append(keys, -1).take(at) == key_q
    q = np.bincount(at[here], weights=weight_q[here], minlength=len(keys))
    of = keys // size
    total_p = np.bincount(of, weights=p, minlength=lists)
    total_q = np.bincount(key_q // size, weights=weight_q, minlength=lists)
    p = p / total_p[of]
    q = np.divide(q, total_q[of], out=np.zeros(len(q)), where=total_q[of] > 0)
    terms = p * np.log(p / (kept * q + (1 - kept) * p))
    both = (total_p > 0) & (total_q > 0)
    return np.where(both, np.bincount(of, weights=terms, minlength=lists), np.nan)


def _weights(
    values: Values, lists: Ints, docs: Ints, often: Floats, size: int
) -> tuple[Ints, Floats]:
    """List × value of every value of every document, by list, value and document; and its part."""
    row, number = values.of_rows(docs)
    key = lists[row] * size + number
    order = sort_order(key, docs[row])
    at, key = row[order], key[order]
    again = (key[1:] == key[:-1]) & (docs[at[1:]] == docs[at[:-1]])
    if (again & (often[at[1:]] != often[at[:-1]])).any():
        # The same document in several rows, which may come in any order.
        at = at[np.lexsort((often[at], docs[at], key))]
    return key, often[at] / values.lengths[docs[at]]
